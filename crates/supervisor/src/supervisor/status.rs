//! The figures of `/status`: gathered from every router that runs, completed by what only main knows.

use std::collections::BTreeSet;

use corral_ipc::message::{
    AppStatus, DaemonStatus, FailedListener, MainFigures, OwnProcess, Status, Ticket, ToController, ToRouter,
};

use super::Supervisor;
use crate::children::app::App;
use crate::configuration::build::Build;
use crate::ids::RouterId;

impl Supervisor {
    pub(super) fn ask_status(&mut self, ticket: Ticket) {
        if self.questions.are_full() {
            return self.children.controller.send(&ToController::Status { ticket, status: None });
        }
        let asked = self.ready_routers();
        for id in &asked {
            self.children.tell_router(*id, &ToRouter::Status { ticket });
        }
        self.inheritance.earlier.ask_sums();
        self.questions.ask(ticket, asked);
        self.answer_questions();
    }

    /// The routers that answer questions.
    pub(super) fn ready_routers(&self) -> BTreeSet<RouterId> {
        let ready = self.children.routers.iter().filter(|router| router.role.is_ready);
        ready.map(|router| router.id).collect()
    }

    pub(super) fn take_status(&mut self, id: RouterId, ticket: Ticket, status: Status) {
        let is_in_charge = id == self.children.routers.in_charge.id;
        self.questions.take(id, is_in_charge, ticket, status);
        self.tell_sums();
        self.answer_questions();
    }

    /// Tells the controller what every router has answered.
    pub(super) fn answer_questions(&mut self) {
        for (ticket, mut status) in self.questions.take_complete() {
            if let Some(status) = &mut status {
                status.daemon.main = self.main_figures();
                self.complete_status(status);
                self.count_workers(status);
            }
            let status = status.map(Box::new);
            self.children.controller.send(&ToController::Status { ticket, status });
        }
        self.answer_worker_questions();
    }

    /// The counters of this process, and the use that the daemon makes of the machine.
    pub(super) fn main_figures(&mut self) -> MainFigures {
        let Self { children, usage, .. } = self;
        let roles = [(OwnProcess::Controller, &children.controller), (OwnProcess::Reader, &children.reader)];
        let routers = children.routers.iter().map(|router| (OwnProcess::Router, &router.role));
        let roles = roles.into_iter().chain(routers);
        let roles = roles.filter_map(|(process, role)| Some((process, role.peer.as_ref()?)));
        let images = children.images.peers().map(|peer| (OwnProcess::Image, peer));
        let peers = roles.chain(images);
        let peers = peers.map(|(process, peer)| (process, peer.pid().as_raw_nonzero().get().unsigned_abs()));
        let processes = usage.look([(OwnProcess::Main, std::process::id())].into_iter().chain(peers));
        MainFigures {
            generation: self.configuration.in_force().map_or(0, |build| build.generation.0),
            last_change: self.files.last_change,
            restarts: self.restarts.of_own_processes,
            processes,
        }
    }

    /// Adds what only main knows: what could not be bound, started or stored.
    fn complete_status(&self, status: &mut Status) {
        let in_force = self.configuration.in_force();
        let not_stored = self.stored.why_not().map(ToOwned::to_owned);
        status.daemon = DaemonStatus {
            pid: std::process::id(),
            uptime: self.questions.started.elapsed(),
            started: self.questions.started_at,
            counting_since: self.questions.started_at,
            listeners: in_force.map(listener_addresses).unwrap_or_default(),
            config_error: self.files.trouble.clone().or(not_stored),
            log: self.audience.log_path(),
            config_files: self.files.describe().map(|files| files.names),
            config_changes: self.files.n_changes,
            upgrade_error: self.upgrade.trouble().cloned(),
            main: std::mem::take(&mut status.daemon.main),
        };
        status.daemon.count(&self.questions.inherited().daemon);
        let Some(build) = in_force else { return };
        let unbound = build.unbound.iter();
        let unbound = unbound
            .map(|error| FailedListener { address: error.address().to_string(), reason: error.to_string() });
        status.failed_listeners = unbound.chain(build.unserved.iter().cloned()).collect();
        let background = build.apps.iter().skip(build.plan.applications.len());
        status.background =
            background.map(|(id, spec)| background_status(&spec.name, self.children.apps.get(id))).collect();
        let inherited = self.inherited_applications();
        let runs = self.children.runs_by_name();
        for figures in status.applications.iter_mut().chain(&mut status.background) {
            let Some((id, _)) = build.find_app(&figures.name) else { continue };
            let Some(app) = self.children.apps.get(id) else { continue };
            let known = figures.last_error.take().or_else(|| app.life.failure().map(ToOwned::to_owned));
            figures.last_error = known.or_else(|| self.restarts.failure_of(*id).cloned());
            self.children.fill_in_crashes(figures);
            if let (Some(schedule), Some(all)) = (&mut figures.schedule, runs.get(&*figures.name)) {
                (schedule.runs, schedule.failed, schedule.skipped) = (all.runs, all.failed, all.skipped);
            }
            figures.warning = self.programs.warning_about(&app.spec);
            inherited.get(&*figures.name).into_iter().for_each(|before| figures.count_before(before));
        }
    }
}

fn background_status(name: &str, app: Option<&App>) -> AppStatus {
    let name = name.to_owned();
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    AppStatus {
        name,
        running: app.map_or(0, |app| count(app.workers.running().count())),
        starting: app.map_or(0, |app| app.workers.n_coming()),
        schedule: app.and_then(|app| app.background.as_ref()?.schedule()),
        queue: app.and_then(|app| app.background.as_ref()?.queue()),
        ..AppStatus::default()
    }
}

fn listener_addresses(build: &Build) -> Vec<String> {
    build.plan.listeners.iter().map(|listener| listener.address.to_string()).collect()
}
