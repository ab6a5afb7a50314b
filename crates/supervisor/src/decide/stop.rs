//! How the end goes on: by signals, by time, and by what is left.

use std::time::{Duration, Instant};

use corral_sys::signal::Signal;

/// How far the end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The routers finish what is in progress.
    Draining { deadline: Instant },
    /// All were told to end.
    Ending { deadline: Instant },
    /// All were killed.
    Killed,
}

/// The things that are left to wait for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Left {
    pub(crate) routers: bool,
    /// Processes that this one has started and talks to.
    pub(crate) children: bool,
}

/// A step towards the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopStep {
    /// Have the routers finish.
    Drain,
    /// Tell all to end.
    EndAll,
    /// Kill all.
    KillAll,
    /// Kill what applications have left behind.
    KillOrphans,
}

/// Longest wait for requests in progress after SIGQUIT.
const LONGEST_DRAIN: Duration = Duration::from_secs(60);

/// Longest wait for requests in progress after a successor serves: downloads and WebSockets may take long, and
/// cost no more than memory.
const LONGEST_FINISH: Duration = Duration::from_secs(60 * 60);

/// Longest wait for processes that were told to end.
const LONGEST_END: Duration = Duration::from_secs(5);

/// Time to collect processes that have been killed.
const MARGIN: Duration = Duration::from_secs(1);

impl Stop {
    pub(crate) fn draining(now: Instant) -> Self {
        Self::Draining { deadline: now + LONGEST_DRAIN }
    }

    /// As a successor serves.
    pub(crate) fn finishing(now: Instant) -> Self {
        Self::Draining { deadline: now + LONGEST_FINISH }
    }

    /// With processes that have so long to end once they are told.
    pub(crate) fn ending(grace: Duration, now: Instant) -> Self {
        Self::Ending { deadline: now + LONGEST_END.max(grace + MARGIN).min(LONGEST_DRAIN) }
    }

    pub(crate) fn deadline(self) -> Option<Instant> {
        match self {
            Self::Draining { deadline } | Self::Ending { deadline } => Some(deadline),
            Self::Killed => None,
        }
    }

    /// Whether everything was told to end.
    pub(crate) fn is_final(self) -> bool {
        matches!(self, Self::Ending { .. } | Self::Killed)
    }

    pub(crate) fn on_time(self, left: Left, now: Instant) -> Option<StopStep> {
        match self {
            Self::Draining { deadline } if deadline <= now || !left.routers => Some(StopStep::EndAll),
            Self::Ending { deadline } if deadline <= now => Some(StopStep::KillAll),
            // What is left now are orphans: processes that applications started.
            Self::Ending { .. } | Self::Killed if !left.children => Some(StopStep::KillOrphans),
            _ => None,
        }
    }
}

/// The step that a signal asks for: SIGQUIT drains, SIGTERM and SIGINT do not. A second signal is for the impatient.
pub(crate) fn on_signal(stop: Option<Stop>, number: i32) -> Option<StopStep> {
    match stop {
        None if number == Signal::QUIT.as_raw() => Some(StopStep::Drain),
        None | Some(Stop::Draining { .. }) => Some(StopStep::EndAll),
        Some(Stop::Ending { .. }) => Some(StopStep::KillAll),
        Some(Stop::Killed) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_signal_is_less_patient_than_the_one_before() {
        let now = Instant::now();
        let (term, quit) = (Signal::TERM.as_raw(), Signal::QUIT.as_raw());
        assert_eq!(on_signal(None, quit), Some(StopStep::Drain));
        assert_eq!(on_signal(None, term), Some(StopStep::EndAll));
        assert_eq!(on_signal(Some(Stop::draining(now)), quit), Some(StopStep::EndAll));
        assert_eq!(on_signal(Some(Stop::ending(Duration::ZERO, now)), term), Some(StopStep::KillAll));
        assert_eq!(on_signal(Some(Stop::Killed), term), None);
    }

    #[test]
    fn the_end_goes_on_when_nothing_is_left_or_no_time() {
        let begin = Instant::now();
        let later = begin + LONGEST_DRAIN;
        let left = |routers, children| Left { routers, children };
        let draining = Stop::draining(begin);
        assert_eq!(draining.on_time(left(true, true), begin), None);
        assert_eq!(draining.on_time(left(true, true), later), Some(StopStep::EndAll));
        assert_eq!(draining.on_time(left(false, true), begin), Some(StopStep::EndAll));
        let ending = Stop::ending(Duration::ZERO, begin);
        assert_eq!(ending.on_time(left(true, true), begin), None);
        assert_eq!(ending.on_time(left(false, false), begin), Some(StopStep::KillOrphans));
        assert_eq!(ending.on_time(left(true, true), later), Some(StopStep::KillAll));
        assert_eq!(Stop::Killed.on_time(left(true, true), later), None);
        assert_eq!(Stop::Killed.on_time(left(false, false), later), Some(StopStep::KillOrphans));
    }
}
