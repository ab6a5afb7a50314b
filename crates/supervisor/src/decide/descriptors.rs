//! Descriptors: how many sockets listeners get of those that a process may have, and the word that there are few left.

use corral_config::address::ListenAddress;
use corral_config::plan::{ListenerPlan, Plan, RuntimeSpec};

/// The part of all descriptors that is spent on giving each event loop sockets of its own.
const SHARE: u64 = 8;

/// Descriptors for everything other than listeners and applications.
const RESERVED: u64 = 128;

/// The router gets the sockets of a new configuration while it has those of the old one.
const COPIES: u64 = 2;

/// As many listeners should always fit.
const MORE: u64 = 100;

/// Sockets of each listener at an address of IPv4 or IPv6: one for each event loop, by which the kernel shares out the
/// connections; but a single one for all of them when there are so many listeners that these would take the
/// descriptors.
pub(crate) fn sockets_each(listeners: &[ListenerPlan], n_loops: u16, limit: u64) -> u16 {
    let n_inet =
        listeners.iter().filter(|listener| matches!(listener.address, ListenAddress::Inet(_))).count();
    let n_sockets = (n_inet as u64).saturating_mul(u64::from(n_loops));
    if n_sockets <= limit / SHARE { n_loops } else { 1 }
}

/// A warning that there is little room for more listeners.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a limit of {limit} open files leaves room for {n_left} more listeners: raise it (LimitNOFILE= of the service, \
     ulimit -n)"
)]
pub(crate) struct Shortage {
    limit: u64,
    n_left: u64,
}

/// Descriptors that a router needs which has `n_sockets` for the listeners of a configuration.
pub(crate) fn needed(plan: &Plan, n_sockets: usize, n_loops: u16) -> u64 {
    let rings = |runtime: &RuntimeSpec| !matches!(runtime, RuntimeSpec::Http(_));
    let n_bells = plan.applications.iter().filter(|spec| rings(&spec.runtime)).count() as u64;
    COPIES * n_sockets as u64 + n_bells * u64::from(n_loops) + RESERVED
}

/// Whether there is little room for more listeners when so many descriptors are needed.
pub(crate) fn shortage(needed: u64, limit: u64) -> Option<Shortage> {
    let n_left = limit.saturating_sub(needed) / COPIES;
    (n_left < MORE).then_some(Shortage { limit, n_left })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(n_listeners: usize, n_loops: u16, limit: u64, expect: u16) {
        let plan = |text: &str| ListenerPlan {
            address: ListenAddress::parse(text.as_bytes()).expect("an address"),
            backlog: None,
        };
        let mut listeners: Vec<_> = (0..n_listeners).map(|n| plan(&format!("*:{}", n + 1))).collect();
        listeners.extend((0..1000).map(|n| plan(&format!("unix:/{n}"))));
        assert_eq!(sockets_each(&listeners, n_loops, limit), expect);
    }

    #[test]
    fn event_loops_share_sockets_when_there_are_many() {
        check(0, 16, 1024, 16);
        check(8, 16, 1024, 16);
        check(9, 16, 1024, 1);
        check(156, 16, 20_000, 16);
        check(1000, 16, 20_000, 1);
        check(1000, 1, 1024, 1);
        check(1, 16, 64, 1);
    }

    #[test]
    fn a_hundred_more_should_fit() {
        assert_eq!(shortage(200, 1024), None);
        assert_eq!(shortage(824, 1024), None);
        assert_eq!(shortage(928, 1024), Some(Shortage { limit: 1024, n_left: 48 }));
        assert_eq!(shortage(5000, 1024), Some(Shortage { limit: 1024, n_left: 0 }));
        assert_eq!(shortage(5000, u64::MAX), None);
    }
}
