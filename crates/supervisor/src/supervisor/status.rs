//! The figures of `/status`: gathered from every router that runs, completed by what only main knows.

use std::collections::BTreeSet;
use std::time::Instant;

use corral_ipc::message::{DaemonStatus, FailedListener, Status, Ticket, ToController, ToRouter};

use super::Supervisor;
use crate::apply::Build;
use crate::routers::RouterId;

/// A question of the controller that not every router has answered.
pub(super) struct Question {
    ticket: Ticket,
    pub(super) asked: Instant,
    missing: BTreeSet<RouterId>,
    /// From the router in charge.
    answer: Option<Status>,
    /// The connections and requests of the others.
    others: Status,
}

impl Question {
    /// Routers that have not answered.
    pub(super) fn missing(&self) -> impl Iterator<Item = RouterId> {
        self.missing.iter().copied()
    }
}

/// More than people ask at once: somebody floods, or a router answers nothing.
const MOST_QUESTIONS: usize = 64;

impl Supervisor {
    pub(super) fn ask_status(&mut self, ticket: Ticket) {
        if self.questions.len() >= MOST_QUESTIONS {
            return self.tell_controller(&ToController::Status { ticket, status: None });
        }
        let asked = self.routers.iter().filter(|router| router.role.is_ready).map(|router| router.id);
        let missing: BTreeSet<_> = asked.collect();
        for id in &missing {
            self.tell_router(*id, &ToRouter::Status { ticket });
        }
        let (asked, others) = (Instant::now(), Status::default());
        self.questions.push(Question { ticket, asked, missing, answer: None, others });
        self.answer_questions();
    }

    pub(super) fn take_status(&mut self, id: RouterId, ticket: Ticket, status: Status) {
        let is_in_charge = id == self.routers.in_charge.id;
        let Some(question) = self.questions.iter_mut().find(|question| question.ticket == ticket) else {
            return;
        };
        if question.missing.remove(&id) {
            if is_in_charge {
                question.answer = Some(status);
            } else {
                question.others.count(&status);
            }
        }
        self.answer_questions();
    }

    /// A router has finished: what it has counted goes on counting, its connections are closed.
    pub(super) fn keep_totals(&mut self, status: &Status) {
        let Status { accepted, refused, requests, .. } = *status;
        self.ended_routers.count(&Status {
            accepted,
            closed: accepted,
            refused,
            requests,
            ..Status::default()
        });
    }

    /// Nobody waits for the answer of a router that has ended.
    pub(super) fn forget_questions_to(&mut self, id: RouterId) {
        for question in &mut self.questions {
            question.missing.remove(&id);
        }
        self.answer_questions();
    }

    fn answer_questions(&mut self) {
        let is_complete = |question: &mut Question| question.missing.is_empty();
        let complete: Vec<_> = self.questions.extract_if(.., is_complete).collect();
        for Question { ticket, answer, others, .. } in complete {
            let status = answer.map(|mut status| {
                status.count(&others);
                status.count(&self.ended_routers);
                self.complete_status(&mut status);
                status
            });
            self.tell_controller(&ToController::Status { ticket, status });
        }
    }

    /// What only main knows: what could not be bound, started or stored.
    fn complete_status(&self, status: &mut Status) {
        status.daemon = DaemonStatus {
            pid: std::process::id(),
            uptime: self.started.elapsed(),
            listeners: self.in_force.as_ref().map(listener_addresses).unwrap_or_default(),
            config_error: self.troubles.files.clone().or_else(|| self.why_not_stored()),
            upgrade_error: self.troubles.upgrade.clone(),
        };
        let Some(build) = &self.in_force else { return };
        let unbound = build.unbound.iter();
        let unbound = unbound
            .map(|error| FailedListener { address: error.address().to_string(), reason: error.to_string() });
        status.failed_listeners = unbound.chain(build.unserved.iter().cloned()).collect();
        for figures in &mut status.applications {
            let instance = build.apps.iter().find(|(_, spec)| spec.name == figures.name);
            let Some(app) = instance.and_then(|(id, _)| self.apps.get(id)) else { continue };
            if figures.last_error.is_none() {
                figures.last_error = app.failure().map(ToOwned::to_owned);
            }
            if figures.last_error.is_none() {
                figures.last_error = instance.and_then(|(id, _)| self.troubles.restarts.get(id)).cloned();
            }
            figures.crashes = app.crashes.total;
            figures.last_crash.clone_from(&app.crashes.last);
            figures.warning = self.warning_about(&app.spec);
        }
    }
}

fn listener_addresses(build: &Build) -> Vec<String> {
    build.plan.listeners.iter().map(|listener| listener.address.to_string()).collect()
}
