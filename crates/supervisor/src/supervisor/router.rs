//! The router: starting it, and what it asks for.

use std::time::Instant;

use corral_config::plan::Plan;
use corral_ipc::message::{AppId, FromRouter, Ticket, ToController, ToPrototype, ToRouter, WorkerId};
use corral_sys::signal::Signal;

use super::Supervisor;
use crate::app::Phase;
use crate::apply::{Build, Event, Job};

/// Most event loops of a router: more than this many eventfds would not fit one message.
const MAX_THREADS: u32 = 128;

impl Supervisor {
    /// Event loops when the configuration names no number: one for each processor.
    pub(super) fn usual_threads(&self) -> u16 {
        let n_processors = std::thread::available_parallelism().map_or(1, |n| n.get());
        u16::try_from(n_processors.min(MAX_THREADS as usize)).unwrap_or(1)
    }

    pub(super) fn start_router(&mut self) {
        self.router.is_ready = false;
        let on_terminal = self.parts.console.is_some();
        match self.parts.launcher.start_own(self.router.name, on_terminal) {
            Ok((mut peer, output)) => {
                let start = ToRouter::Start {
                    n_threads: self.n_threads,
                    temp_dir: self.parts.temp_dir.clone(),
                    console: on_terminal,
                };
                peer.send(&start, &[]);
                self.router.backoff.started(Instant::now());
                self.router.peer = Some(peer);
                self.outputs.push(output);
            }
            Err(error) => {
                self.router.backoff.failed(Instant::now());
                tracing::error!(target: "alert", "start the router: {:#}", anyhow::Error::new(error));
            }
        }
    }

    /// Gives the router the number of event loops that a plan asks for. That takes a new process, so
    /// it happens only while no configuration could notice.
    pub(super) fn fit_router(&mut self, plan: &Plan) {
        let n_threads = plan.listen_threads.map_or_else(
            || self.usual_threads(),
            |n| u16::try_from(n.get().min(MAX_THREADS)).unwrap_or(u16::MAX),
        );
        if n_threads == self.n_threads {
            return;
        }
        let is_idle = |plan: &Plan| plan.listeners.is_empty() && plan.applications.is_empty();
        if self.in_force.as_ref().is_some_and(|build| !is_idle(&build.plan)) {
            tracing::info!(
                target: "notice",
                "the router keeps its {} event loops; \"listen_threads\" takes effect when the daemon starts",
                self.n_threads
            );
            return;
        }
        self.n_threads = n_threads;
        self.answer_status_without_router();
        if let Some(peer) = self.router.peer.take() {
            peer.kill(Signal::TERM);
            self.retired.push(peer);
        }
        self.start_router();
    }

    pub(super) fn tell_router(&mut self, message: &ToRouter) {
        if let Some(peer) = &mut self.router.peer {
            peer.send(message, &[]);
        }
    }

    /// Handles one message; false when there is none.
    pub(super) fn read_router(&mut self) -> bool {
        let Some((message, _)) = self.router.peer.as_mut().and_then(|peer| peer.next_message()) else {
            return false;
        };
        match message {
            FromRouter::Ready => {
                self.router.is_ready = true;
                self.advance(Event::RouterReady);
            }
            FromRouter::Prepared { generation, outcome } => {
                if self.apply.as_ref().is_some_and(|apply| apply.is_about(generation)) {
                    self.advance(Event::Prepared(outcome));
                }
            }
            FromRouter::Committed { generation } => {
                if self.apply.as_ref().is_some_and(|apply| apply.is_about(generation)) {
                    self.advance(Event::Committed);
                }
            }
            FromRouter::StartWorker { app } => self.start_worker(app),
            FromRouter::KillWorker { app, worker, reason } => self.kill_worker(app, worker, &reason),
            FromRouter::AppUnused { app } => self.app_unused(app),
            FromRouter::Status { ticket, mut status } => {
                if self.take_ticket(ticket) {
                    self.complete_status(&mut status);
                    self.tell_controller(&ToController::Status { ticket, status: Some(status) });
                }
            }
        }
        true
    }

    fn take_ticket(&mut self, ticket: Ticket) -> bool {
        let place = self.status_tickets.iter().position(|other| *other == ticket);
        place.map(|place| self.status_tickets.remove(place)).is_some()
    }

    fn start_worker(&mut self, id: AppId) {
        let Some(app) = self.apps.get_mut(&id).filter(|app| !app.is_stopping()) else {
            let reason = "the application is being stopped".to_owned();
            return self.tell_router(&ToRouter::WorkerFailed { app: id, reason });
        };
        let is_dormant = app.phase == Phase::Dormant;
        match app.want_one_more() {
            Ok(()) if is_dormant => self.start_prototype(id),
            Ok(()) => self.fork_next(id),
            Err(reason) => self.tell_router(&ToRouter::WorkerFailed { app: id, reason }),
        }
    }

    fn kill_worker(&mut self, id: AppId, worker: WorkerId, reason: &str) {
        let Some(app) = self.apps.get_mut(&id).filter(|app| app.workers.contains_key(&worker)) else {
            return; // it has ended meanwhile
        };
        tracing::warn!("\"{}\" application: killing a worker: {reason}", app.spec.name);
        if let Some(prototype) = &mut app.prototype {
            prototype.send(&ToPrototype::Kill { worker }, &[]);
        }
    }

    fn app_unused(&mut self, id: AppId) {
        let is_used = |build: &Build| build.apps.iter().any(|(other, _)| *other == id);
        if self.apply.as_ref().is_some_and(|apply| is_used(&apply.build)) {
            return; // the next configuration needs it again
        }
        match &self.in_force {
            // The router has swapped already and says so next.
            Some(build) if is_used(build) => self.unused.push(id),
            _ => self.stop_app(id),
        }
    }

    /// The router died: the next one gets workers of its own, as these wait for a ring that nobody
    /// fills any more.
    pub(super) fn forget_router(&mut self) {
        self.router.peer = None;
        self.router.is_ready = false;
        self.answer_status_without_router();
        self.router.backoff.failed(Instant::now());
        self.advance(Event::RouterDied);
        self.unused.clear();
        for app in self.apps.values_mut() {
            for worker in app.forget_workers() {
                if let Some(prototype) = &mut app.prototype {
                    prototype.send(&ToPrototype::Kill { worker }, &[]);
                }
            }
        }
        if let Some(build) = &self.in_force {
            let keep: Vec<_> = build.apps.iter().map(|(id, _)| *id).collect();
            let unused: Vec<_> = self.apps.keys().copied().filter(|id| !keep.contains(id)).collect();
            for id in unused {
                self.stop_app(id);
            }
            self.jobs.push_front(Job::Restore);
        }
    }

    fn answer_status_without_router(&mut self) {
        for ticket in std::mem::take(&mut self.status_tickets) {
            self.tell_controller(&ToController::Status { ticket, status: None });
        }
    }
}
