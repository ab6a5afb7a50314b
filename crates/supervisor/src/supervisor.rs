//! The main process at work: one loop over everything that can happen.

mod applications;
mod applying;
mod console;
mod controller;
mod deaths;
mod files;
mod reloading;
mod router;
mod sharing;
mod silence;
mod status;
mod stopping;
mod storing;
mod takeover;
mod troubles;
mod upgrading;
mod warnings;
mod watching;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use corral_config::plan::{AppSpec, Assets, RuntimeSpec};
use corral_ipc::message::{AppId, ControlToken, Generation, Module, Status, Ticket, WorkerId};
use corral_sys::poll::{self, Interest, Readiness};
use corral_sys::signal::{self, Signal, SignalFd};

use self::console::Progress;
use self::files::Loaded;
use self::silence::Owed;
use self::status::Question;
use self::stopping::Stop;
use self::storing::Unstored;
use self::troubles::Troubles;
use self::upgrading::Upgrade;
use self::watching::Watch;
use crate::app::App;
use crate::apply::{Apply, Build, Job};
use crate::background::Starter;
use crate::backoff::Backoff;
use crate::control::ControlSocket;
use crate::given::GivenSockets;
use crate::launch::Launcher;
use crate::log_file::LogFile;
use crate::options::{Console, FilesOptions};
use crate::output::{Drained, Output};
use crate::peer::Peer;
use crate::pid_file::PidFile;
use crate::predecessor::Predecessor;
use crate::role::Role;
use crate::routers::{RouterId, Routers};
use crate::service_manager::ServiceManager;
use crate::store::Store;
use crate::terminal::Terminal;

/// What a supervisor is made of.
pub(crate) struct Parts {
    pub(crate) launcher: Launcher,
    pub(crate) signals: SignalFd,
    pub(crate) control: ControlSocket,
    pub(crate) given: GivenSockets,
    pub(crate) store: Option<Store>,
    pub(crate) log: Option<LogFile>,
    pub(crate) modules: Vec<Module>,
    /// What this executable consists of.
    pub(crate) own_files: fn() -> Vec<PathBuf>,
    pub(crate) starter: Option<Starter>,
    pub(crate) temp_dir: PathBuf,
    pub(crate) files: Option<FilesOptions>,
    pub(crate) console: Option<Console>,
    pub(crate) terminal: Terminal,
    pub(crate) token: Option<ControlToken>,
    pub(crate) pid_file: Option<PidFile>,
    pub(crate) predecessor: Option<Predecessor>,
}

impl Parts {
    /// What the host executable of an application consists of; none when it was not found.
    fn host_files(&self, spec: &AppSpec) -> Option<Vec<PathBuf>> {
        let module = self.modules.iter().find(|module| module.path == spec.module);
        let dependencies = module.map(|module| module.dependencies.clone());
        if let RuntimeSpec::Http(_) = spec.runtime {
            return Some([(self.own_files)(), dependencies.unwrap_or_default()].concat());
        }
        dependencies
    }
}

/// The state of the main process.
pub(crate) struct Supervisor {
    parts: Parts,
    /// The stored document, until a configuration is in force.
    stored: Option<Vec<u8>>,
    /// The stored document is not the one that runs, and must not be lost.
    keep_stored_aside: bool,
    unstored: Option<Unstored>,
    /// When listeners that could not be bound are tried again.
    rebinding: Backoff,
    /// Every certificate bundle and JavaScript module that there is.
    assets: Assets,
    controller: Role,
    routers: Routers,
    /// Of configuration files, if the configuration comes from any.
    reader: Role,
    /// What configuration files said last.
    loaded: Option<Loaded>,
    apps: BTreeMap<AppId, App>,
    outputs: Vec<Output>,
    in_force: Option<Build>,
    /// Instances of the configuration in force that the router does not use any more, as it has
    /// swapped in the next one.
    unused: Vec<AppId>,
    apply: Option<Apply>,
    jobs: VecDeque<Job>,
    /// Restarts that are over when the instances that are replaced have ended.
    switching: Vec<(Ticket, AppId)>,
    /// When watched files are looked at next.
    next_look: Option<Instant>,
    /// Those about the status that are not answered yet.
    questions: Vec<Question>,
    /// What a router has not put in force yet.
    owed: Owed,
    /// Names of applications of the daemon's user that were reported.
    known_to_share: BTreeSet<String>,
    /// What routers that have ended had counted.
    ended_routers: Status,
    /// Highest number that the controller has used.
    controller_generation: Generation,
    ids: Ids,
    upgrade: Option<Upgrade>,
    troubles: Troubles,
    started: Instant,
    service_manager: ServiceManager,
    progress: Progress,
    /// For whoever works on the site.
    watch: Option<Watch>,
    stop: Option<Stop>,
    exit_code: ExitCode,
}

