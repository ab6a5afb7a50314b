//! The steps that put a configuration in force: everything new is built beside the old, the router
//! prepares, then swaps. Events go in, the next action comes out.
//!
//! Before the swap, a change can be undone: a newer change that replaces all of it has the controller send `Revoke`.
//! Main answers `Revoked`, or goes on and answers as usual. At a start, and for a router that replaces a dead one,
//! nothing better is served meanwhile: applications are started after the swap, a few at a turn, and their pools hold
//! requests for the workers to come.
//!
//! Workers have a lane for each event loop of one router. So a new number of event loops takes a second router: it gets
//! the same sockets, both accept for a moment, then the old one finishes and its applications end with it. An instance
//! that was replaced lives until the last request that could name it has ended, or until its `drain_timeout`.

use std::collections::BTreeSet;

use corral_ipc::message::{AppId, FailedListener};

/// An event.
#[derive(Debug)]
pub(crate) enum ApplyEvent {
    RouterReady,
    AppUp(AppId),
    AppFailed(AppId, String),
    Prepared(Result<Vec<FailedListener>, String>),
    Committed,
    RouterDied,
}

/// A step that answers an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ApplyAction {
    /// Wait on.
    None,
    /// Start the new applications, or fork workers for a new router.
    StartApps,
    /// Send sockets, access log and document to the router.
    Prepare,
    /// Tell the router to swap it in, without these listeners, which it cannot serve.
    Commit { unserved: Vec<FailedListener> },
    /// The configuration is in force.
    Finish,
    /// Undo everything.
    Fail(String),
}

/// The way of one configuration, from the first step to the last.
#[derive(Debug)]
pub(crate) struct Steps {
    /// Whether what cannot start is done without.
    is_tolerant: bool,
    /// Instances that only this configuration uses.
    new_apps: Vec<AppId>,
    /// Whether it is in force no sooner than its new applications work. What else could be served is not served
    /// meanwhile, unless something before it is.
    awaits_apps: bool,
    /// Listeners that the router could not serve before.
    unserved: Vec<FailedListener>,
    step: ApplyStep,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ApplyStep {
    /// The router is starting.
    Router,
    /// These applications are not up yet.
    Apps(BTreeSet<AppId>),
    /// The router builds it beside the running one.
    Preparing,
    /// The router swaps it in.
    Committing,
}

impl Steps {
    /// The way of a configuration with these new instances, after one with which these listeners were not served.
    pub(crate) fn new(is_tolerant: bool, new_apps: Vec<AppId>, unserved: Vec<FailedListener>) -> Self {
        Self { is_tolerant, new_apps, awaits_apps: !is_tolerant, unserved, step: ApplyStep::Router }
    }

    /// In force no sooner than its new applications work or have failed, as another process serves until then.
    pub(crate) fn awaiting_apps(self) -> Self {
        Self { awaits_apps: true, ..self }
    }

    pub(crate) fn new_apps(&self) -> &[AppId] {
        &self.new_apps
    }

    pub(crate) fn awaits_apps(&self) -> bool {
        self.awaits_apps
    }

    /// Whether a failure of this instance is one of the configuration.
    pub(crate) fn fails_with(&self, app: AppId) -> bool {
        !self.is_tolerant && self.new_apps.contains(&app)
    }

    /// Whether the router swaps it in, which cannot be undone.
    pub(crate) fn is_committing(&self) -> bool {
        self.step == ApplyStep::Committing
    }

    /// Whether the router has been told about it.
    pub(crate) fn is_with_router(&self) -> bool {
        matches!(self.step, ApplyStep::Preparing | ApplyStep::Committing)
    }

    /// Whether the router is what is waited for, and not applications.
    pub(crate) fn awaits_router(&self) -> bool {
        !matches!(self.step, ApplyStep::Apps(_))
    }

    /// Takes one step.
    pub(crate) fn on(&mut self, event: ApplyEvent) -> ApplyAction {
        match (&mut self.step, event) {
            (ApplyStep::Router, ApplyEvent::RouterReady) => {
                let waiting = self.new_apps.iter().copied().filter(|_| self.awaits_apps);
                self.step = ApplyStep::Apps(waiting.collect());
                ApplyAction::StartApps
            }
            (ApplyStep::Apps(waiting), ApplyEvent::AppUp(app)) if waiting.contains(&app) => {
                waiting.remove(&app);
                self.prepare_if_complete()
            }
            (ApplyStep::Apps(waiting), ApplyEvent::AppFailed(app, reason)) if waiting.contains(&app) => {
                // Its requests get 503 until it can.
                if !self.is_tolerant {
                    return ApplyAction::Fail(reason);
                }
                waiting.remove(&app);
                self.prepare_if_complete()
            }
            (ApplyStep::Preparing, ApplyEvent::Prepared(Ok(failed))) => {
                // What was wrong before does not keep others from being changed.
                let is_news = |failed: &&FailedListener| !self.unserved.contains(failed);
                if let Some(new) = failed.iter().filter(|_| !self.is_tolerant).find(is_news) {
                    return ApplyAction::Fail(new.reason.clone());
                }
                self.step = ApplyStep::Committing;
                ApplyAction::Commit { unserved: failed }
            }
            (ApplyStep::Preparing, ApplyEvent::Prepared(Err(reason))) => ApplyAction::Fail(reason),
            (ApplyStep::Committing, ApplyEvent::Committed) => ApplyAction::Finish,
            (_, ApplyEvent::RouterDied) => ApplyAction::Fail(ROUTER_DIED.to_owned()),
            _ => ApplyAction::None,
        }
    }

