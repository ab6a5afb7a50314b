//! How long a server takes to answer, on average over its last answers. All event loops write to it; one answer more or
//! less makes no difference.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::Millis;

/// One answer counts for so much of the average.
const PART: u64 = 8;

/// An average is half as much after this time without an answer: a server that was slow once gets another chance.
const HALF_LIFE: u64 = 10_000;

/// The average of one server.
#[derive(Debug, Default)]
pub(crate) struct ResponseTimes {
    /// Microseconds; 0 as long as there was no answer.
    average: AtomicU64,
    /// The time of the last answer, in milliseconds.
    noted: AtomicU64,
}

impl ResponseTimes {
    /// Notes the time from the request to the head of its response.
    pub(crate) fn note(&self, time: Duration, now: Millis) {
        let time = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).clamp(1, LONGEST);
        let average = match self.average(now) {
            0 => time,
            average => (average * (PART - 1) + time).div_ceil(PART),
        };
        self.average.store(average, Ordering::Relaxed);
        self.noted.store(now.0, Ordering::Relaxed);
    }

    /// In microseconds; 0 when nothing is known.
    pub(crate) fn average(&self, now: Millis) -> u64 {
        let age = now.0.saturating_sub(self.noted.load(Ordering::Relaxed));
        let n_halvings = u32::try_from(age / HALF_LIFE).unwrap_or(u32::MAX);
        self.average.load(Ordering::Relaxed).checked_shr(n_halvings).unwrap_or_default()
    }
}

/// A day.
const LONGEST: u64 = 86_400_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_answers_count() {
        let times = ResponseTimes::default();
        let now = Millis(5000);
        assert_eq!(times.average(now), 0);
        times.note(Duration::from_micros(800), now);
        assert_eq!(times.average(now), 800);
        times.note(Duration::from_micros(1600), now);
        assert_eq!(times.average(now), 900);
        (0..100).for_each(|_| times.note(Duration::from_micros(50), now));
        assert!((50..60).contains(&times.average(now)), "{}", times.average(now));
        times.note(Duration::ZERO, now);
        times.note(Duration::MAX, now);
    }

    #[test]
    fn an_old_average_fades() {
        let times = ResponseTimes::default();
        times.note(Duration::from_micros(1000), Millis(5000));
        for (after, expect) in [(0, 1000), (9_999, 1000), (10_000, 500), (30_000, 125), (100_000_000, 0)] {
            assert_eq!(times.average(Millis(5000 + after)), expect, "{after}");
        }
    }
}