/// Numbers that are never used twice.
#[derive(Default)]
struct Ids {
    app: u32,
    worker: u32,
    generation: u64,
}

impl Ids {
    fn next_app(&mut self) -> AppId {
        self.app += 1;
        AppId(self.app)
    }

    fn next_worker(&mut self) -> WorkerId {
        self.worker += 1;
        WorkerId(self.worker)
    }

    fn next_generation(&mut self) -> Generation {
        self.generation += 1;
        Generation(self.generation)
    }
}

/// What the loop waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Signals,
    Controller,
    Router(RouterId),
    Reader,
    Successor,
    /// The successor has ended.
    SuccessorEnd,
    Prototype(AppId),
    /// Code that is followed has changed.
    Tree,
    /// By its place among the outputs.
    Output(usize),
}

/// Messages taken from one child before the others get their turn.
const MESSAGES_PER_TURN: usize = 64;

/// What all children together have of one turn, unless each has a single message or piece of output that takes longer.
const LONGEST_TURN: Duration = Duration::from_millis(10);

impl Supervisor {
    pub(crate) fn new(parts: Parts) -> Self {
        let now = Instant::now();
        let watch = parts.console.as_ref().and_then(|console| Watch::of(&console.watch));
        Self {
            parts,
            stored: None,
            keep_stored_aside: false,
            unstored: None,
            rebinding: Backoff::new(now),
            assets: Assets::default(),
            controller: Role::new("controller", now),
            routers: Routers::new(takeover::threads_for(None), now),
            reader: Role::new("reader", now),
            loaded: None,
            apps: BTreeMap::new(),
            outputs: Vec::new(),
            in_force: None,
            unused: Vec::new(),
            apply: None,
            jobs: VecDeque::new(),
            switching: Vec::new(),
            next_look: None,
            questions: Vec::new(),
            owed: Owed::default(),
            known_to_share: BTreeSet::new(),
            ended_routers: Status::default(),
            controller_generation: Generation(0),
            ids: Ids::default(),
            upgrade: None,
            troubles: Troubles::default(),
            started: now,
            service_manager: ServiceManager::new(now),
            progress: Progress::new(now),
            watch,
            stop: None,
            exit_code: ExitCode::SUCCESS,
        }
    }

    /// Works until everything has been stopped.
    pub(crate) fn run(mut self) -> anyhow::Result<ExitCode> {
        self.read_stored();
        self.start_router();
        match &self.parts.files {
            // The controller is started with what they say.
            Some(_) => self.start_reader(),
            None => self.start_controller(),
        }
        while !self.is_over() {
            self.turn()?;
        }
        self.drain_outputs(LONGEST_TURN, |_| true);
        Ok(self.exit_code)
    }

    fn turn(&mut self) -> io::Result<()> {
        let ready = self.wait()?;
        let share = LONGEST_TURN / u32::try_from(ready.len()).unwrap_or(u32::MAX).max(1);
        for (source, readiness) in &ready {
            if readiness.writable {
                self.flush(*source);
            }
            if readiness.readable {
                self.read(*source, share);
            }
        }
        self.drain_outputs(share, |idx| ready.iter().any(|(source, _)| *source == Source::Output(idx)));
        self.on_time(Instant::now());
        self.begin_next_job();
        self.answer_desk();
        Ok(())
    }

    fn wait(&self) -> io::Result<Vec<(Source, Readiness)>> {
        let sources = self.sources();
        let fds: Vec<_> = sources.iter().map(|source| self.descriptor(*source)).collect();
        let left = self.next_deadline().map(|at| at.saturating_duration_since(Instant::now()));
        let readiness = poll::wait(&fds, left)?;
        let ready = sources.into_iter().zip(readiness);
        Ok(ready.filter(|(_, readiness)| readiness.readable || readiness.writable).collect())
    }

