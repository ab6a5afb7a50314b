//! News of applications, told to the parts of main that wait for them.

use corral_ipc::message::ToController;

use super::Supervisor;
use crate::children::AppEvent;
use crate::decide::steps::ApplyEvent;

impl Supervisor {
    /// Hears everything that is new about applications.
    pub(super) fn hear_news(&mut self) {
        while let Some(events) = self.children.next_event() {
            match events {
                AppEvent::Up(id) => self.advance(ApplyEvent::AppUp(id)),
                AppEvent::Failed(id, reason) => {
                    // One that belongs to a new configuration is reported as the reason why that fails.
                    if !self.configuration.fails_with(id) {
                        tracing::error!("{reason}");
                    }
                    self.advance(ApplyEvent::AppFailed(id, reason));
                }
                AppEvent::Decided(id) => self.watch.iter_mut().for_each(|watch| watch.is_decided(id)),
                AppEvent::Ended(id, name) => {
                    let in_force = self.configuration.in_force();
                    if in_force.is_none_or(|build| build.find_app(&name).is_none()) {
                        self.children.forget_record(&name);
                    }
                    self.release_background();
                    self.tell_of_background();
                    for ticket in self.restarts.gone(id) {
                        self.children.controller.send(&ToController::Restarted { ticket, error: None });
                    }
                }
            }
        }
    }
}
