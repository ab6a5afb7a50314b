//! Upgrading: a new main process, of an executable that may have been replaced, takes over the sockets and puts
//! the stored configuration in force; then this one finishes what it has begun. Events go in, effects come out.
//!
//! The successor is a sibling, never a child: each main process ends all its children when it ends, and knows of the
//! other's end by a pidfd. It has a controller, a router and prototypes of its own, and its first configuration finds
//! its listeners bound. The old controller is ended first, since there must be one configuration. Once the new one is
//! in force the successor owns the files of the sockets and the pid file and says `Serving`, and the old routers
//! finish. A successor that ends before that changes nothing. The first process of a container cannot be replaced: the
//! container would end with it.

use std::time::{Duration, Instant};

use corral_sys::signal::Pid;

/// The circumstances under which an upgrade is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Circumstances {
    /// A person at a terminal has started this process.
    pub(crate) has_console: bool,
    /// This process is the first one of its container.
    pub(crate) is_first: bool,
    pub(crate) is_stopping: bool,
}

/// An event; `P` is how a successor is reached.
#[derive(Debug)]
pub(crate) enum UpgradeEvent<P> {
    /// SIGUSR2.
    Asked(Circumstances),
    /// Nothing is being applied, and nothing will be until the upgrade is over: there must be one configuration. The
    /// result says whether the one in force is stored.
    Due(Result<(), String>),
    /// The successor runs, or could not be started.
    Started(Result<(Pid, P), String>),
    /// The successor says why it cannot take over.
    Refused(String),
    /// The successor says that it serves.
    Serves,
    /// The successor has ended.
    Ended,
}

/// An effect of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpgradeEffect {
    /// Have it wait until nothing is being applied.
    Queue,
    /// Start the successor.
    Start,
    /// Give the successor the sockets.
    HandOver,
    /// End the controller, which would change a configuration that the successor has read already.
    EndController,
    /// Tell the service manager which process serves.
    Announce(Pid),
    /// Leave the files of the sockets and the pid file to the successor.
    LetGo,
    /// Forget what is being applied, and what waits for that.
    DropJobs,
    /// Finish the requests in progress, and end.
    Finish,
}

/// The upgrade that goes on, and what became of the last one.
#[derive(Debug)]
pub(crate) struct Upgrade<P> {
    successor: Option<Successor<P>>,
    /// Why the last one has failed.
    trouble: Option<String>,
    /// One is asked for, and begins when nothing is being applied.
    is_queued: bool,
}

#[derive(Debug)]
struct Successor<P> {
    peer: P,
    pid: Pid,
    /// When it is killed, unless it serves.
    deadline: Instant,
    is_serving: bool,
}

/// A successor that does not serve by then hangs: the control API waits for it. Applications may take two minutes
/// to load.
const LONGEST_START: Duration = Duration::from_secs(3 * 60);

impl<P> Default for Upgrade<P> {
    fn default() -> Self {
        Self { successor: None, trouble: None, is_queued: false }
    }
}

impl<P> Upgrade<P> {
    /// Whether there is a successor, which may serve.
    pub(crate) fn goes_on(&self) -> bool {
        self.successor.is_some()
    }

    /// Why the last one has failed.
    pub(crate) fn trouble(&self) -> Option<&String> {
        self.trouble.as_ref()
    }

    pub(crate) fn peer(&self) -> Option<&P> {
        self.successor.as_ref().map(|successor| &successor.peer)
    }

    pub(crate) fn peer_mut(&mut self) -> Option<&mut P> {
        self.successor.as_mut().map(|successor| &mut successor.peer)
    }

    /// The successor, once it serves.
    pub(crate) fn serving_peer(&mut self) -> Option<&mut P> {
        self.successor.as_mut().filter(|successor| successor.is_serving).map(|successor| &mut successor.peer)
    }

    /// The successor until it serves. After that it is not this process's to end.
    pub(crate) fn unready(&self) -> Option<&P> {
        self.successor.as_ref().filter(|successor| !successor.is_serving).map(|successor| &successor.peer)
    }