    fn sources(&self) -> Vec<Source> {
        let is_open = |peer: &Option<Peer>| peer.as_ref().is_some_and(Peer::is_open);
        let mut sources = vec![Source::Signals];
        if is_open(&self.controller.peer) {
            sources.push(Source::Controller);
        }
        if is_open(&self.reader.peer) {
            sources.push(Source::Reader);
        }
        if self.upgrade.as_ref().is_some_and(|upgrade| upgrade.successor.is_open()) {
            sources.push(Source::Successor);
        }
        if self.successor_end().is_some() {
            sources.push(Source::SuccessorEnd);
        }
        let routers = self.routers.iter().filter(|router| is_open(&router.role.peer));
        sources.extend(routers.map(|router| Source::Router(router.id)));
        let prototypes = self.apps.iter().filter(|(_, app)| is_open(&app.prototype));
        sources.extend(prototypes.map(|(id, _)| Source::Prototype(*id)));
        sources.extend(self.watch.iter().map(|_| Source::Tree));
        sources.extend((0..self.outputs.len()).map(Source::Output));
        sources
    }

    /// What to wait for on one of [`Supervisor::sources`], which are all there.
    fn descriptor(&self, source: Source) -> (BorrowedFd<'_>, Interest) {
        match source {
            Source::Signals => (self.parts.signals.as_fd(), Interest::Read),
            Source::Output(idx) => (self.outputs[idx].as_fd(), Interest::Read),
            Source::Tree => {
                let watch = self.watch.as_ref().expect("only a tree that is followed is a source");
                (watch.tree.as_fd(), Interest::Read)
            }
            Source::SuccessorEnd => {
                (self.successor_end().expect("only a successor that is known is a source"), Interest::Read)
            }
            source => {
                let peer = self.peer(source).expect("only running children are sources");
                let interest = if peer.wants_to_write() { Interest::ReadWrite } else { Interest::Read };
                (peer.as_fd(), interest)
            }
        }
    }

    fn peer(&self, source: Source) -> Option<&Peer> {
        match source {
            Source::Controller => self.controller.peer.as_ref(),
            Source::Router(id) => self.routers.find(id)?.role.peer.as_ref(),
            Source::Reader => self.reader.peer.as_ref(),
            Source::Successor => self.upgrade.as_ref().map(|upgrade| &upgrade.successor),
            Source::Prototype(id) => self.apps.get(&id)?.prototype.as_ref(),
            Source::Signals | Source::SuccessorEnd | Source::Tree | Source::Output(_) => None,
        }
    }

    fn peer_mut(&mut self, source: Source) -> Option<&mut Peer> {
        match source {
            Source::Controller => self.controller.peer.as_mut(),
            Source::Router(id) => self.routers.peer_mut(id),
            Source::Reader => self.reader.peer.as_mut(),
            Source::Successor => self.upgrade.as_mut().map(|upgrade| &mut upgrade.successor),
            Source::Prototype(id) => self.apps.get_mut(&id)?.prototype.as_mut(),
            Source::Signals | Source::SuccessorEnd | Source::Tree | Source::Output(_) => None,
        }
    }

    fn flush(&mut self, source: Source) {
        if let Some(peer) = self.peer_mut(source) {
            peer.flush();
        }
    }

    fn read(&mut self, source: Source, time: Duration) {
        match source {
            Source::Signals => self.on_signals(),
            Source::SuccessorEnd => self.successor_ended(),
            Source::Tree => self.read_tree(),
            // At the end of the turn: taking out one that has ended moves the others.
            Source::Output(_) => {}
            _ => self.read_messages(source, MESSAGES_PER_TURN, time),
        }
    }

    /// Handles up to `limit` messages of one child, one in any case, and others as long as there is time.
    fn read_messages(&mut self, source: Source, limit: usize, time: Duration) {
        let begin = Instant::now();
        for n_read in 0..limit {
            if n_read > 0 && begin.elapsed() >= time {
                return;
            }
            let is_read = match source {
                Source::Controller => self.read_controller(),
                Source::Router(id) => self.read_router(id),
                Source::Reader => self.read_reader(),
                Source::Successor => self.read_successor(),
                Source::Prototype(id) => self.read_prototype(id),
                Source::Signals | Source::SuccessorEnd | Source::Tree | Source::Output(_) => false,
            };
            if !is_read {
                return;
            }
        }
    }

