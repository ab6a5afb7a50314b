//! The router: starting it, and what it asks for.

use std::time::Instant;

use corral_ipc::message::{
    AppId, Desk, FailedListener, FromRouter, Generation, ToPrototype, ToRouter, WorkerId,
};

use super::{Parts, Supervisor};
use crate::app::Phase;
use crate::apply::{Apply, Build, Content, Event, Job, Purpose};
use crate::launch::LaunchError;
use crate::options::Console;
use crate::output::Output;
use crate::peer::Peer;
use crate::routers::{Router, RouterId};

impl Supervisor {
    /// Starts the router in charge.
    pub(super) fn start_router(&mut self) {
        let started = start(&mut self.routers.in_charge, &self.parts);
        match started {
            Ok(outputs) => self.outputs.extend(outputs),
            Err(error) => {
                self.routers.in_charge.role.backoff.failed(Instant::now());
                tracing::error!(target: "alert", "start the router: {:#}", anyhow::Error::new(error));
            }
        }
    }

    pub(super) fn tell_router(&mut self, id: RouterId, message: &ToRouter) {
        if let Some(peer) = self.routers.peer_mut(id) {
            peer.send(message, &[]);
        }
    }

    /// Tells the router that an instance works for.
    pub(super) fn tell_router_of(&mut self, app: AppId, message: &ToRouter) {
        if let Some(router) = self.apps.get(&app).map(|app| app.router) {
            self.tell_router(router, message);
        }
    }

    /// Handles one message; false when there is none.
    pub(super) fn read_router(&mut self, id: RouterId) -> bool {
        let Some((message, _)) = self.routers.peer_mut(id).and_then(Peer::next_message) else {
            return false;
        };
        match message {
            FromRouter::Ready => self.router_ready(id),
            FromRouter::Prepared { generation, failed } => self.router_prepared(id, generation, failed),
            FromRouter::NotPrepared { generation, reason } => {
                self.advance_if_about(id, generation, Event::Prepared(Err(reason)));
            }
            FromRouter::Committed { generation } => {
                self.advance_if_about(id, generation, Event::Committed);
            }
            FromRouter::StartWorker { app }
            | FromRouter::KillWorker { app, .. }
            | FromRouter::RetireWorker { app, .. }
            | FromRouter::AppNotTaken { app, .. }
            | FromRouter::AppUnused { app }
                if self.apps.get(&app).is_some_and(|app| app.router != id) =>
            {
                self.end_router(id, "speaks of an application that is not its own");
            }
            FromRouter::StartWorker { app } => self.start_worker(id, app),
            FromRouter::KillWorker { app, worker, reason } => self.kill_worker(app, worker, &reason),
            FromRouter::RetireWorker { app, worker } => self.retire_worker(app, worker),
            FromRouter::AppNotTaken { app, reason } => self.app_not_taken(app, &reason),
            FromRouter::AppUnused { app } => self.app_unused(app),
            FromRouter::Status { ticket, status } => self.take_status(id, ticket, status),
            FromRouter::Ask { ticket, question } => self.on_desk_question(id, ticket, question),
            FromRouter::Finished { .. } if self.stop.is_none() && id == self.routers.in_charge.id => {
                self.end_router(id, "says that it has finished, which nobody has told it to");
            }
            FromRouter::Finished { status } => self.keep_totals(&status),
        }
        true
    }

    fn router_ready(&mut self, id: RouterId) {
        if let Some(router) = self.routers.find_mut(id) {
            router.role.is_ready = true;
        }
        if self.routers.newest().id == id {
            self.advance(Event::RouterReady);
        }
    }

    fn router_prepared(&mut self, id: RouterId, generation: Generation, failed: Vec<FailedListener>) {
        let is_possible = |apply: &Apply| failed.len() <= apply.build.listeners.len();
        match self.applying(id, generation) {
            Some(apply) if is_possible(apply) => self.advance(Event::Prepared(Ok(failed))),
            Some(_) => self.end_router(id, "cannot serve more listeners than there are"),
            None => {}
        }
    }

    /// What a router is to have in force and has been told about; nothing if that is another generation by now.
    fn applying(&self, id: RouterId, generation: Generation) -> Option<&Apply> {
        self.apply.as_ref().filter(|apply| apply.router == id && apply.is_about(generation))
    }

    fn advance_if_about(&mut self, id: RouterId, generation: Generation, event: Event) {
        if self.applying(id, generation).is_some() {
            self.advance(event);
        }
    }

    /// Kills a router that says what none of ours does.
    pub(super) fn end_router(&mut self, id: RouterId, what: &str) {
        if let Some(peer) = self.routers.peer_mut(id) {
            peer.give_up(what);
        }
    }

