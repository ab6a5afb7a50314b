//! Questions that routers were asked and have not answered.

pub(crate) mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime};

use corral_ipc::message::{GenerationId, Status, Ticket};

use self::workers::WorkerQuestions;
use crate::decide::owed::Owed;
use crate::ids::RouterId;

/// More questions than people ask at once: a client floods, or a router answers nothing.
const MOST_QUESTIONS: usize = 64;

/// Listeners, steps, applications and servers of routers that have ended: a configuration may name others again and
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
    /// The counters of the main process before this one.
    inherited: Status,
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
            inherited: Status::default(),
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
    pub(crate) fn take(&mut self, id: RouterId, is_in_charge: bool, ticket: Ticket, status: Status) {
        self.note_totals(id, &status);
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

    /// Notes what a router has told, which goes on counting if it is killed.
    fn note_totals(&mut self, id: RouterId, status: &Status) {
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
    pub(crate) fn keep_totals(&mut self, id: RouterId, status: &Status) {
        self.note_totals(id, status);
        self.end_router(id);
    }

    fn end_router(&mut self, id: RouterId) {
        if let Some(totals) = self.last.remove(&id) {
            // One that has answered counts there already.
            for question in self.open.iter_mut().filter(|question| question.missing.contains(&id)) {
                question.others.count(&totals);
            }
            self.ended_routers.count(&totals);
            self.ended_routers.bound(MOST_PLACES);
            self.ended_routers.inner.authentication.remote_keys.truncate(MOST_PLACES);
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

    /// The counters of all routers that there were, and of the main process before this one.
    pub(crate) fn sums(&self) -> Status {
        let mut sums = self.ended_routers.clone();
        self.last.values().chain([&self.inherited]).for_each(|totals| sums.count(totals));
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

#[cfg(test)]
mod tests {
    use corral_ipc::message::{AppStatus, ListenerFigures, Refusal};

    use super::*;

    fn told(requests: u64) -> Status {
        let mut listener = ListenerFigures::new("*:80".to_owned());
        listener.sent = requests;
        Status { requests, accepted: requests, listeners: vec![listener], ..Status::default() }
    }

    /// Asks these routers; each answers with a number unless it has none.
    fn ask(questions: &mut Questions, routers: &[(RouterId, Option<u64>)]) {
        questions.ask(Ticket(7), routers.iter().map(|(id, _)| *id).collect());
        for (place, (id, requests)) in routers.iter().enumerate() {
            if let Some(requests) = requests {
                questions.take(*id, place == 0, Ticket(7), told(*requests));
            }
        }
    }

    #[track_caller]
    fn check(questions: &mut Questions, expect: Option<u64>) {
        let complete = questions.take_complete();
        let figures: Vec<_> = complete
            .iter()
            .map(|(_, status)| status.as_ref().map(|status| (status.requests, status.listeners[0].sent)))
            .collect();
        assert_eq!(figures, [expect.map(|n| (n, n))]);
    }

    #[test]
    fn what_routers_have_counted_goes_on() {
        let mut questions = Questions::new(Instant::now());
        let [a, b, c] = [1, 2, 3].map(RouterId);
        ask(&mut questions, &[(a, Some(10))]);
        check(&mut questions, Some(10));
        // The next one takes over, and the first finishes with more than it has told.
        ask(&mut questions, &[(b, Some(1)), (a, Some(11))]);
        check(&mut questions, Some(12));
        questions.keep_totals(a, &told(15));
        questions.forget_router(a);
        ask(&mut questions, &[(b, Some(2))]);
        check(&mut questions, Some(17));
        // One that is killed has told something.
        questions.forget_router(b);
        ask(&mut questions, &[(c, Some(0))]);
        check(&mut questions, Some(17));
    }

    #[test]
    fn a_router_that_ends_meanwhile_counts_once() {
        let mut questions = Questions::new(Instant::now());
        let [a, b] = [1, 2].map(RouterId);
        ask(&mut questions, &[(b, Some(1)), (a, Some(10))]);
        check(&mut questions, Some(11));
        ask(&mut questions, &[(b, Some(2)), (a, None)]);
        questions.keep_totals(a, &told(12));
        questions.forget_router(a);
        check(&mut questions, Some(14));
        ask(&mut questions, &[(b, Some(3)), (RouterId(9), None)]);
        questions.forget_router(b);
        questions.forget_router(RouterId(9));
        check(&mut questions, Some(15));
    }

    /// Applications, servers and what all listeners have in common go on as listeners do.
    #[test]
    fn counts_of_applications_and_refusals_go_on() {
        let told = |n: u64| {
            let app =
                AppStatus { name: "blog".to_owned(), requests: [n; 6], running: 3, ..AppStatus::default() };
            let mut status = Status { applications: vec![app], ..Status::default() };
            status.traffic.refused[Refusal::Limit as usize] = n;
            status.traffic.open[0] = n;
            status
        };
        let mut questions = Questions::new(Instant::now());
        for (router, n, expect) in [(1, 5, (5, 5, 5)), (2, 1, (6, 6, 1)), (3, 2, (8, 8, 2))] {
            let id = RouterId(router);
            questions.ask(Ticket(7), [id].into());
            questions.take(id, true, Ticket(7), told(n));
            let complete = questions.take_complete();
            let status = complete[0].1.as_ref().unwrap();
            let traffic = &status.traffic;
            let figures = (
                status.applications[0].requests[2],
                traffic.refused[Refusal::Limit as usize],
                traffic.open[0],
            );
            assert_eq!((figures, status.applications[0].running), (expect, 3));
            questions.forget_router(id);
        }
    }

    #[test]
    fn counters_of_the_main_process_before_go_on() {
        let mut questions = Questions::new(Instant::now());
        questions.inherit(told(100));
        ask(&mut questions, &[(RouterId(1), Some(10))]);
        check(&mut questions, Some(110));
        assert_eq!(questions.sums().requests, 110);
        // It has finished more meanwhile.
        questions.inherit(told(103));
        questions.forget_router(RouterId(1));
        ask(&mut questions, &[(RouterId(2), Some(1))]);
        check(&mut questions, Some(114));
        let sums = questions.sums();
        assert_eq!((sums.requests, sums.listeners[0].sent, sums.accepted), (114, 114, 114));
    }

    #[test]
    fn inherited_applications_are_kept_and_bounded() {
        let app = |name: String, crashes| AppStatus { name, crashes, ..AppStatus::default() };
        let mut questions = Questions::new(Instant::now());
        let applications = vec![app("blog".to_owned(), 1), app("shop".to_owned(), 2)];
        questions.inherit(Status { applications, ..Status::default() });
        questions.inherit(Status { applications: vec![app("blog".to_owned(), 3)], ..Status::default() });
        let known: Vec<_> =
            questions.inherited().applications.iter().map(|app| (&*app.name, app.crashes)).collect();
        assert_eq!(known, [("blog", 3), ("shop", 2)]);
        for part in 0..3 {
            let applications = (0..MOST_PLACES).map(|n| app(format!("{part}-{n}"), 1)).collect();
            questions.inherit(Status { applications, ..Status::default() });
        }
        assert_eq!(questions.inherited().applications.len(), MOST_PLACES);
    }

    #[test]
    fn a_listener_that_has_left_is_not_told_of() {
        let mut questions = Questions::new(Instant::now());
        ask(&mut questions, &[(RouterId(1), Some(10))]);
        check(&mut questions, Some(10));
        questions.forget_router(RouterId(1));
        questions.ask(Ticket(7), [RouterId(2)].into());
        questions.take(RouterId(2), true, Ticket(7), Status::default());
        let complete = questions.take_complete();
        let status = complete[0].1.as_ref().unwrap();
        assert_eq!((status.requests, status.listeners.len()), (10, 0));
    }
}
