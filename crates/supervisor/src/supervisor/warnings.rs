//! Warnings about a configuration that is in force: it runs, but not all is well.

use corral_sys::process;

use super::Supervisor;
use crate::apply::Build;
use crate::descriptors::{self, Shortage};

impl Supervisor {
    /// What there is to know about the configuration in force, for the person who has sent it.
    pub(super) fn warnings(&self) -> Vec<String> {
        let not_stored = self.why_not_stored().map(|reason| {
            format!("it is in force, but not stored, and would be lost with a restart; storing is tried again: {reason}")
        });
        let shortage = self.in_force.as_ref().and_then(|build| self.shortage(build));
        not_stored.into_iter().chain(shortage.map(|shortage| shortage.to_string())).collect()
    }

    fn shortage(&self, build: &Build) -> Option<Shortage> {
        let n_sockets = build.listeners.iter().map(|bound| bound.sockets().len()).sum();
        let n_loops = self.routers.in_charge.n_threads;
        let needed = descriptors::needed(&build.plan, n_sockets, n_loops);
        descriptors::shortage(needed, process::descriptor_limit())
    }

    /// Says once in the log that there is little room for more listeners.
    pub(super) fn complain_of_shortage(&self, before: Option<&Build>) {
        let Some(shortage) = self.in_force.as_ref().and_then(|build| self.shortage(build)) else { return };
        if before.is_none_or(|before| self.shortage(before).is_none()) {
            tracing::warn!("{shortage}");
        }
    }
}
