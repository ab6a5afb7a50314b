//! Routers that owe an answer and give none: they hang, or somebody has taken them over. Nothing could be changed any more, and
//! nobody be told how things are, so they are ended and others are started.

use std::time::{Duration, Instant};

use corral_ipc::message::Generation;

use super::Supervisor;
use crate::apply::Apply;
use crate::peer::Peer;
use crate::routers::RouterId;

/// Longest wait for one. The largest configurations take seconds to be compiled, on a machine that has time for it.
const LONGEST_SILENCE: Duration = Duration::from_secs(5 * 60);

/// What a router is to have in force, and since when it has owed that.
#[derive(Debug, Default)]
pub(super) struct Owed(Option<(RouterId, Generation, Instant)>);

impl Owed {
    /// What is owed now. The time begins anew with each other thing.
    fn note(&mut self, what: Option<(RouterId, Generation)>, now: Instant) {
        if what != self.0.map(|(router, generation, _)| (router, generation)) {
            self.0 = what.map(|(router, generation)| (router, generation, now));
        }
    }

    fn since(&self) -> Option<Instant> {
        self.0.map(|(_, _, since)| since)
    }
}

impl Supervisor {
    /// When somebody has been silent for too long.
    pub(super) fn silence_deadline(&self) -> Option<Instant> {
        let asked = self.questions.iter().filter(|question| question.missing().any(|id| self.is_heard(id)));
        asked
            .map(|question| question.asked)
            .chain(self.owed.since())
            .min()
            .map(|since| since + LONGEST_SILENCE)
    }

    pub(super) fn silence_on_time(&mut self, now: Instant) {
        self.note_owed(now);
        if self.silence_deadline().is_none_or(|at| at > now) {
            return;
        }
        let is_overdue = |since: Instant| since + LONGEST_SILENCE <= now;
        let owing = self.owed.0.filter(|(_, _, since)| is_overdue(*since)).map(|(router, ..)| router);
        let questions = self.questions.iter().filter(|question| is_overdue(question.asked));
        let silent = questions.flat_map(|question| question.missing()).chain(owing);
        for router in silent.filter(|id| self.is_heard(*id)).collect::<Vec<_>>() {
            self.end_router(router, "has not answered for minutes");
        }
        self.note_owed(now);
    }

    fn note_owed(&mut self, now: Instant) {
        let apply = self.apply.as_ref().filter(|apply| apply.awaits_router() && self.is_heard(apply.router));
        let what = apply.map(|Apply { router, build, .. }| (*router, build.generation));
        self.owed.note(what, now);
    }

    fn is_heard(&self, router: RouterId) -> bool {
        let router = self.routers.find(router);
        router.and_then(|router| router.role.peer.as_ref()).is_some_and(Peer::is_open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_begins_with_what_is_owed() {
        let (mut owed, begin) = (Owed::default(), Instant::now());
        let at = |seconds| begin + Duration::from_secs(seconds);
        let some = |number| Some((RouterId::default(), Generation(number)));
        for (now, what, since) in [
            (0, None, None),
            (1, some(1), Some(1)),
            (5, some(1), Some(1)),
            (6, some(2), Some(6)),
            (9, some(2), Some(6)),
            (10, None, None),
            (11, some(2), Some(11)),
        ] {
            owed.note(what, at(now));
            assert_eq!(owed.since(), since.map(at), "after {now} s");
        }
    }
}
