//! Questions that routers were asked and have not answered.

mod lasting;
#[cfg(test)]
mod tests;
pub(crate) mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime};

use corral_ipc::message::{FigureNames, GenerationId, Status, Ticket};

use self::lasting::LastingNames;
use self::workers::WorkerQuestions;
use crate::decide::owed::Owed;
use crate::ids::RouterId;

/// More questions than people ask at once: a client floods, or a router answers nothing.
const MOST_QUESTIONS: usize = 64;

/// Asks the router that has just put a configuration in force. An answer to another question may be from before that.
pub(crate) const ENTERED: Ticket = Ticket(u64::MAX - 1);

/// Listeners, steps, applications and servers of routers that have ended: a router that lies may name others again and
/// again.
const MOST_PLACES: usize = 10_000;

/// A question of the controller about the status that not every router has answered.
struct Question {
    ticket: Ticket,
    asked: Instant,
    missing: BTreeSet<RouterId>,
    /// From the router in charge.
    answer: Option<Status>,
    /// The connections and requests of the others, those that had ended before among them.
    others: Status,
}

/// A configuration is in force, and its router has not told its figures yet, by whose names it is known what it has.
struct Entered {
    router: RouterId,
    /// The routers that have another configuration, if any.
    others: Vec<RouterId>,
    /// All applications, those among them that routers do not know.
    applications: Vec<String>,
}

/// The questions that are open, and what routers have counted that have ended.
pub(crate) struct Questions {
    open: Vec<Question>,
    /// Questions about workers.
    pub(crate) workers: WorkerQuestions,
    /// The generation that a router has not put in force yet.
    owed: Owed,
    ended_routers: Status,
    /// The totals that each router has told last.
    last: BTreeMap<RouterId, Status>,
    /// The names whose counters go on, of routers that have another configuration than the one in force.
    lasting: BTreeMap<RouterId, LastingNames>,
    entered: Option<Entered>,
    /// The counters of the main process before this one.
    inherited: Status,
    /// The names whose counters go on.
    inherited_names: LastingNames,
    /// When this process was started.
    pub(crate) started: Instant,
    /// The same, since 1970.
    pub(crate) started_at: Duration,
}

