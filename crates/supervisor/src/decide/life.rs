//! The life of a prototype: when it is started, how long it may load, when it rests, and when it is killed.

use std::time::{Duration, Instant};

use crate::decide::backoff::Backoff;

/// Where a prototype is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LifePhase {
    /// Not started, as it keeps no idle workers: its first request starts it.
    Dormant,
    /// Started, loading; killed at the deadline.
    Loading { deadline: Instant },
    /// The prototype forks workers.
    Ready,
    /// The prototype was told to end because it is not needed; killed at the deadline.
    Resting { deadline: Instant },
    /// The prototype died; the backoff says when it is started again.
    Down,
    /// The prototype was told to end; killed at the deadline.
    Stopping { deadline: Instant },
}

/// The next step for a prototype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// Start it again.
    Start,
    /// Tell the prototype to end, as it is not needed.
    Rest,
    /// Kill it: it hangs while it loads.
    GiveUp,
    /// Kill it: it was told to end and does not.
    Kill,
}

/// Whether anything is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Starts {
    Permitted,
    /// Main is ending.
    Over,
}

/// Preloading a large framework takes seconds; what takes longer than this hangs.
const LONGEST_LOADING: Duration = Duration::from_secs(120);

/// A prototype that was told to end has this long to end its workers.
const LONGEST_STOP: Duration = Duration::from_secs(10);

/// Time to end a prototype whose processes have been killed.
const MARGIN: Duration = Duration::from_secs(5);

/// The longest wait.
const NO_LIMIT: Duration = Duration::from_hours(24 * 365);

/// A prototype that keeps no workers ready is ended after so many times its workers' time of idling: loading it again
/// costs far more than forking a worker.
const PATIENCE: u32 = 10;
const LEAST_PATIENCE: Duration = Duration::from_secs(10);

/// The life of one prototype, and of those that are started in its place.
#[derive(Debug)]
pub(crate) struct PrototypeLife {
    phase: LifePhase,
    pub(crate) backoff: Backoff,
    /// Why the last one could not load, until one can.
    failure: Option<String>,
    /// When the last worker left, or the prototype had loaded.
    idle_since: Instant,
    /// When it is ended although it serves requests, if it is being replaced.
    drain_deadline: Option<Instant>,
}

impl PrototypeLife {
    pub(crate) fn new(keeps_workers: bool, now: Instant) -> Self {
        Self {
            phase: if keeps_workers { LifePhase::Down } else { LifePhase::Dormant },
            backoff: Backoff::new(now),
            failure: None,
            idle_since: now,
            drain_deadline: None,
        }
    }

    pub(crate) fn phase(&self) -> LifePhase {
        self.phase
    }

    pub(crate) fn is_loading(&self) -> bool {
        matches!(self.phase, LifePhase::Loading { .. })
    }

    /// Whether it is being taken down.
    pub(crate) fn is_stopping(&self) -> bool {
        matches!(self.phase, LifePhase::Stopping { .. })
    }

    /// Whether the prototype ends because it is not needed.
    pub(crate) fn is_resting(&self) -> bool {
        matches!(self.phase, LifePhase::Resting { .. })
    }

    /// Whether what was asked for can be there: it has loaded, or needs not.
    pub(crate) fn may_be_up(&self) -> bool {
        matches!(self.phase, LifePhase::Ready | LifePhase::Dormant | LifePhase::Resting { .. })
    }

    /// Whether the last one said why it could not load.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Why the last one could not load, until one can.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// The prototype is about to be started.
    pub(crate) fn starts(&mut self) {
        self.phase = LifePhase::Down;
    }

    /// The prototype was started.
    pub(crate) fn started(&mut self, now: Instant) {
        self.phase = LifePhase::Loading { deadline: now + LONGEST_LOADING };
        self.backoff.started(now);
    }

    /// The prototype will never be started, until there is another configuration.
    pub(crate) fn cannot_start(&mut self, now: Instant) {
        self.backoff = Backoff::new(now);
    }

    /// The prototype has loaded. True if the one before could not.
    pub(crate) fn loaded(&mut self, now: Instant) -> bool {
        self.phase = LifePhase::Ready;
        self.idle_since = now;
        self.failure.take().is_some()
    }

    /// The prototype could not load.
    pub(crate) fn failed(&mut self, reason: String) {
        self.failure = Some(reason);
    }

    /// The prototype is told to end, and its processes have so long after that; `None` means as long as they take.
    pub(crate) fn stops(&mut self, grace: Option<Duration>, now: Instant) {
        let grace = grace.map_or(NO_LIMIT, |grace| grace + MARGIN);
        self.phase = LifePhase::Stopping { deadline: now + LONGEST_STOP.max(grace) };
    }

    /// The prototype is not started again by itself.
    pub(crate) fn sleeps(&mut self) {
        if self.phase == LifePhase::Down {
            self.phase = LifePhase::Dormant;
        }
    }

    /// The prototype is told to end, as it is not needed.
    pub(crate) fn rests(&mut self, now: Instant) {
        self.phase = LifePhase::Resting { deadline: now + LONGEST_STOP };
    }

    /// A worker has left.
    pub(crate) fn lost_worker(&mut self, now: Instant) {
        self.idle_since = now;
    }