    /// To be called when the applications have been started, as there may be none.
    pub(crate) fn prepare_if_complete(&mut self) -> ApplyAction {
        if self.step != ApplyStep::Apps(BTreeSet::new()) {
            return ApplyAction::None;
        }
        self.step = ApplyStep::Preparing;
        ApplyAction::Prepare
    }
}

const ROUTER_DIED: &str = "the router process ended while it prepared the configuration; \
                           it has been started again, so the change can be sent again";

#[cfg(test)]
mod tests {
    use super::*;

    fn change(new_apps: &[u32]) -> Steps {
        Steps::new(false, new_apps.iter().copied().map(AppId).collect(), vec![])
    }

    fn tolerant(new_apps: &[u32]) -> Steps {
        Steps { is_tolerant: true, awaits_apps: false, ..change(new_apps) }
    }

    /// A short notation of events, and of the actions that they lead to.
    #[track_caller]
    fn check(mut steps: Steps, events: &str, expected: &str) {
        let mut actions = Vec::new();
        for event in events.split_ascii_whitespace() {
            let number = || AppId(event[1..].parse().unwrap());
            let event = match &event[..1] {
                "r" => ApplyEvent::RouterReady,
                "+" => ApplyEvent::AppUp(number()),
                "-" => ApplyEvent::AppFailed(number(), "app".into()),
                "p" => ApplyEvent::Prepared(Ok(vec![])),
                "l" => ApplyEvent::Prepared(Ok(vec![unserved(&event[1..])])),
                "P" => ApplyEvent::Prepared(Err("router".into())),
                "c" => ApplyEvent::Committed,
                _ => ApplyEvent::RouterDied,
            };
            let mut action = steps.on(event);
            if action == ApplyAction::StartApps {
                actions.push("start".to_owned());
                action = steps.prepare_if_complete();
            }
            actions.push(match action {
                ApplyAction::None | ApplyAction::StartApps => continue,
                ApplyAction::Prepare => "prepare".to_owned(),
                ApplyAction::Commit { .. } => "commit".to_owned(),
                ApplyAction::Finish => "finish".to_owned(),
                ApplyAction::Fail(reason) => format!("fail:{}", reason.split(' ').next().unwrap()),
            });
        }
        assert_eq!(actions.join(" "), expected);
    }

    #[test]
    fn a_router_is_waited_for_before_and_after_applications() {
        let mut steps = change(&[1]);
        assert!(steps.awaits_router());
        steps.on(ApplyEvent::RouterReady);
        assert!(!steps.awaits_router(), "applications may take as long as they do");
        steps.on(ApplyEvent::AppUp(AppId(1)));
        assert!(steps.awaits_router());
    }

    #[test]
    fn without_new_applications_the_router_goes_on_at_once() {
        check(change(&[]), "r p c", "start prepare commit finish");
    }

    #[test]
    fn every_new_application_is_waited_for() {
        check(change(&[2, 3]), "r +3 +1 +3 +2 p c", "start prepare commit finish");
        check(change(&[1, 2]), "r +1", "start");
    }

    #[test]
    fn each_failure_undoes_everything() {
        check(change(&[1, 2]), "r +1 -2", "start fail:app");
        check(change(&[]), "r P", "start prepare fail:router");
        check(change(&[]), "x", "fail:the");
        check(change(&[1]), "r x", "start fail:the");
        check(change(&[]), "r p x", "start prepare commit fail:the");
    }

    fn unserved(address: &str) -> FailedListener {
        FailedListener { address: address.to_owned(), reason: format!("listener {address}") }
    }

    #[test]
    fn a_listener_that_cannot_be_served_fails_a_change_unless_it_could_not_before() {
        check(change(&[]), "r la c", "start prepare fail:listener");
        let known = Steps::new(false, vec![], vec![unserved("a"), unserved("b")]);
        check(known, "r la c", "start prepare commit finish");
        check(tolerant(&[]), "r la c", "start prepare commit finish");
    }

    #[test]
    fn the_death_of_an_old_application_is_not_the_change_s_fault() {
        check(change(&[2]), "r -1 +2", "start prepare");
    }

    #[test]
    fn a_restored_router_waits_for_no_application() {
        check(tolerant(&[]), "r -1 +2 p c", "start prepare commit finish");
    }

    #[test]
    fn a_daemon_starts_without_its_applications() {
        check(tolerant(&[1, 2]), "r p c", "start prepare commit finish");
        check(tolerant(&[1, 2]).awaiting_apps(), "r -1 p +2 p c", "start prepare commit finish");
    }

    #[test]
    fn answers_at_the_wrong_time_change_nothing() {
        check(change(&[1]), "p c +1 r c p +1 c p", "start prepare commit");
    }
}
