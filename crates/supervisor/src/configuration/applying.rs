//! Putting a configuration in force: jobs and events go in, effects come out, in the order in which they are carried
//! out. `decide::steps` says when each thing is done, this file what that means for the configuration.

#[cfg(test)]
mod tests;

use std::time::Instant;

use corral_config::plan::AppSpec;
use corral_ipc::message::{AppId, FailedListener, GenerationId, Revocable, Ticket};

use crate::configuration::build::{Build, Content};
use crate::configuration::jobs::{Job, Purpose};
use crate::configuration::{Apply, Configuration};
use crate::decide::steps::{ApplyAction, ApplyEvent};
use crate::ids::RouterId;

/// An effect of a job or an event.
#[derive(Debug)]
pub(crate) enum ApplyEffect {
    /// Build it, and begin with [`Configuration::apply`] or [`Configuration::not_built`].
    Build { purpose: Purpose, content: Content },
    /// Begin an upgrade.
    Upgrade,
    /// Add new instances, and start nothing.
    AddApps(Vec<(AppId, AppSpec)>),
    /// Give a new router instances that may be running.
    RestoreApps(Vec<AppId>),
    /// Start instances that were added.
    StartSoon(Vec<AppId>),
    /// Send the router all that is being applied. A failure to send it is one to prepare it.
    Prepare,
    /// Tell the router to swap it in.
    Commit { router: RouterId, generation: GenerationId },
    /// Tell the router to forget it.
    Abandon { router: RouterId, generation: GenerationId },
    /// End the router that was to take over with it.
    DismissRouter,
    /// End instances.
    StopApps(Vec<AppId>),
    /// Close sockets that were only for this, and remove their files, before a client hears about it.
    Close(Box<Build>),
    /// Store the document in force.
    Store,
    /// Another configuration is in force than before.
    Enter { before: Option<Box<Build>> },
    /// These instances serve nothing new.
    Replace(Vec<(AppId, AppSpec)>),
    /// Say which applications share the daemon's user.
    ReportSharing,
    /// Put the router in charge that was started for it.
    PutInCharge,
    /// Say what has become of it.
    Answer(ApplyAnswer),
}

/// The outcome of a job, for those that have asked for it.
#[derive(Debug)]
pub(crate) enum ApplyAnswer {
    /// Changes are in force, and answered as soon as no router serves what was before.
    Applied,
    /// A change is not in force, and why.
    Refused { generation: GenerationId, reason: String },
    /// An application was restarted in place of an instance, or could not be.
    Restarted { ticket: Option<Ticket>, name: String, replaced: Option<AppId>, result: Result<(), String> },
    /// A listener was bound that could not be before, or none was.
    Rebound(Result<(), String>),
    /// A router does not take what is in force.
    NotRestored(String),
    /// An order was taken back.
    Revoked(Revocable),
}

impl Configuration {
    /// Begins the next job when nothing is being applied. During an upgrade the configuration stays as it is.
    pub(crate) fn begin_next(&mut self, is_upgrading: bool) -> Option<Vec<ApplyEffect>> {
        if self.is_applying() {
            return None;
        }
        let job = self.jobs.next(is_upgrading)?;
        Some(self.begin(job).into_iter().collect())
    }

    fn begin(&self, job: Job) -> Option<ApplyEffect> {
        let (purpose, content) = match (job, &self.in_force) {
            (Job::Change { purpose, content }, _) => (purpose, content),
            (Job::RestartApp { ticket, name }, Some(build)) if build.find_app(&name).is_some() => {
                (Purpose::RestartApp { ticket, name }, Content::of(build))
            }
            (Job::RestartApp { ticket, name }, _) => {
                let result = Err(format!("there is no application \"{name}\""));
                let answer = ApplyAnswer::Restarted { ticket, name, replaced: None, result };
                return Some(ApplyEffect::Answer(answer));
            }
            (Job::Upgrade, _) => return Some(ApplyEffect::Upgrade),
            (Job::Restore, Some(build)) => (Purpose::Restore, Content::of(build)),
            (Job::Rebind, Some(build)) => (Purpose::Rebind, Content::of(build)),
            (Job::Restore | Job::Rebind, None) => return None,
        };
        Some(ApplyEffect::Build { purpose, content })
    }

