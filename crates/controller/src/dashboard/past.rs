//! The last ten minutes as curves: one sample a second, made of two consecutive totals.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use corral_config::json::Value;
use corral_ipc::message::{DURATION_BOUNDS, Status};

use super::figures::decimal;
use super::usage::Usage;
use crate::reply::object;

/// Samples that are kept, and how old they get, in seconds.
const MOST: usize = 600;

/// Two totals that are further apart make no sample: nothing was watched meanwhile.
const LONGEST_GAP: Duration = Duration::from_secs(10);

const N_RANGES: usize = DURATION_BOUNDS.len() + 1;

/// Samples, oldest first, and the totals that the next one is made of.
#[derive(Debug, Default)]
pub(super) struct Past {
    samples: VecDeque<Sample>,
    last: Option<Totals>,
}

/// The sums at one moment.
#[derive(Debug, Clone)]
pub(super) struct Totals {
    at: Instant,
    /// Seconds since 1970.
    time: f64,
    requests: u64,
    failed: u64,
    durations: [u64; N_RANGES],
    levels: Levels,
    cpu: Option<Duration>,
}

/// Figures that are not sums.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Levels {
    busy: u64,
    queue: u64,
    connections: u64,
    memory: Option<u64>,
}

#[derive(Debug, Clone)]
struct Sample {
    time: f64,
    /// Each second.
    requests: f64,
    /// The share of requests that were answered with 500 or above.
    errors: f64,
    /// Seconds.
    p50: Option<f64>,
    p99: Option<f64>,
    levels: Levels,
    /// The share of one processor.
    cpu: Option<f64>,
}

impl Totals {
    pub(super) fn of(status: &Status, usage: Usage, at: Instant, time: f64) -> Self {
        let mut durations = [0_u64; N_RANGES];
        let (mut requests, mut failed) = (0_u64, 0_u64);
        for listener in &status.listeners {
            for (sum, n) in durations.iter_mut().zip(listener.durations.counts) {
                *sum = sum.saturating_add(n);
            }
            for counts in &listener.requests {
                requests = counts.iter().fold(requests, |sum, n| sum.saturating_add(*n));
                failed = failed.saturating_add(counts.last().copied().unwrap_or_default());
            }
        }
        let queued = status.applications.iter().map(|app| u64::from(app.waiting.waiting));
        let busy = status.applications.iter().map(|app| u64::from(app.running.saturating_sub(app.idle)));
        let waiting = status.upstreams.iter().filter_map(|group| group.waiting);
        let levels = Levels {
            busy: busy.sum(),
            queue: queued.chain(waiting).fold(0, u64::saturating_add),
            connections: status.active.saturating_add(status.idle),
            memory: usage.memory,
        };
        Self { at, time, requests, failed, durations, levels, cpu: usage.cpu }
    }

    /// The sample of the time since then. Sums that fell, as a process was replaced, count as none.
    fn since(&self, before: &Self) -> Sample {
        let passed = self.at.duration_since(before.at).as_secs_f64().max(0.001);
        let requests = self.requests.saturating_sub(before.requests);
        let failed = self.failed.saturating_sub(before.failed).min(requests);
        let mut durations = self.durations;
        durations.iter_mut().zip(before.durations).for_each(|(n, before)| *n = n.saturating_sub(before));
        let cpu =
            self.cpu.zip(before.cpu).map(|(now, before)| now.saturating_sub(before).as_secs_f64() / passed);
        Sample {
            time: self.time,
            requests: requests as f64 / passed,
            errors: if requests == 0 { 0.0 } else { failed as f64 / requests as f64 },
            p50: quantile(&durations, 0.5),
            p99: quantile(&durations, 0.99),
            levels: self.levels,
            cpu,
        }
    }
}

