//! How many processes a queue needs: more at once, fewer when it has been shorter for a while.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use corral_config::plan::AppSpec;
use corral_ipc::message::QueueStatus;

/// The processes that a queue needs.
#[derive(Debug)]
pub(super) struct QueueDemand {
    per_process: NonZeroU32,
    least: u32,
    most: u32,
    /// A shorter queue takes no processes away before this time is over.
    calm: Duration,
    wanted: u32,
    lull: Option<Lull>,
    length: Option<u64>,
    /// Why the length is not known now.
    failure: Option<String>,
}

/// A time in which fewer processes would do.
#[derive(Debug, Clone, Copy)]
struct Lull {
    since: Instant,
    /// The most that were needed in it.
    needed: u32,
}

impl QueueDemand {
    /// Nothing for an application without a queue.
    pub(super) fn of(spec: &AppSpec) -> Option<Self> {
        let processes = &spec.processes;
        let queue = spec.queue()?;
        Some(Self {
            per_process: queue.per_process,
            least: processes.spare,
            most: processes.max.get(),
            calm: processes.idle_timeout,
            wanted: processes.spare,
            lull: None,
            length: None,
            failure: None,
        })
    }

    pub(super) fn wanted(&self) -> u32 {
        self.wanted
    }

    /// The queue has this length, or it cannot be found out, which changes nothing.
    pub(super) fn measured(&mut self, length: Result<u64, String>, now: Instant) {
        match length {
            Ok(length) => {
                (self.length, self.failure) = (Some(length), None);
                self.follow(self.needed_for(length), now);
            }
            Err(reason) => (self.lull, self.failure) = (None, Some(reason)),
        }
    }

    fn needed_for(&self, length: u64) -> u32 {
        let needed = length.div_ceil(u64::from(self.per_process.get()));
        u32::try_from(needed).unwrap_or(u32::MAX).max(self.least).min(self.most)
    }

    fn follow(&mut self, needed: u32, now: Instant) {
        if needed >= self.wanted {
            (self.wanted, self.lull) = (needed, None);
            return;
        }
        let lull = self.lull.get_or_insert(Lull { since: now, needed });
        lull.needed = lull.needed.max(needed);
        if now.duration_since(lull.since) >= self.calm {
            self.wanted = lull.needed;
            self.lull = (needed < self.wanted).then_some(Lull { since: now, needed });
        }
    }

    pub(super) fn status(&self) -> QueueStatus {
        QueueStatus { length: self.length, wanted: self.wanted, last_error: self.failure.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From one to eight processes, one for ten jobs, a minute of calm. Pairs of seconds and a length come in, the
    /// wanted processes after each come out.
    #[track_caller]
    fn check(measured: &[(u64, Result<u64, ()>)], expected: &[u32]) {
        let mut demand = QueueDemand {
            per_process: NonZeroU32::new(10).unwrap(),
            least: 1,
            most: 8,
            calm: Duration::from_secs(60),
            wanted: 1,
            lull: None,
            length: None,
            failure: None,
        };
        let begin = Instant::now();
        let wanted = measured.iter().map(|(seconds, length)| {
            let length = length.map_err(|()| "it is broken".to_owned());
            demand.measured(length, begin + Duration::from_secs(*seconds));
            demand.wanted()
        });
        assert_eq!(wanted.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_longer_queue_has_more_processes_at_once() {
        check(&[(0, Ok(0)), (1, Ok(1)), (2, Ok(10)), (3, Ok(11)), (4, Ok(80))], &[1, 1, 1, 2, 8]);
        check(&[(0, Ok(81)), (1, Ok(u64::MAX))], &[8, 8]);
    }

    #[test]
    fn a_shorter_queue_has_fewer_after_a_calm_time() {
        check(&[(0, Ok(80)), (1, Ok(0)), (60, Ok(0)), (61, Ok(0))], &[8, 8, 8, 1]);
        // The most of that time is what remains.
        check(
            &[(0, Ok(80)), (1, Ok(0)), (30, Ok(35)), (61, Ok(0)), (120, Ok(0)), (121, Ok(0))],
            &[8, 8, 8, 4, 4, 1],
        );
        check(&[(0, Ok(80)), (1, Ok(0)), (30, Ok(80)), (61, Ok(0)), (121, Ok(0))], &[8, 8, 8, 8, 1]);
    }

    #[test]
    fn an_unknown_length_changes_nothing() {
        check(&[(0, Ok(80)), (1, Err(())), (100, Err(())), (101, Ok(0)), (161, Ok(0))], &[8, 8, 8, 8, 1]);
        check(&[(0, Ok(80)), (1, Ok(0)), (60, Err(())), (61, Ok(0)), (120, Ok(0))], &[8, 8, 8, 8, 8]);
    }
}
