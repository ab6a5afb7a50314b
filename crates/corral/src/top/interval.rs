//! The rates between two moments.

use std::collections::BTreeMap;
use std::time::Duration;

use super::figures::{AppFigures, Figures};

/// The rates between two moments.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Interval {
    /// Requests a second, of all kinds.
    pub(super) requests: f64,
    /// The part of the applications' requests that have failed, from 0 to 1, if there were any.
    pub(super) failed: Option<f64>,
    pub(super) applications: BTreeMap<String, AppRates>,
    /// Requests a second to the servers of each upstream.
    pub(super) upstreams: BTreeMap<String, f64>,
}

/// The rates of an application.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct AppRates {
    /// Requests a second.
    pub(super) requests: f64,
    /// Failed requests a second.
    pub(super) failures: f64,
    /// Milliseconds that a request has taken on average, if any is over.
    pub(super) latency: Option<f64>,
}

/// Counters of requests.
#[derive(Clone, Copy, Default)]
struct Counted {
    total: u64,
    failed: u64,
    duration_ms: u64,
}

impl Interval {
    /// The rates from `last` to `now`, which is `time` later. All are 0 when the counters are those of another router,
    /// which has begun anew.
    pub(super) fn between(last: &Figures, now: &Figures, time: Duration) -> Self {
        let is_same = last.pid == now.pid && last.uptime <= now.uptime && last.requests <= now.requests;
        let seconds = time.as_secs_f64().max(0.001);
        let rate = |count: u64| if is_same { count as f64 / seconds } else { 0.0 };
        let mut all = Counted::default();
        let mut applications = BTreeMap::new();
        for (name, app) in &now.applications {
            let counted = if is_same { since(last.applications.get(name), app) } else { Counted::default() };
            all.total = all.total.saturating_add(counted.total);
            all.failed = all.failed.saturating_add(counted.failed);
            let latency = average(counted.duration_ms, counted.total);
            let rates = AppRates { requests: rate(counted.total), failures: rate(counted.failed), latency };
            applications.insert(name.clone(), rates);
        }
        let upstreams = now.upstreams.iter().map(|(name, group)| {
            let before = last.upstreams.get(name).map_or(0, |group| group.total);
            (name.clone(), rate(group.total.saturating_sub(before)))
        });
        Self {
            requests: rate(now.requests.saturating_sub(last.requests)),
            failed: average(all.failed, all.total),
            upstreams: upstreams.collect(),
            applications,
        }
    }
}

/// The requests that are over since then. An application that was not there has counted from 0; one whose counter is
/// lower than before has begun anew, and nothing is known of it.
fn since(last: Option<&AppFigures>, now: &AppFigures) -> Counted {
    let before = last.map(|last| (last.total, last.failed, last.duration_ms)).unwrap_or_default();
    let Some(total) = now.total.checked_sub(before.0) else { return Counted::default() };
    Counted {
        total,
        failed: now.failed.saturating_sub(before.1).min(total),
        duration_ms: now.duration_ms.saturating_sub(before.2),
    }
}

fn average(sum: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}

#[cfg(test)]
mod tests {
    use super::super::figures::UpstreamFigures;
    use super::*;

    fn app(total: u64, failed: u64, duration_ms: u64) -> AppFigures {
        AppFigures { total, failed, duration_ms, ..AppFigures::default() }
    }

    /// A daemon with these requests and applications.
    fn figures(requests: u64, applications: &[(&str, AppFigures)]) -> Figures {
        let applications = applications.iter().map(|(name, app)| ((*name).to_owned(), app.clone()));
        Figures { pid: 7, uptime: 100, requests, applications: applications.collect(), ..Figures::default() }
    }

    fn between(last: &Figures, now: &Figures) -> Interval {
        Interval::between(last, now, Duration::from_secs(2))
    }

    #[test]
    fn rates_are_of_the_time_between() {
        let last = figures(100, &[("shop", app(50, 1, 1_000)), ("idle", app(3, 0, 30))]);
        let now = figures(160, &[("shop", app(90, 5, 1_500)), ("idle", app(3, 0, 30))]);
        let interval = between(&last, &now);
        assert_eq!((interval.requests, interval.failed), (30.0, Some(0.1)));
        let shop = AppRates { requests: 20.0, failures: 2.0, latency: Some(12.5) };
        assert_eq!(interval.applications["shop"], shop);
        assert_eq!(interval.applications["idle"], AppRates::default());
    }

    #[test]
    fn counters_of_another_router_have_no_rate() {
        let last = figures(1_000, &[("shop", app(900, 9, 9_000))]);
        for (requests, total) in [(10, 5), (10, 2_000)] {
            let interval = between(&last, &figures(requests, &[("shop", app(total, 1, 99_000))]));
            assert_eq!((interval.requests, interval.failed), (0.0, None));
            assert_eq!(interval.applications["shop"], AppRates::default());
        }
        // A successor that has counted more already, and a daemon that was started again with the same number.
        for (pid, uptime) in [(8, 100), (7, 1)] {
            let now = Figures { pid, uptime, ..figures(5_000, &[("shop", app(4_000, 9, 9_000))]) };
            let interval = between(&last, &now);
            assert_eq!((interval.requests, interval.applications["shop"]), (0.0, AppRates::default()));
        }
    }

    #[test]
    fn an_application_that_has_begun_anew_has_no_rate() {
        let last = figures(1_000, &[("shop", app(900, 9, 9_000))]);
        let interval = between(&last, &figures(1_010, &[("shop", app(10, 10, 10_000))]));
        assert_eq!((interval.requests, interval.applications["shop"]), (5.0, AppRates::default()));
    }

    #[test]
    fn applications_come_and_go() {
        let last = figures(10, &[("old", app(10, 0, 100))]);
        let now = figures(14, &[("new", app(4, 0, 40))]);
        let interval = between(&last, &now);
        assert!(!interval.applications.contains_key("old"));
        let new = AppRates { requests: 2.0, failures: 0.0, latency: Some(10.0) };
        assert_eq!(interval.applications["new"], new);
    }

    #[test]
    fn upstreams_have_rates() {
        let with = |total| {
            let group = UpstreamFigures { total, ..UpstreamFigures::default() };
            Figures { upstreams: [("a".to_owned(), group)].into(), ..figures(total, &[]) }
        };
        assert_eq!(between(&with(10), &with(20)).upstreams["a"], 5.0);
    }

    #[test]
    fn no_time_between_is_no_division_by_zero() {
        let interval = Interval::between(&figures(1, &[]), &figures(2, &[]), Duration::ZERO);
        assert!(interval.requests.is_finite());
    }
}
