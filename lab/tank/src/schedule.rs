//! The open loop's plan: at which moment each request is due. Counts are exact integers, so parts that follow each
//! other do not drift, and a moment is computed from the number of its request and not from the moment before.

mod parse;

use std::time::Duration;

use crate::clock::Nanos;

/// Thousandths of a request per second.
type MilliRate = u64;

/// Half a millionth of a request: the sum of two rates in thousandths, multiplied by milliseconds, counts them.
const HALVES: u128 = 2_000_000;

/// A rate that is constant or changes evenly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    from: MilliRate,
    to: MilliRate,
    duration_ms: u64,
    /// The sum of the durations before this part.
    start_ms: u64,
    /// Requests before this part, in [`HALVES`].
    before: u128,
}

impl Part {
    /// Requests that the first milliseconds of this part make due, in [`HALVES`].
    fn halves(&self, elapsed_ms: u64) -> u128 {
        let elapsed = u128::from(elapsed_ms);
        let even = 2 * u128::from(self.from) * elapsed;
        let change =
            u128::from(self.to.abs_diff(self.from)) * elapsed * elapsed / u128::from(self.duration_ms);
        if self.to >= self.from { even + change } else { even - change }
    }

    /// The time from the start of this part until so many requests were due: the root of a quadratic equation, in the
    /// form that loses no digits where the rate hardly changes.
    fn seconds_until(&self, requests: f64) -> f64 {
        let (from, to) = (self.from as f64 / 1e3, self.to as f64 / 1e3);
        let change = (to - from) / (self.duration_ms as f64 / 1e3);
        let rate = (from * from + 2.0 * change * requests).max(0.0).sqrt();
        if requests == 0.0 { 0.0 } else { 2.0 * requests / (from + rate) }
    }
}

/// Parts that follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schedule {
    parts: Vec<Part>,
    text: String,
}

impl Schedule {
    /// The number of all requests. One that would be due at the very end is not among them.
    pub(crate) fn count(&self) -> u64 {
        self.parts.last().map_or(0, |part| requests(part.before + part.halves(part.duration_ms)))
    }

    pub(crate) fn duration(&self) -> Duration {
        Duration::from_millis(self.parts.last().map_or(0, |part| part.start_ms + part.duration_ms))
    }

    /// The moment at which a request is due, from the start; requests are numbered from 0.
    pub(crate) fn due(&self, number: u64) -> Option<Nanos> {
        let halves = u128::from(number) * HALVES;
        let at = self.parts.partition_point(|part| part.before + part.halves(part.duration_ms) <= halves);
        let part = self.parts.get(at)?;
        let requests = (halves - part.before) as f64 / HALVES as f64;
        Some(part.start_ms * 1_000_000 + (part.seconds_until(requests) * 1e9).round() as Nanos)
    }

    /// How many requests are due before a moment.
    pub(crate) fn count_before(&self, moment: Duration) -> u64 {
        let ms = u64::try_from(moment.as_millis()).unwrap_or(u64::MAX);
        let begun = self.parts.partition_point(|part| part.start_ms < ms);
        let part = begun.checked_sub(1).map(|last| &self.parts[last]);
        part.map_or(0, |part| requests(part.before + part.halves(part.duration_ms.min(ms - part.start_ms))))
    }

    /// The words that the schedule was read from.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// Whole requests, a begun one included: request 0 is due as soon as there is any.
fn requests(halves: u128) -> u64 {
    u64::try_from(halves.div_ceil(HALVES)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(text: &str) -> Schedule {
        Schedule::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// The number of requests, and the milliseconds at which some of them are due.
    #[track_caller]
    fn check(text: &str, count: u64, due: &[(u64, f64)]) {
        let schedule = schedule(text);
        assert_eq!(schedule.count(), count, "{text}");
        for (number, ms) in due {
            let found = schedule.due(*number).expect("it is in the schedule") as f64 / 1e6;
            assert!((found - ms).abs() < 2e-6, "{text}: request {number} is due at {found} ms, not {ms}");
        }
        assert_eq!(schedule.due(count), None, "{text}");
        assert_eq!(schedule.count_before(schedule.duration()), count, "{text}");
    }

    #[test]
    fn a_constant_rate_is_even() {
        check("const(10,1s)", 10, &[(0, 0.0), (1, 100.0), (9, 900.0)]);
        check("const(20000,10s)", 200_000, &[(1, 0.05), (199_999, 9999.95)]);
        check("const(0.1,30s)", 3, &[(1, 10_000.0), (2, 20_000.0)]);
        check("const(1.5,1s)", 2, &[(1, 666.666_667)]);
    }

    #[test]
    fn a_line_is_the_root_of_its_sum() {
        // After t seconds, t² / 2 requests were due.
        check("line(0,10,10s)", 50, &[(0, 0.0), (2, 2000.0), (8, 4000.0), (32, 8000.0)]);
        check("line(10,0,10s)", 50, &[(0, 0.0), (18, 2000.0), (48, 8000.0)]);
        check("line(1,1000,5m)", 150_150, &[]);
        check("line(5,5,2s)", 10, &[(5, 1000.0)]);
    }

    #[test]
    fn steps_stand_one_after_the_other() {
        check("step(100,300,100,2s)", 1200, &[(0, 0.0), (200, 2000.0), (600, 4000.0)]);
        check("step(3,1,1,1s)", 6, &[(3, 1000.0), (5, 2000.0)]);
        check("step(1,4,2,1s)", 4, &[(1, 1000.0)]);
    }

    #[test]
    fn parts_carry_what_is_begun() {
        check("const(0.5,1s) const(0.5,1s)", 1, &[(0, 0.0)]);
        check("const(0.5,1s) const(1,2s)", 3, &[(1, 1500.0), (2, 2500.0)]);
        check("const(10,1s) const(0,5s) const(10,1s)", 20, &[(10, 6000.0)]);
    }

    #[test]
    fn moments_never_go_back() {
        let schedule = schedule("line(1,500,3s) step(500,100,200,1s) line(100,0,2s)");
        let due: Vec<_> = (0..schedule.count()).map(|number| schedule.due(number)).collect();
        assert!(due.is_sorted() && due.iter().all(Option::is_some));
    }

    #[test]
    fn a_day_loses_no_digit() {
        let schedule = schedule("const(20000,24h)");
        assert_eq!(schedule.count(), 1_728_000_000);
        assert_eq!(schedule.due(1_727_999_999), Some(86_399_999_950_000));
    }

    #[test]
    fn requests_before_a_moment_are_counted() {
        let schedule = schedule("line(0,10,10s) const(10,1s)");
        let counts =
            [0, 2000, 10_000, 10_500, 99_000].map(|ms| schedule.count_before(Duration::from_millis(ms)));
        assert_eq!(counts, [0, 2, 50, 55, 60]);
    }
}