    /// When a successor that does not serve is killed.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.successor.as_ref().filter(|successor| !successor.is_serving).map(|successor| successor.deadline)
    }

    /// Takes one step.
    pub(crate) fn on(&mut self, event: UpgradeEvent<P>, now: Instant) -> Vec<UpgradeEffect> {
        match event {
            UpgradeEvent::Asked(circumstances) => self.ask(circumstances),
            UpgradeEvent::Due(Ok(())) => {
                self.is_queued = false;
                vec![UpgradeEffect::Start]
            }
            UpgradeEvent::Due(Err(reason)) => {
                self.is_queued = false;
                // The successor would put the one before in force.
                self.fail(format!("the current configuration is not stored: {reason}"))
            }
            UpgradeEvent::Started(Ok((pid, peer))) => self.begin(pid, peer, now),
            UpgradeEvent::Started(Err(reason)) => self.fail(reason),
            UpgradeEvent::Refused(reason) => {
                self.trouble = Some(reason);
                vec![]
            }
            UpgradeEvent::Serves => self.finish(),
            UpgradeEvent::Ended => self.end(),
        }
    }

    fn ask(&mut self, circumstances: Circumstances) -> Vec<UpgradeEffect> {
        if let Some(reason) = self.why_not(circumstances) {
            tracing::info!(target: "notice", "signal USR2 received, ignored: {reason}");
            self.trouble = Some(reason.to_owned());
            return vec![];
        }
        if std::mem::replace(&mut self.is_queued, true) {
            tracing::info!(target: "notice", "signal USR2 received, ignored: an upgrade is about to begin");
            return vec![];
        }
        // The reason of an earlier failure would be taken for this one's while it waits.
        self.trouble = None;
        vec![UpgradeEffect::Queue]
    }

    fn why_not(&self, circumstances: Circumstances) -> Option<&'static str> {
        let Circumstances { has_console, is_first, is_stopping } = circumstances;
        if has_console {
            return Some("\"corral run\" has no successor");
        }
        if is_first {
            return Some("a container ends with its first process; start another container");
        }
        (is_stopping || self.goes_on()).then_some("not now")
    }

    fn begin(&mut self, pid: Pid, peer: P, now: Instant) -> Vec<UpgradeEffect> {
        let number = pid.as_raw_nonzero();
        tracing::info!(target: "notice", "signal USR2 received, process {number} is to take over");
        self.successor = Some(Successor { peer, pid, deadline: now + LONGEST_START, is_serving: false });
        vec![UpgradeEffect::HandOver, UpgradeEffect::EndController]
    }

    fn finish(&mut self) -> Vec<UpgradeEffect> {
        // Said again, it would put off the end of this process.
        let Some(successor) = self.successor.as_mut().filter(|successor| !successor.is_serving) else {
            return vec![];
        };
        successor.is_serving = true;
        let (pid, number) = (successor.pid, successor.pid.as_raw_nonzero());
        tracing::info!(target: "notice", "process {number} serves; finishing the requests in progress");
        vec![
            UpgradeEffect::Announce(pid),
            UpgradeEffect::LetGo,
            UpgradeEffect::DropJobs,
            UpgradeEffect::Finish,
        ]
    }

    /// The successor has ended. If it never served, this process goes on as before.
    fn end(&mut self) -> Vec<UpgradeEffect> {
        let Some(Successor { pid, is_serving, .. }) = self.successor.take() else { return vec![] };
        tracing::info!(target: "notice", "process {} has ended (successor)", pid.as_raw_nonzero());
        if is_serving {
            return vec![];
        }
        let reason = self.trouble.take();
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        self.fail(format!("the new process could not take over{reason}"))
    }

    fn fail(&mut self, reason: String) -> Vec<UpgradeEffect> {
        tracing::error!(target: "alert", "upgrade: {reason}; this process goes on");
        self.trouble = Some(reason);
        vec![]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Circumstances = Circumstances { has_console: false, is_first: false, is_stopping: false };

    /// Events, the effects that they have, and what the status says in the end.
    #[track_caller]
    fn check(events: &[&str], effects: &[UpgradeEffect], trouble: Option<&str>) -> Upgrade<()> {
        let mut upgrade = Upgrade::default();
        let now = Instant::now();
        let found: Vec<_> = events.iter().flat_map(|event| upgrade.on(self::event(event), now)).collect();
        assert_eq!(found, effects, "{events:?}");
        assert_eq!(upgrade.trouble().map(String::as_str), trouble, "{events:?}");
        upgrade
    }

    fn event(name: &str) -> UpgradeEvent<()> {
        match name {
            "asked" => UpgradeEvent::Asked(ANY),
            "asked-in-terminal" => UpgradeEvent::Asked(Circumstances { has_console: true, ..ANY }),
            "asked-as-first" => UpgradeEvent::Asked(Circumstances { is_first: true, ..ANY }),
            "asked-at-end" => UpgradeEvent::Asked(Circumstances { is_stopping: true, ..ANY }),
            "due" => UpgradeEvent::Due(Ok(())),
            "not-stored" => UpgradeEvent::Due(Err("disk full".to_owned())),
            "started" => UpgradeEvent::Started(Ok((pid(), ()))),
            "not-started" => UpgradeEvent::Started(Err("no such file".to_owned())),
            "refused" => UpgradeEvent::Refused("no such user".to_owned()),
            "serves" => UpgradeEvent::Serves,
            "ended" => UpgradeEvent::Ended,
            name => panic!("{name}"),
        }
    }

    fn pid() -> Pid {
        Pid::from_raw(7).unwrap()
    }

    /// The effects of an upgrade that succeeds, in their order.
    fn all() -> [UpgradeEffect; 8] {
        [
            UpgradeEffect::Queue,
            UpgradeEffect::Start,
            UpgradeEffect::HandOver,
            UpgradeEffect::EndController,
            UpgradeEffect::Announce(pid()),
            UpgradeEffect::LetGo,
            UpgradeEffect::DropJobs,
            UpgradeEffect::Finish,
        ]
    }

    #[test]
    fn an_upgrade_that_waits_is_not_asked_for_twice() {
        check(
            &["asked", "asked", "not-stored"],
            &[UpgradeEffect::Queue],
            Some("the current configuration is not stored: disk full"),
        );
        check(&["asked", "not-stored", "asked"], &[UpgradeEffect::Queue; 2], None);
    }

    #[test]
    fn a_successor_that_serves_takes_over_once() {
        let upgrade = check(&["asked", "due", "started", "serves", "serves"], &all(), None);
        assert!(upgrade.goes_on());
        assert_eq!(upgrade.unready(), None, "it is not to be killed any more");
        assert_eq!(upgrade.deadline(), None);
        let ended = check(&["asked", "due", "started", "serves", "ended", "ended"], &all(), None);
        assert!(!ended.goes_on());
    }

    #[test]
    fn some_processes_have_no_successor() {
        check(&["asked-in-terminal"], &[], Some("\"corral run\" has no successor"));
        let container = "a container ends with its first process; start another container";
        check(&["asked-as-first"], &[], Some(container));
        check(&["asked-at-end"], &[], Some("not now"));
    }

    #[test]
    fn one_upgrade_goes_on_at_a_time() {
        let mut upgrade = check(&["asked", "due", "started", "asked"], &all()[..4], Some("not now"));
        assert_eq!(upgrade.on(event("serves"), Instant::now()), all()[4..]);
        assert!(upgrade.on(event("asked"), Instant::now()).is_empty(), "nor while this process finishes");
    }

    #[test]
    fn a_configuration_that_is_not_stored_is_not_given_up() {
        let reason = "the current configuration is not stored: disk full";
        let upgrade = check(&["asked", "not-stored"], &all()[..1], Some(reason));
        assert!(!upgrade.goes_on());
    }

    #[test]
    fn a_failure_is_known_until_the_next_upgrade_is_asked_for() {
        check(&["asked", "due", "not-started"], &all()[..2], Some("no such file"));
        let ended = ["asked", "due", "started", "ended"];
        check(&ended, &all()[..4], Some("the new process could not take over"));
        let refused = ["asked", "due", "started", "refused", "ended"];
        check(&refused, &all()[..4], Some("the new process could not take over: no such user"));
        let again = ["asked", "not-stored", "asked"];
        check(&again, &[UpgradeEffect::Queue, UpgradeEffect::Queue], None);
    }

    #[test]
    fn a_successor_has_minutes_to_serve() {
        let (mut upgrade, begin) = (Upgrade::default(), Instant::now());
        upgrade.on(event("started"), begin);
        assert_eq!(upgrade.deadline(), Some(begin + LONGEST_START));
        assert!(upgrade.unready().is_some());
    }

    #[test]
    fn words_of_a_successor_that_is_gone_are_nothing() {
        check(&["serves", "ended"], &[], None);
    }
}
