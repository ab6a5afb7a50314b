//! Restarts of applications: those that changed files ask for, and the answers to the controller where it has asked.

use std::time::Instant;

use corral_ipc::message::{AppId, Ticket, ToController};

use super::Supervisor;
use crate::configuration::jobs::Job;
use crate::restarts::must_switch;

impl Supervisor {
    /// Plans restarts of applications whose files have changed.
    pub(super) fn look_at_files(&mut self, now: Instant) {
        self.restarts.looked(now);
        let in_force = self.configuration.in_force.as_ref();
        for (id, spec) in in_force.into_iter().flat_map(|build| &build.apps) {
            let Some(app) = self.children.apps.get_mut(id) else { continue };
            let Some(path) = app.changed_file() else { continue };
            let (path, name) = (path.display(), spec.name.clone());
            tracing::info!(target: "notice", "\"{path}\" has changed: restarting application \"{name}\"");
            // Even if that fails, it is not tried again before the next change.
            app.remember_files();
            self.configuration.jobs.push(Job::RestartApp { ticket: None, name });
        }
    }

    /// An application was restarted, or could not be. The controller is told if it has asked; when old and new
    /// processes must not serve beside each other, not before the old ones have ended.
    pub(super) fn answer_restart(
        &mut self,
        ticket: Option<Ticket>,
        name: &str,
        replaced: Option<AppId>,
        result: Result<(), String>,
    ) {
        if let Err(reason) = &result {
            self.restart_failed(name, reason);
        }
        let Some(ticket) = ticket else { return };
        let in_force = self.configuration.in_force.as_ref();
        let waits = result.is_ok() && in_force.is_some_and(|build| must_switch(build, name));
        match replaced.filter(|id| waits && self.children.apps.contains_key(id)) {
            Some(replaced) => self.restarts.switch(ticket, replaced),
            None => self.tell_controller(&ToController::Restarted { ticket, error: result.err() }),
        }
    }

    fn restart_failed(&mut self, name: &str, reason: &str) {
        let reason = format!("application \"{name}\" could not be restarted and goes on as it was: {reason}");
        tracing::error!("{reason}");
        let in_force = self.configuration.in_force.as_ref();
        if let Some((running, _)) = in_force.and_then(|build| build.find_app(name)) {
            self.restarts.failed(*running, reason);
        }
    }
}
