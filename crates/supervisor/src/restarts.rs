//! Restarts of applications: when changed files are looked for, and which requests wait for a restart to be over. Those
//! of the daemon's own processes are counted.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use corral_config::plan::RestartMode;
use corral_ipc::message::{AppId, OwnProcess, Ticket};

use crate::configuration::build::Build;

/// How often watched files are looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Restarts {
    /// When watched files are looked at next.
    next_look: Option<Instant>,
    /// Restarts that are over when the instances that are replaced have ended.
    switching: Vec<(Ticket, AppId)>,
    /// Why instances go on that were to be replaced.
    failed: BTreeMap<AppId, String>,
    /// Starts of the daemon's own processes that took the place of others.
    pub(crate) of_own_processes: [u64; OwnProcess::ALL.len()],
}

impl Restarts {
    /// Counts the start of a process that takes the place of one that has ended.
    pub(crate) fn count(&mut self, process: OwnProcess) {
        let n = &mut self.of_own_processes[process as usize];
        *n = n.saturating_add(1);
    }

    /// When to look at files, unless none are watched.
    pub(crate) fn next_look(&self) -> Option<Instant> {
        self.next_look
    }

    /// Another configuration is in force, which may watch other files.
    pub(crate) fn plan_looks(&mut self, in_force: Option<&Build>) {
        let is_watched = |build: &Build| build.apps.iter().any(|(_, spec)| !spec.restart.watch.is_empty());
        self.next_look = in_force.is_some_and(is_watched).then(|| Instant::now() + LOOK_INTERVAL);
    }

    /// Files have been looked at.
    pub(crate) fn looked(&mut self, now: Instant) {
        self.next_look = Some(now + LOOK_INTERVAL);
    }

    /// The restart is over when this instance has ended.
    pub(crate) fn switch(&mut self, ticket: Ticket, replaced: AppId) {
        self.switching.push((ticket, replaced));
    }

    /// An instance goes on because what was to replace it could not be started.
    pub(crate) fn failed(&mut self, app: AppId, reason: String) {
        self.failed.insert(app, reason);
    }

    pub(crate) fn failure_of(&self, app: AppId) -> Option<&String> {
        self.failed.get(&app)
    }

    /// An instance is gone. Returns the restarts that are over with it.
    pub(crate) fn gone(&mut self, app: AppId) -> Vec<Ticket> {
        self.failed.remove(&app);
        self.switching.extract_if(.., |(_, replaced)| *replaced == app).map(|(ticket, _)| ticket).collect()
    }
}

/// Whether old and new processes of an application must not serve beside each other.
pub(crate) fn must_switch(build: &Build, name: &str) -> bool {
    build.find_app(name).is_some_and(|(_, spec)| spec.restart.mode == RestartMode::Switch)
}
