//! A configuration is in force from now on: what is said of it, and what its sockets and the log follow.

use corral_sys::process;

use crate::configuration::build::Build;
use crate::decide::descriptors::{self, Shortage};
use crate::given::GivenSockets;
use crate::listeners;

/// Has sockets and the log follow the configuration in force, and says what of it does not work unless that was so
/// `before`.
pub(super) fn enter(in_force: &Build, before: Option<&Build>, given: &GivenSockets, n_loops: u16) {
    report_unserved(in_force, before);
    listeners::adjust(&in_force.plan.listeners, &in_force.listeners);
    given.report_unused(&in_force.listeners);
    corral_ipc::log::obey(in_force.plan.log);
    complain_of_shortage(in_force, before, n_loops);
}

fn report_unserved(in_force: &Build, before: Option<&Build>) {
    let known = before.map_or(&[][..], |build| &build.unserved);
    for failed in in_force.unserved.iter().filter(|failed| !known.contains(failed)) {
        tracing::error!(target: "alert", "{}; it does not listen", failed.reason);
    }
}

/// Says once in the log that there is little room for more listeners.
fn complain_of_shortage(in_force: &Build, before: Option<&Build>, n_loops: u16) {
    let Some(shortage) = shortage(in_force, n_loops) else { return };
    if before.is_none_or(|before| self::shortage(before, n_loops).is_none()) {
        tracing::warn!("{shortage}");
    }
}

/// Descriptors that a router with this many event loops lacks.
pub(super) fn shortage(build: &Build, n_loops: u16) -> Option<Shortage> {
    let n_sockets = build.listeners.iter().map(|bound| bound.sockets().len()).sum();
    let needed = descriptors::needed(&build.plan, n_sockets, n_loops);
    descriptors::shortage(needed, process::descriptor_limit())
}
