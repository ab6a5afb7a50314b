//! Counts of a part of a run: of a second of one thread, and added up.

use std::collections::BTreeMap;

use crate::clock::Nanos;
use crate::failure::Failure;
use crate::histogram::Times;
use crate::outcome::Outcome;

#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    /// Requests that connections took.
    pub(crate) sent: u64,
    /// Whole answers, whatever they say.
    pub(crate) answered: u64,
    /// Requests sent that had to wait until a connection was free.
    pub(crate) waited: u64,
    /// Requests sent and answers that happened while the plan lasted.
    pub(crate) sent_in_time: u64,
    pub(crate) answered_in_time: u64,
    failures: [u64; Failure::ALL.len()],
    statuses: BTreeMap<u16, u64>,
    /// From when a request was due; requests that ran into the timeout count with the time until then.
    pub(crate) response: Times,
    /// From when a connection took a request.
    pub(crate) service: Times,
    /// How late requests were sent although a connection was free: the generator's own doing.
    pub(crate) lag: Times,
    pub(crate) bytes_out: u64,
    pub(crate) bytes_in: u64,
    /// Connections that were begun.
    pub(crate) opened: u64,
}

impl Tally {
    pub(crate) fn record_sent(&mut self, is_in_time: bool) {
        self.sent += 1;
        self.sent_in_time += u64::from(is_in_time);
    }

    /// Counts the end of a request, which may have come after that of the plan.
    pub(crate) fn record(&mut self, outcome: &Outcome, is_in_time: bool) {
        self.bytes_out += outcome.size_out;
        self.bytes_in += outcome.size_in;
        if let Some(failure) = outcome.failure {
            self.failures[failure as usize] += 1;
        }
        let is_answered = outcome.is_answered();
        if is_answered {
            self.answered += 1;
            self.answered_in_time += u64::from(is_in_time);
            *self.statuses.entry(outcome.status).or_default() += 1;
        }
        let is_timeout = matches!(outcome.failure, Some(Failure::Timeout | Failure::NotSent));
        if is_answered || is_timeout {
            self.response.record(outcome.response_time());
        }
        if is_answered || outcome.failure == Some(Failure::Timeout) {
            self.service.record(outcome.service_time());
        }
    }

    pub(crate) fn record_lag(&mut self, lag: Nanos) {
        self.lag.record(lag);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.answered += other.answered;
        self.sent_in_time += other.sent_in_time;
        self.answered_in_time += other.answered_in_time;
        self.waited += other.waited;
        self.bytes_out += other.bytes_out;
        self.bytes_in += other.bytes_in;
        self.opened += other.opened;
        for (sum, failures) in self.failures.iter_mut().zip(other.failures) {
            *sum += failures;
        }
        for (status, n) in &other.statuses {
            *self.statuses.entry(*status).or_default() += n;
        }
        self.response.add(&other.response);
        self.service.add(&other.service);
        self.lag.add(&other.lag);
    }

    pub(crate) fn failed(&self) -> u64 {
        self.failures.iter().sum()
    }

    /// Requests that ended in any way.
    pub(crate) fn ended(&self) -> u64 {
        let unanswered = Failure::ALL.iter().filter(|kind| !kind.is_answer());
        self.answered + unanswered.map(|kind| self.failures(*kind)).sum::<u64>()
    }

    pub(crate) fn good(&self) -> u64 {
        self.ended() - self.failed()
    }

    pub(crate) fn failures(&self, kind: Failure) -> u64 {
        self.failures[kind as usize]
    }

    pub(crate) fn statuses(&self) -> &BTreeMap<u16, u64> {
        &self.statuses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Job, Marks};

    fn outcome(failure: Option<Failure>, status: u16) -> Outcome {
        let job = Job { request: 0, due: 1_000, taken: 3_000, place: 0, has_waited: false, n_returned: 0 };
        let marks = Marks::default();
        Outcome { job, marks, end: 10_000, failure, status, size_out: 5, size_in: 7 }
    }

    #[test]
    fn every_end_is_counted_once() {
        let mut second = Tally::default();
        for (failure, status) in [
            (None, 200),
            (Some(Failure::Status), 500),
            (Some(Failure::Timeout), 0),
            (Some(Failure::NotSent), 0),
            (Some(Failure::Refused), 0),
        ] {
            second.record(&outcome(failure, status), status == 200);
        }
        let mut sum = Tally::default();
        sum.add(&second);
        sum.add(&second);
        assert_eq!((sum.ended(), sum.answered, sum.good(), sum.failed()), (10, 4, 2, 8));
        assert_eq!((sum.answered_in_time, sum.failures(Failure::Refused)), (2, 2));
        assert_eq!(Vec::from_iter(sum.statuses()), [(&200, &2), (&500, &2)]);
        assert_eq!((sum.response.count(), sum.service.count()), (8, 6));
        assert_eq!((sum.response.max().as_micros(), sum.service.max().as_micros()), (9, 7));
        assert_eq!((sum.bytes_out, sum.bytes_in), (50, 70));
    }
}
