//! How many connections there can be: as many as were asked for, and as there are descriptors for.

use std::num::NonZeroU32;

/// Descriptors that are needed for everything else than connections: sockets, logs, channels, temporary files.
const RESERVED: u64 = 128;

/// The part of all descriptors that connections get whatever else there is.
const LEAST: u64 = 8;

/// With fewer descriptors than these, a server that was told of no bound should be known to have one.
const FEW: u64 = 4096;

/// The number of connections, and what it follows from.
pub(crate) struct ConnectionBound {
    pub(crate) connections: usize,
    pub(crate) shortage: Option<DescriptorShortage>,
}

/// The shortage of descriptors.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DescriptorShortage {
    #[error(
        "settings.limits.connections is {wanted}, but a limit of {descriptors} open files is enough for \
         {connections}: raise it (LimitNOFILE= of the service, ulimit -n)"
    )]
    Configured { wanted: u32, descriptors: u64, connections: u64 },
    #[error(
        "a limit of {descriptors} open files is enough for {connections} connections: raise it (LimitNOFILE= of \
         the service, ulimit -n)"
    )]
    Default { descriptors: u64, connections: u64 },
}

impl ConnectionBound {
    /// Listeners and applications have `n_fixed` of the descriptors. Without a number a fifth of the others is left for
    /// files and servers, which busy connections need.
    pub(crate) fn new(wanted: Option<NonZeroU32>, descriptors: u64, n_fixed: u64) -> Self {
        let free = descriptors.saturating_sub(n_fixed).max(descriptors / LEAST);
        let connections = match wanted {
            Some(_) => free - RESERVED.min(free / 2),
            None => free - free / 5,
        };
        let shortage = match wanted.map(NonZeroU32::get) {
            Some(wanted) if u64::from(wanted) <= connections => {
                return Self { connections: wanted as usize, shortage: None };
            }
            Some(wanted) => Some(DescriptorShortage::Configured { wanted, descriptors, connections }),
            None => (descriptors < FEW).then_some(DescriptorShortage::Default { descriptors, connections }),
        };
        Self { connections: usize::try_from(connections).unwrap_or(usize::MAX), shortage }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: u32, descriptors: u64, connections: usize, warning: &str) {
        check_with(0, wanted, descriptors, connections, warning);
    }

    #[track_caller]
    fn check_with(n_fixed: u64, wanted: u32, descriptors: u64, connections: usize, warning: &str) {
        let bound = ConnectionBound::new(NonZeroU32::new(wanted), descriptors, n_fixed);
        let said = bound.shortage.map(|shortage| shortage.to_string()).unwrap_or_default();
        assert_eq!(bound.connections, connections, "{said}");
        assert!(said.starts_with(warning) && said.is_empty() == warning.is_empty(), "{said}");
    }

    #[test]
    fn as_many_as_asked_for_if_there_are_descriptors() {
        check(100, 1024, 100, "");
        check(
            900,
            1024,
            896,
            "settings.limits.connections is 900, but a limit of 1024 open files is enough for 896",
        );
        check(
            900,
            100,
            50,
            "settings.limits.connections is 900, but a limit of 100 open files is enough for 50",
        );
    }

    #[test]
    fn what_others_have_is_taken_off() {
        check_with(10_000, 0, 20_000, 8_000, "");
        check_with(500, 900, 1024, 396, "settings.limits.connections is 900");
        check_with(30_000, 0, 20_000, 2_000, "");
    }

    #[test]
    fn else_as_many_as_there_are_descriptors_for() {
        check(0, 20_000, 16_000, "");
        check(0, 1000, 800, "a limit of 1000 open files is enough for 800 connections");
        check(0, u64::MAX, (u64::MAX - u64::MAX / 5) as usize, "");
    }
}
