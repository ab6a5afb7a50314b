//! Routers that owe an answer and give none: they hang, or an attacker has taken them over. Nothing could be changed
//! any more, and no status be told, so they are ended and others are started.

use std::time::{Duration, Instant};

use corral_ipc::message::GenerationId;

use crate::ids::RouterId;

/// Longest wait for an answer. The largest configurations take seconds to be compiled, on a machine that has time for
/// it.
const LONGEST_SILENCE: Duration = Duration::from_secs(5 * 60);

/// The generation that a router is to have in force, and since when it has owed that.
#[derive(Debug, Default)]
pub(crate) struct Owed(Option<(RouterId, GenerationId, Instant)>);

impl Owed {
    /// Notes the generation that is owed now. The time begins anew with each other one.
    pub(crate) fn note(&mut self, what: Option<(RouterId, GenerationId)>, now: Instant) {
        if what != self.0.map(|(router, generation, _)| (router, generation)) {
            self.0 = what.map(|(router, generation)| (router, generation, now));
        }
    }

    fn since(&self) -> Option<Instant> {
        self.0.map(|(_, _, since)| since)
    }

    /// When a router has been silent for too long, if it is not asked before. `asked` are routers that were asked for
    /// something else, and when.
    pub(crate) fn deadline(&self, asked: impl Iterator<Item = (RouterId, Instant)>) -> Option<Instant> {
        asked.map(|(_, at)| at).chain(self.since()).min().map(|since| since + LONGEST_SILENCE)
    }

    /// The routers that have been silent for too long.
    pub(crate) fn silent(
        &self,
        asked: impl Iterator<Item = (RouterId, Instant)>,
        now: Instant,
    ) -> Vec<RouterId> {
        let owing = self.0.map(|(router, _, since)| (router, since));
        let overdue = asked.chain(owing).filter(|(_, since)| *since + LONGEST_SILENCE <= now);
        overdue.map(|(router, _)| router).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_begins_with_what_is_owed() {
        let (mut owed, begin) = (Owed::default(), Instant::now());
        let at = |seconds| begin + Duration::from_secs(seconds);
        let some = |number| Some((RouterId::default(), GenerationId(number)));
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

    #[test]
    fn whoever_is_silent_for_minutes_is_ended() {
        let (mut owed, begin) = (Owed::default(), Instant::now());
        let at = |minutes: u64| begin + Duration::from_secs(60 * minutes);
        let router = RouterId::default();
        assert_eq!(owed.deadline(std::iter::empty()), None);
        owed.note(Some((router, GenerationId(1))), at(2));
        assert_eq!(owed.deadline([(router, at(1))].into_iter()), Some(at(6)));
        assert_eq!(owed.silent(std::iter::empty(), at(6)), []);
        assert_eq!(owed.silent([(router, at(1))].into_iter(), at(6)), [router]);
        assert_eq!(owed.silent(std::iter::empty(), at(7)), [router]);
    }
}
