//! One running instance of an application: its prototype, its workers, and what belongs to them.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use corral_config::plan::{AppSpec, RuntimeSpec};
use corral_ipc::message::{ToPrototype, WorkerId};
use corral_sys::child_check::VerifiedChild;
use corral_sys::signal::Signal;

use crate::children::images::KindId;
use crate::children::worker_records::CpuTotal;
use crate::decide::background::{Background, Now};
use crate::decide::life::{Due, LifePhase, PrototypeLife, Starts};
use crate::decide::workers::Workers;
use crate::fingerprint::Fingerprints;
use crate::ids::RouterId;
use crate::launch::{Membership, SocketFolder};
use crate::peer::Peer;

/// One instance.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) spec: AppSpec,
    /// The only one that gives it work, if any does.
    pub(crate) router: Option<RouterId>,
    /// The kind of image that its prototype can be a copy of.
    pub(crate) kind: Option<KindId>,
    /// The work that it has by itself, if no listener reaches it.
    pub(crate) background: Option<Background>,
    pub(crate) life: PrototypeLife,
    pub(crate) workers: Workers<VerifiedChild>,
    /// The prototype, while it runs.
    pub(crate) prototype: Option<Peer>,
    /// Memory and eventfds that the workers ring, for the router.
    pub(crate) bell: Vec<OwnedFd>,
    /// Event loops that the bell is for.
    pub(crate) n_lanes: u16,
    /// The time that its processes have had processors.
    pub(crate) cpu: CpuTotal,
    /// Numbers of processes that had ended before they could be looked at, as their prototype knows them.
    pub(crate) unseen: BTreeMap<WorkerId, u32>,
    /// The files that ask for a restart, as they were when it was started.
    watched: Fingerprints,
    /// Whether the application's program has chosen a port by itself: two of it cannot run beside each other.
    pub(crate) strays: bool,
    /// Membership in the control group that the application's processes are in.
    membership: Option<Membership>,
    /// Where its programs are reached, if that is outside of their root.
    sockets: Option<SocketFolder>,
}

impl App {
    pub(crate) fn new(spec: AppSpec, router: Option<RouterId>, now: Instant) -> Self {
        Self {
            life: PrototypeLife::new(spec.keeps_prototype(), now),
            background: Background::of(&spec, Now::at(now)),
            workers: Workers::new(&spec),
            spec,
            router,
            kind: None,
            prototype: None,
            bell: Vec::new(),
            n_lanes: 1,
            cpu: CpuTotal::default(),
            unseen: BTreeMap::new(),
            watched: Fingerprints::default(),
            strays: false,
            membership: None,
            sockets: None,
        }
    }

    /// A prototype was started, for this many event loops.
    pub(crate) fn started(
        &mut self,
        prototype: Peer,
        membership: Option<Membership>,
        sockets: Option<SocketFolder>,
        n_lanes: u16,
    ) {
        self.life.started(Instant::now());
        self.prototype = Some(prototype);
        self.membership = membership;
        self.sockets = sockets;
        self.n_lanes = n_lanes;
    }

    /// Remembers the files as they are: the application is about to be loaded from them.
    pub(crate) fn remember_files(&mut self) {
        self.watched = Fingerprints::take(&self.spec.restart.watch);
    }

    /// One of the files whose change asks for a restart that is not what it was.
    pub(crate) fn changed_file(&self) -> Option<&Path> {
        self.watched.changed()
    }

    /// The prototype has loaded. After a failure, requests may not be waiting for workers any more, so the usual ones
    /// are started.
    pub(crate) fn loaded(&mut self, bell: Vec<OwnedFd>, now: Instant) {
        self.bell = bell;
        if self.life.loaded(now) && self.router.is_some() {
            self.workers.want_spare();
        }
    }

    /// The prototype could not load; returns how many workers are not going to be forked.
    pub(crate) fn failed(&mut self, reason: String) -> u32 {
        self.life.failed(reason);
        self.workers.give_up()
    }

    /// Whether everything that was asked for so far has been forked.
    pub(crate) fn is_up(&self) -> bool {
        self.life.may_be_up() && self.workers.n_coming() == 0
    }

    /// Whether its workers are programs that serve HTTP.
    pub(crate) fn runs_programs(&self) -> bool {
        matches!(self.spec.runtime, RuntimeSpec::Http(_) | RuntimeSpec::Process(_))
    }

    /// Whether there is work although no prototype runs.
    pub(crate) fn must_wake(&self) -> bool {
        self.life.phase() == LifePhase::Dormant && self.workers.are_wanted()
    }

    /// Asks for one more worker; refused while the prototype cannot load.
    pub(crate) fn want_one_more(&mut self) -> Result<(), String> {
        match (self.life.phase(), self.life.failure()) {
            (LifePhase::Down, Some(reason)) => Err(reason.to_owned()),
            _ => self.workers.want_one_more(),
        }
    }

