//! Routers: starting them, what they ask for, and what follows when one ends.

use std::time::Instant;

use corral_config::plan::Plan;
use corral_ipc::message::{FailedListener, FromRouter, GenerationId, ToController, ToRouter};
use corral_sys::signal::Signal;

use super::Supervisor;
use crate::children::routers::threads_for;
use crate::configuration::Unused;
use crate::configuration::build::Content;
use crate::configuration::jobs::{Job, Purpose};
use crate::decide::steps::ApplyEvent;
use crate::decide::stop::LAST_REQUESTS;
use crate::ids::RouterId;
use crate::issued_secrets::NOBODY;
use crate::peer::Peer;

impl Supervisor {
    /// Starts the router in charge.
    pub(super) fn start_router(&mut self) {
        let router = &mut self.children.routers.in_charge;
        match self.programs.start_router(router.role.name, router.n_threads, &self.secrets) {
            Ok((peer, outputs)) => {
                router.role.started(peer, Instant::now());
                self.children.outputs.add(outputs);
            }
            Err(error) => router.role.not_started(error, Instant::now()),
        }
    }

    /// Starts a successor if the router in charge has another number of event loops than a plan asks for. It takes over
    /// with the configuration that asks for it. Both accept connections for a moment; then the old one finishes what it
    /// has begun.
    pub(super) fn fit_router(&mut self, plan: &Plan) -> Result<(), String> {
        let routers = &mut self.children.routers;
        let n_threads = threads_for(Some(plan));
        if n_threads == routers.in_charge.n_threads {
            return Ok(());
        }
        let successor = routers.successor_with(n_threads);
        match self.programs.start_router(successor.role.name, n_threads, &self.secrets) {
            Ok((peer, outputs)) => {
                successor.role.started(peer, Instant::now());
                self.children.outputs.add(outputs);
                Ok(())
            }
            Err(error) => {
                routers.successor = None;
                Err(format!("start a router with {n_threads} event loops: {:#}", anyhow::Error::new(error)))
            }
        }
    }

    /// The successor has the configuration in force now.
    pub(super) fn take_over(&mut self) {
        if self.children.routers.successor.is_none() {
            return;
        }
        let replaced = self.children.routers.in_charge.id;
        self.children.routers.take_over();
        self.children.tell_router(replaced, &ToRouter::Finish { keep_idle: LAST_REQUESTS });
        if self.children.routers.find(replaced).is_none() {
            // It had died meanwhile: what was planned to restore it is in its successor.
            self.children.stop_apps_of(replaced);
            self.configuration.jobs.forget_restore();
        }
    }

    /// The configuration that the successor was started for has failed.
    pub(super) fn dismiss_successor(&mut self) {
        let routers = &mut self.children.routers;
        let successor = routers.successor.as_ref();
        if let Some(peer) = successor.and_then(|successor| successor.role.peer.as_ref()) {
            peer.kill(Signal::TERM);
        }
        routers.dismiss_successor();
    }

    /// Handles one message; false when there is none.
    pub(super) fn read_router(&mut self, id: RouterId) -> bool {
        let Self { children, programs, questions, .. } = self;
        let Some((message, _)) = children.routers.peer_mut(id).and_then(Peer::next_message) else {
            return false;
        };
        match message {
            FromRouter::Ready => self.router_ready(id),
            FromRouter::Prepared { generation, failed } => self.router_prepared(id, generation, failed),
            FromRouter::NotPrepared { generation, reason } => {
                self.advance_if_about(id, generation, ApplyEvent::Prepared(Err(reason)));
            }
            FromRouter::Committed { generation } => {
                self.advance_if_about(id, generation, ApplyEvent::Committed);
            }
            FromRouter::Closed => {
                children.routers.closed(id);
                self.answer_changes();
            }
            FromRouter::StartWorker { app }
            | FromRouter::KillWorker { app, .. }
            | FromRouter::RetireWorker { app, .. }
            | FromRouter::AppNotTaken { app, .. }
            | FromRouter::AppUnused { app }
                if children.apps.get(&app).is_some_and(|app| app.router != Some(id)) =>
            {
                children.end_router(id, "speaks of an application that is not its own");
            }
            FromRouter::StartWorker { app } => children.start_worker(id, app, programs),
            FromRouter::KillWorker { app, worker, reason } => children.kill_worker(app, worker, &reason),
            FromRouter::RetireWorker { app, worker } => children.retire_worker(app, worker),
            FromRouter::AppNotTaken { app, reason } => children.app_not_taken(app, &reason),
            FromRouter::AppUnused { app } => {
                if self.configuration.unused(app) == Unused::Stop {
                    children.stop_app(app);
                }
            }
            FromRouter::Provided { ticket } if id == children.routers.in_charge.id && ticket != NOBODY => {
                self.tell_controller(&ToController::Provided { ticket });
            }
            FromRouter::Provided { .. } => {}
            FromRouter::CertificateWanted { name, client } => {
                self.tell_controller(&ToController::CertificateWanted { name, client });
            }
            FromRouter::Status { ticket, status } => self.take_status(id, ticket, status),
            FromRouter::Ask { ticket, question } => self.on_desk_question(id, ticket, question),
            FromRouter::Finished { .. }
                if !self.stopping.has_begun() && id == children.routers.in_charge.id =>
            {
                children.end_router(id, "says that it has finished, but was not told to");
            }
            FromRouter::Finished { status } => questions.keep_totals(&status),
        }
        true
    }