    /// Logs what children printed; forgets the pipes that nobody writes to any more.
    fn drain_outputs(&mut self, time: Duration, is_ready: impl Fn(usize) -> bool) {
        let mut idx = 0;
        self.outputs.retain_mut(|output| {
            let keep = !is_ready(idx) || output.drain(time) == Drained::Empty;
            idx += 1;
            keep
        });
    }

    fn on_signals(&mut self) {
        // An error here is a broken kernel interface: the next turn tries again.
        while let Ok(Some(number)) = self.parts.signals.next_signal() {
            self.on_signal(number);
        }
    }

    fn on_signal(&mut self, number: i32) {
        match number {
            _ if number == Signal::CHILD.as_raw() => {
                for (pid, change) in signal::changes() {
                    self.on_change(pid, change);
                }
            }
            _ if number == Signal::USR1.as_raw() => self.reopen_logs(),
            _ if number == Signal::USR2.as_raw() => self.on_upgrade_signal(),
            _ if number == Signal::HUP.as_raw() => self.on_hangup(),
            _ => self.on_stop_signal(number),
        }
    }

    /// The earliest time at which something is due although nothing happens.
    fn next_deadline(&self) -> Option<Instant> {
        let peers = self.own_peers().chain(self.prototypes()).filter_map(Peer::deadline);
        let apps = self.apps.values().filter_map(App::next_deadline);
        let controller = self.may_start_controller().then_some(&self.controller);
        let roles = [Some(&self.routers.in_charge.role), Some(&self.reader), controller];
        let roles = roles.into_iter().flatten().filter(|role| role.peer.is_none() && self.stop.is_none());
        let roles = roles.filter_map(|role| role.backoff.restart_at());
        let stop = self.stop.as_ref().and_then(Stop::deadline);
        let rebinding = if self.may_rebind() { self.rebinding.restart_at() } else { None };
        let (sign, upgrade) = (self.service_manager.next_sign(), self.upgrade_deadline());
        let desk = [self.next_look(), self.next_word(), self.next_change()];
        let others = [stop, rebinding, sign, upgrade, self.silence_deadline(), self.storing_deadline()];
        peers.chain(apps).chain(roles).chain(others.into_iter().chain(desk).flatten()).min()
    }

    fn on_time(&mut self, now: Instant) {
        self.own_peers().chain(self.prototypes()).for_each(|peer| peer.kill_if_overdue(now));
        self.apps_on_time(now);
        self.service_manager.on_time(now);
        self.upgrade_on_time(now);
        self.store_on_time(now);
        self.silence_on_time(now);
        if self.stop.is_some() {
            self.stop_on_time(now);
            return;
        }
        let router = &self.routers.in_charge.role;
        if router.peer.is_none() && router.backoff.is_due(now) {
            self.start_router();
        }
        if self.reader.peer.is_none() && self.reader.backoff.is_due(now) {
            self.start_reader();
        }
        let is_due = self.controller.peer.is_none() && self.controller.backoff.is_due(now);
        if is_due && self.may_start_controller() {
            self.start_controller();
        }
        self.look_on_time(now);
        self.speak_on_time(now);
        self.follow_on_time(now);
        if self.may_rebind() && self.rebinding.is_due(now) {
            self.rebinding.started(now);
            self.jobs.push_back(Job::Rebind);
        }
    }

    /// Rebinding is a job of its own, for a time at which nothing else goes on.
    fn may_rebind(&self) -> bool {
        let is_quiet = self.apply.is_none() && self.jobs.is_empty();
        self.stop.is_none() && is_quiet && self.routers.in_charge.role.is_ready
    }

    /// The processes of this executable.
    fn own_peers(&self) -> impl Iterator<Item = &Peer> {
        let roles = [&self.controller.peer, &self.reader.peer].into_iter().flatten();
        roles.chain(self.routers.peers()).chain(self.unready_successor())
    }

    fn prototypes(&self) -> impl Iterator<Item = &Peer> {
        self.apps.values().filter_map(|app| app.prototype.as_ref())
    }

    /// A new controller is told what is in force, so nothing may be half-way.
    fn may_start_controller(&self) -> bool {
        self.apply.is_none() && self.upgrade.is_none()
    }
}
