//! The workers of an application one by one: a router tells what it knows, main which processes those are; and ends of
//! single workers that a person wants.

use std::collections::HashMap;

use corral_ipc::message::{AppId, Status, Ticket, ToController, ToRouter, WorkerEnding, WorkerStatus};

use super::Supervisor;
use crate::ids::RouterId;

impl Supervisor {
    pub(super) fn ask_workers(&mut self, ticket: Ticket, name: &str) {
        let apps = self.children.instances_of(name);
        if apps.is_empty() || self.questions.workers.are_full() {
            return self.children.controller.send(&ToController::Workers { ticket, workers: None });
        }
        let hears = |router: &RouterId| {
            self.children.routers.find(*router).is_some_and(|router| router.role.is_ready)
        };
        let apps: Vec<_> = apps.into_iter().map(|(app, router)| (app, router.filter(hears))).collect();
        for (app, router) in &apps {
            let app = *app;
            router.iter().for_each(|router| {
                self.children.tell_router(*router, &ToRouter::Workers { ticket, app });
            });
        }
        self.questions.workers.ask(ticket, &apps);
        self.answer_worker_questions();
    }

    pub(super) fn take_workers(
        &mut self,
        router: RouterId,
        ticket: Ticket,
        app: AppId,
        workers: Vec<WorkerStatus>,
    ) {
        self.questions.workers.take(router, ticket, app, workers);
        self.answer_worker_questions();
    }

    /// Tells the controller of the workers that every router has told of.
    pub(super) fn answer_worker_questions(&mut self) {
        for (ticket, told) in self.questions.workers.take_complete() {
            let in_force = self.configuration.in_force();
            let is_in_force = |app| in_force.is_some_and(|build| build.apps.iter().any(|(id, _)| *id == app));
            let told = told.into_iter().map(|told| (told.app, is_in_force(told.app), told.workers)).collect();
            let workers = Some(self.children.describe_workers(told));
            self.children.controller.send(&ToController::Workers { ticket, workers });
        }
    }

    /// Ends a worker, as a person wants it.
    pub(super) fn end_worker(&mut self, ticket: Ticket, name: &str, pid: u32, ending: WorkerEnding) {
        let found = self.children.find_worker(name, pid);
        if let Some((app, worker)) = found {
            self.children.end_worker(app, worker, pid, ending);
        }
        let is_found = found.is_some();
        self.children.controller.send(&ToController::WorkerTold { ticket, is_found });
    }

    /// Adds what main knows of the workers of all applications: how many there were, their shares of memory, and the
    /// time that they had.
    pub(super) fn count_workers(&mut self, status: &mut Status) {
        let Some(build) = self.configuration.in_force() else { return };
        let ids: HashMap<&str, AppId> = build.apps.iter().map(|(id, spec)| (&*spec.name, *id)).collect();
        let children = &mut self.children;
        for figures in status.applications.iter_mut().chain(&mut status.background) {
            if let Some(id) = ids.get(figures.name.as_str()) {
                children.note_cpu(*id, figures.cpu);
            }
        }
        let present = self.children.cpu_by_name();
        let proportional = self.children.proportional_memory();
        let before = self.inherited_applications();
        for figures in status.applications.iter_mut().chain(&mut status.background) {
            self.children.fill_in_workers(figures, &present);
            figures.proportional = proportional.get(figures.name.as_str()).copied();
            if let Some(before) = before.get(figures.name.as_str()) {
                figures.count_workers_before(before);
            }
        }
    }
}
