//! Applications that no listener reaches, when configurations and main processes take each other's place: none runs
//! beside the one before it.

use corral_ipc::message::{Ticket, ToController, ToSuccessor};

use super::Supervisor;
use crate::decide::background::Background;

impl Supervisor {
    /// Lets begin what nothing is in the way of any more.
    pub(super) fn release_background(&mut self) {
        let Self { children, configuration, inheritance, stopping, .. } = self;
        let in_force = configuration.in_force().filter(|_| !stopping.has_begun());
        let Some(build) = in_force else { return };
        children.release_background(&build.app_ids(), |work| !inheritance.holds(work.runs_always()));
    }

    /// Runs a command that has a schedule at once, on request.
    pub(super) fn run_now(&mut self, ticket: Ticket, name: &str) {
        let found = self.configuration.in_force().and_then(|build| build.find_app(name));
        let run = match found.map(|(id, _)| *id) {
            _ if self.stopping.has_begun() || self.upgrade.goes_on() => {
                Err("another process takes over".to_owned())
            }
            Some(id) => self.children.run_now(id, &self.programs),
            None => Err("there is no such application".to_owned()),
        };
        let error = run.err().map(|reason| format!("application \"{name}\": {reason}"));
        self.children.controller.send(&ToController::Restarted { ticket, error });
    }

    /// Tells a successor that serves what has ended, here and in the processes before: its own work of that kind begins
    /// then.
    pub(super) fn tell_of_background(&mut self) {
        let Self { children, inheritance, upgrade, .. } = self;
        let Some(successor) = upgrade.serving_peer() else { return };
        if !children.has_background(Background::runs_always) && !inheritance.holds(true) {
            successor.send(&ToSuccessor::ServicesEnded, &[]);
        }
        if !children.has_background(|_| true) && !inheritance.holds(false) {
            successor.send(&ToSuccessor::RunsEnded, &[]);
        }
    }
}
