//! Effects of the owners' decisions: each is carried out here, by the parts that it is for.

use std::time::Instant;

use corral_ipc::message::ToRouter;
use corral_sys::signal::Signal;

use super::Supervisor;
use super::applying::prepare;
use super::in_force::enter;
use super::stopping::left;
use super::upgrading::hand_over;
use crate::configuration::applying::ApplyEffect;
use crate::configuration::jobs::Job;
use crate::decide::steps::ApplyEvent;
use crate::decide::stop::{StopEffect, StopEvent};
use crate::decide::upgrade::{UpgradeEffect, UpgradeEvent};
use crate::peer::Peer;

impl Supervisor {
    /// The end begins or goes on.
    pub(super) fn stop_on(&mut self, event: StopEvent, now: Instant) {
        let effects = self.stopping.on(event, left(&self.children, &self.upgrade), now);
        effects.into_iter().for_each(|effect| self.carry_out_stop(effect));
    }

    fn carry_out_stop(&mut self, effect: StopEffect) {
        match effect {
            StopEffect::Announce => self.audience.service_manager.stopping(),
            StopEffect::FinishRouters { keep_idle } => {
                self.children.tell_routers(&ToRouter::Finish { keep_idle });
            }
            StopEffect::LeaveBackground => {
                self.children.leave_all_background();
                self.tell_of_background();
            }
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
        effects.into_iter().for_each(|effect| self.carry_out_upgrade(effect, now));
    }

    fn carry_out_upgrade(&mut self, effect: UpgradeEffect, now: Instant) {
        let Self { audience, children, configuration, inheritance, upgrade, .. } = self;
        match effect {
            UpgradeEffect::Queue => configuration.plan(Job::Upgrade),
            UpgradeEffect::Start => {
                let started = self.programs.launcher.start_successor();
                let started = started.map(|peer| (peer.pid(), peer));
                let started = started.map_err(|error| format!("{:#}", anyhow::Error::new(error)));
                self.upgrade_on(UpgradeEvent::Started(started), now);
            }
            UpgradeEffect::HandOver => {
                let in_force = configuration.in_force();
                let successor = upgrade.peer_mut().into_iter();
                successor.for_each(|successor| hand_over(inheritance, in_force, children, successor));
            }
            UpgradeEffect::EndController => {
                children.controller.peer.iter().for_each(|peer| peer.kill(Signal::TERM));
            }
            UpgradeEffect::Announce(pid) => audience.service_manager.replaced_by(pid),
            UpgradeEffect::LetGo => {
                let in_force = configuration.in_force();
                inheritance.let_go(in_force.map_or(&[], |build| &build.listeners));
            }
            UpgradeEffect::DropJobs => configuration.drop_jobs(),
            UpgradeEffect::Finish => self.stop_on(StopEvent::Replaced, now),
        }
    }

    pub(super) fn carry_out(&mut self, effects: Vec<ApplyEffect>) {
        effects.into_iter().for_each(|effect| self.carry_out_apply(effect));
    }

    fn carry_out_apply(&mut self, effect: ApplyEffect) {
        let Self { audience, children, configuration, programs, .. } = self;
        match effect {
            ApplyEffect::Build { purpose, content } => {
                let effects = self.build(purpose, content);
                self.carry_out(effects);
            }
            ApplyEffect::Upgrade => {
                let stored = self.store_again();
                self.upgrade_on(UpgradeEvent::Due(stored), Instant::now());
            }
            ApplyEffect::AddApps(apps) => {
                apps.into_iter().for_each(|(id, spec)| children.add_app(id, spec, programs));
            }
            ApplyEffect::RestoreApps(ids) => ids.into_iter().for_each(|id| children.restore_app(id)),
            ApplyEffect::StartSoon(ids) => children.start_soon(&ids),
            ApplyEffect::Prepare => {
                let sent = configuration.next_build().map_or(Ok(()), |apply| prepare(apply, children));
                if let Err(error) = sent {
                    self.advance(ApplyEvent::Prepared(Err(format!("{error:#}"))));
                }
            }
            ApplyEffect::Commit { router, generation } => {
                children.tell_router(router, &ToRouter::Commit { generation });
            }
            ApplyEffect::Abandon { router, generation } => {
                children.tell_router(router, &ToRouter::Abandon { generation });
            }
            ApplyEffect::DismissRouter => children.dismiss_successor(),
            ApplyEffect::StopApps(ids) => ids.into_iter().for_each(|id| children.stop_app(id)),
            ApplyEffect::Close(build) => drop(build),
            ApplyEffect::Store => {
                let in_force = configuration.in_force().filter(|_| !self.files.are_used());
                in_force.into_iter().for_each(|build| self.stored.persist(&build.document));
            }
            ApplyEffect::Enter { before } => {
                self.stored.document = None;
                self.restarts.plan_looks(configuration.in_force());
                if let Some(build) = configuration.in_force() {
                    let n_loops = children.routers.in_charge.n_threads;
                    enter(build, before.as_deref(), &self.inheritance.given, n_loops);
                }
                self.count_in_force();
            }
            ApplyEffect::Replace(replaced) => {
                children.replace_apps(&replaced);
                self.release_background();
            }
            ApplyEffect::ReportSharing => {
                let in_force = configuration.in_force().filter(|_| audience.console.is_none());
                let plans = in_force.into_iter().map(|build| &build.plan);
                plans.for_each(|plan| audience.sharing.report(plan.all_applications(), programs));
            }
            ApplyEffect::PutInCharge => {
                if children.put_successor_in_charge() {
                    configuration.router_was_replaced();
                }
            }
            ApplyEffect::Answer(answer) => self.answer(answer),
        }
    }

    /// Stores the configuration in force if that has failed before.
    pub(super) fn store_again(&mut self) -> Result<(), String> {
        self.stored.store_again(self.configuration.in_force().map(|build| &build.document[..]))
    }
}
