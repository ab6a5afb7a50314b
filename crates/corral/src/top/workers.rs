//! The workers of the application that is open, as the control API tells of them, and orders to end one.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::figures::shown;
use crate::asset::segment;
use crate::status::{members, number};

/// The workers of an application at one moment.
#[derive(Debug)]
pub(super) struct Workers {
    pub(super) application: String,
    /// By the numbers of their processes.
    pub(super) all: BTreeMap<u32, WorkerFigures>,
    at: Instant,
}

/// The figures of a worker. Those that are not known are missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct WorkerFigures {
    pub(super) state: String,
    /// Seconds since it was started.
    pub(super) age: Option<u64>,
    /// Requests that it has ended.
    pub(super) requests: Option<u64>,
    /// Bytes of its memory that are in RAM.
    pub(super) resident: Option<u64>,
    /// Seconds that it has had a processor.
    cpu: Option<f64>,
    /// The part of a processor that it has had since the answer before.
    pub(super) share: Option<f64>,
    /// Requests that it has.
    pub(super) in_progress: u64,
    /// The request that it has run for longest: what it is, with where it was last, and for how many seconds.
    pub(super) runs: Option<(String, f64)>,
}

/// An order to end a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EndOrder {
    pub(super) application: String,
    pub(super) pid: u32,
    pub(super) ending: Ending,
}

/// When a worker is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// After the requests that it has.
    Drain,
    /// At once.
    Now,
}

impl Workers {
    /// Reads the object of the control API; `last` is the one before.
    pub(super) fn of(
        application: &str,
        value: &Value,
        at: Instant,
        now: SystemTime,
        last: Option<&Self>,
    ) -> Self {
        let last = last.filter(|last| last.application == application);
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let worker = |(pid, worker): (&String, &Value)| {
            let pid = pid.parse().ok()?;
            let figures = WorkerFigures::of(worker, now);
            let before = last.and_then(|last| Some((last.all.get(&pid)?, last.at)));
            let share =
                before.and_then(|(before, then)| figures.share(before, at.saturating_duration_since(then)));
            Some((pid, WorkerFigures { share, ..figures }))
        };
        Self { application: application.to_owned(), all: members(value).filter_map(worker).collect(), at }
    }

    /// Where the control API has them.
    pub(super) fn path(application: &str) -> String {
        format!("/control/applications/{}/workers", segment(application))
    }
}

impl WorkerFigures {
    fn of(worker: &Value, now: Duration) -> Self {
        let request = &worker["request"];
        let runs = request["path"].as_str().map(|path| {
            let method = request["method"].as_str().unwrap_or_default();
            let place = place(&request["backtrace"]);
            (shown(&format!("{method} {path}{place}")), request["seconds"].as_f64().unwrap_or_default())
        });
        Self {
            state: shown(worker["state"].as_str().unwrap_or_default()),
            age: worker["started"].as_u64().map(|started| now.as_secs().saturating_sub(started)),
            requests: worker["requests"].as_u64(),
            resident: worker["memory"]["rss"].as_u64(),
            cpu: worker["cpu"].as_f64(),
            share: None,
            in_progress: number(&worker["in_progress"]),
            runs,
        }
    }

    /// The part of a processor since then.
    fn share(&self, before: &Self, time: Duration) -> Option<f64> {
        let used = self.cpu? - before.cpu?;
        Some((used / time.as_secs_f64().max(0.001)).max(0.0))
    }
}

/// The innermost call of a request, if it has told that, as words behind what the request is.
fn place(backtrace: &Value) -> String {
    let told = backtrace["calls"][0].as_str().zip(backtrace["seconds"].as_f64());
    told.map_or_else(String::new, |(call, seconds)| format!(", after {seconds:.1} s at {call}"))
}

impl EndOrder {
    /// The question before it.
    pub(super) fn question(&self) -> String {
        let Self { application, pid, ending } = self;
        let application = shown(application);
        match ending {
            Ending::Drain => format!("Let process {pid} of \"{application}\" end after its requests? [y/N]"),
            Ending::Now => {
                format!("End process {pid} of \"{application}\" at once, with its requests? [y/N]")
            }
        }
    }

    /// The words for the time until it is obeyed.
    pub(super) fn begun(&self) -> String {
        match self.ending {
            Ending::Drain => format!("process {} is being told to end after its requests", self.pid),
            Ending::Now => format!("process {} is being ended", self.pid),
        }
    }

