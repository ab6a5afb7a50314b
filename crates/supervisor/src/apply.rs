//! The steps that put a configuration in force: everything new is built beside the old, the router
//! prepares, then swaps. Pure: events go in, the next action comes out.

use std::collections::BTreeSet;
use std::rc::Rc;

use corral_config::plan::{AppSpec, Assets, Plan};
use corral_ipc::message::{AppId, Demand, FailedListener, Generation, Ticket};

use crate::access_log::AccessLog;
use crate::listeners::{BindError, Bound};
use crate::routers::RouterId;

/// Who wants a configuration in force, and what happens when it is or cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The controller, under its own number.
    Change { generation: Generation, store: bool, demand: Demand },
    /// The controller wants one application replaced, under its own number, or files have changed.
    RestartApp { ticket: Option<Ticket>, name: String },
    /// A new router has to learn what is in force.
    Restore,
    /// Listeners that could not be bound are tried again.
    Rebind,
}

impl Purpose {
    /// Whether what cannot start is done without: a server without one application or listener is
    /// better than none.
    pub(crate) fn tolerates_failures(&self) -> bool {
        match self {
            Self::Change { demand, .. } => *demand == Demand::WhatStarts,
            Self::RestartApp { .. } => false,
            Self::Restore | Self::Rebind => true,
        }
    }
}

/// What is to be done when nothing else is being applied.
#[derive(Debug)]
pub(crate) enum Job {
    /// Put this configuration in force.
    Change { purpose: Purpose, content: Content },
    /// Put what is in force then in force again, with a new instance of one application.
    RestartApp { ticket: Option<Ticket>, name: String },
    /// Tell a new router what is in force then.
    Restore,
    /// Try to bind the listeners again that could not be bound.
    Rebind,
    /// Have another main process take over.
    Upgrade,
}

impl Job {
    /// Bytes of what it is to put in force.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Change { content, .. } => content.document.len() + content.assets.size(),
            Self::RestartApp { .. } | Self::Restore | Self::Rebind | Self::Upgrade => 0,
        }
    }
}

/// What a build is made from.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) plan: Plan,
    pub(crate) document: Vec<u8>,
    /// What the document names of the state directory.
    pub(crate) assets: Assets,
}

impl Content {
    /// The same again.
    pub(crate) fn of(build: &Build) -> Self {
        let Build { plan, document, assets, .. } = build;
        Self { plan: plan.clone(), document: document.clone(), assets: assets.clone() }
    }
}

/// A configuration with everything that belongs to it.
#[derive(Debug)]
pub(crate) struct Build {
    /// The number that the router knows it by.
    pub(crate) generation: Generation,
    pub(crate) plan: Plan,
    pub(crate) document: Vec<u8>,
    /// What the document names of the state directory.
    pub(crate) assets: Assets,
    pub(crate) listeners: Vec<Rc<Bound>>,
    /// Listeners that could not be bound.
    pub(crate) unbound: Vec<BindError>,
    /// Listeners that the router cannot serve. Until it has answered, those of the configuration before.
    pub(crate) unserved: Vec<FailedListener>,
    pub(crate) apps: Vec<(AppId, AppSpec)>,
    /// In the order of the plan.
    pub(crate) access_logs: Vec<Rc<AccessLog>>,
}

impl Build {
    /// Gives up the sockets of listeners that the router does not serve.
    fn do_without(&mut self, failed: Vec<FailedListener>) {
        self.listeners.retain(|bound| {
            let address = bound.address().to_string();
            failed.iter().all(|failed| failed.address != address)
        });
        self.unserved = failed;
    }
}

/// A build that is not in force yet.
#[derive(Debug)]
pub(crate) struct Apply {
    pub(crate) purpose: Purpose,
    pub(crate) build: Build,
    /// Instances that only this build uses: stopped if it fails.
    pub(crate) new_apps: Vec<AppId>,
    /// Who is to have it in force.
    pub(crate) router: RouterId,
    /// Whether it is in force no sooner than its new applications work. What else could be served is not served
    /// meanwhile, unless something before it is.
    pub(crate) awaits_apps: bool,
    step: Step,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// The router is starting.
    Router,
    /// These applications are not up yet.
    Apps(BTreeSet<AppId>),
    /// The router builds it beside the running one.
    Preparing,
    /// The router swaps it in.
    Committing,
}

/// What happened.
#[derive(Debug)]
pub(crate) enum Event {
    RouterReady,
    AppUp(AppId),
    AppFailed(AppId, String),
    Prepared(Result<Vec<FailedListener>, String>),
    Committed,
    RouterDied,
}

