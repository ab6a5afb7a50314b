//! The results of a run: figures that are computed from its counts, for a person and as JSON.

mod json;
mod text;
mod units;

use std::time::Duration;

pub(crate) use self::json::json;
pub(crate) use self::text::{progress, text};

use crate::engine::Plan;
use crate::run::Summary;

/// How late a request may be sent without that being told, and the share of requests that may be later.
const LATE: Duration = Duration::from_millis(1);
const MOST_LATE: f64 = 0.01;

/// The share of late requests from which the generator is the limit, whatever it made up for.
const MOST_LATE_OF_LIMIT: f64 = 0.5;

/// How many requests may be missing at the end of the plan.
const MOST_ERROR: f64 = 0.005;

/// The share of its time that a thread may be busy.
const MOST_BUSY: f64 = 0.95;

/// The percentiles that are told.
pub(crate) const PERCENTILES: &[f64] = &[50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// How a run was made, in words.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) what: String,
    pub(crate) how: String,
    /// Only bodies have sizes, as heads are compressed.
    pub(crate) is_http2: bool,
}

/// A run with its plan.
#[derive(Debug)]
pub(crate) struct Results<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) plan: &'a Plan,
    pub(crate) summary: &'a Summary,
}

impl Results<'_> {
    /// Requests that were due until the run ended; nothing in a closed loop.
    fn planned(&self) -> Option<u64> {
        self.plan.count_before(self.time())
    }

    /// For how long requests were due, or made.
    fn time(&self) -> Duration {
        let elapsed = self.summary.elapsed;
        match (self.plan, self.plan.duration()) {
            // The last answer may come before the end of the time in which a request could be due.
            (Plan::Open { .. }, Some(planned)) if self.summary.stop.is_none() => planned,
            (_, Some(planned)) => planned.min(elapsed),
            (_, None) => elapsed,
        }
    }

    fn per_second(&self, n: u64) -> f64 {
        let time = self.time().as_secs_f64();
        if time > 0.0 { n as f64 / time } else { 0.0 }
    }

    /// How far the number of requests that left in time is from the plan.
    fn schedule_error(&self) -> Option<f64> {
        let planned = self.planned().filter(|planned| *planned > 0)?;
        Some(self.summary.total.sent_in_time as f64 / planned as f64 - 1.0)
    }

    fn cpu_per_request(&self) -> Duration {
        let ended = self.summary.total.ended().max(1);
        Duration::from_nanos((self.summary.cpu.as_nanos() / u128::from(ended)) as u64)
    }

    /// Why the figures are those of the generator and not of the server, if so.
    fn limit(&self) -> Option<String> {
        let busy = self.summary.busiest;
        let busy_words =
            format!("its busiest thread ran or waited for a processor {:.0} % of the time", busy * 100.0);
        if busy > MOST_BUSY {
            return Some(busy_words);
        }
        let late = self.late();
        let is_behind = self.schedule_error().is_some_and(|error| error < -MOST_ERROR) && late > MOST_LATE;
        (is_behind || late > MOST_LATE_OF_LIMIT).then(|| format!("{}; {busy_words}", late_words(late)))
    }

    /// Sentences without which the figures would be misread.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let late = self.late();
        match self.limit() {
            Some(limit) => remarks.push(format!("The generator was the limit: {limit}.")),
            None if late > MOST_LATE => {
                remarks
                    .push(format!("The times from due contain the generator's lag: {}.", late_words(late)));
            }
            None => {}
        }
        if self.summary.total.waited > 0 && matches!(self.plan, Plan::Open { .. }) {
            let (waited, sent) = (self.summary.total.waited, self.summary.total.sent);
            remarks.push(format!("{waited} of {sent} requests left late because no connection was free."));
        }
        remarks
    }

    /// The share of the requests that the generator itself sent too late.
    fn late(&self) -> f64 {
        self.summary.total.lag.share_above(LATE)
    }
}

fn late_words(late: f64) -> String {
    format!("{:.1} % of the requests left more than 1 ms late although a connection was free", late * 100.0)
}
