//! The end of this process: signals, failures and the time go in, the next effects come out.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use corral_sys::signal::Signal;

/// An event that begins the end, or lets it go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopEvent {
    /// SIGQUIT drains, SIGTERM and SIGINT do not. A second signal is for the impatient.
    Signal(i32),
    /// This process cannot serve.
    GivenUp,
    /// A successor serves.
    Replaced,
    /// Time has passed, or processes have ended.
    Turn,
}

/// The processes that are left to wait for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Left {
    /// The router in charge runs.
    pub(crate) in_charge: bool,
    /// Any router runs, or a command that a successor waits for.
    pub(crate) routers: bool,
    /// Processes that this one has started and talks to.
    pub(crate) children: bool,
    /// Time that they have to end once they are told.
    pub(crate) grace: Duration,
}

/// An effect of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopEffect {
    /// Tell the service manager that the end has begun.
    Announce,
    /// Have the routers finish. Clients may use open connections again for this long.
    FinishRouters { keep_idle: Duration },
    /// Have the applications finish that no listener reaches.
    LeaveBackground,
    /// Close the sockets, and tell all to end.
    EndAll,
    /// Kill all, and what applications have left behind.
    KillAll,
}

/// How far the end has come, and what the exit code says then.
#[derive(Debug, Default)]
pub(crate) struct Stopping {
    phase: Option<StopPhase>,
    has_failed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopPhase {
    /// The routers finish what is in progress.
    Draining { deadline: Instant },
    /// All were told to end.
    Ending { deadline: Instant },
    /// All were killed.
    Killed,
}

/// Clients may use an open connection again for this long when another router serves; they are asked to open another
/// one then.
pub(crate) const LAST_REQUESTS: Duration = Duration::from_secs(5);

/// Longest wait for requests in progress after SIGQUIT.
const LONGEST_DRAIN: Duration = Duration::from_secs(60);

/// Longest wait for requests in progress after a successor serves: downloads and WebSockets may take long, and
/// cost no more than memory.
const LONGEST_FINISH: Duration = Duration::from_secs(60 * 60);

/// Longest wait for processes that were told to end.
const LONGEST_END: Duration = Duration::from_secs(5);

/// Time to collect processes that have been killed.
const MARGIN: Duration = Duration::from_secs(1);

impl Stopping {
    pub(crate) fn has_begun(&self) -> bool {
        self.phase.is_some()
    }

    /// Whether everything was told to end.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self.phase, Some(StopPhase::Ending { .. } | StopPhase::Killed))
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.phase? {
            StopPhase::Draining { deadline } | StopPhase::Ending { deadline } => Some(deadline),
            StopPhase::Killed => None,
        }
    }

