//! Where the time of a request went, as far as others than its client had it.
//!
//! Durations come from when the event loop woke up, and from what workers say: nothing here reads a clock. Parts with
//! their beginnings and ends are kept only while the request is traced.

use std::time::{Duration, Instant};

/// Most parts that are kept of one request: it is tried again for ever by no configuration that makes sense.
const MOST_PARTS: usize = 64;

/// The time of all answers that were tried.
#[derive(Debug, Default, Clone)]
pub(crate) struct Timings {
    /// Waiting for a process of an application, or for room at a server.
    pub(crate) queue: Duration,
    /// In processes of applications.
    pub(crate) worker: Duration,
    /// At servers, from the choice of each to the end of its response.
    pub(crate) upstream: Duration,
    /// The number of the part that stands for what gets the request; 0 before there is one.
    told: u32,
    parts: Vec<TimedPart>,
}

/// A request at an application.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunTimes {
    /// When the application got it.
    pub(crate) began: Instant,
    /// When a process began to run it, if one ever did.
    pub(crate) started: Option<Instant>,
    pub(crate) ended: Instant,
    /// The process, if it is known.
    pub(crate) pid: Option<u32>,
}

/// A part of a request's time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TimedPart {
    pub(crate) kind: PartKind,
    /// The application, or the group of servers.
    pub(crate) of: String,
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
}

/// Ways in which a request spends time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// Waiting for a process.
    Queue,
    /// Waiting for room at a server.
    Admission,
    /// In a process, which was told this number of the part.
    Worker { told: u32, pid: Option<u32> },
}

impl TimedPart {
    pub(crate) fn took(&self) -> Duration {
        self.ended.saturating_duration_since(self.began)
    }
}

impl Timings {
    /// Something else gets the request from now on.
    pub(crate) fn begin_part(&mut self) {
        self.told += 1;
    }

    /// The number of the part that stands for what gets the request.
    pub(crate) fn told(&self) -> u32 {
        self.told
    }

    /// The parts that were kept, in their order.
    pub(crate) fn parts(&self) -> &[TimedPart] {
        &self.parts
    }

    /// An application had the request; its name is given where that is to be kept.
    pub(crate) fn note_run(&mut self, times: RunTimes, kept_for: Option<&str>) {
        let RunTimes { began, started, ended, pid } = times;
        let begun = started.unwrap_or(ended);
        self.queue += begun.saturating_duration_since(began);
        self.worker += ended.saturating_duration_since(begun);
        if let Some(application) = kept_for {
            self.keep(PartKind::Queue, application, (began, begun));
            if started.is_some() {
                self.keep(PartKind::Worker { told: self.told, pid }, application, (begun, ended));
            }
        }
    }

    /// The request has waited for room at a server of a group, whose name is given where that is to be kept.
    pub(crate) fn note_admission(&mut self, since: Instant, until: Instant, kept_for: Option<&str>) {
        self.queue += until.saturating_duration_since(since);
        if let Some(group) = kept_for {
            self.keep(PartKind::Admission, group, (since, until));
        }
    }

    fn keep(&mut self, kind: PartKind, of: &str, (began, ended): (Instant, Instant)) {
        if self.parts.len() < MOST_PARTS {
            self.parts.push(TimedPart { kind, of: of.to_owned(), began, ended });
        }
    }

    /// Queue, worker and upstream of a request that has taken so long: no more than that together, as what workers say
    /// may be wrong.
    pub(crate) fn within(&self, took: Duration) -> [Duration; 3] {
        let mut left = took;
        [self.queue, self.worker, self.upstream].map(|part| {
            let part = part.min(left);
            left -= part;
            part
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn run(began: Instant, started: Option<Instant>, ended: Instant) -> RunTimes {
        RunTimes { began, started, ended, pid: Some(7) }
    }

    #[test]
    fn runs_are_queue_and_worker() {
        let (mut timings, now) = (Timings::default(), Instant::now());
        timings.note_run(run(now, Some(now + SECOND), now + 3 * SECOND), None);
        // None has begun to run the second one.
        timings.note_run(run(now + 3 * SECOND, None, now + 7 * SECOND), None);
        assert_eq!(
            (timings.queue, timings.worker, timings.upstream),
            (5 * SECOND, 2 * SECOND, Duration::ZERO)
        );
        assert!(timings.parts().is_empty());
    }

    #[test]
    fn parts_are_kept_for_traces() {
        let (mut timings, now) = (Timings::default(), Instant::now());
        timings.begin_part();
        timings.note_run(run(now, Some(now + SECOND), now + 2 * SECOND), Some("shop"));
        timings.note_admission(now + 2 * SECOND, now + 3 * SECOND, Some("group"));
        timings.note_run(run(now, None, now), Some("shop"));
        let kinds: Vec<_> = timings.parts().iter().map(|part| (part.kind, part.of.as_str())).collect();
        let worker = PartKind::Worker { told: 1, pid: Some(7) };
        assert_eq!(
            kinds,
            [
                (PartKind::Queue, "shop"),
                (worker, "shop"),
                (PartKind::Admission, "group"),
                (PartKind::Queue, "shop")
            ]
        );
        (0..1000).for_each(|_| timings.note_admission(now, now, Some("group")));
        assert_eq!(timings.parts().len(), MOST_PARTS);
    }

    #[test]
    fn instants_that_go_back_are_nothing() {
        let (mut timings, now) = (Timings::default(), Instant::now());
        timings.note_run(run(now + SECOND, Some(now), now), None);
        assert_eq!((timings.queue, timings.worker), (Duration::ZERO, Duration::ZERO));
    }

    #[test]
    fn parts_are_no_longer_than_the_whole() {
        let timings =
            Timings { queue: SECOND, worker: 3600 * SECOND, upstream: SECOND, ..Timings::default() };
        assert_eq!(timings.within(3 * SECOND), [SECOND, 2 * SECOND, Duration::ZERO]);
        assert_eq!(timings.within(Duration::ZERO), [Duration::ZERO; 3]);
    }
}
