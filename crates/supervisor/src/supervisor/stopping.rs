//! The end of this process: what begins it besides signals, and what it waits for.

use std::time::Instant;

use corral_sys::process;

use super::Supervisor;
use crate::children::Children;
use crate::decide::background::Background;
use crate::decide::stop::{Left, StopEvent};
use crate::decide::upgrade::Upgrade;
use crate::peer::Peer;

impl Supervisor {
    /// `corral run` ends when its site cannot be served, as does a process that cannot take over.
    pub(super) fn give_up(&mut self, reason: &str) {
        self.audience.give_up(reason, self.inheritance.predecessor.as_ref());
        self.stopping.fails();
        self.stop_on(StopEvent::GivenUp, Instant::now());
    }

    /// Whether nothing is left to wait for.
    pub(super) fn is_over(&self) -> bool {
        let Self { stopping, children, upgrade, .. } = self;
        stopping.is_final() && !are_left(children, upgrade) && process::children().is_empty()
    }
}

/// The processes that this one waits for when it ends.
pub(super) fn left(children: &Children, upgrade: &Upgrade<Peer>) -> Left {
    // A successor lets runs go on to their end.
    let has_runs = upgrade.goes_on() && children.has_background(Background::is_leaving);
    Left {
        in_charge: children.routers.in_charge.role.peer.is_some(),
        routers: has_runs || children.routers.peers().next().is_some(),
        children: are_left(children, upgrade),
        grace: children.longest_grace(),
    }
}

/// Whether processes are left that were started here.
fn are_left(children: &Children, upgrade: &Upgrade<Peer>) -> bool {
    !children.is_empty() || upgrade.unready().is_some()
}
