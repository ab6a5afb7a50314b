//! Times at which something is due.

use std::time::Instant;

/// Something that is done at its time although nothing happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Kill processes that have closed their link, or were stopped by a signal.
    Peers,
    /// Start, rest or kill prototypes.
    Applications,
    /// Give the service manager a sign of life.
    Sign,
    /// Kill a successor that does not serve.
    Upgrade,
    /// Store a configuration that could not be stored.
    Store,
    /// End routers that owe an answer.
    Silence,
    /// Go on with the end.
    Stop,
    StartRouter,
    StartReader,
    StartController,
    /// Look at the files that ask for a restart.
    Look,
    /// Say that a start takes long.
    Word,
    /// Act on a change of the code.
    Change,
    /// Bind listeners that could not be bound.
    Rebind,
}

/// The timers that are set, in the order in which they are dealt with.
#[derive(Debug, Default)]
pub(crate) struct Timers(Vec<(Timer, Instant)>);

impl Timers {
    /// Sets a timer, unless there is no time for it.
    pub(crate) fn set(&mut self, timer: Timer, at: Option<Instant>) {
        self.0.extend(at.map(|at| (timer, at)));
    }

    /// The earliest time at which one is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.0.iter().map(|(_, at)| *at).min()
    }

    /// The timers that are due.
    pub(crate) fn due(self, now: Instant) -> impl Iterator<Item = Timer> {
        self.0.into_iter().filter(move |(_, at)| *at <= now).map(|(timer, _)| timer)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_due_comes_in_the_order_in_which_it_was_set() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let timers = || {
            let mut timers = Timers::default();
            timers.set(Timer::Store, Some(at(3)));
            timers.set(Timer::Stop, None);
            timers.set(Timer::Look, Some(at(2)));
            timers.set(Timer::Rebind, Some(at(9)));
            timers
        };
        assert_eq!(timers().next(), Some(at(2)));
        assert_eq!(timers().due(at(1)).count(), 0);
        assert_eq!(timers().due(at(3)).collect::<Vec<_>>(), [Timer::Store, Timer::Look]);
        assert_eq!(Timers::default().next(), None);
    }
}
