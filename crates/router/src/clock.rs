//! The time of day as replies and logs show it, formatted once a second in each event loop.

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

use corral_http::response::{DateCache, HttpDate};

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
pub(crate) fn append_local_time(out: &mut Vec<u8>) {
    let second = now();
    LOCAL.with_borrow_mut(|(cached, text)| {
        if *cached != second {
            *cached = second;
            *text = jiff::Zoned::now().strftime("%d/%b/%Y:%H:%M:%S %z").to_string();
        }
        out.extend_from_slice(text.as_bytes());
    });
}