    /// The next worker to fork, if the prototype forks workers and it is time for one.
    pub(crate) fn next_fork(&mut self, new_id: impl FnOnce() -> WorkerId) -> Option<WorkerId> {
        if self.life.phase() == LifePhase::Ready { self.workers.next_fork(new_id) } else { None }
    }

    /// The number of a new process for the log: the prototype's where main could not find it any more.
    pub(crate) fn number_of(
        &mut self,
        worker: WorkerId,
        number: u32,
        process: Option<&VerifiedChild>,
    ) -> u32 {
        let Some(process) = process else {
            self.unseen.insert(worker, number);
            return number;
        };
        process.pid().as_raw_nonzero().get().unsigned_abs()
    }

    /// A worker has ended. Returns its process, and whether it was told to; nothing for one that is not known.
    pub(crate) fn ended(&mut self, worker: WorkerId, now: Instant) -> Option<(Option<VerifiedChild>, bool)> {
        let (process, was_told) = self.workers.ended(worker)?;
        self.life.lost_worker(now);
        self.cpu.worker_changed();
        Some((process, was_told || self.life.is_stopping()))
    }

    /// The prototype is gone. Returns the workers that it leaves behind.
    pub(crate) fn prototype_died(&mut self, now: Instant) -> BTreeMap<WorkerId, Option<VerifiedChild>> {
        self.prototype = None;
        self.cpu.prototype_ended();
        self.bell.clear();
        self.unseen.clear();
        self.life.died(now);
        self.workers.lose_prototype()
    }

    /// Tells its prototype, if one runs.
    pub(crate) fn tell(&mut self, message: &ToPrototype) {
        if let Some(prototype) = &mut self.prototype {
            prototype.send(message, &[]);
        }
    }

    /// Kills a prototype that says what none of ours does.
    pub(crate) fn end_liar(&mut self, what: &str) {
        if let Some(prototype) = &mut self.prototype {
            prototype.give_up(what);
        }
    }

    pub(crate) fn kill_prototype(&self) {
        if let Some(prototype) = &self.prototype {
            prototype.kill(Signal::KILL);
        }
    }

    /// When something has to be done about it even if nothing happens.
    pub(crate) fn deadline(&self, starts: Starts) -> Option<Instant> {
        let work = self.work_deadline().filter(|_| starts == Starts::Permitted);
        self.life.deadline(starts, self.unneeded()).into_iter().chain(work).min()
    }

    /// The step that is due for the prototype now.
    pub(crate) fn due(&self, now: Instant) -> Option<Due> {
        self.life.due(self.unneeded(), now)
    }

    /// The time of idling of its workers, if it has none and keeps none ready.
    fn unneeded(&self) -> Option<Duration> {
        let processes = &self.spec.processes;
        let is_unneeded =
            !self.spec.keeps_prototype() && self.workers.is_empty() && self.workers.n_coming() == 0;
        is_unneeded.then_some(processes.idle_timeout)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::spec;

    use super::*;

    fn app() -> App {
        App::new(spec("a=/a"), Some(RouterId::default()), Instant::now())
    }

    fn fork(app: &mut App, number: u32) -> Option<WorkerId> {
        app.next_fork(|| WorkerId(number))
    }

    #[test]
    fn nothing_is_forked_before_it_is_loaded() {
        let mut app = app();
        app.workers.want_spare();
        assert_eq!(fork(&mut app, 1), None);
        assert!(!app.is_up());
    }

    #[test]
    fn what_is_asked_for_after_a_failure_waits_for_the_next_start() {
        let mut app = app();
        app.loaded(vec![], Instant::now());
        app.workers.want_spare();
        fork(&mut app, 1);
        assert!(app.prototype_died(Instant::now()).is_empty());
        assert_eq!(app.life.phase(), LifePhase::Down);
        assert_eq!(app.failed("broken".into()), 2);
        assert_eq!(app.want_one_more(), Err("broken".into()), "until it is started again");
    }

    #[test]
    fn the_usual_workers_follow_a_failure() {
        let mut app = app();
        app.loaded(vec![], Instant::now());
        assert!(app.is_up());
        app.failed("broken".into());
        app.loaded(vec![], Instant::now());
        assert!(!app.is_up());
    }

    #[test]
    fn an_unneeded_prototype_rests_and_is_woken() {
        let now = Instant::now();
        let mut spec = spec("a=/a");
        spec.processes.spare = 0;
        let mut app = App::new(spec, Some(RouterId::default()), now);
        app.loaded(vec![], now);
        app.want_one_more().unwrap();
        assert_eq!(app.deadline(Starts::Permitted), None, "a worker is to be forked");
        fork(&mut app, 1);
        app.workers.forked(WorkerId(1), None);
        assert_eq!(app.deadline(Starts::Permitted), None, "a worker runs");
        app.ended(WorkerId(1), now);
        assert!(app.deadline(Starts::Permitted).is_some());
        app.life.rests(now);
        app.want_one_more().unwrap();
        assert_eq!(fork(&mut app, 2), None, "it ends");
        app.prototype_died(now);
        assert!(app.must_wake());
    }
}
