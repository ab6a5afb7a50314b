//! Questions that routers were asked and have not answered.

use std::collections::BTreeSet;
use std::time::Instant;

use corral_ipc::message::{GenerationId, Status, Ticket};

use crate::decide::owed::Owed;
use crate::ids::RouterId;

/// More questions than people ask at once: a client floods, or a router answers nothing.
const MOST_QUESTIONS: usize = 64;

/// A question of the controller about the status that not every router has answered.
struct Question {
    ticket: Ticket,
    asked: Instant,
    missing: BTreeSet<RouterId>,
    /// From the router in charge.
    answer: Option<Status>,
    /// The connections and requests of the others.
    others: Status,
}

/// The questions that are open, and what routers have counted that have ended.
pub(crate) struct Questions {
    open: Vec<Question>,
    /// The generation that a router has not put in force yet.
    owed: Owed,
    ended_routers: Status,
    /// When this process was started.
    pub(crate) started: Instant,
}

impl Questions {
    pub(crate) fn new(now: Instant) -> Self {
        Self { open: Vec::new(), owed: Owed::default(), ended_routers: Status::default(), started: now }
    }

    /// Whether no further question is taken.
    pub(crate) fn are_full(&self) -> bool {
        self.open.len() >= MOST_QUESTIONS
    }

    /// These routers have been asked for their figures.
    pub(crate) fn ask(&mut self, ticket: Ticket, missing: BTreeSet<RouterId>) {
        let (asked, others) = (Instant::now(), Status::default());
        self.open.push(Question { ticket, asked, missing, answer: None, others });
    }

    /// A router has answered; the one in charge knows most.
    pub(crate) fn take(&mut self, id: RouterId, is_in_charge: bool, ticket: Ticket, status: Status) {
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

    /// Takes out what every router has answered; without figures if the one in charge has given none.
    pub(crate) fn take_complete(&mut self) -> Vec<(Ticket, Option<Status>)> {
        let complete = self.open.extract_if(.., |question| question.missing.is_empty());
        let sum = |Question { ticket, answer, others, .. }| {
            let status = answer.map(|mut status: Status| {
                status.count(&others);
                status.count(&self.ended_routers);
                status
            });
            (ticket, status)
        };
        complete.map(sum).collect()
    }

    /// A router has finished: what it has counted goes on counting, its connections are closed.
    pub(crate) fn keep_totals(&mut self, status: &Status) {
        let Status { accepted, refused, requests, dropped_datagrams, .. } = *status;
        self.ended_routers.count(&Status {
            accepted,
            closed: accepted,
            refused,
            requests,
            dropped_datagrams,
            ..Status::default()
        });
    }

    /// The answer of a router that has ended is not waited for.
    pub(crate) fn forget_router(&mut self, id: RouterId) {
        for question in &mut self.open {
            question.missing.remove(&id);
        }
    }

    /// The controller that has asked is gone.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
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
        asked.filter(move |(id, _)| is_heard(*id))
    }
}
