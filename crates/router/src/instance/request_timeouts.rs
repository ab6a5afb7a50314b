//! For how long a client's request waits: for a worker, and for a sign of life of the one that runs it.

use std::time::Duration;

use corral_config::plan::Limits;

use super::failure::AppFailure;

/// The rest of a request's time. Pure: it is told what time went by.
#[derive(Debug, Clone)]
pub(crate) struct RequestTimeouts {
    /// `limits.timeout`
    silence: Option<Duration>,
    silence_left: Option<Duration>,
    /// `limits.queue_timeout`
    queue: Option<Duration>,
    queue_left: Option<Duration>,
}

impl RequestTimeouts {
    pub(super) fn new(limits: &Limits, may_be_queued: bool) -> Self {
        let queue = limits.queue_timeout.filter(|_| may_be_queued);
        Self { silence: limits.timeout, silence_left: limits.timeout, queue, queue_left: queue }
    }

    /// How long to wait before asking again; for ever if there is no limit.
    pub(crate) fn step(&self) -> Option<Duration> {
        self.silence_left.into_iter().chain(self.queue_left).min()
    }

    /// A step has gone by without an answer. Returns why to wait no longer.
    pub(crate) fn end_step(&mut self, is_queued: bool) -> Option<AppFailure> {
        let step = self.step()?;
        for left in [&mut self.silence_left, &mut self.queue_left].into_iter().flatten() {
            *left -= step;
        }
        if !is_queued {
            self.queue_left = None;
            return self
                .silence
                .filter(|_| self.silence_left == Some(Duration::ZERO))
                .map(AppFailure::TimedOut);
        }
        if self.silence_left == Some(Duration::ZERO) {
            // That limit is for the application, which has not seen this request.
            self.silence_left = self.silence;
        }
        self.queue.filter(|_| self.queue_left == Some(Duration::ZERO)).map(AppFailure::QueueTimedOut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `queued` says for each step whether the request was still queued at its end.
    #[track_caller]
    fn check(timeout: u64, queue_timeout: u64, queued: &[bool], expect: &str) {
        let limit = |seconds| Some(Duration::from_secs(seconds)).filter(|limit| !limit.is_zero());
        let limits =
            Limits { timeout: limit(timeout), queue_timeout: limit(queue_timeout), ..Limits::default() };
        let mut timeouts = RequestTimeouts::new(&limits, true);
        let mut steps = Vec::new();
        for &is_queued in queued {
            let Some(step) = timeouts.step() else { break };
            steps.push(step.as_secs().to_string());
            match timeouts.end_step(is_queued) {
                Some(AppFailure::TimedOut(_)) => steps.push("timeout".to_owned()),
                Some(AppFailure::QueueTimedOut(_)) => steps.push("queue".to_owned()),
                Some(failure) => panic!("{failure}"),
                None => {}
            }
        }
        assert_eq!(steps.join(" "), expect, "{timeout} {queue_timeout} {queued:?}");
    }

    #[test]
    fn without_limits_it_is_endless() {
        check(0, 0, &[true], "");
    }

    #[test]
    fn the_application_has_its_time_from_when_it_has_the_request() {
        check(5, 0, &[false], "5 timeout");
        check(5, 0, &[true, true, false], "5 5 5 timeout");
    }

    #[test]
    fn the_queue_has_a_limit_of_its_own() {
        check(0, 3, &[true], "3 queue");
        check(0, 3, &[false, false], "3");
        check(5, 3, &[true], "3 queue");
        check(5, 3, &[false, false], "3 2 timeout");
        check(2, 5, &[true, true, true], "2 2 1 queue");
    }
}
