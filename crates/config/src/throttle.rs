//! Limits for clients, as the router runs them: how many requests in a time, and how many at once (beyond Unit).

use std::num::NonZeroU32;
use std::time::Duration;

use crate::pattern::address::AddressPatternSet;
use crate::template::Template;

/// One limit, at one place of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throttle {
    /// JSON pointer of the object. Names the limit in the log and in `/status`.
    pub place: String,
    /// The key that requests are counted by.
    pub key: ThrottleKey,
    /// Clients that are not counted.
    pub exempt: AddressPatternSet,
    /// The status of a refused request, 400 to 599.
    pub status: u16,
    /// Nothing is refused or delayed, only logged and counted.
    pub dry_run: bool,
    /// The bound itself.
    pub bound: ThrottleBound,
}

/// The key that requests are counted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThrottleKey {
    /// The client's address; of version 6, its first 64 bits.
    Client,
    /// The rendered text. An empty one is not counted.
    Text(Template),
}

/// The bound on the requests of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThrottleBound {
    /// On requests in a time.
    Rate(RequestRate),
    /// On requests at the same time.
    Concurrency(NonZeroU32),
}

/// A bound on requests in a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRate {
    /// From one request to the next, at a steady pace.
    pub interval: Duration,
    /// Requests that may be ahead of that pace.
    pub burst: u32,
    /// With a number, requests that are further ahead than so many wait until they are not.
    pub delay: Option<u32>,
    /// Replies say how much is left, also where nothing is refused.
    pub headers: bool,
    /// About how many keys are remembered.
    pub entries: usize,
}

/// Why a text is not a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// Something other than a number, a slash and a unit.
    #[error("is not a number of requests in a time")]
    Form,
    /// A number out of range.
    #[error("is not between 1 and 1000000 requests")]
    Number,
}

impl RequestRate {
    /// The interval of a rate as it is written: `10/s`, `100/m`, `1000/h`.
    ///
    /// # Errors
    ///
    /// When the text is not a rate.
    pub fn parse_interval(text: &str) -> Result<Duration, RateError> {
        let (number, unit) = text.split_once('/').ok_or(RateError::Form)?;
        let period = UNITS.iter().find(|(name, _)| *name == unit).ok_or(RateError::Form)?.1;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number {
            return Err(RateError::Form);
        }
        let number = number.parse().ok().filter(|number| (1..=MOST_REQUESTS).contains(number));
        // Rounded up, so that the rate is never exceeded.
        let nanoseconds = number.map(|number| period.div_ceil(number)).ok_or(RateError::Number)?;
        Ok(Duration::from_nanos(nanoseconds))
    }

    /// The rate that a text most likely means, in the spelling of `parse_interval`.
    #[must_use]
    pub fn meant(text: &str) -> Option<String> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_lowercase();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = text.split_at(digits);
        let unit = rest.trim_start_matches(['r', '/']);
        let unit = WORDS.iter().find(|(_, words)| words.contains(&unit))?.0;
        let meant = format!("{number}/{unit}");
        Self::parse_interval(&meant).is_ok().then_some(meant)
    }
}

/// Units of rates, and their nanoseconds.
const UNITS: &[(&str, u64)] = &[("s", NANOS), ("m", 60 * NANOS), ("h", 3600 * NANOS)];

/// Other words for the units.
const WORDS: &[(&str, &[&str])] = &[
    ("s", &["s", "sec", "second", "seconds", ""]),
    ("m", &["m", "min", "minute", "minutes"]),
    ("h", &["h", "hour", "hours"]),
];

const NANOS: u64 = 1_000_000_000;

/// Intervals have nanoseconds: beyond this number of requests their rounding would show.
const MOST_REQUESTS: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<u64, RateError>) {
        assert_eq!(
            RequestRate::parse_interval(text).map(|interval| interval.as_nanos() as u64),
            expect,
            "{text}"
        );
    }

    #[test]
    fn rates_are_numbers_in_a_time() {
        check("1/s", Ok(NANOS));
        check("10/s", Ok(100_000_000));
        check("100/m", Ok(600_000_000));
        check("1000/h", Ok(3_600_000_000));
        check("3/s", Ok(333_333_334));
        check("1000000/s", Ok(1000));
        for text in ["", "10", "/s", "10/", "10/x", "10/d", "10r/s", "-1/s", "+1/s", "1.5/s", " 1/s", "1/S"] {
            check(text, Err(RateError::Form));
        }
        for text in ["0/s", "1000001/h", "99999999999999999999999/s"] {
            check(text, Err(RateError::Number));
        }
    }

    #[test]
    fn other_spellings_are_understood_in_advice_alone() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(RequestRate::meant(text).as_deref(), expect, "{text}");
        };
        check("10r/s", Some("10/s"));
        check("30R/M", Some("30/m"));
        check("10 / minute", Some("10/m"));
        check("10", Some("10/s"));
        check("5/hour", Some("5/h"));
        check("0/s", None);
        check("10/x", None);
        check("fast", None);
        check("", None);
    }
}
