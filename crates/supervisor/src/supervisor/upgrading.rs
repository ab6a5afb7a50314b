//! The words of a successor, and of this process as a successor.

use std::time::Instant;

use corral_ipc::message::FromSuccessor;
use corral_sys::process;

use super::{Source, Supervisor};
use crate::decide::upgrade::{Circumstances, UpgradeEvent};
use crate::peer::Peer;

impl Supervisor {
    /// SIGUSR2.
    pub(super) fn on_upgrade_signal(&mut self) {
        let circumstances = Circumstances {
            has_console: self.audience.console.is_some(),
            is_first: process::is_first(),
            is_stopping: self.stopping.has_begun(),
        };
        self.upgrade_on(UpgradeEvent::Asked(circumstances), Instant::now());
    }

    /// Handles one message; false when there is none.
    pub(super) fn read_successor(&mut self) -> bool {
        let Some((message, _)) = self.upgrade.peer_mut().and_then(Peer::next_message) else {
            return false;
        };
        let event = match message {
            FromSuccessor::Serving => UpgradeEvent::Serves,
            FromSuccessor::Failed { reason } => UpgradeEvent::Refused(reason),
        };
        self.upgrade_on(event, Instant::now());
        true
    }

    pub(super) fn successor_ended(&mut self) {
        // Its last words are still in the socket.
        self.read_last_words(Source::Successor);
        self.upgrade_on(UpgradeEvent::Ended, Instant::now());
    }

    /// This process serves what its predecessor did: takes over the rest as well.
    pub(super) fn relieve_predecessor(&mut self) {
        let in_force = self.configuration.in_force();
        let is_lost = self.stored.document.is_some() && in_force.is_none();
        if self.inheritance.predecessor.is_some() && is_lost {
            return self.give_up("the stored configuration cannot be put in force");
        }
        self.inheritance.take_over(in_force.map_or(&[], |build| &build.listeners));
        self.release_background();
    }
}
