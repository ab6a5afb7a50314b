//! The time of day as replies and logs show it, formatted once a second in each event loop, and a clock for what all
//! of them share.

pub(crate) mod deadline;

use std::cell::RefCell;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use corral_http::response::{DateCache, HttpDate};
use jiff::Timestamp;
use jiff::tz::TimeZone;

thread_local! {
    static DATE: RefCell<DateCache> = RefCell::new(DateCache::new());
    static LOCAL: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
}

/// Milliseconds on a clock that all threads share and that begins with the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Millis(pub(crate) u64);

impl Millis {
    /// An instant on that clock.
    pub(crate) fn of(instant: Instant) -> Self {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        // One second is added so that 0 is always in the past.
        Self(instant.saturating_duration_since(*START).as_millis() as u64 + 1000)
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    since_epoch().as_secs()
}

/// The time since 1970.
pub(crate) fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
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

/// The same as ISO 8601 has it, `1986-12-31T19:40:00+03:00`.
pub(crate) fn append_iso_time(second: u64, out: &mut Vec<u8>) {
    let time = Timestamp::from_second(second.cast_signed()).unwrap_or_default();
    let text = time.to_zoned(TimeZone::system()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
    out.extend_from_slice(text.as_bytes());
}