    /// Begins to apply what was built, at once if its router is ready.
    pub(crate) fn apply(&mut self, apply: Apply, is_ready: bool, now: Instant) -> Vec<ApplyEffect> {
        self.apply = Some(apply);
        if is_ready { self.on(ApplyEvent::RouterReady, now) } else { vec![] }
    }

    /// A build has failed, and nothing of it is left.
    pub(crate) fn not_built(&mut self, purpose: Purpose, reason: String, now: Instant) -> Vec<ApplyEffect> {
        let answer = self.answer(purpose, Err(reason), now).map(ApplyEffect::Answer);
        [ApplyEffect::DismissRouter].into_iter().chain(answer).collect()
    }

    /// Something happened that what is being applied may have waited for.
    pub(crate) fn on(&mut self, event: ApplyEvent, now: Instant) -> Vec<ApplyEffect> {
        let Some(apply) = &mut self.apply else { return vec![] };
        let action = apply.steps.on(event);
        self.act(action, now)
    }

    /// As `on`, for news of a router about a generation, which may be another one by now.
    pub(crate) fn on_router(
        &mut self,
        router: RouterId,
        generation: GenerationId,
        event: ApplyEvent,
        now: Instant,
    ) -> Vec<ApplyEffect> {
        if self.applying(router, generation).is_some() { self.on(event, now) } else { vec![] }
    }

    fn act(&mut self, action: ApplyAction, now: Instant) -> Vec<ApplyEffect> {
        match action {
            ApplyAction::None => vec![],
            ApplyAction::StartApps => self.start_apps(now),
            ApplyAction::Prepare => vec![ApplyEffect::Prepare],
            ApplyAction::Commit { unserved } => self.commit(unserved).into_iter().collect(),
            ApplyAction::Finish => self.finish(now),
            ApplyAction::Fail(reason) => self.fail(reason, now),
        }
    }

    fn start_apps(&mut self, now: Instant) -> Vec<ApplyEffect> {
        let Some(Apply { purpose, build, steps, .. }) = &mut self.apply else { return vec![] };
        let mut effects = Vec::new();
        if *purpose == Purpose::Restore {
            effects.push(ApplyEffect::RestoreApps(build.app_ids()));
        } else {
            let new = build.apps.iter().filter(|(id, _)| steps.new_apps().contains(id));
            effects.push(ApplyEffect::AddApps(new.cloned().collect()));
            if steps.awaits_apps() {
                effects.push(ApplyEffect::StartSoon(steps.new_apps().to_vec()));
            }
        }
        let action = steps.prepare_if_complete();
        effects.extend(self.act(action, now));
        effects
    }

    fn commit(&mut self, unserved: Vec<FailedListener>) -> Option<ApplyEffect> {
        let Apply { build, router, .. } = self.apply.as_mut()?;
        build.do_without(unserved);
        build.listeners.iter().for_each(|bound| bound.open());
        Some(ApplyEffect::Commit { router: *router, generation: build.generation })
    }

    /// The router has swapped it in: the sockets that only the old one had are closed, its instances go when the
    /// router has drained them.
    fn finish(&mut self, now: Instant) -> Vec<ApplyEffect> {
        let Some(Apply { purpose, build, steps, .. }) = self.apply.take() else { return vec![] };
        let store = matches!(purpose, Purpose::Change { store: true, .. }).then_some(ApplyEffect::Store);
        let mut before = self.in_force.replace(build).map(Box::new);
        let replaced = before.as_mut().map(|before| self.replaced(before)).unwrap_or_default();
        self.plan_rebinding(now);
        let answer = match purpose {
            Purpose::RestartApp { ticket, name } => {
                let replaced = replaced.iter().find(|(_, spec)| spec.name == name).map(|(id, _)| *id);
                Some(ApplyAnswer::Restarted { ticket, name, replaced, result: Ok(()) })
            }
            purpose => self.answer(purpose, Ok(()), now),
        };
        let others = [
            ApplyEffect::Enter { before },
            ApplyEffect::Replace(replaced),
            ApplyEffect::ReportSharing,
            ApplyEffect::PutInCharge,
            ApplyEffect::StopApps(self.take_unused()),
        ];
        let start = (!steps.awaits_apps()).then(|| ApplyEffect::StartSoon(steps.new_apps().to_vec()));
        store.into_iter().chain(others).chain(start).chain(answer.map(ApplyEffect::Answer)).collect()
    }

