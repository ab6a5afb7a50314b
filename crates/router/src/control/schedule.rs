//! When the control thread looks after things: every second as long as something goes on, when an idle worker is to
//! leave, and not at all in a server without requests.

use std::time::{Duration, Instant};

use crate::control_waker::INTERVAL;

/// The same where an idle worker is to leave at once.
pub(crate) const IMPATIENT: Duration = Duration::from_millis(100);

/// Workers that are to leave within this leave together.
const LEAST_PAUSE: Duration = Duration::from_millis(50);

/// When the control thread looks next.
#[derive(Debug)]
pub(crate) struct ControlSchedule {
    last: Instant,
    interval: Duration,
    /// Nothing is due, or nothing before something happens, when it is not there.
    next: Option<Instant>,
}

impl ControlSchedule {
    pub(crate) fn new(now: Instant) -> Self {
        Self { last: now, interval: INTERVAL, next: Some(now) }
    }

    /// Notes the findings of a look.
    pub(crate) fn looked(
        &mut self,
        now: Instant,
        interval: Duration,
        is_busy: bool,
        retirement: Option<Instant>,
    ) {
        self.last = now;
        self.interval = interval;
        let regular = is_busy.then(|| now + self.interval);
        let retirement = retirement.map(|at| at.max(now + LEAST_PAUSE));
        self.next = regular.into_iter().chain(retirement).min();
    }

    /// Something has happened: looks as if it were busy.
    pub(crate) fn wake(&mut self, interval: Duration) {
        self.interval = interval;
        let regular = self.last + self.interval;
        self.next = Some(self.next.map_or(regular, |next| next.min(regular)));
    }

    /// Whether it looks less often than while something goes on.
    pub(crate) fn is_resting(&self) -> bool {
        self.next.is_none_or(|next| next > self.last + self.interval)
    }

    /// Waits until it is to look. Cancel safe.
    pub(crate) async fn due(&self) {
        match self.next {
            Some(next) => tokio::time::sleep_until(next.into()).await,
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the findings at a time, and when it looks again, both in milliseconds.
    #[track_caller]
    fn check(is_busy: bool, interval: Duration, retirement: Option<u64>, expected: (Option<u64>, u64)) {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut schedule = ControlSchedule::new(start);
        schedule.looked(start, interval, is_busy, retirement.map(at));
        assert_eq!(schedule.next, expected.0.map(at));
        schedule.wake(interval);
        assert_eq!(schedule.next, Some(at(expected.1)));
        assert!(!schedule.is_resting());
    }

    #[test]
    fn it_looks_when_something_is_due_and_not_otherwise() {
        check(false, INTERVAL, None, (None, 1000));
        check(true, INTERVAL, None, (Some(1000), 1000));
        check(false, INTERVAL, Some(15_000), (Some(15_000), 1000));
        check(true, INTERVAL, Some(400), (Some(400), 400));
        check(true, IMPATIENT, Some(400), (Some(100), 100));
        check(false, IMPATIENT, Some(0), (Some(50), 50));
    }
}
