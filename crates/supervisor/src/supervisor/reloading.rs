//! Restarts of applications: those that changed files ask for, and when one is over.

use std::time::{Duration, Instant};

use corral_config::plan::RestartMode;
use corral_ipc::message::{AppId, Ticket, ToController};

use super::Supervisor;
use crate::apply::{Build, Job};

/// How often watched files are looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

impl Supervisor {
    /// When to look at files, unless nobody wants to know.
    pub(super) fn next_look(&self) -> Option<Instant> {
        self.next_look.filter(|_| self.stop.is_none() && self.upgrade.is_none())
    }

    /// Another configuration is in force, which may watch other files.
    pub(super) fn plan_looks(&mut self) {
        let is_watched = |build: &Build| build.apps.iter().any(|(_, spec)| !spec.restart.watch.is_empty());
        let is_wanted = self.in_force.as_ref().is_some_and(is_watched);
        self.next_look = is_wanted.then(|| Instant::now() + LOOK_INTERVAL);
    }

    /// Plans restarts of applications whose files have changed.
    pub(super) fn look_on_time(&mut self, now: Instant) {
        if self.next_look().is_none_or(|at| at > now) {
            return;
        }
        self.next_look = Some(now + LOOK_INTERVAL);
        for (id, spec) in self.in_force.iter().flat_map(|build| &build.apps) {
            let Some(app) = self.apps.get_mut(id) else { continue };
            let Some(path) = app.changed_file() else { continue };
            let (path, name) = (path.display(), spec.name.clone());
            tracing::info!(target: "notice", "\"{path}\" has changed: restarting application \"{name}\"");
            // Even if that fails, it is not tried again before the next change.
            app.remember_files();
            self.jobs.push_back(Job::RestartApp { ticket: None, name });
        }
    }

    /// An application was restarted, or could not be. Who asked is told; when old and new processes must not
    /// serve beside each other, not before the old ones have ended.
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
        let is_switch = |build: &Build| {
            let mut specs = build.apps.iter().map(|(_, spec)| spec);
            specs.any(|spec| spec.name == name && spec.restart.mode == RestartMode::Switch)
        };
        let replaced = replaced.filter(|id| self.apps.contains_key(id));
        match replaced.filter(|_| result.is_ok() && self.in_force.as_ref().is_some_and(is_switch)) {
            Some(replaced) => self.switching.push((ticket, replaced)),
            None => self.tell_controller(&ToController::Restarted { ticket, error: result.err() }),
        }
    }

    fn restart_failed(&mut self, name: &str, reason: &str) {
        let reason = format!("application \"{name}\" could not be restarted and goes on as it was: {reason}");
        tracing::error!("{reason}");
        let instances = self.in_force.iter().flat_map(|build| &build.apps);
        let running = instances.filter(|(_, spec)| spec.name == name).map(|(id, _)| *id);
        self.troubles.restarts.extend(running.map(|id| (id, reason.clone())));
    }

    /// An instance is gone, which somebody may wait for.
    pub(super) fn end_switch(&mut self, id: AppId) {
        let over: Vec<_> = self.switching.extract_if(.., |(_, replaced)| *replaced == id).collect();
        for (ticket, _) in over {
            self.tell_controller(&ToController::Restarted { ticket, error: None });
        }
    }
}
