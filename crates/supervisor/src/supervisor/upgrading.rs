//! Main processes that take over from each other: the messages of a successor, and what this process does with them.

use std::time::Instant;

use corral_ipc::message::{FromSuccessor, StartPolicy};

use super::Supervisor;
use super::sources::Source;
use crate::children::Children;
use crate::configuration::build::Build;
use crate::decide::upgrade::UpgradeEvent;
use crate::inheritance::Inheritance;
use crate::peer::Peer;

impl Supervisor {
    /// Handles one message; false when there is none.
    pub(super) fn read_successor(&mut self) -> bool {
        let Some((message, _)) = self.upgrade.peer_mut().and_then(Peer::next_message) else {
            self.close_link_handed_on();
            return false;
        };
        let event = match message {
            FromSuccessor::AskSums => {
                self.answer_successor();
                return true;
            }
            FromSuccessor::Serving => UpgradeEvent::Serves,
            FromSuccessor::Failed { reason } => UpgradeEvent::Refused(reason),
        };
        self.upgrade_on(event, Instant::now());
        true
    }

    /// The process has ended. Its own successor has its link if it was one for long enough.
    pub(super) fn successor_ended(&mut self) {
        // Its last words are still in the socket.
        self.read_last_words(Source::Successor);
        let is_handed_on = self.upgrade.serving_peer().is_some_and(Peer::hands_on);
        if !is_handed_on {
            self.end_upgrade();
        }
    }

    /// The process that had the link of an ended one has ended as well.
    fn close_link_handed_on(&mut self) {
        if self.upgrade.peer().is_some_and(|peer| !peer.is_open() && peer.end().is_none()) {
            self.end_upgrade();
        }
    }

    fn end_upgrade(&mut self) {
        self.upgrade_on(UpgradeEvent::Ended, Instant::now());
        self.sums_are_wanted = false;
    }

    /// This process serves what its predecessor did: takes over the rest as well.
    pub(super) fn relieve_predecessor(&mut self) {
        let in_force = self.configuration.in_force();
        let is_lost = self.stored.document.is_some() && in_force.is_none();
        if self.inheritance.predecessor.is_some() && is_lost {
            return self.give_up("the stored configuration cannot be put in force");
        }
        self.inheritance.take_over(in_force.map_or(&[], |build| &build.listeners));
        // Counted before the first question about the status of this process.
        self.hear_earlier();
    }
}

/// Gives a successor what it needs to begin.
pub(super) fn hand_over(
    inheritance: &Inheritance,
    in_force: Option<&Build>,
    children: &Children,
    successor: &mut Peer,
) {
    let listeners = in_force.map_or(&[][..], |build| &build.listeners);
    let has_background = children.has_background(|_| true) || inheritance.holds(false);
    inheritance.hand_over(listeners, what_works(in_force, children), has_background, successor);
}

/// How much has to work in a successor: what fails already must not keep a server from being upgraded.
fn what_works(in_force: Option<&Build>, children: &Children) -> StartPolicy {
    let has_failed = |build: &Build| {
        let mut apps = build.apps.iter().filter_map(|(id, _)| children.apps.get(id));
        !build.unbound.is_empty() || !build.unserved.is_empty() || apps.any(|app| app.life.has_failed())
    };
    if in_force.is_some_and(has_failed) { StartPolicy::WhatStarts } else { StartPolicy::Everything }
}
