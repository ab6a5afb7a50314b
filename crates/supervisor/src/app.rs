//! One running instance of an application: its prototype, its workers, and what it owes.
//! Decides only; sending messages belongs to `supervisor`.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use corral_config::plan::{AppSpec, RuntimeSpec};
use corral_ipc::message::WorkerId;
use corral_sys::kin::Kin;

use crate::backoff::Backoff;
use crate::fingerprint::Fingerprints;
use crate::launch::{Membership, SocketFolder};
use crate::peer::Peer;
use crate::routers::RouterId;

/// Where the prototype is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not started, as it keeps no idle workers: its first request starts it.
    Dormant,
    /// Started, loading; killed at the deadline.
    Loading { deadline: Instant },
    /// It forks workers.
    Ready,
    /// It was told to end because nobody needs it; killed at the deadline.
    Resting { deadline: Instant },
    /// It died; the backoff says when it is started again.
    Down,
    /// It was told to end; killed at the deadline.
    Stopping { deadline: Instant },
}

/// What a prototype was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fork {
    /// Somebody waits for it.
    Awaited,
    /// Whoever waited is gone, as the router that has died.
    Stale,
    /// Nobody has asked, or it was answered.
    Unasked,
}

/// The processes of an instance that have ended otherwise than they should.
#[derive(Debug, Default)]
pub(crate) struct Crashes {
    pub(crate) total: u64,
    pub(crate) last: Option<String>,
}

impl Crashes {
    pub(crate) fn count(&mut self, what: String) {
        self.total += 1;
        self.last = Some(what);
    }
}

/// One instance.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) spec: AppSpec,
    /// The only one that gives it work.
    pub(crate) router: RouterId,
    pub(crate) phase: Phase,
    /// The prototype, while it runs.
    pub(crate) prototype: Option<Peer>,
    /// Memory and eventfds that the workers ring, for the router.
    pub(crate) bell: Vec<OwnedFd>,
    /// Event loops that the bell is for.
    pub(crate) n_lanes: u16,
    /// Running workers, with their processes as far as those could be found.
    pub(crate) workers: BTreeMap<WorkerId, Option<Kin>>,
    pub(crate) backoff: Backoff,
    /// The forks that were asked for and not answered yet.
    forking: BTreeSet<WorkerId>,
    /// Programs of those that run already.
    begun: BTreeMap<WorkerId, Kin>,
    /// The forks whose answers come too late for whoever has asked.
    stale: BTreeSet<WorkerId>,
    /// Programs that were told to end.
    retiring: BTreeSet<WorkerId>,
    /// Workers that are to be ended at once.
    killing: BTreeSet<WorkerId>,
    /// Workers to fork after those.
    n_wanted: u32,
    /// Why the last prototype could not load, until one can.
    failure: Option<String>,
    /// When the last worker left, or the prototype had loaded.
    pub(crate) idle_since: Instant,
    /// When it is ended although it serves requests, if it is being replaced.
    drain_deadline: Option<Instant>,
    pub(crate) crashes: Crashes,
    /// The files that ask for a restart, as they were when it was started.
    watched: Fingerprints,
    /// Its program has chosen a port by itself: two of it cannot run beside each other.
    pub(crate) strays: bool,
    /// Of the control group that its processes are in.
    membership: Option<Membership>,
    /// Where its programs are reached, if that is outside of their root.
    pub(crate) sockets: Option<SocketFolder>,
}

impl App {
    pub(crate) fn new(spec: AppSpec, router: RouterId, now: Instant) -> Self {
        let phase = if spec.processes.spare == 0 { Phase::Dormant } else { Phase::Down };
        Self {
            spec,
            router,
            phase,
            prototype: None,
            bell: Vec::new(),
            n_lanes: 1,
            workers: BTreeMap::new(),
            backoff: Backoff::new(now),
            forking: BTreeSet::new(),
            begun: BTreeMap::new(),
            stale: BTreeSet::new(),
            retiring: BTreeSet::new(),
            killing: BTreeSet::new(),
            n_wanted: 0,
            failure: None,
            idle_since: now,
            drain_deadline: None,
            crashes: Crashes::default(),
            watched: Fingerprints::default(),
            strays: false,
            membership: None,
            sockets: None,
        }
    }

    /// A prototype was started.
    pub(crate) fn started(&mut self, prototype: Peer, membership: Option<Membership>, now: Instant) {
        self.prototype = Some(prototype);
        self.membership = membership;
        self.phase = Phase::Loading { deadline: now + LONGEST_LOADING };
        self.backoff.started(now);
    }

    /// It is about to be loaded from its files as they are.
    pub(crate) fn remember_files(&mut self) {
        self.watched = Fingerprints::take(&self.spec.restart.watch);
    }

