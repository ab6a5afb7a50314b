//! Answers to the controller about what it wanted in force, and the warnings that go with them.

use corral_ipc::message::{AppId, GenerationId, Revocable, Ticket, ToController};
use corral_sys::signal::Signal;

use super::Supervisor;
use super::in_force::shortage;
use crate::configuration::applying::ApplyAnswer;
use crate::configuration::build::Build;
use crate::restarts::must_switch;
use crate::stored::Stored;

impl Supervisor {
    /// Tells those that have asked for something what has become of it.
    pub(super) fn answer(&mut self, answer: ApplyAnswer) {
        match answer {
            ApplyAnswer::Applied => {
                self.files.settled(None);
                self.answer_changes();
            }
            ApplyAnswer::Refused { generation, reason } => self.refuse(generation, reason),
            ApplyAnswer::Restarted { ticket, name, replaced, result } => {
                self.answer_restart(ticket, &name, replaced, result);
            }
            ApplyAnswer::Rebound(Ok(())) => {
                tracing::info!(target: "notice", "a listener has been bound at last");
            }
            ApplyAnswer::Rebound(Err(reason)) => tracing::debug!("{reason}"),
            ApplyAnswer::NotRestored(reason) => {
                tracing::error!(target: "alert", "restore the configuration of the router: {reason}");
                let peer = &self.children.routers.in_charge.role.peer;
                peer.iter().for_each(|peer| peer.kill(Signal::TERM));
            }
            ApplyAnswer::Revoked(order) => {
                tracing::info!(target: "notice", "{}", revocation(order));
                self.children.controller.send(&ToController::Revoked { order });
            }
        }
    }

    /// Says that changes are in force, once no router accepts connections with a configuration before them.
    pub(super) fn answer_changes(&mut self) {
        let Self { children, configuration, stored, audience, .. } = self;
        if children.routers.retired_accept() {
            return;
        }
        for generation in configuration.take_unanswered() {
            let n_loops = children.routers.in_charge.n_threads;
            let warnings = warnings(configuration.in_force(), stored, n_loops);
            children.controller.send(&ToController::Applied { generation, warnings });
            audience.announce();
        }
    }

    /// A change has failed. One that nothing can be served without ends the process.
    fn refuse(&mut self, generation: GenerationId, reason: String) {
        let is_first = self.configuration.in_force().is_none();
        let must_succeed = self.audience.console.is_some() || self.inheritance.predecessor.is_some();
        if is_first && must_succeed {
            return self.give_up(&reason);
        }
        tracing::error!("failed to apply new conf: {reason}");
        self.files.settled(Some(reason.clone()));
        self.children.controller.send(&ToController::Refused { generation, reason });
    }

    /// An application was restarted, or could not be. The controller is told if it has asked; when old and new
    /// processes must not serve beside each other, not before the old ones have ended.
    fn answer_restart(
        &mut self,
        ticket: Option<Ticket>,
        name: &str,
        replaced: Option<AppId>,
        result: Result<(), String>,
    ) {
        let in_force = self.configuration.in_force();
        if let Err(reason) = &result {
            let reason =
                format!("application \"{name}\" could not be restarted and goes on as it was: {reason}");
            tracing::error!("{reason}");
            if let Some((running, _)) = in_force.and_then(|build| build.find_app(name)) {
                self.restarts.failed(*running, reason);
            }
        }
        let Some(ticket) = ticket else { return };
        let waits = result.is_ok() && in_force.is_some_and(|build| must_switch(build, name));
        match replaced.filter(|id| waits && self.children.apps.contains_key(id)) {
            Some(replaced) => self.restarts.switch(ticket, replaced),
            None => self.children.controller.send(&ToController::Restarted { ticket, error: result.err() }),
        }
    }
}

/// Warnings about the configuration in force, for the reply to the client that has sent it.
fn warnings(in_force: Option<&Build>, stored: &Stored, n_loops: u16) -> Vec<String> {
    let not_stored = stored.why_not().map(|reason| {
        format!(
            "it is in force, but not stored, and would be lost with a restart; storing is tried again: \
            {reason}"
        )
    });
    let shortage = in_force.and_then(|build| shortage(build, n_loops));
    not_stored.into_iter().chain(shortage.map(|shortage| shortage.to_string())).collect()
}

fn revocation(order: Revocable) -> &'static str {
    match order {
        Revocable::Change(_) => "a change was taken back: a newer one takes its place",
        Revocable::Restart(_) => "a restart was taken back: a newer change takes its place",
    }
}
