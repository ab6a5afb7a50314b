//! When the next request is to be sent: by a schedule, or as soon as the one before was answered.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::{Nanos, nanos};
use crate::schedule::Schedule;

/// The work of a run.
#[derive(Debug, Clone)]
pub(crate) enum Plan {
    /// Requests at moments that do not depend on answers. Moments are multiples of the tick, if there is one.
    Open { schedule: Arc<Schedule>, tick: Option<Duration> },
    /// As many requests at a time as connections (and streams) allow.
    Closed { duration: Option<Duration>, requests: Option<u64> },
}

impl Plan {
    /// For how long requests are made, if that does not depend on the answers.
    pub(crate) fn duration(&self) -> Option<Duration> {
        match self {
            Self::Open { schedule, .. } => Some(schedule.duration()),
            Self::Closed { duration, .. } => *duration,
        }
    }

    /// How many requests are due before a moment; nothing in a closed loop.
    pub(crate) fn count_before(&self, moment: Duration) -> Option<u64> {
        match self {
            Self::Open { schedule, .. } => Some(schedule.count_before(moment)),
            Self::Closed { .. } => None,
        }
    }
}

/// The part of a plan that one thread carries out: every n-th request.
#[derive(Debug)]
pub(super) struct Source {
    plan: Plan,
    /// The number of the next request in the whole run.
    next: u64,
    n_threads: u64,
    due: Option<Nanos>,
}

impl Source {
    pub(super) fn new(plan: Plan, thread: usize, n_threads: usize) -> Self {
        let mut source = Self { plan, next: thread as u64, n_threads: n_threads as u64, due: None };
        source.due = source.due();
        source
    }

    /// When the next request is due; nothing once there are no more. In a closed loop, at once.
    pub(super) fn next_due(&self, now: Nanos) -> Option<Nanos> {
        match self.plan {
            Plan::Open { .. } => self.due,
            Plan::Closed { duration, requests } => {
                let is_over = duration.is_some_and(|end| now >= nanos(end))
                    || requests.is_some_and(|most| self.next >= most);
                (!is_over).then_some(now)
            }
        }
    }

    /// Takes the next request and returns its number.
    pub(super) fn advance(&mut self) -> u64 {
        let number = self.next;
        self.next += self.n_threads;
        self.due = self.due();
        number
    }

    fn due(&self) -> Option<Nanos> {
        match &self.plan {
            Plan::Open { schedule, tick } => {
                let due = schedule.due(self.next);
                due.map(|due| tick.map_or(due, |tick| due - due % nanos(tick)))
            }
            Plan::Closed { .. } => None,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self.plan, Plan::Closed { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dues(thread: usize, tick_ms: Option<u64>) -> Vec<Option<u64>> {
        let schedule = Schedule::parse("const(5,1s)").expect("it is a schedule");
        let tick = tick_ms.map(Duration::from_millis);
        let mut source = Source::new(Plan::Open { schedule: Arc::new(schedule), tick }, thread, 2);
        let next = |source: &mut Source| {
            let due = source.next_due(0).map(|due| due / 1_000_000);
            source.advance();
            due
        };
        (0..4).map(|_| next(&mut source)).collect()
    }

    #[test]
    fn threads_share_a_schedule() {
        assert_eq!(dues(0, None), [Some(0), Some(400), Some(800), None]);
        assert_eq!(dues(1, None), [Some(200), Some(600), None, None]);
    }

    #[test]
    fn ticks_make_bursts() {
        assert_eq!(dues(0, Some(500)), [Some(0), Some(0), Some(500), None]);
        assert_eq!(dues(1, Some(500)), [Some(0), Some(500), None, None]);
    }

    #[test]
    fn a_closed_loop_ends_by_time_or_number() {
        let mut source =
            Source::new(Plan::Closed { duration: Some(Duration::from_nanos(10)), requests: None }, 0, 1);
        assert_eq!((source.next_due(9), source.next_due(10)), (Some(9), None));
        source = Source::new(Plan::Closed { duration: None, requests: Some(2) }, 1, 2);
        assert_eq!((source.next_due(9), source.advance(), source.next_due(9)), (Some(9), 1, None));
    }
}
