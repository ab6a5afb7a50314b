//! The configuration: the one in force, the one that is being applied, and what waits for that.

pub(crate) mod applying;
pub(crate) mod build;
pub(crate) mod builder;
pub(crate) mod jobs;

use std::rc::Rc;
use std::time::Instant;

use corral_ipc::message::{AppId, GenerationId, Revocable};

use self::build::Build;
use self::jobs::{Job, Jobs, Purpose};
use crate::access_log::AccessLogFile;
use crate::decide::backoff::Backoff;
use crate::decide::steps::Steps;
use crate::ids::RouterId;

/// How much higher than the one before a number of the controller may be. Those of changes that were refused at once
/// are not known here.
const LONGEST_STEP: u64 = 1 << 32;

/// A build that is not in force yet.
#[derive(Debug)]
pub(crate) struct Apply {
    pub(crate) purpose: Purpose,
    pub(crate) build: Build,
    /// The router that is to have the build in force.
    pub(crate) router: RouterId,
    pub(crate) steps: Steps,
}

impl Apply {
    /// A build with these new instances, for this router.
    pub(crate) fn new(purpose: Purpose, build: Build, new_apps: Vec<AppId>, router: RouterId) -> Self {
        let steps = Steps::new(purpose.tolerates_failures(), new_apps, build.unserved.clone());
        Self { purpose, build, router, steps }
    }

    /// In force no sooner than its new applications work or have failed, as another process serves until then.
    pub(crate) fn awaiting_apps(self) -> Self {
        Self { steps: self.steps.awaiting_apps(), ..self }
    }

    /// Whether the controller waits for it and it can still be undone.
    fn is_revocable_change(&self) -> bool {
        matches!(self.purpose, Purpose::Change { .. }) && !self.steps.is_committing()
    }

    /// Whether it is what the controller has asked for as this, and can still be undone.
    fn is_revocable(&self, order: Revocable) -> bool {
        self.purpose.order() == Some(order) && !self.steps.is_committing()
    }
}

/// The one in force, and what is to become of it.
pub(crate) struct Configuration {
    in_force: Option<Build>,
    apply: Option<Apply>,
    jobs: Jobs,
    /// In force, which the controller has not been told.
    unanswered: Vec<GenerationId>,
    /// Instances of the configuration in force that the router does not use any more, as it has
    /// swapped in the next one.
    unused: Vec<AppId>,
    /// When listeners that could not be bound are tried again.
    rebinding: Backoff,
    /// Highest number that the controller has used.
    highest: GenerationId,
    /// The number of the last build.
    last: u64,
}

/// The consequence when a router uses an instance no more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unused {
    /// The instance is to end.
    Stop,
    /// The instance may still be needed.
    Keep,
}

