//! Effects of the owners' decisions: each is carried out here, by the parts that it is for.

use std::time::Instant;

use corral_ipc::message::{StartPolicy, ToRouter};
use corral_sys::signal::Signal;

use super::Supervisor;
use crate::children::Children;
use crate::configuration::build::Build;
use crate::configuration::jobs::Job;
use crate::decide::background::Background;
use crate::decide::stop::{Left, StopEffect, StopEvent};
use crate::decide::upgrade::{Upgrade, UpgradeEffect, UpgradeEvent};
use crate::inheritance::Inheritance;
use crate::peer::Peer;

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
                self.upgrade.unready().into_iter().for_each(|peer| peer.kill(Signal::TERM));
                self.children.end_all();
            }
            StopEffect::KillAll => {
                self.children.kill_all();
                self.upgrade.unready().into_iter().for_each(|peer| peer.kill(Signal::KILL));
            }
        }
    }

    /// An upgrade begins or goes on.
    pub(super) fn upgrade_on(&mut self, event: UpgradeEvent<Peer>, now: Instant) {
        let effects = self.upgrade.on(event, now);
        effects.into_iter().for_each(|effect| self.have_upgrade_effect(effect, now));
    }

    fn have_upgrade_effect(&mut self, effect: UpgradeEffect, now: Instant) {
        let Self { audience, children, configuration, inheritance, upgrade, .. } = self;
        match effect {
            UpgradeEffect::Queue => configuration.jobs.push(Job::Upgrade),
            UpgradeEffect::Start => {
                let started = self.programs.launcher.start_successor();
                let started = started.map(|peer| (peer.pid(), peer));
                let started = started.map_err(|error| format!("{:#}", anyhow::Error::new(error)));
                self.upgrade_on(UpgradeEvent::Started(started), now);
            }
            UpgradeEffect::HandOver => {
                let in_force = configuration.in_force.as_ref();
                let successor = upgrade.peer_mut().into_iter();
                successor.for_each(|successor| hand_over(inheritance, in_force, children, successor));
            }
            UpgradeEffect::EndController => {
                children.controller.peer.iter().for_each(|peer| peer.kill(Signal::TERM));
            }
            UpgradeEffect::Announce(pid) => audience.service_manager.replaced_by(pid),
            UpgradeEffect::LetGo => {
                let in_force = configuration.in_force.as_ref();
                inheritance.let_go(in_force.map_or(&[], |build| &build.listeners));
            }
            UpgradeEffect::DropJobs => configuration.drop_jobs(),
            UpgradeEffect::Finish => self.stop_on(StopEvent::Replaced, now),
        }
    }
}

fn hand_over(inheritance: &Inheritance, in_force: Option<&Build>, children: &Children, successor: &mut Peer) {
    let listeners = in_force.map_or(&[][..], |build| &build.listeners);
    let has_background = children.has_background(|_| true);
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

/// The processes that this one waits for when it ends.
fn left(children: &Children, upgrade: &Upgrade<Peer>) -> Left {
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
pub(super) fn are_left(children: &Children, upgrade: &Upgrade<Peer>) -> bool {
    !children.is_empty() || upgrade.unready().is_some()
}
