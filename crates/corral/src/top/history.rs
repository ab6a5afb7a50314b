//! The last minute of an application.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::interval::AppRates;

/// How far back it goes.
const SPAN: Duration = Duration::from_secs(60);

/// The rates of the last minute, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    points: VecDeque<HistoryPoint>,
}

/// The rates between two moments.
#[derive(Debug, Clone, Copy)]
struct HistoryPoint {
    from: Instant,
    to: Instant,
    rates: AppRates,
}

impl History {
    /// Adds the rates between two moments, and forgets those that are too old.
    pub(super) fn add(&mut self, from: Instant, to: Instant, rates: AppRates) {
        self.points.push_back(HistoryPoint { from, to, rates });
        while self.points.front().is_some_and(|point| to.saturating_duration_since(point.to) >= SPAN) {
            self.points.pop_front();
        }
    }

    /// The minute in `n` columns of the same width, the last of which ends at the newest point: the highest value in
    /// each, if there is any.
    pub(super) fn columns(&self, n: u16, value: fn(&AppRates) -> Option<f64>) -> Vec<Option<f64>> {
        let Some(end) = self.points.back().map(|point| point.to) else { return Vec::new() };
        let age = |time: Instant| end.saturating_duration_since(time).as_secs_f64();
        let width = SPAN.as_secs_f64() / f64::from(n);
        let column = |n_later: u16| {
            let (oldest, newest) = (width * f64::from(n_later + 1), width * f64::from(n_later));
            let within =
                self.points.iter().filter(|point| age(point.from) > newest && age(point.to) < oldest);
            within.filter_map(|point| value(&point.rates)).reduce(f64::max)
        };
        (0..n).rev().map(column).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(requests: f64) -> AppRates {
        AppRates { requests, ..AppRates::default() }
    }

    fn requests(history: &History, n: u16) -> Vec<Option<f64>> {
        history.columns(n, |rates| Some(rates.requests))
    }

    #[test]
    fn columns_are_parts_of_the_minute() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut history = History::default();
        assert!(requests(&history, 4).is_empty());
        history.add(at(0), at(10), rates(1.0));
        assert_eq!(requests(&history, 6), [None, None, None, None, None, Some(1.0)]);
        // Nothing is known of a time without answers, and the highest value of several counts.
        history.add(at(30), at(35), rates(3.0));
        history.add(at(35), at(40), rates(2.0));
        assert_eq!(requests(&history, 6), [None, None, Some(1.0), None, None, Some(3.0)]);
        // An interval that is longer than a column fills several.
        history.add(at(40), at(60), rates(4.0));
        assert_eq!(requests(&history, 6), [Some(1.0), None, None, Some(3.0), Some(4.0), Some(4.0)]);
        assert_eq!(history.columns(2, |rates| rates.latency), [None, None]);
    }

    #[test]
    fn more_than_a_minute_is_forgotten() {
        let begin = Instant::now();
        let mut history = History::default();
        for second in 0..200 {
            let at = |second| begin + Duration::from_secs(second);
            history.add(at(second), at(second + 1), rates(1.0));
        }
        assert_eq!(history.points.len(), 60);
        assert!(requests(&history, 30).iter().all(Option::is_some));
    }
}