    /// The prototype is gone.
    pub(crate) fn died(&mut self, now: Instant) {
        if self.is_resting() {
            self.phase = LifePhase::Dormant;
        } else if !self.is_stopping() {
            self.phase = LifePhase::Down;
            self.backoff.failed(now);
        }
    }

    /// Another instance serves in its place from now on.
    pub(crate) fn is_replaced(&mut self, drain_timeout: Option<Duration>, now: Instant) {
        self.drain_deadline = drain_timeout.map(|timeout| now + timeout);
    }

    /// Whether it has taken too long to finish.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        !self.is_stopping() && self.drain_deadline.is_some_and(|at| at <= now)
    }

    /// When something has to be done about it even if nothing happens. `unneeded` is the time of idling of its workers,
    /// if it has none and keeps none ready. Nothing is due of one that is to be started when nothing is started any
    /// more.
    pub(crate) fn deadline(&self, starts: Starts, unneeded: Option<Duration>) -> Option<Instant> {
        let drain_deadline = self.drain_deadline.filter(|_| !self.is_stopping());
        let has_time = starts == Starts::Permitted || self.phase != LifePhase::Down;
        let phase_deadline = self.phase_deadline(unneeded).filter(|_| has_time);
        drain_deadline.into_iter().chain(phase_deadline).min()
    }

    /// The step that is due now; `unneeded` as for [`PrototypeLife::deadline`].
    pub(crate) fn due(&self, unneeded: Option<Duration>, now: Instant) -> Option<Due> {
        self.phase_deadline(unneeded).filter(|at| *at <= now)?;
        match self.phase {
            LifePhase::Down => Some(Due::Start),
            LifePhase::Ready => Some(Due::Rest),
            LifePhase::Loading { .. } => Some(Due::GiveUp),
            LifePhase::Stopping { .. } | LifePhase::Resting { .. } => Some(Due::Kill),
            LifePhase::Dormant => None,
        }
    }

    /// When it has been in its phase for too long.
    fn phase_deadline(&self, unneeded: Option<Duration>) -> Option<Instant> {
        match self.phase {
            LifePhase::Loading { deadline }
            | LifePhase::Stopping { deadline }
            | LifePhase::Resting { deadline } => Some(deadline),
            LifePhase::Down => self.backoff.restart_at(),
            LifePhase::Ready => unneeded.map(|idle| self.idle_since + LEAST_PATIENCE.max(PATIENCE * idle)),
            LifePhase::Dormant => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Duration = Duration::from_secs(15);

    #[test]
    fn an_unneeded_prototype_rests_and_sleeps() {
        let now = Instant::now();
        let mut life = PrototypeLife::new(true, now);
        life.loaded(now);
        assert_eq!(life.deadline(Starts::Permitted, None), None, "it keeps workers ready");
        assert_eq!(life.deadline(Starts::Permitted, Some(IDLE)), Some(now + PATIENCE * IDLE));
        assert_eq!(life.due(Some(IDLE), now), None);
        assert_eq!(life.due(Some(IDLE), now + PATIENCE * IDLE), Some(Due::Rest));
        life.rests(now);
        assert_eq!(life.due(None, now + LONGEST_STOP), Some(Due::Kill));
        life.died(now);
        assert_eq!(life.phase(), LifePhase::Dormant);
    }

    #[test]
    fn what_hangs_while_it_loads_is_given_up() {
        let now = Instant::now();
        let mut life = PrototypeLife::new(true, now);
        assert_eq!(life.due(None, now), None, "nobody has started it");
        life.started(now);
        assert_eq!(life.due(None, now), None);
        assert_eq!(life.due(None, now + LONGEST_LOADING), Some(Due::GiveUp));
        life.died(now);
        assert_eq!((life.phase(), life.due(None, now)), (LifePhase::Down, Some(Due::Start)));
    }

    #[test]
    fn what_is_not_started_any_more_has_no_time_for_it() {
        let now = Instant::now();
        let mut life = PrototypeLife::new(true, now);
        life.started(now);
        assert_eq!(life.deadline(Starts::Over, None), Some(now + LONGEST_LOADING));
        life.died(now);
        assert_eq!(life.deadline(Starts::Permitted, None), Some(now));
        assert_eq!(life.deadline(Starts::Over, None), None);
        life.is_replaced(Some(IDLE), now);
        assert_eq!(life.deadline(Starts::Over, None), Some(now + IDLE));
    }

    #[test]
    fn what_is_replaced_has_a_time_to_finish() {
        let now = Instant::now();
        let mut life = PrototypeLife::new(true, now);
        life.loaded(now);
        life.is_replaced(Some(IDLE), now);
        assert!(!life.is_overdue(now) && life.is_overdue(now + IDLE));
        assert_eq!(life.deadline(Starts::Permitted, None), Some(now + IDLE));
        life.stops(Some(Duration::ZERO), now);
        assert!(!life.is_overdue(now + IDLE));
    }

    #[test]
    fn a_prototype_that_was_told_to_end_is_not_started_again() {
        let now = Instant::now();
        let mut life = PrototypeLife::new(true, now);
        life.loaded(now);
        life.stops(Some(Duration::ZERO), now);
        life.died(now);
        assert!(life.is_stopping());
    }
}
