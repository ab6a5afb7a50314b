//! The order of the workers of an application, and which one has the mark.

use std::cmp::Ordering;

use ratatui::crossterm::event::KeyCode;

use super::mark;
use super::workers::{WorkerFigures, Workers};

/// The figure by which workers are sorted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum WorkerSort {
    /// The time of the request that it has run for longest.
    #[default]
    Time,
    Cpu,
    Memory,
    Requests,
    Age,
    Process,
}

/// The choice of the order and of a worker.
#[derive(Debug, Default)]
pub(super) struct WorkerChoice {
    key: WorkerSort,
    /// The lowest figure first.
    is_reversed: bool,
    /// The process on which the mark was put; the first one without it.
    selected: Option<u32>,
}

impl WorkerSort {
    fn next(self) -> Self {
        match self {
            Self::Time => Self::Cpu,
            Self::Cpu => Self::Memory,
            Self::Memory => Self::Requests,
            Self::Requests => Self::Age,
            Self::Age => Self::Process,
            Self::Process => Self::Time,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Time => "time of their request",
            Self::Cpu => "CPU",
            Self::Memory => "memory",
            Self::Requests => "requests",
            Self::Age => "age",
            Self::Process => "number",
        }
    }

    fn figure(self, pid: u32, worker: &WorkerFigures) -> Option<f64> {
        let whole = |n: u64| n as f64;
        match self {
            Self::Time => worker.runs.as_ref().map(|(_, seconds)| *seconds),
            Self::Cpu => worker.share,
            Self::Memory => worker.resident.map(whole),
            Self::Requests => worker.requests.map(whole),
            Self::Age => worker.age.map(whole),
            Self::Process => Some(f64::from(pid)),
        }
    }
}

impl WorkerChoice {
    /// Takes the keys that sort and that move the mark. Others do nothing.
    pub(super) fn press(&mut self, key: KeyCode, workers: Option<&Workers>) {
        match key {
            KeyCode::Char('s') => self.key = self.key.next(),
            KeyCode::Char('r') => self.is_reversed = !self.is_reversed,
            _ => {
                let rows = workers.map(|workers| self.rows(workers)).unwrap_or_default();
                let to = self.mark(&rows).and_then(|at| mark::moved(at, rows.len(), key));
                self.selected = to.and_then(|to| rows.get(to).copied()).or(self.selected);
            }
        }
    }

    /// The order in words.
    pub(super) fn words(&self) -> String {
        let order = if self.is_reversed { "lowest" } else { "highest" };
        format!("processes sorted by {}, {order} first", self.key.words())
    }

    /// The numbers of the processes in their order. Those whose figure is not known come last, and the same figures by
    /// the numbers.
    pub(super) fn rows(&self, workers: &Workers) -> Vec<u32> {
        let mut rows: Vec<_> =
            workers.all.iter().map(|(pid, worker)| (self.key.figure(*pid, worker), *pid)).collect();
        rows.sort_by(|(one, _), (other, _)| self.compare(*one, *other));
        rows.into_iter().map(|(_, pid)| pid).collect()
    }

    fn compare(&self, one: Option<f64>, other: Option<f64>) -> Ordering {
        match (one, other) {
            (Some(one), Some(other)) if self.is_reversed => one.total_cmp(&other),
            (Some(one), Some(other)) => other.total_cmp(&one),
            (one, other) => other.is_some().cmp(&one.is_some()),
        }
    }

    /// The row with the mark, if there is any row.
    pub(super) fn mark(&self, rows: &[u32]) -> Option<usize> {
        let found = rows.iter().position(|pid| Some(*pid) == self.selected);
        found.or_else(|| (!rows.is_empty()).then_some(0))
    }

    /// The process with the mark.
    pub(super) fn marked(&self, workers: &Workers) -> Option<u32> {
        let rows = self.rows(workers);
        self.mark(&rows).and_then(|at| rows.get(at).copied())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant, UNIX_EPOCH};

    use serde_json::json;

    use super::*;

    /// Three workers; nothing is known of the last one.
    fn workers() -> Workers {
        let value = |cpu: f64| {
            json!({
                "7": {"started": 900, "requests": 5, "memory": {"rss": 10}, "cpu": cpu,
                    "request": {"method": "GET", "path": "/", "seconds": 0.5}},
                "8": {"started": 950, "requests": 9, "memory": {"rss": 5}, "cpu": 2.0 * cpu,
                    "request": {"method": "GET", "path": "/", "seconds": 2.5}},
                "9": {}
            })
        };
        let (begin, now) = (Instant::now(), UNIX_EPOCH + Duration::from_secs(1_000));
        let first = Workers::of("shop", &value(1.0), begin, now, None);
        Workers::of("shop", &value(2.0), begin + Duration::from_secs(1), now, Some(&first))
    }

    #[test]
    fn each_key_sorts_and_what_is_unknown_is_last() {
        let mut choice = WorkerChoice::default();
        for (words, expected, reversed) in [
            ("time of their request", [8, 7, 9], [7, 8, 9]),
            ("CPU", [8, 7, 9], [7, 8, 9]),
            ("memory", [7, 8, 9], [8, 7, 9]),
            ("requests", [8, 7, 9], [7, 8, 9]),
            ("age", [7, 8, 9], [8, 7, 9]),
            ("number", [9, 8, 7], [7, 8, 9]),
            ("time of their request", [8, 7, 9], [7, 8, 9]),
        ] {
            assert_eq!(choice.words(), format!("processes sorted by {words}, highest first"));
            assert_eq!(choice.rows(&workers()), expected, "{words}");
            choice.press(KeyCode::Char('r'), None);
            assert_eq!(choice.rows(&workers()), reversed, "{words}");
            choice.press(KeyCode::Char('r'), None);
            choice.press(KeyCode::Char('s'), None);
        }
    }

    #[test]
    fn the_mark_stays_with_its_process() {
        let workers = workers();
        let mut choice = WorkerChoice::default();
        assert_eq!(choice.marked(&workers), Some(8));
        choice.press(KeyCode::Down, Some(&workers));
        assert_eq!(choice.marked(&workers), Some(7));
        choice.press(KeyCode::Char('r'), Some(&workers));
        assert_eq!(choice.marked(&workers), Some(7));
        choice.press(KeyCode::End, Some(&workers));
        assert_eq!(choice.marked(&workers), Some(9));
        choice.press(KeyCode::Char('z'), Some(&workers));
        choice.press(KeyCode::Up, None);
        assert_eq!(choice.marked(&workers), Some(9));
        // Another one, when it has ended.
        let none = Workers::of("shop", &json!({ "7": {} }), Instant::now(), UNIX_EPOCH, None);
        assert_eq!(choice.marked(&none), Some(7));
        let none = Workers::of("shop", &json!({}), Instant::now(), UNIX_EPOCH, None);
        assert_eq!(choice.marked(&none), None);
    }
}