impl Past {
    /// Takes the totals of this moment.
    pub(super) fn add(&mut self, totals: Totals) {
        let last = self.last.as_ref().filter(|last| totals.at.duration_since(last.at) <= LONGEST_GAP);
        let sample = last.map(|last| totals.since(last));
        self.last = Some(totals);
        let Some(sample) = sample else { return };
        if self.samples.len() == MOST {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// The samples that are not too old at a time in seconds since 1970.
    pub(super) fn value(&self, now: f64) -> Value {
        let is_recent = |sample: &&Sample| sample.time > now - MOST as f64 && sample.time <= now + 1.0;
        Value::Array(self.samples.iter().filter(is_recent).map(Sample::value).collect())
    }
}

impl Sample {
    fn value(&self) -> Value {
        let known = |number: Option<f64>| number.map_or(Value::Null, decimal);
        let Levels { busy, queue, connections, memory } = self.levels;
        object([
            ("time", decimal(self.time)),
            ("requests", decimal(self.requests)),
            ("errors", decimal(self.errors)),
            ("p50", known(self.p50)),
            ("p99", known(self.p99)),
            ("busy", Value::from(busy)),
            ("queue", Value::from(queue)),
            ("connections", Value::from(connections)),
            ("memory", memory.map_or(Value::Null, Value::from)),
            ("cpu", known(self.cpu)),
        ])
    }
}

/// The duration that this share of requests did not exceed, in seconds: within its range, as if all of that were
/// equally far from each other. Longer than all bounds counts as the last one.
fn quantile(counts: &[u64; N_RANGES], share: f64) -> Option<f64> {
    let total: u64 = counts.iter().fold(0, |sum, n| sum.saturating_add(*n));
    if total == 0 {
        return None;
    }
    let wanted = share * total as f64;
    let mut below = 0.0;
    let mut lower = 0.0;
    for (n, bound) in counts.iter().zip(DURATION_BOUNDS) {
        let (n, upper) = (*n as f64, Duration::from_micros(bound).as_secs_f64());
        if n > 0.0 && below + n >= wanted {
            return Some(lower + (upper - lower) * ((wanted - below) / n).clamp(0.0, 1.0));
        }
        below += n;
        lower = upper;
    }
    Some(lower)
}

#[cfg(test)]
mod tests {
    use corral_ipc::message::{AppStatus, ListenerFigures};

    use super::*;

    fn status(requests: u64, failed: u64) -> Status {
        let mut listener = ListenerFigures::new("*:80".to_owned());
        listener.requests[1] = [0, 0, requests - failed, 0, 0, failed];
        listener.durations.counts[3] = requests;
        let app = AppStatus { running: 4, idle: 1, active_requests: 3, ..AppStatus::default() };
        Status { listeners: vec![listener], applications: vec![app], active: 2, idle: 5, ..Status::default() }
    }

    fn totals(requests: u64, failed: u64, begin: Instant, second: u64) -> Totals {
        let usage = Usage { memory: Some(7), cpu: Some(Duration::from_millis(500 * second)) };
        Totals::of(
            &status(requests, failed),
            usage,
            begin + Duration::from_secs(second),
            1000.0 + second as f64,
        )
    }

    #[test]
    fn a_sample_is_what_happened_between_two_totals() {
        let (mut past, begin) = (Past::default(), Instant::now());
        past.add(totals(10, 1, begin, 0));
        assert_eq!(past.value(1000.0), Value::Array(vec![]));
        past.add(totals(30, 6, begin, 2));
        let text = String::from_utf8(past.value(1002.0).compact()).unwrap();
        assert_eq!(
            text,
            r#"[{"time":1002,"requests":10,"errors":0.25,"p50":0.00375,"p99":0.004975,"busy":3,"queue":0,"connections":7,"memory":7,"cpu":0.5}]"#
        );
        // A router was replaced that main knew nothing of.
        past.add(totals(3, 0, begin, 3));
        let last = past.samples.back().unwrap();
        assert_eq!((last.requests, last.errors, last.p50), (0.0, 0.0, None));
    }

    #[test]
    fn ten_minutes_are_kept_and_gaps_are_not_filled() {
        let (mut past, begin) = (Past::default(), Instant::now());
        for second in 0..700 {
            past.add(totals(second, 0, begin, second));
        }
        assert_eq!(past.samples.len(), MOST);
        let n = |past: &Past, now: f64| past.value(now).as_array().unwrap().len();
        assert_eq!(n(&past, 1699.0), MOST);
        assert_eq!(n(&past, 1799.0), MOST - 100);
        assert_eq!(n(&past, 5000.0), 0);
        past.add(totals(900, 0, begin, 900));
        assert_eq!(n(&past, 1900.0), MOST - 201, "nothing was watched meanwhile");
        past.add(totals(901, 0, begin, 901));
        assert_eq!(past.samples.back().unwrap().requests, 1.0);
    }

    #[test]
    fn quantiles_are_within_their_range() {
        let at = |places: &[(usize, u64)]| {
            let mut counts = [0; N_RANGES];
            places.iter().for_each(|(place, n)| counts[*place] = *n);
            [0.5, 0.99].map(|share| quantile(&counts, share))
        };
        assert_eq!(at(&[]), [None, None]);
        assert_eq!(at(&[(0, 1)])[0], Some(0.00025));
        assert_eq!(at(&[(N_RANGES - 1, 5)]), [Some(60.0), Some(60.0)]);
        let [half, most] = at(&[(0, 90), (9, 10)]).map(Option::unwrap);
        assert!(half < 0.0005 && (0.25..=0.5).contains(&most), "{half} {most}");
    }
}