/// What to do about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Wait on.
    None,
    /// Start the new applications, or fork workers for a new router.
    StartApps,
    /// Send sockets, access log and document to the router.
    Prepare,
    /// Tell the router to swap it in.
    Commit,
    /// It is in force.
    Finish,
    /// Undo everything.
    Fail(String),
}

impl Apply {
    pub(crate) fn new(purpose: Purpose, build: Build, new_apps: Vec<AppId>, router: RouterId) -> Self {
        let awaits_apps = !purpose.tolerates_failures();
        Self { purpose, build, new_apps, router, awaits_apps, step: Step::Router }
    }

    /// In force no sooner than its new applications work or have failed, as somebody else serves until then.
    pub(crate) fn awaiting_apps(self) -> Self {
        Self { awaits_apps: true, ..self }
    }

    /// Whether the controller waits for it and it can still be undone.
    pub(crate) fn is_revocable_change(&self) -> bool {
        matches!(self.purpose, Purpose::Change { .. }) && self.step != Step::Committing
    }

    /// Whether the router has been told about the generation.
    pub(crate) fn is_with_router(&self) -> bool {
        matches!(self.step, Step::Preparing | Step::Committing)
    }

    /// Whether the router is what is waited for, and not applications.
    pub(crate) fn awaits_router(&self) -> bool {
        !matches!(self.step, Step::Apps(_))
    }

    /// Whether the answer of the router about this generation is waited for.
    pub(crate) fn is_about(&self, generation: Generation) -> bool {
        self.is_with_router() && self.build.generation == generation
    }

    /// Takes one step.
    pub(crate) fn on(&mut self, event: Event) -> Action {
        match (&mut self.step, event) {
            (Step::Router, Event::RouterReady) => {
                let waiting = self.new_apps.iter().copied().filter(|_| self.awaits_apps);
                self.step = Step::Apps(waiting.collect());
                Action::StartApps
            }
            (Step::Apps(waiting), Event::AppUp(app)) if waiting.contains(&app) => {
                waiting.remove(&app);
                self.prepare_if_complete()
            }
            (Step::Apps(waiting), Event::AppFailed(app, reason)) if waiting.contains(&app) => {
                // Its requests get 503 until it can.
                if !self.purpose.tolerates_failures() {
                    return Action::Fail(reason);
                }
                waiting.remove(&app);
                self.prepare_if_complete()
            }
            (Step::Preparing, Event::Prepared(Ok(failed))) => {
                // What was wrong before does not keep others from being changed.
                let is_known = |failed: &&FailedListener| self.build.unserved.contains(failed);
                let tolerates = self.purpose.tolerates_failures();
                if let Some(new) = failed.iter().find(|failed| !tolerates && !is_known(failed)) {
                    return Action::Fail(new.reason.clone());
                }
                self.step = Step::Committing;
                self.build.do_without(failed);
                Action::Commit
            }
            (Step::Preparing, Event::Prepared(Err(reason))) => Action::Fail(reason),
            (Step::Committing, Event::Committed) => Action::Finish,
            (_, Event::RouterDied) => Action::Fail(ROUTER_DIED.to_owned()),
            _ => Action::None,
        }
    }

    /// To be called when the applications have been started, as there may be none.
    pub(crate) fn prepare_if_complete(&mut self) -> Action {
        if self.step != Step::Apps(BTreeSet::new()) {
            return Action::None;
        }
        self.step = Step::Preparing;
        Action::Prepare
    }
}

const ROUTER_DIED: &str = "the router process ended while it prepared the configuration; \
                           it has been started again, so the change can be sent again";

#[cfg(test)]
mod tests {
    use crate::testing::spec;

    use super::*;

    fn apply(purpose: Purpose, apps: &[u32], new_apps: &[u32]) -> Apply {
        let plan = Plan {
            listeners: vec![],
            applications: vec![],
            access_logs: vec![],
            listen_threads: None,
            log: corral_config::settings::LogSettings::default(),
        };
        let build = Build {
            generation: Generation(1),
            plan,
            document: vec![],
            assets: Assets::default(),
            listeners: vec![],
            unbound: vec![],
            unserved: vec![],
            apps: apps.iter().map(|id| (AppId(*id), spec("a=/a"))).collect(),
            access_logs: vec![],
        };
        Apply::new(purpose, build, new_apps.iter().copied().map(AppId).collect(), RouterId::default())
    }

