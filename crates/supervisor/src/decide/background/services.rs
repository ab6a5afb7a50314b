//! Processes that run all the time: each is started again when it ends, at once at first, then ever later.

use std::time::Instant;

use corral_ipc::message::WorkerId;

use super::Step;
use crate::decide::backoff::Backoff;

/// As many processes as there are to be.
#[derive(Debug)]
pub(super) struct Services(Vec<Slot>);

/// The place of one process, and of those that are started after it.
#[derive(Debug)]
struct Slot {
    state: State,
    backoff: Backoff,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The backoff says when it is started.
    Down,
    /// A start is wanted.
    Wanted,
    Running(WorkerId),
}

impl Services {
    pub(super) fn new(number: u32, now: Instant) -> Self {
        let slot = || {
            let mut backoff = Backoff::new(now);
            backoff.start_at(now);
            Slot { state: State::Down, backoff }
        };
        Self((0..number).map(|_| slot()).collect())
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let down = self.0.iter().filter(|slot| slot.state == State::Down);
        down.filter_map(|slot| slot.backoff.restart_at()).min()
    }

    pub(super) fn look(&mut self, now: Instant) -> Vec<Step> {
        let mut steps = Vec::new();
        for slot in self.0.iter_mut().filter(|slot| slot.state == State::Down) {
            if slot.backoff.restart_at().is_some_and(|at| at <= now) {
                slot.state = State::Wanted;
                steps.push(Step::Start);
            }
        }
        steps
    }

    pub(super) fn forking(&mut self, worker: WorkerId, now: Instant) {
        if let Some(slot) = self.0.iter_mut().find(|slot| slot.state == State::Wanted) {
            slot.state = State::Running(worker);
            slot.backoff.started(now);
        }
    }

    pub(super) fn ended(&mut self, worker: WorkerId, now: Instant) {
        if let Some(slot) = self.0.iter_mut().find(|slot| slot.state == State::Running(worker)) {
            slot.state = State::Down;
            slot.backoff.failed(now);
        }
    }

    pub(super) fn lost(&mut self, now: Instant) {
        for slot in self.0.iter_mut().filter(|slot| slot.state != State::Down) {
            slot.state = State::Down;
            slot.backoff.failed(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_place_has_restarts_of_its_own() {
        let mut now = Instant::now();
        let mut services = Services::new(2, now);
        assert_eq!(services.look(now), [Step::Start, Step::Start]);
        assert_eq!((services.look(now), services.deadline()), (vec![], None));
        services.forking(WorkerId(1), now);
        services.forking(WorkerId(2), now);
        for number in 3..10 {
            now += Duration::from_millis(1);
            services.ended(WorkerId(number - if number == 3 { 2 } else { 1 }), now);
            now = services.deadline().unwrap();
            assert_eq!(services.look(now), [Step::Start]);
            services.forking(WorkerId(number), now);
        }
        now += Duration::from_millis(1);
        services.ended(WorkerId(9), now);
        assert!(services.deadline().unwrap() > now + Duration::from_secs(1), "it ends again and again");
        now += Duration::from_secs(20);
        services.look(now);
        services.forking(WorkerId(10), now);
        services.ended(WorkerId(2), now);
        assert_eq!(services.deadline(), Some(now), "the other one has run for long");
    }

    #[test]
    fn what_was_wanted_is_wanted_again() {
        let now = Instant::now();
        let mut services = Services::new(1, now);
        assert_eq!(services.look(now), [Step::Start]);
        services.lost(now);
        assert_eq!(services.look(now + Duration::from_secs(1)), [Step::Start]);
        services.ended(WorkerId(7), now);
        assert_eq!(services.deadline(), None, "it is nobody's");
    }
}