    /// The caller is to hear of a failure.
    pub(crate) fn fails(&mut self) {
        self.has_failed = true;
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        if self.has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    /// Takes one step.
    pub(crate) fn on(&mut self, event: StopEvent, left: Left, now: Instant) -> Vec<StopEffect> {
        match (self.phase, event) {
            (None, StopEvent::Signal(number)) if number == Signal::QUIT.as_raw() && left.in_charge => {
                self.drain(now)
            }
            (None | Some(StopPhase::Draining { .. }), StopEvent::Signal(_)) => self.end_all(left.grace, now),
            (Some(StopPhase::Ending { .. }), StopEvent::Signal(_)) => self.kill_all(),
            (_, StopEvent::GivenUp) => self.end_all(left.grace, now),
            (_, StopEvent::Replaced) => self.finish(now),
            (Some(StopPhase::Draining { deadline }), StopEvent::Turn) if deadline <= now || !left.routers => {
                self.end_all(left.grace, now)
            }
            (Some(StopPhase::Ending { deadline }), StopEvent::Turn) if deadline <= now => self.kill_all(),
            // Processes that applications started are orphans now.
            (Some(StopPhase::Ending { .. } | StopPhase::Killed), StopEvent::Turn) if !left.children => {
                vec![StopEffect::KillAll]
            }
            (_, StopEvent::Signal(_) | StopEvent::Turn) => vec![],
        }
    }

    fn drain(&mut self, now: Instant) -> Vec<StopEffect> {
        tracing::info!(target: "notice", "stopping when the requests in progress are done");
        self.phase = Some(StopPhase::Draining { deadline: now + LONGEST_DRAIN });
        let finish = StopEffect::FinishRouters { keep_idle: Duration::ZERO };
        vec![StopEffect::Announce, finish, StopEffect::LeaveBackground]
    }

    /// As `drain`, for a process that a successor has taken over from.
    fn finish(&mut self, now: Instant) -> Vec<StopEffect> {
        self.phase = Some(StopPhase::Draining { deadline: now + LONGEST_FINISH });
        vec![StopEffect::FinishRouters { keep_idle: LAST_REQUESTS }, StopEffect::LeaveBackground]
    }

    fn end_all(&mut self, grace: Duration, now: Instant) -> Vec<StopEffect> {
        let longest = LONGEST_END.max(grace + MARGIN).min(LONGEST_DRAIN);
        let before = self.phase.replace(StopPhase::Ending { deadline: now + longest });
        let announce = before.is_none().then_some(StopEffect::Announce);
        announce.into_iter().chain([StopEffect::EndAll]).collect()
    }

    fn kill_all(&mut self) -> Vec<StopEffect> {
        self.phase = Some(StopPhase::Killed);
        vec![StopEffect::KillAll]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Left = Left { in_charge: true, routers: true, children: true, grace: Duration::ZERO };

    const NONE: Left = Left { in_charge: false, routers: false, children: false, grace: Duration::ZERO };

    /// Events at seconds since the beginning, with what is left then, and the effects that they have.
    #[track_caller]
    fn check(events: &[(u64, &str, Left)], expected: &str) -> Stopping {
        let (mut stopping, begin) = (Stopping::default(), Instant::now());
        let mut effects = Vec::new();
        for (at, event, left) in events {
            let event = match *event {
                "quit" => StopEvent::Signal(Signal::QUIT.as_raw()),
                "term" => StopEvent::Signal(Signal::TERM.as_raw()),
                "gives-up" => StopEvent::GivenUp,
                "replaced" => StopEvent::Replaced,
                _ => StopEvent::Turn,
            };
            effects.extend(stopping.on(event, *left, begin + Duration::from_secs(*at)));
        }
        let name = |effect: &StopEffect| match effect {
            StopEffect::Announce => "announce".to_owned(),
            StopEffect::FinishRouters { keep_idle } => format!("finish:{}", keep_idle.as_secs()),
            StopEffect::LeaveBackground => "leave".to_owned(),
            StopEffect::EndAll => "end".to_owned(),
            StopEffect::KillAll => "kill".to_owned(),
        };
        assert_eq!(effects.iter().map(name).collect::<Vec<_>>().join(" "), expected);
        stopping
    }

    #[test]
    fn each_signal_is_less_patient_than_the_one_before() {
        check(&[(0, "quit", ALL)], "announce finish:0 leave");
        check(&[(0, "term", ALL)], "announce end");
        check(&[(0, "quit", ALL), (1, "quit", ALL)], "announce finish:0 leave end");
        check(&[(0, "quit", ALL), (1, "term", ALL)], "announce finish:0 leave end");
        check(&[(0, "term", ALL), (1, "term", ALL)], "announce end kill");
        check(&[(0, "term", ALL), (1, "quit", ALL)], "announce end kill");
        let killed = check(&[(0, "term", ALL), (1, "term", ALL), (2, "term", ALL)], "announce end kill");
        assert_eq!(killed.deadline(), None);
        assert!(killed.is_final());
    }

    #[test]
    fn nothing_is_drained_without_a_router() {
        check(&[(0, "quit", Left { in_charge: false, ..ALL })], "announce end");
    }

    #[test]
    fn the_end_goes_on_when_nothing_is_left_or_no_time() {
        let draining = "announce finish:0 leave";
        assert!(!check(&[(0, "quit", ALL), (59, "", ALL)], draining).is_final());
        check(&[(0, "quit", ALL), (60, "", ALL)], "announce finish:0 leave end");
        check(&[(0, "quit", ALL), (1, "", Left { routers: false, ..ALL })], "announce finish:0 leave end");
        check(&[(0, "term", ALL), (4, "", ALL)], "announce end");
        check(&[(0, "term", ALL), (5, "", ALL), (6, "", ALL)], "announce end kill");
        check(&[(0, "term", ALL), (1, "", NONE)], "announce end kill");
        check(&[(0, "term", ALL), (5, "", ALL), (6, "", NONE)], "announce end kill kill");
    }

    #[test]
    fn commands_have_their_time_to_end() {
        let slow = |seconds| Left { grace: Duration::from_secs(seconds), ..ALL };
        check(&[(0, "term", slow(20)), (20, "", ALL)], "announce end");
        check(&[(0, "term", slow(20)), (21, "", ALL)], "announce end kill");
        check(&[(0, "term", slow(1000)), (60, "", ALL)], "announce end kill");
    }

    #[test]
    fn a_successor_lets_requests_go_on_for_long() {
        check(&[(0, "replaced", ALL), (3599, "", ALL)], "finish:5 leave");
        check(&[(0, "replaced", ALL), (3600, "", ALL)], "finish:5 leave end");
        check(&[(0, "replaced", ALL), (1, "quit", ALL)], "finish:5 leave end");
    }

    #[test]
    fn a_process_that_gives_up_ends_at_once() {
        check(&[(0, "gives-up", ALL)], "announce end");
        check(&[(0, "quit", ALL), (1, "gives-up", ALL)], "announce finish:0 leave end");
    }

    #[test]
    fn nothing_ends_by_itself() {
        assert!(!check(&[(0, "", NONE)], "").has_begun());
    }
}
