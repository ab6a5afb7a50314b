//! `@every` with its duration: `30s`, `1h30m`, `2d`.

use std::time::Duration;

use super::ScheduleError;

/// Reads one or more numbers with a unit each.
pub(super) fn parse(text: &str) -> Result<Duration, ScheduleError> {
    let mut rest = text.trim();
    if !text.starts_with(char::is_whitespace) || rest.is_empty() {
        return Err(ScheduleError::Duration);
    }
    let mut nanos: u128 = 0;
    while !rest.is_empty() {
        let (piece, behind) = piece(rest)?;
        nanos = nanos.checked_add(piece).ok_or(ScheduleError::Range)?;
        rest = behind;
    }
    let range = LEAST.as_nanos()..=MOST.as_nanos();
    let nanos = u64::try_from(nanos).ok().filter(|nanos| range.contains(&u128::from(*nanos)));
    nanos.map(Duration::from_nanos).ok_or(ScheduleError::Range)
}

/// The nanoseconds of the first number with its unit, and what is behind them.
fn piece(text: &str) -> Result<(u128, &str), ScheduleError> {
    let end = text.find(|c: char| !c.is_ascii_digit()).ok_or(ScheduleError::Duration)?;
    let (number, rest) = text.split_at(end);
    let end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(end);
    let (_, nanos) = UNITS.iter().find(|(name, _)| *name == unit).ok_or(ScheduleError::Duration)?;
    if number.is_empty() {
        return Err(ScheduleError::Duration);
    }
    let number: u128 = number.parse().map_err(|_| ScheduleError::Range)?;
    Ok((number.checked_mul(*nanos).ok_or(ScheduleError::Range)?, rest))
}

const UNITS: &[(&str, u128)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

const LEAST: Duration = Duration::from_secs(1);

const MOST: Duration = Duration::from_hours(366 * 24);
