//! Effects of the owners' decisions: each is carried out here, by the parts that it is for.

use std::time::Instant;

use corral_ipc::message::ToRouter;

use super::Supervisor;
use crate::children::Children;
use crate::decide::background::Background;
use crate::decide::stop::{Left, StopEffect, StopEvent};
use crate::upgrade::Upgrade;

impl Supervisor {
    /// The end begins or goes on.
    pub(super) fn stop_on(&mut self, event: StopEvent, now: Instant) {
        let effects = self.stopping.on(event, left(&self.children, &self.upgrade), now);
        effects.into_iter().for_each(|effect| self.have_stop_effect(effect));
    }

    fn have_stop_effect(&mut self, effect: StopEffect) {
        match effect {
            StopEffect::Announce => self.audience.service_manager.stopping(),
            StopEffect::FinishRouters { keep_idle } => {
                self.children.tell_routers(&ToRouter::Finish { keep_idle });
            }
            StopEffect::LeaveBackground => self.leave_background(),
            StopEffect::EndAll => {
                self.configuration.end();
                self.upgrade.end_unready();
                self.children.end_all();
            }
            StopEffect::KillAll => {
                self.children.kill_all();
                self.upgrade.kill_unready();
            }
        }
    }
}

/// The processes that this one waits for when it ends.
fn left(children: &Children, upgrade: &Upgrade) -> Left {
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
pub(super) fn are_left(children: &Children, upgrade: &Upgrade) -> bool {
    !children.is_empty() || upgrade.unready().is_some()
}
