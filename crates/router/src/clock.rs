//! The time of day as replies and logs show it, formatted once a second in each event loop.

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

use corral_http::response::{DateCache, HttpDate};
use jiff::Timestamp;
use jiff::tz::TimeZone;

thread_local! {
    static DATE: RefCell<DateCache> = RefCell::new(DateCache::new());
    static LOCAL: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The current `Date`.
pub(crate) fn with_date<T>(show: impl FnOnce(&HttpDate) -> T) -> T {
    DATE.with_borrow_mut(|cache| show(cache.at(now())))
}

/// The local time as access logs show it, `31/Dec/1986:19:40:00 +0300`.
pub(crate) fn append_local_time(second: u64, out: &mut Vec<u8>) {
    LOCAL.with_borrow_mut(|(cached, text)| {
        if *cached != second {
            *cached = second;
            let time = Timestamp::from_second(second.cast_signed()).unwrap_or_default();
            *text = time.to_zoned(TimeZone::system()).strftime("%d/%b/%Y:%H:%M:%S %z").to_string();
        }
        out.extend_from_slice(text.as_bytes());
    });
}