    /// One of the files whose change asks for a restart that is not what it was.
    pub(crate) fn changed_file(&self) -> Option<&Path> {
        self.watched.changed()
    }

    /// Another instance serves in its place from now on.
    pub(crate) fn is_replaced(&mut self, now: Instant) {
        self.drain_deadline = self.spec.restart.drain_timeout.map(|timeout| now + timeout);
    }

    /// Whether it has taken too long to finish.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        !self.is_stopping() && self.drain_deadline.is_some_and(|at| at <= now)
    }

    /// The prototype has loaded. After a failure nobody may be waiting for workers any more, so the
    /// usual ones are started.
    pub(crate) fn loaded(&mut self, bell: Vec<OwnedFd>, now: Instant) {
        self.phase = Phase::Ready;
        self.idle_since = now;
        self.bell = bell;
        if self.failure.take().is_some() {
            self.want_spare();
        }
    }

    /// The prototype could not load; returns how many workers are not going to be forked.
    pub(crate) fn failed(&mut self, reason: String) -> u32 {
        self.failure = Some(reason);
        let n_given_up = self.n_coming();
        self.n_wanted = 0;
        self.stale.append(&mut self.forking);
        n_given_up
    }

    /// Workers that were asked for and have neither come nor failed.
    pub(crate) fn n_coming(&self) -> u32 {
        self.n_wanted + self.n_forking()
    }

    /// Whether everything that was asked for so far has been forked.
    pub(crate) fn is_up(&self) -> bool {
        matches!(self.phase, Phase::Ready | Phase::Dormant | Phase::Resting { .. })
            && self.forking.is_empty()
            && self.n_wanted == 0
    }

    /// Whether its workers are programs that serve HTTP.
    pub(crate) fn runs_programs(&self) -> bool {
        matches!(self.spec.runtime, RuntimeSpec::Http(_))
    }

    /// Whether a worker is on its way.
    pub(crate) fn is_forking(&self) -> bool {
        !self.forking.is_empty()
    }

    fn n_forking(&self) -> u32 {
        u32::try_from(self.forking.len()).unwrap_or(u32::MAX)
    }

    /// Whether it can still serve: it is not being taken down.
    pub(crate) fn is_stopping(&self) -> bool {
        matches!(self.phase, Phase::Stopping { .. })
    }

    /// Whether its prototype ends because nobody needs it.
    pub(crate) fn is_resting(&self) -> bool {
        matches!(self.phase, Phase::Resting { .. })
    }

    /// Whether there is work although no prototype runs.
    pub(crate) fn must_wake(&self) -> bool {
        self.phase == Phase::Dormant && self.n_wanted > 0
    }

    /// Whether the last prototype said why it could not load.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Why the last prototype could not load, until one can.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Asks for as many workers as are always kept.
    pub(crate) fn want_spare(&mut self) {
        let n_here = u32::try_from(self.workers.len()).unwrap_or(u32::MAX);
        self.n_wanted = self.n_wanted.max(self.spec.processes.spare.saturating_sub(n_here));
    }

    /// Asks for one more worker; refused when as many as there may be at all are asked for already.
    pub(crate) fn want_one_more(&mut self) -> Result<(), String> {
        if let (Phase::Down, Some(reason)) = (self.phase, &self.failure) {
            return Err(reason.clone());
        }
        if self.n_wanted >= self.spec.processes.max.get() {
            return Err(format!("{} workers were asked for and are still to be started", self.n_wanted));
        }
        self.n_wanted += 1;
        Ok(())
    }

    /// The next worker to fork, if it is time for one: one after the other, a few at a time where each is a program
    /// that takes long to start; and not before there are fewer than twice the maximum, which leaves room for those
    /// that are about to leave.
    pub(crate) fn next_fork(&mut self, new_id: impl FnOnce() -> WorkerId) -> Option<WorkerId> {
        let n_at_once = if self.runs_programs() { PROGRAMS_AT_ONCE } else { 1 };
        let n_here = self.workers.len() + self.forking.len();
        let is_full = n_here as u64 >= 2 * u64::from(self.spec.processes.max.get());
        if self.phase != Phase::Ready || self.forking.len() >= n_at_once || self.n_wanted == 0 || is_full {
            return None;
        }
        self.n_wanted -= 1;
        let worker = new_id();
        self.forking.insert(worker);
        Some(worker)
    }

    /// Whether a fork was asked for that has not been answered.
    pub(crate) fn fork_of(&self, worker: WorkerId) -> Fork {
        match worker {
            _ if self.forking.contains(&worker) => Fork::Awaited,
            _ if self.stale.contains(&worker) => Fork::Stale,
            _ => Fork::Unasked,
        }
    }

    /// A program of a fork that is awaited runs.
    pub(crate) fn has_begun(&mut self, worker: WorkerId, process: Kin) {
        self.begun.insert(worker, process);
    }

    /// Programs that are not ready and have lost their prototype: nobody will take them.
    pub(crate) fn take_begun(&mut self) -> impl Iterator<Item = Kin> {
        std::mem::take(&mut self.begun).into_values()
    }

    /// A worker that was waited for has come.
    pub(crate) fn forked(&mut self, worker: WorkerId, process: Option<Kin>) {
        self.settle_fork(worker);
        self.workers.insert(worker, process);
    }

    /// When a prototype that keeps no workers ready is ended, unless somebody needs it.
    fn rest_at(&self) -> Option<Instant> {
        let processes = &self.spec.processes;
        let is_unneeded = self.phase == Phase::Ready && self.workers.is_empty() && self.is_up();
        let patience = LEAST_PATIENCE.max(PATIENCE * processes.idle_timeout);
        (is_unneeded && processes.spare == 0).then(|| self.idle_since + patience)
    }

    /// The fork was answered one way or the other. False for one that nobody waits for any more.
    pub(crate) fn settle_fork(&mut self, worker: WorkerId) -> bool {
        self.stale.remove(&worker);
        self.begun.remove(&worker);
        self.forking.remove(&worker)
    }

    /// A worker is to be ended at once. False for one that is, or has ended.
    pub(crate) fn kill(&mut self, worker: WorkerId) -> bool {
        self.workers.contains_key(&worker) && self.killing.insert(worker)
    }

    /// A program is told to end. False for one that has ended meanwhile.
    pub(crate) fn retire(&mut self, worker: WorkerId) -> bool {
        self.workers.contains_key(&worker) && self.retiring.insert(worker)
    }

    /// A worker has ended. Returns its process, and whether it was told to; nothing for one that is not known.
    pub(crate) fn ended(&mut self, worker: WorkerId, now: Instant) -> Option<(Option<Kin>, bool)> {
        let process = self.workers.remove(&worker)?;
        self.idle_since = now;
        self.killing.remove(&worker);
        Some((process, self.retiring.remove(&worker) || self.is_stopping()))
    }

    /// The prototype is gone: what was being forked has to be forked by the next one.
    pub(crate) fn prototype_died(&mut self, now: Instant) -> BTreeMap<WorkerId, Option<Kin>> {
        self.prototype = None;
        self.bell.clear();
        self.n_wanted += self.n_forking();
        for numbers in [&mut self.forking, &mut self.stale, &mut self.retiring, &mut self.killing] {
            numbers.clear();
        }
        if self.is_resting() {
            self.phase = Phase::Dormant;
        } else if !self.is_stopping() {
            self.phase = Phase::Down;
            self.backoff.failed(now);
        }
        std::mem::take(&mut self.workers)
    }

    /// Forgets all workers, because the router that had them is gone.
    pub(crate) fn forget_workers(&mut self) -> Vec<WorkerId> {
        self.stale.append(&mut self.forking);
        self.retiring.clear();
        self.killing.clear();
        self.n_wanted = 0;
        std::mem::take(&mut self.workers).into_keys().collect()
    }

    /// When something has to be done about it even if nothing happens.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let drain_deadline = self.drain_deadline.filter(|_| !self.is_stopping());
        drain_deadline.into_iter().chain(self.phase_deadline()).min()
    }

    /// When it has been in its phase for too long.
    pub(crate) fn phase_deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Loading { deadline } | Phase::Stopping { deadline } | Phase::Resting { deadline } => {
                Some(deadline)
            }
            Phase::Down => self.backoff.restart_at(),
            Phase::Ready => self.rest_at(),
            Phase::Dormant => None,
        }
    }
}

