//! Applications that no listener reaches, when configurations and main processes take each other's place: none runs
//! beside the one before it.

use corral_config::plan::{AppSpec, RuntimeSpec};
use corral_ipc::message::{AppId, Ticket, ToController, ToSuccessor};

use super::Supervisor;
use crate::decide::background::Background;

impl Supervisor {
    /// Another configuration is in force.
    pub(super) fn follow_background(&mut self, replaced: &[(AppId, AppSpec)]) {
        let ids: Vec<_> = replaced.iter().map(|(id, _)| *id).collect();
        self.children.leave_background(&ids);
        // No router has it that would say that it is unused.
        let is_unusable = |spec: &AppSpec| matches!(spec.runtime, RuntimeSpec::Unusable(_));
        let unusable = replaced.iter().filter(|(_, spec)| is_unusable(spec));
        unusable.for_each(|(id, _)| self.children.stop_app(*id));
        self.release_background();
    }

    /// Lets begin what nothing is in the way of any more.
    pub(super) fn release_background(&mut self) {
        if self.stopping.has_begun() {
            return;
        }
        let Some(build) = self.configuration.in_force() else { return };
        let inheritance = &self.inheritance;
        self.children.release_background(&build.app_ids(), |work| !inheritance.holds(work.runs_always()));
    }

    /// The process before this one says what has ended.
    pub(super) fn hear_predecessor(&mut self) {
        self.inheritance.hear();
        self.release_background();
    }

    /// A successor serves: its work begins when this process has ended its own.
    pub(super) fn leave_background(&mut self) {
        let ids = self.children.background();
        self.children.leave_background(&ids);
        self.tell_of_background();
    }

    /// Tells a successor what has ended.
    pub(super) fn tell_of_background(&mut self) {
        let have_services_ended = !self.children.has_background(Background::runs_always);
        let have_runs_ended = !self.children.has_background(|_| true);
        let Some(successor) = self.upgrade.serving_peer() else { return };
        if have_services_ended {
            successor.send(&ToSuccessor::ServicesEnded, &[]);
        }
        if have_runs_ended {
            successor.send(&ToSuccessor::RunsEnded, &[]);
        }
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
        self.tell_controller(&ToController::Restarted { ticket, error });
    }
}
