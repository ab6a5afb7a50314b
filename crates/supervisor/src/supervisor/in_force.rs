//! A configuration is in force from now on: what follows for everything else.

use corral_config::plan::AppSpec;
use corral_ipc::message::AppId;
use corral_sys::process;

use super::Supervisor;
use crate::configuration::Apply;
use crate::configuration::build::Build;
use crate::configuration::jobs::Purpose;
use crate::decide::descriptors::{self, Shortage};
use crate::listeners;

impl Supervisor {
    /// The router has swapped it in: the sockets that only the old one had are closed, its instances go when the
    /// router has drained them.
    pub(super) fn finish(&mut self) {
        let Some(Apply { purpose, build, steps, .. }) = self.configuration.apply.take() else {
            return;
        };
        if let Purpose::Change { store: true, .. } = purpose
            && !self.files.are_used()
        {
            self.stored.persist(&build.document);
        }
        self.report_unserved(&build);
        listeners::adjust(&build.plan.listeners, &build.listeners);
        self.inheritance.given.report_unused(&build.listeners);
        corral_ipc::log::obey(build.plan.log);
        let before = self.configuration.in_force.replace(build);
        self.complain_of_shortage(before.as_ref());
        let replaced = self.replaced(before);
        self.children.limit_draining(&replaced.iter().map(|(id, _)| *id).collect::<Vec<_>>());
        self.follow_background(&replaced);
        self.report_sharing();
        self.take_over();
        self.configuration.take_unused().into_iter().for_each(|id| self.children.stop_app(id));
        if !steps.awaits_apps() {
            self.children.start_soon(steps.new_apps());
        }
        self.stored.document = None;
        self.configuration.plan_rebinding();
        self.restarts.plan_looks(self.configuration.in_force.as_ref());
        match &purpose {
            Purpose::RestartApp { ticket, name } => {
                let replaced = replaced.iter().find(|(_, spec)| spec.name == *name).map(|(id, _)| *id);
                self.answer_restart(*ticket, name, replaced, Ok(()));
            }
            purpose => self.answer(purpose, Ok(())),
        }
    }

    /// The instances of the configuration before that the one in force does without.
    fn replaced(&self, before: Option<Build>) -> Vec<(AppId, AppSpec)> {
        let mut replaced = before.map_or_else(Vec::new, |build| build.apps);
        let in_force = self.configuration.in_force.as_ref();
        replaced.retain(|(id, _)| !in_force.is_some_and(|build| build.uses(*id)));
        replaced
    }

    fn report_unserved(&self, build: &Build) {
        let known = self.configuration.in_force.as_ref().map_or(&[][..], |build| &build.unserved);
        for failed in build.unserved.iter().filter(|failed| !known.contains(failed)) {
            tracing::error!(target: "alert", "{}; it does not listen", failed.reason);
        }
    }

    fn report_sharing(&mut self) {
        let in_force = self.configuration.in_force.as_ref();
        if let Some(build) = in_force.filter(|_| self.audience.console.is_none()) {
            self.audience.sharing.report(build.plan.all_applications(), &self.programs);
        }
    }

    /// Warnings about the configuration in force, for the person who has sent it.
    pub(super) fn warnings(&self) -> Vec<String> {
        let not_stored = self.stored.why_not().map(|reason| {
            format!(
                "it is in force, but not stored, and would be lost with a restart; storing is tried again: \
                {reason}"
            )
        });
        let shortage = self.configuration.in_force.as_ref().and_then(|build| self.shortage(build));
        not_stored.into_iter().chain(shortage.map(|shortage| shortage.to_string())).collect()
    }

    fn shortage(&self, build: &Build) -> Option<Shortage> {
        let n_sockets = build.listeners.iter().map(|bound| bound.sockets().len()).sum();
        let n_loops = self.children.routers.in_charge.n_threads;
        let needed = descriptors::needed(&build.plan, n_sockets, n_loops);
        descriptors::shortage(needed, process::descriptor_limit())
    }

    /// Says once in the log that there is little room for more listeners.
    fn complain_of_shortage(&self, before: Option<&Build>) {
        let in_force = self.configuration.in_force.as_ref();
        let Some(shortage) = in_force.and_then(|build| self.shortage(build)) else { return };
        if before.is_none_or(|before| self.shortage(before).is_none()) {
            tracing::warn!("{shortage}");
        }
    }

    /// Stores the configuration in force if that has failed before.
    pub(super) fn store_again(&mut self) -> Result<(), String> {
        let document = self.configuration.in_force.as_ref().map(|build| &build.document[..]);
        self.stored.store_again(document)
    }
}