/// Programs of one application that are started at the same time.
const PROGRAMS_AT_ONCE: usize = 4;

/// Preloading a large framework takes seconds; what takes longer than this hangs.
const LONGEST_LOADING: Duration = Duration::from_secs(120);

/// A prototype that keeps no workers ready is ended after so many times its workers' time of idling: loading it again
/// costs far more than forking a worker.
const PATIENCE: u32 = 10;
const LEAST_PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use crate::testing::{program, spec};

    use super::*;

    /// An application with two spare workers and at most two, loaded.
    fn ready() -> App {
        let mut app = App::new(spec("a=/a"), RouterId::default(), Instant::now());
        app.want_spare();
        app.phase = Phase::Ready;
        app
    }

    fn fork(app: &mut App, number: u32) -> Option<WorkerId> {
        app.next_fork(|| WorkerId(number))
    }

    #[test]
    fn workers_are_forked_one_after_the_other() {
        let mut app = ready();
        assert_eq!(fork(&mut app, 1), Some(WorkerId(1)));
        assert_eq!(fork(&mut app, 2), None, "the first is not there yet");
        app.forked(WorkerId(1), None);
        assert!(!app.is_up());
        assert_eq!(fork(&mut app, 2), Some(WorkerId(2)));
        assert!(app.settle_fork(WorkerId(2)), "it failed");
        assert!(app.is_up());
        assert_eq!(fork(&mut app, 3), None);
    }

    #[test]
    fn programs_start_side_by_side_and_are_told_to_end() {
        let now = Instant::now();
        let mut app = App { spec: program("a"), ..ready() };
        assert_eq!((fork(&mut app, 1), fork(&mut app, 2)), (Some(WorkerId(1)), Some(WorkerId(2))));
        app.forked(WorkerId(2), None);
        assert!(!app.is_up());
        app.forked(WorkerId(1), None);
        assert!(app.is_up());
        assert!(app.kill(WorkerId(1)) && !app.kill(WorkerId(1)) && !app.kill(WorkerId(7)));
        assert!(app.retire(WorkerId(1)) && !app.retire(WorkerId(1)) && !app.retire(WorkerId(7)));
        assert!(matches!(app.ended(WorkerId(1), now), Some((None, true))));
        assert!(matches!(app.ended(WorkerId(2), now), Some((None, false))));
        assert!(app.ended(WorkerId(2), now).is_none());
    }

    #[test]
    fn nothing_is_forked_before_it_is_loaded() {
        let mut app = App::new(spec("a=/a"), RouterId::default(), Instant::now());
        app.want_spare();
        assert_eq!(fork(&mut app, 1), None);
        assert!(!app.is_up());
    }

    #[test]
    fn a_greedy_router_waits_at_twice_the_maximum() {
        let mut app = ready();
        assert!(app.want_one_more().is_err(), "as many as there may be are asked for already");
        for number in 1..=4 {
            assert_eq!(fork(&mut app, number), Some(WorkerId(number)));
            app.forked(WorkerId(number), None);
            app.want_one_more().expect("fewer than the maximum are asked for");
        }
        assert_eq!(fork(&mut app, 5), None, "four are there");
        app.workers.remove(&WorkerId(1));
        assert_eq!(fork(&mut app, 5), Some(WorkerId(5)));
    }

    #[test]
    fn forks_for_a_dead_router_are_stale() {
        let mut app = ready();
        fork(&mut app, 1);
        app.forked(WorkerId(1), None);
        fork(&mut app, 2);
        assert_eq!(app.forget_workers(), [WorkerId(1)]);
        assert_eq!(
            [1, 2, 3].map(|number| app.fork_of(WorkerId(number))),
            [Fork::Unasked, Fork::Stale, Fork::Unasked]
        );
        assert!(!app.settle_fork(WorkerId(2)));
        assert_eq!(app.fork_of(WorkerId(2)), Fork::Unasked, "it was answered");
        app.want_spare();
        assert_eq!(fork(&mut app, 3), Some(WorkerId(3)));
    }

    #[test]
    fn a_dead_prototype_owes_what_it_was_forking() {
        let mut app = ready();
        fork(&mut app, 1);
        assert!(app.prototype_died(Instant::now()).is_empty());
        assert_eq!(app.phase, Phase::Down);
        assert_eq!(app.failed("broken".into()), 2);
        assert_eq!(app.want_one_more(), Err("broken".into()), "until it is started again");
    }

    #[test]
    fn the_usual_workers_follow_a_failure() {
        let mut app = App::new(spec("a=/a"), RouterId::default(), Instant::now());
        app.loaded(vec![], Instant::now());
        assert!(app.is_up());
        app.failed("broken".into());
        app.loaded(vec![], Instant::now());
        assert!(!app.is_up());
    }

    #[test]
    fn an_unneeded_prototype_rests_and_is_woken() {
        let now = Instant::now();
        let mut app = ready();
        assert_eq!(app.phase_deadline(), None, "it keeps workers ready");
        app.spec.processes.spare = 0;
        assert_eq!(app.phase_deadline(), None, "two are to be forked");
        fork(&mut app, 1);
        app.forked(WorkerId(1), None);
        fork(&mut app, 2);
        app.settle_fork(WorkerId(2));
        assert_eq!(app.phase_deadline(), None, "a worker runs");
        app.workers.clear();
        app.idle_since = now;
        assert_eq!(app.phase_deadline(), Some(now + PATIENCE * app.spec.processes.idle_timeout));
        app.phase = Phase::Resting { deadline: now };
        app.want_one_more().unwrap();
        assert_eq!(fork(&mut app, 3), None, "it ends");
        app.prototype_died(now);
        assert!(app.must_wake());
    }

    #[test]
    fn a_prototype_that_was_told_to_end_is_not_started_again() {
        let mut app = ready();
        let deadline = Instant::now();
        app.phase = Phase::Stopping { deadline };
        app.prototype_died(Instant::now());
        assert!(app.is_stopping());
    }
}
