//! Counters over an upgrade: each main process tells the one that takes over what it and its routers have counted, and
//! goes on to tell what its last requests add, so that no counter goes backwards.
//!
//! The successor asks before it starts a router, and again whenever it is asked for the status itself; that answer
//! counts in the next one. The process before also tells what it has when a router has finished, and when it ends. If
//! others before it still count then, it hands the links to them on.
//!
//! Counters leave with the thing that they are of. Only a router knows what is in its configuration: it is asked for
//! its figures whenever one is in force.

use std::collections::BTreeMap;

use corral_ipc::message::{AppStatus, Status, Ticket, ToRouter, ToSuccessor};
use corral_ipc::sums;

use super::Supervisor;
use crate::questions::ENTERED;

/// The ticket of questions whose answers are noted, and wanted for nothing else.
const UNASKED: Ticket = Ticket(u64::MAX);

impl Supervisor {
    /// The successor asks for the counters: tells what is known, and more as soon as the routers have answered.
    pub(super) fn answer_successor(&mut self) {
        self.sums_are_wanted = true;
        self.tell_sums();
        self.inheritance.earlier.ask_sums();
        for id in self.ready_routers() {
            self.children.tell_router(id, &ToRouter::Status { ticket: UNASKED });
        }
    }

    /// Tells a successor that wants to know the counters as they are known now.
    pub(super) fn tell_sums(&mut self) {
        if !self.sums_are_wanted || self.upgrade.peer().is_none() {
            return;
        }
        let mut sums = self.own_sums();
        sums.count_process(self.questions.inherited());
        match sums::to_bytes(&sums) {
            Ok(sums) => {
                let successor = self.upgrade.peer_mut().into_iter();
                successor.for_each(|peer| peer.send(&ToSuccessor::Sums { sums: sums.clone() }, &[]));
            }
            Err(error) => tracing::error!(target: "alert", "tell the successor the counters: {error}"),
        }
    }

    /// This process ends: the successor hears of those before it from now on.
    pub(super) fn hand_on_earlier(&mut self) {
        if self.upgrade.serving_peer().is_none() {
            return;
        }
        let own = self.own_sums();
        let Self { inheritance, questions, upgrade, .. } = self;
        let earlier = &inheritance.earlier;
        match earlier.hand_on(own, |sums| questions.keep_inherited(sums)) {
            Ok(message) => {
                let links: Vec<_> = earlier.links().collect();
                let successor = upgrade.serving_peer().into_iter();
                successor.zip(message).for_each(|(peer, message)| peer.send(&message, &links));
            }
            Err(error) => tracing::error!(target: "alert", "hand on what processes before count: {error:#}"),
        }
    }

    /// Hears the processes before this one: their counters, and which of their commands have ended.
    pub(super) fn hear_earlier(&mut self) {
        if let Some(sums) = self.inheritance.earlier.hear() {
            self.questions.inherit(sums);
            self.tell_sums();
        }
        self.release_background();
        self.tell_of_background();
    }

    /// The counters of this process and its routers.
    fn own_sums(&mut self) -> Status {
        let mut sums = self.questions.own_sums();
        sums.daemon.counting_since = self.questions.started_at;
        sums.daemon.config_changes = self.files.n_changes;
        sums.daemon.main = self.main_figures();
        self.add_counts_of_applications(&mut sums.applications);
        sums
    }

    /// Adds what main has counted of each application.
    fn add_counts_of_applications(&self, sums: &mut Vec<AppStatus>) {
        let apps = self.configuration.in_force().into_iter().flat_map(|build| &build.apps);
        let present = self.children.cpu_by_name();
        let runs = self.children.runs_by_name();
        let places: BTreeMap<_, _> = sums.iter().map(|app| app.name.clone()).zip(0..).collect();
        for (_, spec) in apps {
            let schedule = runs.get(&*spec.name).cloned();
            let mut figures = AppStatus { name: spec.name.clone(), schedule, ..AppStatus::default() };
            self.children.fill_in_crashes(&mut figures);
            self.children.fill_in_workers(&mut figures, &present);
            match places.get(&spec.name).and_then(|place: &usize| sums.get_mut(*place)) {
                Some(known) => {
                    (known.crashes, known.last_crash) = (figures.crashes, figures.last_crash);
                    known.schedule = figures.schedule;
                    (known.workers, known.cpu) = (figures.workers, figures.cpu);
                }
                None => sums.push(figures),
            }
        }
    }

    /// A configuration is in force: what has left with the one before begins at zero if it is added again.
    pub(super) fn count_in_force(&mut self) {
        let Self { children, configuration, questions, .. } = self;
        let router = children.routers.newest().id;
        let others = children.routers.iter().map(|router| router.id).filter(|id| *id != router).collect();
        let apps = configuration.in_force().into_iter().flat_map(|build| &build.apps);
        questions.enter(router, others, apps.map(|(_, spec)| spec.name.clone()).collect());
        children.tell_router(router, &ToRouter::Status { ticket: ENTERED });
    }

    /// The counters of applications of the process before this one, by name.
    pub(super) fn inherited_applications(&self) -> BTreeMap<&str, &AppStatus> {
        self.questions.inherited().applications.iter().map(|app| (&*app.name, app)).collect()
    }
}