    fn change() -> Purpose {
        Purpose::Change { generation: Generation(7), store: true, demand: Demand::Everything }
    }

    /// A short notation of events, and of the actions that they lead to.
    #[track_caller]
    fn check(mut apply: Apply, events: &str, expected: &str) {
        let mut actions = Vec::new();
        for event in events.split_ascii_whitespace() {
            let number = || AppId(event[1..].parse().unwrap());
            let event = match &event[..1] {
                "r" => Event::RouterReady,
                "+" => Event::AppUp(number()),
                "-" => Event::AppFailed(number(), "app".into()),
                "p" => Event::Prepared(Ok(vec![])),
                "l" => Event::Prepared(Ok(vec![unserved(&event[1..])])),
                "P" => Event::Prepared(Err("router".into())),
                "c" => Event::Committed,
                _ => Event::RouterDied,
            };
            let mut action = apply.on(event);
            if action == Action::StartApps {
                actions.push("start".to_owned());
                action = apply.prepare_if_complete();
            }
            actions.push(match action {
                Action::None | Action::StartApps => continue,
                Action::Prepare => "prepare".to_owned(),
                Action::Commit => "commit".to_owned(),
                Action::Finish => "finish".to_owned(),
                Action::Fail(reason) => format!("fail:{}", reason.split(' ').next().unwrap()),
            });
        }
        assert_eq!(actions.join(" "), expected);
    }

    #[test]
    fn a_router_is_waited_for_before_and_after_applications() {
        let mut apply = apply(change(), &[1], &[1]);
        assert!(apply.awaits_router());
        apply.on(Event::RouterReady);
        assert!(!apply.awaits_router(), "applications may take as long as they do");
        apply.on(Event::AppUp(AppId(1)));
        assert!(apply.awaits_router());
    }

    #[test]
    fn without_new_applications_the_router_goes_on_at_once() {
        check(apply(change(), &[], &[]), "r p c", "start prepare commit finish");
        check(apply(change(), &[1], &[]), "r p c", "start prepare commit finish");
    }

    #[test]
    fn every_new_application_is_waited_for() {
        check(apply(change(), &[1, 2, 3], &[2, 3]), "r +3 +1 +3 +2 p c", "start prepare commit finish");
        check(apply(change(), &[1, 2], &[1, 2]), "r +1", "start");
    }

    #[test]
    fn each_failure_undoes_everything() {
        check(apply(change(), &[1, 2], &[1, 2]), "r +1 -2", "start fail:app");
        check(apply(change(), &[], &[]), "r P", "start prepare fail:router");
        check(apply(change(), &[], &[]), "x", "fail:the");
        check(apply(change(), &[1], &[1]), "r x", "start fail:the");
        check(apply(change(), &[], &[]), "r p x", "start prepare commit fail:the");
    }

    fn unserved(address: &str) -> FailedListener {
        FailedListener { address: address.to_owned(), reason: format!("listener {address}") }
    }

    #[test]
    fn a_listener_that_cannot_be_served_fails_a_change_unless_it_could_not_before() {
        check(apply(change(), &[], &[]), "r la c", "start prepare fail:listener");
        let mut before = apply(change(), &[], &[]);
        before.build.unserved = vec![unserved("a"), unserved("b")];
        check(before, "r la c", "start prepare commit finish");
        check(apply(Purpose::Restore, &[], &[]), "r la c", "start prepare commit finish");
    }

    #[test]
    fn the_death_of_an_old_application_is_not_the_change_s_fault() {
        check(apply(change(), &[1, 2], &[2]), "r -1 +2", "start prepare");
    }

    #[test]
    fn a_restored_router_waits_for_no_application() {
        check(apply(Purpose::Restore, &[1, 2], &[]), "r -1 +2 p c", "start prepare commit finish");
        check(apply(Purpose::Restore, &[1, 2], &[]), "r p c", "start prepare commit finish");
    }

    #[test]
    fn a_daemon_starts_without_its_applications() {
        let purpose = Purpose::Change { generation: Generation(7), store: false, demand: Demand::WhatStarts };
        check(apply(purpose.clone(), &[1, 2], &[1, 2]), "r p c", "start prepare commit finish");
        let patient = apply(purpose, &[1, 2], &[1, 2]).awaiting_apps();
        check(patient, "r -1 p +2 p c", "start prepare commit finish");
    }

    #[test]
    fn answers_at_the_wrong_time_change_nothing() {
        check(apply(change(), &[1], &[1]), "p c +1 r c p +1 c p", "start prepare commit");
    }
}