    fn router_ready(&mut self, id: RouterId) {
        if let Some(router) = self.children.routers.find_mut(id) {
            router.role.is_ready = true;
        }
        if self.children.routers.newest().id == id {
            self.advance(ApplyEvent::RouterReady);
        }
    }

    fn router_prepared(&mut self, id: RouterId, generation: GenerationId, failed: Vec<FailedListener>) {
        match self.configuration.applying(id, generation) {
            Some(apply) if failed.len() <= apply.build.listeners.len() => {
                self.advance(ApplyEvent::Prepared(Ok(failed)));
            }
            Some(_) => self.children.end_router(id, "cannot serve more listeners than there are"),
            None => {}
        }
    }

    fn advance_if_about(&mut self, id: RouterId, generation: GenerationId, event: ApplyEvent) {
        if self.configuration.applying(id, generation).is_some() {
            self.advance(event);
        }
    }

    /// A router has ended, as it was told to or not.
    pub(super) fn forget_router(&mut self, id: RouterId) {
        if id == self.children.routers.in_charge.id {
            self.children.routers.in_charge.role.ended(Instant::now());
            self.configuration.forget_unused();
            let kept = self.configuration.in_force.as_ref().map(|build| build.app_ids());
            self.children.take_back_workers(kept.as_deref());
            if kept.is_some() {
                self.configuration.jobs.push_first(Job::Restore);
            }
        } else {
            self.children.routers.remove(id);
            self.children.stop_apps_of(id);
        }
        self.questions.forget_router(id);
        self.answer_questions();
        self.answer_changes();
        self.watch.iter_mut().for_each(|watch| watch.forget_router(id));
        if self.configuration.apply.as_ref().is_some_and(|apply| apply.router == id) {
            self.give_up_or_begin_again();
        }
    }

    /// The router ended that was to have a configuration. At a start nothing else could be served, so that a few
    /// routers may end before that is held to be the configuration's fault.
    fn give_up_or_begin_again(&mut self) {
        let is_patient = self.children.routers.in_charge.role.backoff.is_patient();
        let is_first = self.configuration.in_force.is_none() && is_patient;
        let is_change = |purpose: &Purpose| matches!(purpose, Purpose::Change { .. });
        let apply = &mut self.configuration.apply;
        let Some(apply) = apply.take_if(|apply| is_first && is_change(&apply.purpose)) else {
            return self.advance(ApplyEvent::RouterDied);
        };
        apply.steps.new_apps().iter().for_each(|app| self.children.stop_app(*app));
        let content = Content::of(&apply.build);
        // Closes its sockets before they are bound again.
        drop(apply.build);
        self.configuration.jobs.push_first(Job::Change { purpose: apply.purpose, content });
    }

    /// Takes note of what a router is to have in force that can still be heard.
    pub(super) fn note_owed(&mut self, now: Instant) {
        let Self { children, configuration, .. } = self;
        let apply = configuration.apply.as_ref();
        let apply = apply.filter(|apply| apply.steps.awaits_router() && children.hears(apply.router));
        let what = apply.map(|apply| (apply.router, apply.build.generation));
        self.questions.note_owed(what, now);
    }

    /// Ends routers that have owed an answer for too long.
    pub(super) fn end_silent(&mut self, now: Instant) {
        let children = &self.children;
        let silent = self.questions.silent(|router| children.hears(router), now);
        for router in silent {
            self.children.end_router(router, "has not answered for minutes");
        }
        self.note_owed(now);
    }
}
