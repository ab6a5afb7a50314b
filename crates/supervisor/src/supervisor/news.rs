//! News of applications, told to the parts of main that wait for them.

use corral_ipc::message::ToController;

use super::Supervisor;
use crate::children::News;
use crate::decide::steps::Event;

impl Supervisor {
    /// Hears everything that is new about applications.
    pub(super) fn hear_news(&mut self) {
        while let Some(news) = self.children.next_news() {
            match news {
                News::Up(id) => self.advance(Event::AppUp(id)),
                News::Failed(id, reason) => {
                    // One that belongs to a new configuration is reported as the reason why that fails.
                    if !self.configuration.fails_with(id) {
                        tracing::error!("{reason}");
                    }
                    self.advance(Event::AppFailed(id, reason));
                }
                News::Decided(id) => self.watch.iter_mut().for_each(|watch| watch.is_decided(id)),
                News::Ended(id) => {
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