    fn start_worker(&mut self, router: RouterId, id: AppId) {
        let Some(app) = self.apps.get_mut(&id).filter(|app| !app.is_stopping()) else {
            let reason = "the application is being stopped".to_owned();
            return self.tell_router(router, &ToRouter::WorkerFailed { app: id, reason });
        };
        let is_dormant = app.phase == Phase::Dormant;
        match app.want_one_more() {
            Ok(()) if is_dormant => self.start_prototype(id),
            Ok(()) => self.fork_next(id),
            Err(reason) => self.tell_router(router, &ToRouter::WorkerFailed { app: id, reason }),
        }
    }

    fn kill_worker(&mut self, id: AppId, worker: WorkerId, reason: &str) {
        // Otherwise it has ended meanwhile.
        if let Some(app) = self.apps.get_mut(&id)
            && app.kill(worker)
        {
            tracing::warn!("\"{}\" application: killing a worker: {reason}", app.spec.name);
            self.tell_prototype(id, &ToPrototype::Kill { worker });
        }
    }

    fn retire_worker(&mut self, id: AppId, worker: WorkerId) {
        if self.apps.get_mut(&id).is_some_and(|app| app.retire(worker)) {
            self.tell_prototype(id, &ToPrototype::Retire { worker });
        }
    }

    fn app_not_taken(&mut self, id: AppId, reason: &str) {
        if self.apps.get(&id).is_some_and(|app| app.phase == Phase::Ready && !app.has_failed()) {
            self.give_up_prototype(id, reason);
        }
    }

    fn app_unused(&mut self, id: AppId) {
        let is_used = |build: &Build| build.apps.iter().any(|(other, _)| *other == id);
        if self.apply.as_ref().is_some_and(|apply| is_used(&apply.build)) {
            return; // the next configuration needs it again
        }
        match &self.in_force {
            // The router has swapped already and says so next.
            Some(build) if is_used(build) && !self.unused.contains(&id) => self.unused.push(id),
            Some(build) if is_used(build) => {}
            _ => self.stop_app(id),
        }
    }

    /// A router has ended, as it was told to or not.
    pub(super) fn forget_router(&mut self, id: RouterId) {
        if id == self.routers.in_charge.id {
            self.routers.in_charge.role.peer = None;
            self.routers.in_charge.role.is_ready = false;
            self.routers.in_charge.role.backoff.failed(Instant::now());
            self.take_back_workers();
            if self.in_force.is_some() {
                self.jobs.push_front(Job::Restore);
            }
        } else {
            self.routers.remove(id);
            self.stop_apps_of(id);
        }
        self.forget_questions_to(id);
        self.forget_desk_of(id);
        if self.apply.as_ref().is_some_and(|apply| apply.router == id) {
            self.give_up_or_begin_again();
        }
    }

    /// The router ended that was to have a configuration. At a start nothing else could be served, so that a few routers
    /// may end before that is held to be the configuration's fault.
    fn give_up_or_begin_again(&mut self) {
        let is_first = self.in_force.is_none() && self.routers.in_charge.role.backoff.is_patient();
        match self.apply.take_if(|apply| is_first && matches!(apply.purpose, Purpose::Change { .. })) {
            Some(Apply { purpose, build, new_apps, .. }) => {
                new_apps.into_iter().for_each(|app| self.stop_app(app));
                let content = Content::of(&build);
                // Closes its sockets before they are bound again.
                drop(build);
                self.jobs.push_front(Job::Change { purpose, content });
            }
            None => self.advance(Event::RouterDied),
        }
    }

    /// The router in charge died: the next one gets workers of its own, as these wait for a ring that nobody
    /// fills any more.
    fn take_back_workers(&mut self) {
        let id = self.routers.in_charge.id;
        self.unused.clear();
        for app in self.apps.values_mut().filter(|app| app.router == id) {
            for worker in app.forget_workers() {
                if let Some(prototype) = &mut app.prototype {
                    prototype.send(&ToPrototype::Kill { worker }, &[]);
                }
            }
        }
        if let Some(build) = &self.in_force {
            let keep: Vec<_> = build.apps.iter().map(|(id, _)| *id).collect();
            self.stop_apps(|other, app| app.router == id && !keep.contains(&other));
        }
    }

    /// A router is gone for good: nobody gives work to its instances any more.
    pub(super) fn stop_apps_of(&mut self, id: RouterId) {
        self.stop_apps(|_, app| app.router == id);
    }
}

fn desk(console: &Console) -> Desk {
    Desk { watches: !console.watch.is_empty(), explains: console.explains }
}

/// Starts the process of a router.
pub(super) fn start(router: &mut Router, parts: &Parts) -> Result<Vec<Output>, LaunchError> {
    let on_terminal = parts.console.is_some();
    let (mut peer, outputs) = parts.launcher.start_own(router.role.name, on_terminal)?;
    let start = ToRouter::Start {
        n_threads: router.n_threads,
        temp_dir: parts.temp_dir.clone(),
        console: on_terminal,
        desk: parts.console.as_ref().map(desk).unwrap_or_default(),
    };
    peer.send(&start, &[]);
    router.role.is_ready = false;
    router.role.backoff.started(Instant::now());
    router.role.peer = Some(peer);
    Ok(outputs)
}
