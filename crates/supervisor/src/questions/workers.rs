//! Questions of the controller about the workers of an application: each of its instances has a router that knows them.

use std::time::Instant;

use corral_ipc::message::{AppId, Ticket, WorkerStatus};

use crate::ids::RouterId;

/// More questions than people ask at once, beside those about the status.
const MOST: usize = 64;

/// A question that not every router has answered.
struct WorkerQuestion {
    ticket: Ticket,
    asked: Instant,
    missing: Vec<(RouterId, AppId)>,
    answer: Vec<InstanceWorkers>,
}

/// The workers of an instance, as its router knows them; none if no router does.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InstanceWorkers {
    pub(crate) app: AppId,
    pub(crate) workers: Vec<WorkerStatus>,
}

/// All that are open.
#[derive(Default)]
pub(crate) struct WorkerQuestions(Vec<WorkerQuestion>);

impl WorkerQuestions {
    /// Whether no further one is taken.
    pub(crate) fn are_full(&self) -> bool {
        self.0.len() >= MOST
    }

    /// The workers of these instances are asked for; each is known by this router, if by any.
    pub(crate) fn ask(&mut self, ticket: Ticket, apps: &[(AppId, Option<RouterId>)]) {
        let missing = apps.iter().filter_map(|(app, router)| Some(((*router)?, *app))).collect();
        let unknown = apps.iter().filter(|(_, router)| router.is_none());
        let answer = unknown.map(|(app, _)| InstanceWorkers { app: *app, workers: Vec::new() }).collect();
        self.0.push(WorkerQuestion { ticket, asked: Instant::now(), missing, answer });
    }

    /// A router has answered. What it was not asked is not heard.
    pub(crate) fn take(&mut self, router: RouterId, ticket: Ticket, app: AppId, workers: Vec<WorkerStatus>) {
        let Some(question) = self.0.iter_mut().find(|question| question.ticket == ticket) else { return };
        let place = question.missing.iter().position(|missing| *missing == (router, app));
        if let Some(place) = place {
            question.missing.swap_remove(place);
            question.answer.push(InstanceWorkers { app, workers });
        }
    }

    /// Takes out what was answered.
    pub(crate) fn take_complete(&mut self) -> Vec<(Ticket, Vec<InstanceWorkers>)> {
        let complete = self.0.extract_if(.., |question| question.missing.is_empty());
        complete.map(|question| (question.ticket, question.answer)).collect()
    }

    /// A router has ended: nothing is known of its workers any more.
    pub(super) fn forget_router(&mut self, id: RouterId) {
        for question in &mut self.0 {
            let gone = question.missing.extract_if(.., |(router, _)| *router == id);
            let gone = gone.map(|(_, app)| InstanceWorkers { app, workers: Vec::new() });
            question.answer.extend(gone);
        }
    }

    /// The controller that has asked is gone.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Routers that have not answered, and when they were asked.
    pub(super) fn asked(&self) -> impl Iterator<Item = (RouterId, Instant)> {
        self.0
            .iter()
            .flat_map(|question| question.missing.iter().map(|(router, _)| (*router, question.asked)))
    }
}

#[cfg(test)]
mod tests {
    use corral_ipc::message::{WorkerId, WorkerState};

    use super::*;

    const A: RouterId = RouterId(1);
    const B: RouterId = RouterId(2);

    fn worker(number: u32) -> Vec<WorkerStatus> {
        vec![WorkerStatus::new(WorkerId(number), WorkerState::Idle)]
    }

    /// The workers of each instance, once every router has answered.
    fn answer(questions: &mut WorkerQuestions) -> Option<Vec<(u32, Vec<u32>)>> {
        let (_, answer) = questions.take_complete().pop()?;
        let numbers = |workers: Vec<WorkerStatus>| workers.iter().map(|worker| worker.worker.0).collect();
        Some(answer.into_iter().map(|told| (told.app.0, numbers(told.workers))).collect())
    }

    #[test]
    fn an_answer_is_complete_when_every_router_has_told() {
        let mut questions = WorkerQuestions::default();
        questions.ask(Ticket(7), &[(AppId(1), Some(A)), (AppId(2), Some(B)), (AppId(3), None)]);
        questions.take(A, Ticket(7), AppId(1), worker(10));
        assert_eq!(answer(&mut questions), None);
        // Answers to what was not asked, or a second time.
        questions.take(A, Ticket(7), AppId(1), worker(11));
        questions.take(A, Ticket(7), AppId(2), worker(12));
        questions.take(B, Ticket(8), AppId(2), worker(13));
        assert_eq!(answer(&mut questions), None);
        assert_eq!(questions.asked().map(|(router, _)| router).collect::<Vec<_>>(), [B]);
        questions.take(B, Ticket(7), AppId(2), worker(20));
        assert_eq!(answer(&mut questions), Some(vec![(3, vec![]), (1, vec![10]), (2, vec![20])]));
        assert!(questions.0.is_empty());
    }

    #[test]
    fn a_router_that_ends_is_not_waited_for() {
        let mut questions = WorkerQuestions::default();
        questions.ask(Ticket(7), &[(AppId(1), Some(A))]);
        questions.forget_router(B);
        assert_eq!(answer(&mut questions), None);
        questions.forget_router(A);
        assert_eq!(answer(&mut questions), Some(vec![(1, vec![])]));
        questions.ask(Ticket(8), &[(AppId(1), Some(A))]);
        questions.clear();
        assert!(questions.0.is_empty() && answer(&mut questions).is_none());
    }
}
