//! Times as people and other programs read them, and as records keep them.

use std::time::{Duration, SystemTime};

/// In the form of RFC 3339, in UTC and whole seconds.
pub(crate) fn text(time: SystemTime) -> String {
    let seconds = i64::try_from(seconds(time)).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(seconds).map_or_else(|_| "never".to_owned(), |time| time.to_string())
}

/// Seconds since 1970; a time before that counts as 1970.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |passed| passed.as_secs())
}

/// As `seconds` gave it. What no clock can show is a thousand years ahead.
pub(crate) fn of_seconds(seconds: u64) -> SystemTime {
    const FAR: Duration = Duration::from_secs(30_000_000_000);
    SystemTime::UNIX_EPOCH
        .checked_add(Duration::from_secs(seconds).min(FAR))
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The end of a pause; 1970 if it is further ahead than such a pause may last, as the clock was set back since.
pub(crate) fn unless_beyond(until: SystemTime, now: SystemTime, longest: Duration) -> SystemTime {
    if until > now + longest { SystemTime::UNIX_EPOCH } else { until }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        assert_eq!(text(of_seconds(1_790_000_000)), "2026-09-21T14:13:20Z");
        assert_eq!(seconds(of_seconds(1_790_000_000)), 1_790_000_000);
        assert_eq!(text(of_seconds(u64::MAX)), "2920-08-30T05:20:00Z");
    }
}