    /// Takes the instances of the configuration before that the one in force does without.
    fn replaced(&self, before: &mut Build) -> Vec<(AppId, AppSpec)> {
        let is_used = |id| self.in_force.as_ref().is_some_and(|build| build.uses(id));
        std::mem::take(&mut before.apps).into_iter().filter(|(id, _)| !is_used(*id)).collect()
    }

    fn fail(&mut self, reason: String, now: Instant) -> Vec<ApplyEffect> {
        let Some((purpose, mut effects)) = self.undo() else { return vec![] };
        effects.extend(self.answer(purpose, Err(reason), now).map(ApplyEffect::Answer));
        effects
    }

    /// Leaves nothing of what is being applied.
    fn undo(&mut self) -> Option<(Purpose, Vec<ApplyEffect>)> {
        let Apply { purpose, build, router, steps } = self.apply.take()?;
        let generation = build.generation;
        let abandon = steps.is_with_router().then_some(ApplyEffect::Abandon { router, generation });
        let others = [
            ApplyEffect::DismissRouter,
            ApplyEffect::StopApps(steps.new_apps().to_vec()),
            ApplyEffect::Close(Box::new(build)),
        ];
        Some((purpose, abandon.into_iter().chain(others).collect()))
    }

    fn answer(&mut self, purpose: Purpose, result: Result<(), String>, now: Instant) -> Option<ApplyAnswer> {
        match (purpose, result) {
            (Purpose::Change { generation, .. }, Ok(())) => {
                self.unanswered.push(generation);
                Some(ApplyAnswer::Applied)
            }
            (Purpose::Change { generation, .. }, Err(reason)) => {
                Some(ApplyAnswer::Refused { generation, reason })
            }
            (Purpose::RestartApp { ticket, name }, result) => {
                Some(ApplyAnswer::Restarted { ticket, name, replaced: None, result })
            }
            (Purpose::Rebind, result) => {
                if result.is_err() {
                    self.plan_rebinding(now);
                }
                Some(ApplyAnswer::Rebound(result))
            }
            (Purpose::Restore, result) => result.err().map(ApplyAnswer::NotRestored),
        }
    }

    /// Takes back what the controller does not want any more. What is past the point of return is answered when it is
    /// in force; the first configuration is never taken back, as nothing would be served.
    pub(crate) fn revoke(&mut self, order: Revocable) -> Vec<ApplyEffect> {
        let is_applied = self.apply.as_ref().is_some_and(|apply| apply.is_revocable(order));
        let mut effects = if self.in_force.is_some() && is_applied {
            self.undo().map(|(_, effects)| effects).unwrap_or_default()
        } else if self.jobs.revoke(order) {
            vec![]
        } else {
            return vec![];
        };
        effects.push(ApplyEffect::Answer(ApplyAnswer::Revoked(order)));
        effects
    }

    /// The controller has ended: the answers to what it asked for have no receiver. The next one is told what is in
    /// force, and waits until that is known: applications may load for minutes.
    pub(crate) fn controller_ended(&mut self, now: Instant) -> Vec<ApplyEffect> {
        self.jobs.forget_controller();
        let is_revocable = self.apply.as_ref().is_some_and(Apply::is_revocable_change);
        if self.in_force.is_none() || !is_revocable {
            return vec![];
        }
        self.fail("the controller process ended".to_owned(), now)
    }

    /// A router has ended. If it was to have a configuration, nothing else could be served at a start: while the router
    /// `is_tried_again`, that is not held to be the configuration's fault.
    pub(crate) fn router_ended(
        &mut self,
        router: RouterId,
        is_tried_again: bool,
        now: Instant,
    ) -> Vec<ApplyEffect> {
        if self.apply.as_ref().is_none_or(|apply| apply.router != router) {
            return vec![];
        }
        let is_first = self.in_force.is_none() && is_tried_again;
        let is_change = |purpose: &Purpose| matches!(purpose, Purpose::Change { .. });
        let Some(apply) = self.apply.take_if(|apply| is_first && is_change(&apply.purpose)) else {
            return self.on(ApplyEvent::RouterDied, now);
        };
        let Apply { purpose, build, steps, .. } = apply;
        self.jobs.push_first(Job::Change { purpose, content: Content::of(&build) });
        // Its sockets are closed before they are bound again.
        vec![ApplyEffect::StopApps(steps.new_apps().to_vec()), ApplyEffect::Close(Box::new(build))]
    }
}
