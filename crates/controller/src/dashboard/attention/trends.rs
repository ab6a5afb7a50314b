//! Changes of figures since they were looked at before: crashes, requests that wait, queues that grow.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use corral_ipc::message::{AppStatus, Status};

/// How long a crash is remembered, and how long a queue has to grow.
const MINUTE: Duration = Duration::from_secs(60);

/// How long requests have to wait before that is told.
const PATIENCE: Duration = Duration::from_secs(10);

/// The trends of all applications, by their names.
#[derive(Debug, Default)]
pub(in crate::dashboard) struct Trends {
    by_application: HashMap<String, Trend>,
}

#[derive(Debug)]
struct Trend {
    /// Crashes when they were looked at last.
    n_crashes: u64,
    /// When there were more, and how many more.
    crashes: VecDeque<(Instant, u64)>,
    /// Since when requests have been waiting all the time.
    waiting: Option<Instant>,
    is_waiting_long: bool,
    queue: Option<QueueTrend>,
}

/// A queue since a moment.
#[derive(Debug)]
struct QueueTrend {
    since: Instant,
    begin: u64,
    least: u64,
    is_growing: bool,
}

impl Trends {
    /// Takes the figures of this moment.
    pub(in crate::dashboard) fn note(&mut self, status: &Status, now: Instant) {
        let all = || status.applications.iter().chain(&status.background);
        let names: std::collections::HashSet<_> = all().map(|app| app.name.as_str()).collect();
        self.by_application.retain(|name, _| names.contains(name.as_str()));
        for app in all() {
            match self.by_application.get_mut(&app.name) {
                Some(trend) => trend.note(app, now),
                None => {
                    self.by_application.insert(app.name.clone(), Trend::begin(app, now));
                }
            }
        }
    }

    /// Crashes in the last minute.
    pub(super) fn crashes(&self, name: &str) -> u64 {
        let trend = self.by_application.get(name);
        trend.map_or(0, |trend| trend.crashes.iter().map(|(_, n)| *n).sum())
    }

    /// Whether requests have been waiting for long.
    pub(super) fn waits(&self, name: &str) -> bool {
        self.by_application.get(name).is_some_and(|trend| trend.is_waiting_long)
    }

    /// Whether the queue of its jobs was never empty and has grown.
    pub(super) fn queue_grows(&self, name: &str) -> bool {
        let trend = self.by_application.get(name).and_then(|trend| trend.queue.as_ref());
        trend.is_some_and(|queue| queue.is_growing)
    }
}

impl Trend {
    fn begin(app: &AppStatus, now: Instant) -> Self {
        let crashes = VecDeque::new();
        let mut trend =
            Self { n_crashes: app.crashes, crashes, waiting: None, is_waiting_long: false, queue: None };
        trend.note(app, now);
        trend
    }

    fn note(&mut self, app: &AppStatus, now: Instant) {
        let more = app.crashes.saturating_sub(self.n_crashes);
        self.n_crashes = app.crashes;
        if more > 0 {
            self.crashes.push_back((now, more));
        }
        while self.crashes.front().is_some_and(|(at, _)| now.duration_since(*at) > MINUTE) {
            self.crashes.pop_front();
        }
        self.waiting = (app.waiting.waiting > 0).then(|| self.waiting.unwrap_or(now));
        self.is_waiting_long = self.waiting.is_some_and(|since| now.duration_since(since) >= PATIENCE);
        let length = app.queue.as_ref().and_then(|queue| queue.length);
        self.queue = length.map(|length| QueueTrend::after(self.queue.take(), length, now));
    }
}

impl QueueTrend {
    fn after(before: Option<Self>, length: u64, now: Instant) -> Self {
        let fresh = |is_growing| Self { since: now, begin: length, least: length, is_growing };
        let Some(before) = before else { return fresh(false) };
        let least = before.least.min(length);
        if now.duration_since(before.since) < MINUTE {
            return Self { least, ..before };
        }
        fresh(least > 0 && length > before.begin)
    }
}
