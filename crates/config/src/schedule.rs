//! Times at which something is to run, as cron writes them: `*/5 * * * *`, `@hourly`, `@every 30s`.
//!
//! Where a clock is set for daylight saving, times are what cron makes of them. A fixed time that does not exist runs
//! as soon as it is over, and one that comes twice runs once. What has a `*` as its minute or hour runs by the clock as
//! it goes: it skips what does not exist, and runs twice at what comes twice.

mod every;

use std::time::Duration;

use croner::Cron;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
pub use jiff::Timestamp;
use jiff::Zoned;
use jiff::civil::DateTime;
use jiff::tz::AmbiguousOffset;
pub use jiff::tz::TimeZone;

/// Times at which something is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schedule {
    /// Again and again, this long after it has begun to.
    Every(Duration),
    /// At times of the clock.
    Cron(Box<CronTimes>),
}

/// Five fields of cron.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronTimes {
    fields: Cron,
    /// Neither minute nor hour is a `*`.
    is_fixed: bool,
}

/// Why a text is not a schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// As cron sees it.
    #[error("{0}")]
    Fields(String),
    /// A date that no calendar has.
    #[error("there is no such day")]
    Never,
    /// Behind `@every`.
    #[error("\"@every\" takes a duration such as 30s, 15m or 1h30m")]
    Duration,
    /// Too short, or too long.
    #[error("\"@every\" takes a duration from 1s to 366d")]
    Range,
    /// A word of cron that a server has no use for, such as `@reboot`.
    #[error("a time is expected, and not the start of the server")]
    Reboot,
}

impl Schedule {
    /// Reads five fields, a name such as `@daily`, or `@every` with a duration.
    ///
    /// # Errors
    /// When it is none of these, or never comes.
    pub fn parse(text: &str) -> Result<Self, ScheduleError> {
        let text = text.trim();
        if let Some(duration) = text.strip_prefix("@every") {
            return every::parse(duration).map(Self::Every);
        }
        if text.starts_with('@') {
            return named(text).and_then(cron);
        }
        cron(text)
    }

    /// The first time after `after`.
    #[must_use]
    pub fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Every(interval) => after.checked_add(*interval).ok(),
            Self::Cron(times) if times.is_fixed => times.next_fixed(after, zone),
            Self::Cron(times) => times.next_by_clock(after, zone),
        }
    }

    /// Whether times are fixed ones of the day.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        matches!(self, Self::Cron(times) if times.is_fixed)
    }
}

/// The fields that a name stands for.
fn named(text: &str) -> Result<&'static str, ScheduleError> {
    match text {
        "@yearly" | "@annually" => Ok("0 0 1 1 *"),
        "@monthly" => Ok("0 0 1 * *"),
        "@weekly" => Ok("0 0 * * 0"),
        "@daily" | "@midnight" => Ok("0 0 * * *"),
        "@hourly" => Ok("0 * * * *"),
        "@reboot" => Err(ScheduleError::Reboot),
        _ => Err(ScheduleError::Fields(format!(
            "there is \"@hourly\", \"@daily\", \"@weekly\", \"@monthly\", \"@yearly\" and \"@every 30s\", and not \
            \"{text}\""
        ))),
    }
}

fn cron(text: &str) -> Result<Schedule, ScheduleError> {
    let n_fields = text.split_whitespace().count();
    if n_fields != 5 {
        let detail = format!(
            "five fields are expected (minute, hour, day of the month, month, day of the week), and there are \
            {n_fields}"
        );
        return Err(ScheduleError::Fields(detail));
    }
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    let fields = parser.parse(text).map_err(|error| ScheduleError::Fields(words(error)))?;
    let is_fixed = text.split_whitespace().take(2).all(|field| !field.starts_with('*'));
    // February has 29 days within any eight years.
    fields.find_next_occurrence(&BEGIN, true).map_err(|_| ScheduleError::Never)?;
    Ok(Schedule::Cron(Box::new(CronTimes { fields, is_fixed })))
}

fn words(error: CronError) -> String {
    match error {
        CronError::InvalidPattern(detail)
        | CronError::IllegalCharacters(detail)
        | CronError::ComponentError(detail) => detail,
        other => other.to_string(),
    }
}

/// Where it is tried whether anything ever comes.
const BEGIN: DateTime = jiff::civil::date(2024, 1, 1).at(0, 0, 0, 0);

/// Times of one gap or of one hour that comes twice, and some.
const MOST_TIMES: usize = 1500;

/// Changes of a clock that are gone through before the search is given up: zones have two a year.
const MOST_CHANGES: usize = 100;

impl CronTimes {
    fn next_fixed(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut time = after.to_zoned(zone.clone()).datetime();
        for _ in 0..MOST_TIMES {
            time = self.fields.find_next_occurrence(&time, false).ok()?;
            let at = instant(time, zone)?;
            if at > after {
                return Some(at);
            }
        }
        None
    }

    /// Goes through the times between two changes of the clock, one such span after the other.
    fn next_by_clock(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let (mut begin, mut is_inclusive) = (after, false);
        for _ in 0..MOST_CHANGES {
            let offset = zone.to_offset(begin);
            let time = self.fields.find_next_occurrence(&offset.to_datetime(begin), is_inclusive).ok()?;
            let at = offset.to_timestamp(time).ok()?;
            let Some(change) = zone.following(begin).next().map(|change| change.timestamp()) else {
                return Some(at);
            };
            if at < change {
                return Some(at);
            }
            (begin, is_inclusive) = (change, true);
        }
        None
    }
}

/// The instant of a fixed time: the first of two, and the end of the gap that it is in.
fn instant(time: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    let ambiguous = zone.to_ambiguous_timestamp(time);
    match ambiguous.offset() {
        AmbiguousOffset::Gap { before, .. } => {
            // By the clock before it was set, the time is behind the change.
            let behind = before.to_timestamp(time).ok()?;
            let change = zone.preceding(behind.checked_add(Duration::from_nanos(1)).ok()?).next();
            change.map(|change| change.timestamp())
        }
        _ => ambiguous.compatible().ok(),
    }
}

/// The zone of this name, as the system or this executable knows it.
#[must_use]
pub fn zone(name: &str) -> Option<TimeZone> {
    TimeZone::get(name).ok()
}

/// A moment as a person in this zone writes it, to the second.
#[must_use]
pub fn written(at: Timestamp, zone: &TimeZone) -> String {
    let at = Zoned::new(at, zone.clone());
    at.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

#[cfg(test)]
mod tests;
