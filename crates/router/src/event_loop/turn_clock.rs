//! The turns of an event loop: from the moment when it wakes up until nothing is left to do. The clock is read once for
//! each, however many requests it serves.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use crate::counters::LoopCounters;
use crate::counters::inner::MinuteClock;

/// Measures the turns of one event loop.
pub(super) struct TurnClock {
    counters: Arc<LoopCounters>,
    /// When the turn began; nothing between two turns.
    began: Cell<Option<Instant>>,
    minutes: MinuteClock,
}

impl TurnClock {
    pub(super) fn new(counters: Arc<LoopCounters>) -> Self {
        Self { counters, began: Cell::new(None), minutes: MinuteClock::new() }
    }

    /// The loop has woken up.
    pub(super) fn begin(&self, now: Instant) {
        self.began.set(Some(now));
    }

    /// The loop has nothing left to do. Said again, it changes nothing.
    pub(super) fn end(&self) {
        if let Some(began) = self.began.take() {
            let ended = Instant::now();
            let took = ended.saturating_duration_since(began);
            self.counters.inner.note_turn(took, self.minutes.at(ended));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use corral_ipc::message::InnerFigures;

    use super::*;

    #[test]
    fn a_turn_ends_once() {
        let counters = Arc::<LoopCounters>::default();
        let clock = TurnClock::new(Arc::clone(&counters));
        clock.end();
        let begin = Instant::now().checked_sub(Duration::from_secs(3)).expect("a clock that has begun");
        clock.begin(begin);
        clock.end();
        clock.end();
        let mut sum = InnerFigures::default();
        counters.inner.add_to(&mut sum, Instant::now());
        let turns = &sum.loops[0];
        assert_eq!(turns.turns, 1);
        assert!((3_000_000..13_000_000).contains(&turns.busy_micros), "{turns:?}");
        assert_eq!(turns.longest_micros, turns.busy_micros);
    }
}