    /// The words for an outcome.
    pub(super) fn outcome(&self, outcome: Result<(), String>) -> String {
        match (outcome, self.ending) {
            (Err(error), _) => format!("process {}: {}", self.pid, shown(&error)),
            (Ok(()), Ending::Drain) => format!("process {} ends after its requests", self.pid),
            (Ok(()), Ending::Now) => format!("process {} ends", self.pid),
        }
    }

    /// Where the control API takes it.
    pub(super) fn path(&self) -> String {
        let word = match self.ending {
            Ending::Drain => "drain",
            Ending::Now => "end",
        };
        format!("{}/{}/{word}", Workers::path(&self.application), self.pid)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value, at: Instant, last: Option<&Workers>) -> Workers {
        Workers::of("shop", value, at, UNIX_EPOCH + Duration::from_secs(1_000), last)
    }

    #[test]
    fn workers_are_read() {
        let value = json!({
            "7": {
                "state": "busy", "started": 940, "requests": 12, "memory": {"rss": 4096, "pss": 1}, "cpu": 1.5,
                "in_progress": 2,
                "request": {"method": "GET", "path": "/users/:n\u{1b}[2J", "seconds": 1.25}
            },
            "8": {"state": "start\ning"},
            "no number": {"state": "idle"}
        });
        let workers = read(&value, Instant::now(), None);
        assert_eq!(workers.all.keys().copied().collect::<Vec<_>>(), [7, 8]);
        let expected = WorkerFigures {
            state: "busy".to_owned(),
            age: Some(60),
            requests: Some(12),
            resident: Some(4096),
            cpu: Some(1.5),
            share: None,
            in_progress: 2,
            runs: Some(("GET /users/:n\\u{1b}[2J".to_owned(), 1.25)),
        };
        assert_eq!(workers.all[&7], expected);
        let expected = WorkerFigures { state: "start\\ning".to_owned(), ..WorkerFigures::default() };
        assert_eq!(workers.all[&8], expected);
    }

    #[test]
    fn requests_are_told_with_their_innermost_call() {
        let calls = json!(["f()\u{1b} /srv/a.php:3", "/srv/a.php:9"]);
        let request = |backtrace: Value| {
            let request = json!({ "method": "GET", "path": "/", "seconds": 2.5, "backtrace": backtrace });
            json!({ "7": {"request": request} })
        };
        let runs = |value: &Value| read(value, Instant::now(), None).all[&7].runs.clone().unwrap().0;
        let told = request(json!({ "calls": calls, "seconds": 1.003 }));
        assert_eq!(runs(&told), "GET /, after 1.0 s at f()\\u{1b} /srv/a.php:3");
        for nothing in [json!(null), json!({ "calls": [], "seconds": 1 }), json!({ "calls": calls })] {
            assert_eq!(runs(&request(nothing)), "GET /");
        }
    }

    #[test]
    fn shares_of_processors_are_of_the_time_between() {
        let begin = Instant::now();
        let first = read(&json!({ "7": {"cpu": 1.0}, "8": {} }), begin, None);
        let second = json!({ "7": {"cpu": 1.5}, "8": {"cpu": 9.0}, "9": {"cpu": 1.0} });
        let second = read(&second, begin + Duration::from_secs(2), Some(&first));
        let shares: Vec<_> = second.all.values().map(|worker| worker.share).collect();
        assert_eq!(shares, [Some(0.25), None, None]);
        // Another process with the number of one that has ended.
        let third = read(&json!({ "7": {"cpu": 0.1} }), begin + Duration::from_secs(2), Some(&second));
        assert_eq!(third.all[&7].share, Some(0.0));
        let other = Workers { application: "blog".to_owned(), ..second };
        assert_eq!(read(&json!({ "7": {"cpu": 2.0} }), begin, Some(&other)).all[&7].share, None);
    }

    #[test]
    fn orders_are_told_and_have_their_places() {
        let mut order = EndOrder { application: "a/\u{1b}".to_owned(), pid: 7, ending: Ending::Drain };
        assert_eq!(order.question(), "Let process 7 of \"a/\\u{1b}\" end after its requests? [y/N]");
        assert_eq!(order.path(), "/control/applications/a%2F%1B/workers/7/drain");
        assert_eq!(order.outcome(Ok(())), "process 7 ends after its requests");
        order.ending = Ending::Now;
        assert_eq!(order.question(), "End process 7 of \"a/\\u{1b}\" at once, with its requests? [y/N]");
        assert_eq!(order.path(), "/control/applications/a%2F%1B/workers/7/end");
        assert_eq!(order.outcome(Err("it\nis gone".to_owned())), "process 7: it\\nis gone");
    }
}
