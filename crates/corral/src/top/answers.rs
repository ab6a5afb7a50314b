//! The answers of the daemon so far: the newest figures, their rates, and the last minute of each application.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use super::figures::{Figures, shown};
use super::history::History;
use super::interval::{AppRates, Interval};
use super::workers::Workers;

/// How much longer than the interval an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The answers of the daemon so far.
#[derive(Debug)]
pub(super) struct Answers {
    /// The newest.
    pub(super) figures: Figures,
    /// The rates since those before, if there were any.
    pub(super) rates: Option<Interval>,
    histories: BTreeMap<String, History>,
    /// The workers of the application that is open, when they were told of.
    workers: Option<Workers>,
    /// Why they were not told of the last time.
    workers_failure: Option<String>,
    /// When the newest came.
    at: Instant,
    interval: Duration,
    /// Why the daemon did not answer the last time.
    failure: Option<String>,
}

impl Answers {
    /// Begins with an answer; further ones come in this interval.
    pub(super) fn new(status: &Value, at: Instant, interval: Duration) -> Self {
        let figures = Figures::of(status);
        Self {
            figures,
            rates: None,
            histories: BTreeMap::new(),
            workers: None,
            workers_failure: None,
            at,
            interval,
            failure: None,
        }
    }

    /// Takes the next answer.
    pub(super) fn add(&mut self, status: &Value, at: Instant) {
        let figures = Figures::of(status);
        let rates = Interval::between(&self.figures, &figures, at.saturating_duration_since(self.at));
        self.histories.retain(|name, _| rates.applications.contains_key(name));
        for (name, rates) in &rates.applications {
            self.histories.entry(name.clone()).or_default().add(self.at, at, *rates);
        }
        (self.figures, self.rates, self.at, self.failure) = (figures, Some(rates), at, None);
    }

    /// Takes the next answer about the workers of an application, or why there is none.
    pub(super) fn add_workers(&mut self, application: &str, answer: Result<Value, String>, at: Instant) {
        match answer {
            Ok(value) => {
                let last = self.workers.as_ref();
                self.workers = Some(Workers::of(application, &value, at, SystemTime::now(), last));
                self.workers_failure = None;
            }
            Err(reason) => self.workers_failure = Some(reason),
        }
    }

    /// Forgets the workers: another application is open, or none.
    pub(super) fn forget_workers(&mut self) {
        (self.workers, self.workers_failure) = (None, None);
    }

    /// The workers of an application, or why they are not known, once they were asked for.
    pub(super) fn workers_of(&self, application: &str) -> Option<Result<&Workers, &str>> {
        let failure = self.workers_failure.as_deref().map(Err);
        failure.or_else(|| self.workers.as_ref().filter(|workers| workers.application == application).map(Ok))
    }

    /// Notes that the daemon does not answer.
    pub(super) fn fail(&mut self, reason: &str) {
        self.failure = Some(shown(reason));
    }

    /// The rates of an application, when they are known.
    pub(super) fn rates_of(&self, application: &str) -> Option<&AppRates> {
        self.rates.as_ref()?.applications.get(application)
    }

    /// The last minute of an application, when something is known of it.
    pub(super) fn history_of(&self, application: &str) -> Option<&History> {
        self.histories.get(application)
    }

    /// A line about a daemon that is away, or silent.
    pub(super) fn absence(&self, now: Instant) -> Option<String> {
        if let Some(reason) = &self.failure {
            return Some(format!("the daemon is away and asked again: {reason}"));
        }
        let silence = now.saturating_duration_since(self.at);
        (silence > self.interval + PATIENCE)
            .then(|| format!("the daemon has not answered for {} s", silence.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(total: u64) -> Value {
        let requests = json!({"total": total, "failed": 0, "duration_ms": total});
        json!({ "daemon": {"pid": 7}, "requests": {"total": total},
            "applications": {"shop": {"requests": requests}} })
    }

    #[test]
    fn rates_begin_with_the_second_answer() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut answers = Answers::new(&status(10), begin, Duration::from_secs(1));
        assert!(answers.rates.is_none() && answers.history_of("shop").is_none());
        answers.add(&status(30), at(2));
        let rates = AppRates { requests: 10.0, failures: 0.0, latency: Some(1.0) };
        assert_eq!(answers.rates_of("shop"), Some(&rates));
        assert_eq!(answers.history_of("shop").unwrap().columns(1, |rates| rates.latency), [Some(1.0)]);
        answers.add(&json!({ "daemon": {"pid": 7} }), at(3));
        assert!(answers.rates_of("shop").is_none() && answers.history_of("shop").is_none());
    }

    #[test]
    fn workers_are_those_of_the_application_that_is_open() {
        let begin = Instant::now();
        let mut answers = Answers::new(&status(10), begin, Duration::from_secs(1));
        assert!(answers.workers_of("shop").is_none());
        answers.add_workers("shop", Ok(json!({ "7": {"state": "idle"} })), begin);
        let numbers = |workers: &Workers| workers.all.keys().copied().collect::<Vec<_>>();
        assert_eq!(answers.workers_of("shop").map(|workers| workers.map(numbers)), Some(Ok(vec![7])));
        assert!(answers.workers_of("blog").is_none());
        answers.add_workers("shop", Err("away".to_owned()), begin);
        assert!(matches!(answers.workers_of("shop"), Some(Err("away"))));
        answers.add_workers("shop", Ok(json!({})), begin);
        assert_eq!(answers.workers_of("shop").map(|workers| workers.map(numbers)), Some(Ok(vec![])));
        answers.forget_workers();
        assert!(answers.workers_of("shop").is_none());
    }

    #[test]
    fn a_daemon_that_is_away_is_told_and_one_that_is_back_is_not() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut answers = Answers::new(&status(10), begin, Duration::from_secs(1));
        assert_eq!(answers.absence(at(6)), None);
        assert_eq!(answers.absence(at(7)).as_deref(), Some("the daemon has not answered for 7 s"));
        answers.fail("no\nsocket");
        let told = "the daemon is away and asked again: no\\nsocket";
        assert_eq!(answers.absence(at(1)).as_deref(), Some(told));
        // The successor counts from 0.
        answers.add(&json!({ "daemon": {"pid": 8}, "requests": {"total": 5} }), at(10));
        assert_eq!(answers.absence(at(10)), None);
        assert!(answers.rates.unwrap().requests.abs() < 1e-9);
    }
}
