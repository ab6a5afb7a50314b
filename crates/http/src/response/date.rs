//! HTTP dates: formatting once per second, parsing of all three forms (RFC 9110 section 5.6.7).

use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

/// A date as it stands in a field, `Sun, 06 Nov 1994 08:49:37 GMT`.
pub type HttpDate = [u8; 29];

/// The `Date` of the current second.
#[derive(Debug, Clone)]
pub struct DateCache {
    second: u64,
    text: HttpDate,
}

impl DateCache {
    /// A cache that holds the beginning of 1970.
    pub fn new() -> DateCache {
        DateCache { second: 0, text: format_date(0) }
    }

    /// The date of `now`, in seconds since 1970, formatted when the second is another one.
    pub fn at(&mut self, now: u64) -> &HttpDate {
        if self.second != now {
            self.second = now;
            self.text = format_date(now);
        }
        &self.text
    }
}

impl Default for DateCache {
    fn default() -> DateCache {
        DateCache::new()
    }
}

/// The date of `seconds` since 1970; years after 9999 are shown as the end of 9999.
pub fn format_date(seconds: u64) -> HttpDate {
    let time = UNIX_EPOCH + Duration::from_secs(seconds.min(END_OF_9999));
    let mut text = [b' '; 29];
    write!(&mut text[..], "{}", httpdate::HttpDate::from(time)).expect("an HTTP date has 29 bytes");
    text
}

/// Seconds since 1970 of a date in any of the three forms, `None` when it is none.
pub fn parse_date(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let time = httpdate::parse_http_date(text).ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

const END_OF_9999: u64 = 253_402_300_799;