impl Questions {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            open: Vec::new(),
            workers: WorkerQuestions::default(),
            owed: Owed::default(),
            ended_routers: Status::default(),
            last: BTreeMap::new(),
            lasting: BTreeMap::new(),
            entered: None,
            inherited: Status::default(),
            inherited_names: LastingNames::default(),
            started: now,
            started_at: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default(),
        }
    }

    /// Whether no further question about the status is taken.
    pub(crate) fn are_full(&self) -> bool {
        self.open.len() >= MOST_QUESTIONS
    }

    /// These routers have been asked for their figures.
    pub(crate) fn ask(&mut self, ticket: Ticket, missing: BTreeSet<RouterId>) {
        let (asked, others) = (Instant::now(), self.ended_routers.clone());
        self.open.push(Question { ticket, asked, missing, answer: None, others });
    }

    /// A router has answered; the one in charge knows most.
    pub(crate) fn take(&mut self, id: RouterId, is_in_charge: bool, ticket: Ticket, mut status: Status) {
        if ticket == ENTERED {
            self.hear_names(id, &status);
        }
        self.note_totals(id, &mut status);
        let Some(question) = self.open.iter_mut().find(|question| question.ticket == ticket) else {
            return;
        };
        if question.missing.remove(&id) {
            if is_in_charge {
                question.answer = Some(status);
            } else {
                question.others.count(&status);
            }
        }
    }

    /// A configuration with these applications is in force in a router, which is asked for its figures now, as
    /// [`ENTERED`]; these others have another one. The answer comes before any other configuration can be in force
    /// there.
    pub(crate) fn enter(&mut self, router: RouterId, others: Vec<RouterId>, applications: Vec<String>) {
        self.entered = Some(Entered { router, others, applications });
    }

    /// Leaves out all counters of what is not in the configuration in force, as this answer tells what is.
    fn hear_names(&mut self, id: RouterId, status: &Status) {
        let Some(entered) = self.entered.take_if(|entered| entered.router == id) else { return };
        let mut names = FigureNames::of(status);
        names.add_applications(entered.applications);
        self.inherited_names.pass(&names);
        self.inherited.keep(&names);
        self.ended_routers.keep(&names);
        for other in entered.others {
            self.lasting.entry(other).or_default().pass(&names);
            self.last.get_mut(&other).into_iter().for_each(|last| last.keep(&names));
        }
    }

    /// Notes what a router has told, which goes on counting if it is killed; leaves out what does not.
    fn note_totals(&mut self, id: RouterId, status: &mut Status) {
        self.lasting.get(&id).into_iter().for_each(|lasting| lasting.keep(status));
        self.last.insert(id, totals(status));
    }

    /// Takes out what every router has answered; without figures if the one in charge has given none.
    pub(crate) fn take_complete(&mut self) -> Vec<(Ticket, Option<Status>)> {
        let complete = self.open.extract_if(.., |question| question.missing.is_empty());
        let inherited = &self.inherited;
        let sum = |Question { ticket, answer, others, .. }| {
            let status = answer.map(|mut status: Status| {
                status.count_known(&others);
                status.count_known(inherited);
                status
            });
            (ticket, status)
        };
        complete.map(sum).collect()
    }

    /// A router has finished: what it has counted goes on counting, its connections are closed.
    pub(crate) fn keep_totals(&mut self, id: RouterId, mut status: Status) {
        self.note_totals(id, &mut status);
        self.end_router(id);
    }

    fn end_router(&mut self, id: RouterId) {
        self.lasting.remove(&id);
        // Its successor knows no names before it has a configuration, which enters again.
        self.entered.take_if(|entered| entered.router == id);
        self.entered.iter_mut().for_each(|entered| entered.others.retain(|other| *other != id));
        if let Some(totals) = self.last.remove(&id) {
            // One that has answered counts there already.
            for question in self.open.iter_mut().filter(|question| question.missing.contains(&id)) {
                question.others.count(&totals);
            }
            self.ended_routers.count(&totals);
            self.ended_routers.bound(MOST_PLACES);
        }
    }

    /// The main process before this one has told its counters, which only grow. Applications that it has given up
    /// meanwhile are remembered.
    pub(crate) fn inherit(&mut self, mut sums: Status) {
        let told: BTreeSet<_> = sums.applications.iter().map(|app| app.name.clone()).collect();
        let before = std::mem::take(&mut self.inherited.applications);
        let known: BTreeMap<_, _> = before.iter().map(|app| (&*app.name, app)).collect();
        for app in &mut sums.applications {
            if let Some(before) = known.get(&*app.name) {
                app.keep_counts(before);
            }
        }
        sums.applications.extend(before.into_iter().filter(|app| !told.contains(&app.name)));
        self.keep_inherited(&mut sums);
        sums.applications.truncate(MOST_PLACES);
        // One that is about to end has none in force.
        let generation = self.inherited.daemon.main.generation;
        sums.daemon.main.generation = sums.daemon.main.generation.max(generation);
        self.inherited = sums;
    }

    /// The counters of the main process before this one.
    pub(crate) fn inherited(&self) -> &Status {
        &self.inherited
    }

    /// Leaves out of counters of the main processes before this one what does not go on.
    pub(crate) fn keep_inherited(&self, sums: &mut Status) {
        self.inherited_names.keep(sums);
    }

    /// The counters of all routers that there were.
    pub(crate) fn own_sums(&self) -> Status {
        let mut sums = self.ended_routers.clone();
        self.last.values().for_each(|totals| sums.count(totals));
        sums.bound(MOST_PLACES);
        sums
    }

    /// The answer of a router that has ended is not waited for, and what it has told before goes on counting.
    pub(crate) fn forget_router(&mut self, id: RouterId) {
        self.end_router(id);
        self.workers.forget_router(id);
        for question in &mut self.open {
            question.missing.remove(&id);
        }
    }

    /// The controller that has asked is gone.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
        self.workers.clear();
    }

    /// Notes the generation that a router is to have in force now.
    pub(crate) fn note_owed(&mut self, what: Option<(RouterId, GenerationId)>, now: Instant) {
        self.owed.note(what, now);
    }

    /// When a router has been silent for too long that can still be heard.
    pub(crate) fn deadline(&self, is_heard: impl Fn(RouterId) -> bool) -> Option<Instant> {
        self.owed.deadline(self.asked(is_heard))
    }

    /// The routers that have been silent for too long.
    pub(crate) fn silent(&self, is_heard: impl Fn(RouterId) -> bool, now: Instant) -> Vec<RouterId> {
        self.owed.silent(self.asked(is_heard), now)
    }

    /// Routers that have not answered, and when they were asked.
    fn asked(&self, is_heard: impl Fn(RouterId) -> bool) -> impl Iterator<Item = (RouterId, Instant)> {
        let asked =
            self.open.iter().flat_map(|question| question.missing.iter().map(|id| (*id, question.asked)));
        asked.chain(self.workers.asked()).filter(move |(id, _)| is_heard(*id))
    }
}

/// The figures of a router that go on counting when it has ended; its connections are closed then.
fn totals(status: &Status) -> Status {
    let Status { accepted, refused, requests, dropped_datagrams, .. } = *status;
    let inner = status.inner.totals();
    Status { accepted, closed: accepted, refused, requests, dropped_datagrams, inner, ..status.ended() }
}