impl Configuration {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            in_force: None,
            apply: None,
            jobs: Jobs::default(),
            unanswered: Vec::new(),
            unused: Vec::new(),
            rebinding: Backoff::new(now),
            highest: GenerationId(0),
            last: 0,
        }
    }

    pub(crate) fn in_force(&self) -> Option<&Build> {
        self.in_force.as_ref()
    }

    /// The build that is not in force yet.
    pub(crate) fn next_build(&self) -> Option<&Apply> {
        self.apply.as_ref()
    }

    pub(crate) fn is_applying(&self) -> bool {
        self.apply.is_some()
    }

    /// Takes the changes that are in force, which the controller is told now.
    pub(crate) fn take_unanswered(&mut self) -> Vec<GenerationId> {
        std::mem::take(&mut self.unanswered)
    }

    /// The number of the next build.
    pub(crate) fn next_generation(&mut self) -> GenerationId {
        self.last += 1;
        GenerationId(self.last)
    }

    /// Highest number that the controller has used.
    pub(crate) fn highest(&self) -> GenerationId {
        self.highest
    }

    /// Whether the controller may use this number for the next configuration: the controllers to come need others.
    pub(crate) fn is_next(&self, generation: GenerationId) -> bool {
        let step = generation.0.checked_sub(self.highest.0);
        step.is_some_and(|step| (1..=LONGEST_STEP).contains(&step))
    }

    /// The controller has used this number.
    pub(crate) fn note_number(&mut self, generation: GenerationId) {
        self.highest = self.highest.max(generation);
    }

    /// Has a job done when nothing is being applied.
    pub(crate) fn plan(&mut self, job: Job) {
        self.jobs.push(job);
    }

    /// As `plan`, for a restart that no request waits for, unless one is planned already.
    pub(crate) fn plan_restart_once(&mut self, name: String) {
        self.jobs.restart_once(name);
    }

    /// Whether more changes wait than people make.
    pub(crate) fn is_busy(&self) -> bool {
        self.jobs.is_full()
    }

    /// Whether nothing is being changed, nor is to be.
    pub(crate) fn is_quiet(&self) -> bool {
        self.apply.is_none() && self.jobs.is_empty()
    }

    /// The build that a router is to have in force and has been told about; nothing if that is another generation by
    /// now.
    pub(crate) fn applying(&self, router: RouterId, generation: GenerationId) -> Option<&Apply> {
        let is_it = |apply: &&Apply| {
            apply.router == router && apply.steps.is_with_router() && apply.build.generation == generation
        };
        self.apply.as_ref().filter(is_it)
    }

    /// Whether what is wrong with an instance is reported as the reason why a configuration fails.
    pub(crate) fn fails_with(&self, app: AppId) -> bool {
        self.apply.as_ref().is_some_and(|apply| apply.steps.fails_with(app))
    }

    /// The router uses an instance no more.
    pub(crate) fn unused(&mut self, app: AppId) -> Unused {
        if self.apply.as_ref().is_some_and(|apply| apply.build.uses(app)) {
            return Unused::Keep; // the next configuration needs it again
        }
        if !self.in_force.as_ref().is_some_and(|build| build.uses(app)) {
            return Unused::Stop;
        }
        // The router has swapped already and says so next.
        if !self.unused.contains(&app) {
            self.unused.push(app);
        }
        Unused::Keep
    }

    /// The router in charge has ended. Its successor is told what is in force; returns the instances of that.
    pub(crate) fn router_in_charge_ended(&mut self) -> Option<Vec<AppId>> {
        self.unused.clear();
        let kept = self.in_force.as_ref().map(Build::app_ids);
        if kept.is_some() {
            self.jobs.push_first(Job::Restore);
        }
        kept
    }

    /// A router that had ended was replaced by another one: what was planned to restore it is in its successor.
    pub(crate) fn router_was_replaced(&mut self) {
        self.jobs.forget_restore();
    }

    /// The router that is to answer next, and about which generation.
    pub(crate) fn owed(&self) -> Option<(RouterId, GenerationId)> {
        let apply = self.apply.as_ref().filter(|apply| apply.steps.awaits_router());
        apply.map(|apply| (apply.router, apply.build.generation))
    }

    /// Takes the instances that are not used, now that another configuration is in force.
    fn take_unused(&mut self) -> Vec<AppId> {
        let unused = std::mem::take(&mut self.unused);
        let is_used = |app: &AppId| self.in_force.as_ref().is_some_and(|build| build.uses(*app));
        unused.into_iter().filter(|app| !is_used(app)).collect()
    }

    /// Sets the time at which listeners that could not be bound are tried again.
    fn plan_rebinding(&mut self, now: Instant) {
        if self.in_force.as_ref().is_none_or(|build| build.unbound.is_empty()) {
            self.rebinding = Backoff::new(now);
        } else {
            self.rebinding.failed(now);
        }
    }

    /// When to try that, for which it must be quiet.
    pub(crate) fn rebind_at(&self) -> Option<Instant> {
        self.rebinding.restart_at().filter(|_| self.is_quiet())
    }

    /// Plans it.
    pub(crate) fn rebind(&mut self, now: Instant) {
        self.rebinding.started(now);
        self.jobs.push(Job::Rebind);
    }

    /// Opens the access logs anew. One that cannot be opened goes on where it is. Returns the others, by the numbers
    /// that a generation has for them.
    pub(crate) fn reopen_access_logs(&mut self) -> Vec<(GenerationId, u32, Rc<AccessLogFile>)> {
        let Some(build) = &mut self.in_force else { return Vec::new() };
        let mut opened = Vec::new();
        for (idx, log) in (0..).zip(&mut build.access_logs) {
            match AccessLogFile::open(log.path()) {
                Ok(reopened) => *log = Rc::new(reopened),
                Err(error) => {
                    tracing::error!(target: "alert", "reopen: {error}");
                    continue;
                }
            }
            opened.push((build.generation, idx, Rc::clone(log)));
            // A build that is going to take its place has the same file.
            let next = self.apply.iter_mut().flat_map(|apply| &mut apply.build.access_logs);
            for next in next.filter(|next| next.path() == log.path()) {
                *next = Rc::clone(log);
            }
        }
        opened
    }

    /// Forgets what is being applied, and all that waits for that.
    pub(crate) fn drop_jobs(&mut self) {
        self.jobs.clear();
        self.apply = None;
    }

    /// Gives everything up: closes listeners and removes socket files, as a client that connected now would not be
    /// served.
    pub(crate) fn end(&mut self) {
        self.drop_jobs();
        self.in_force = None;
    }
}
