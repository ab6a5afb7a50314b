//! The main process at work: one loop over everything that can happen. Each part below knows its own data and what it
//! is given; the files of this folder join them: they read messages, tell the owners of decisions, and carry out what
//! those answer (`effects`).

mod answers;
mod app_events;
mod applying;
mod background;
mod controller;
mod deaths;
mod effects;
mod exec;
mod following;
mod in_force;
mod reader;
mod restarting;
mod router;
mod signals;
mod status;
mod stopping;
mod upgrading;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use corral_ipc::message::ControlToken;
use corral_sys::poll::{self, Interest, Readiness};
use corral_sys::signal::{Signal, SignalFd};

use self::restarting::look_at_files;
use crate::audience::Audience;
use crate::children::routers::threads_for;
use crate::children::{Child, Children};
use crate::configuration::Configuration;
use crate::decide::life::Starts;
use crate::decide::stop::{StopEvent, Stopping};
use crate::decide::timers::{Timer, Timers};
use crate::decide::upgrade::Upgrade;
use crate::files::Files;
use crate::inheritance::Inheritance;
use crate::issued_secrets::IssuedSecrets;
use crate::peer::Peer;
use crate::programs::Programs;
use crate::questions::Questions;
use crate::restarts::Restarts;
use crate::stored::Stored;
use crate::watch::Watch;

/// The parts that a supervisor is made of.
pub(crate) struct DaemonParts {
    pub(crate) signals: SignalFd,
    pub(crate) programs: Programs,
    pub(crate) inheritance: Inheritance,
    pub(crate) stored: Stored,
    pub(crate) files: Files,
    pub(crate) audience: Audience,
    pub(crate) token: Option<ControlToken>,
}

/// The main process.
pub(crate) struct Supervisor {
    signals: SignalFd,
    /// How everything is started.
    programs: Programs,
    /// The processes that were started.
    children: Children,
    configuration: Configuration,
    stored: Stored,
    /// All that routers have been given between two configurations.
    secrets: IssuedSecrets,
    files: Files,
    inheritance: Inheritance,
    audience: Audience,
    /// The token that protects the control API.
    token: Option<ControlToken>,
    questions: Questions,
    restarts: Restarts,
    upgrade: Upgrade<Peer>,
    /// Follows the code for developers who work on the site.
    watch: Option<Watch>,
    stopping: Stopping,
}

/// A source of events that the loop waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Signals,
    Child(Child),
    Successor,
    /// The successor has ended.
    SuccessorEnd,
    /// The process before this one says what of its work has ended.
    Predecessor,
    /// Code that is followed has changed.
    Tree,
    /// By its place among the outputs.
    Output(usize),
}

/// Messages taken from one child before the others get their turn.
const MESSAGES_PER_TURN: usize = 64;

/// The time that all children together have of one turn, unless each has a single message or piece of output that takes
/// longer.
const LONGEST_TURN: Duration = Duration::from_millis(10);

impl Supervisor {
    pub(crate) fn new(parts: DaemonParts) -> Self {
        let now = Instant::now();
        let DaemonParts { signals, programs, inheritance, stored, files, audience, token } = parts;
        let watch = audience.console.as_ref().and_then(|console| Watch::of(&console.watch));
        Self {
            signals,
            programs,
            children: Children::new(threads_for(None), now),
            configuration: Configuration::new(now),
            stored,
            secrets: IssuedSecrets::default(),
            files,
            inheritance,
            audience,
            token,
            questions: Questions::new(now),
            restarts: Restarts::default(),
            upgrade: Upgrade::default(),
            watch,
            stopping: Stopping::default(),
        }
    }

    /// Works until everything has been stopped.
    pub(crate) fn run(mut self) -> anyhow::Result<ExitCode> {
        self.children.start_router(&self.programs, &self.secrets);
        // The controller is started with what the files say.
        if self.files.are_used() {
            self.start_reader();
        } else {
            self.start_controller();
        }
        while !self.is_over() {
            self.turn()?;
        }
        self.children.outputs.drain(LONGEST_TURN, |_| true);
        Ok(self.stopping.exit_code())
    }

    fn turn(&mut self) -> io::Result<()> {
        let ready = self.wait()?;
        let share = LONGEST_TURN / u32::try_from(ready.len()).unwrap_or(u32::MAX).max(1);
        for (source, readiness) in &ready {
            if readiness.writable
                && let Some(peer) = self.peer_mut(*source)
            {
                peer.flush();
            }
            if readiness.readable {
                self.read(*source, share);
            }
        }
        let is_ready = |idx| ready.iter().any(|(source, _)| *source == Source::Output(idx));
        self.children.outputs.drain(share, is_ready);
        self.on_time(Instant::now());
        self.begin_next_job();
        self.answer_desk();
        Ok(())
    }

    fn wait(&self) -> io::Result<Vec<(Source, Readiness)>> {
        let sources = self.sources();
        let fds: Vec<_> = sources.iter().map(|source| self.descriptor(*source)).collect();
        let left = self.timers().next().map(|at| at.saturating_duration_since(Instant::now()));
        let readiness = poll::wait(&fds, left)?;
        let ready = sources.into_iter().zip(readiness);
        Ok(ready.filter(|(_, readiness)| readiness.readable || readiness.writable).collect())
    }

    fn sources(&self) -> Vec<Source> {
        let mut sources = vec![Source::Signals];
        sources.extend(self.upgrade.peer().filter(|peer| peer.is_open()).map(|_| Source::Successor));
        sources.extend(self.upgrade.peer().and_then(Peer::end).map(|_| Source::SuccessorEnd));
        sources.extend(self.inheritance.retiring.iter().map(|_| Source::Predecessor));
        sources.extend(self.children.open().map(Source::Child));
        sources.extend(self.watch.iter().map(|_| Source::Tree));
        sources.extend((0..self.children.outputs.len()).map(Source::Output));
        sources
    }

    /// The descriptor of one of [`Supervisor::sources`], which are all there, and what to wait for on it.
    fn descriptor(&self, source: Source) -> (BorrowedFd<'_>, Interest) {
        match source {
            Source::Signals => (self.signals.as_fd(), Interest::Read),
            Source::Output(idx) => (self.children.outputs.descriptor(idx), Interest::Read),
            Source::Tree => {
                let watch = self.watch.as_ref().expect("only a tree that is followed is a source");
                (watch.as_fd(), Interest::Read)
            }
            Source::Predecessor => {
                let retiring = self.inheritance.retiring.as_ref();
                (retiring.expect("only a predecessor that is heard is a source").as_fd(), Interest::Read)
            }
            Source::SuccessorEnd => {
                let end = self.upgrade.peer().and_then(Peer::end);
                (end.expect("only a successor that is known is a source"), Interest::Read)
            }
            Source::Child(_) | Source::Successor => {
                let peer = self.peer(source).expect("only running processes are sources");
                let interest = if peer.wants_to_write() { Interest::ReadWrite } else { Interest::Read };
                (peer.as_fd(), interest)
            }
        }
    }

    fn peer(&self, source: Source) -> Option<&Peer> {
        match source {
            Source::Child(child) => self.children.peer(child),
            Source::Successor => self.upgrade.peer(),
            Source::Signals
            | Source::SuccessorEnd
            | Source::Predecessor
            | Source::Tree
            | Source::Output(_) => None,
        }
    }

    fn peer_mut(&mut self, source: Source) -> Option<&mut Peer> {
        match source {
            Source::Child(child) => self.children.peer_mut(child),
            Source::Successor => self.upgrade.peer_mut(),
            Source::Signals
            | Source::SuccessorEnd
            | Source::Predecessor
            | Source::Tree
            | Source::Output(_) => None,
        }
    }

    fn read(&mut self, source: Source, time: Duration) {
        match source {
            Source::Signals => self.on_signals(),
            Source::SuccessorEnd => self.successor_ended(),
            Source::Predecessor => {
                self.inheritance.hear();
                self.release_background();
            }
            Source::Tree => self.watch.iter_mut().for_each(|watch| watch.look(Instant::now())),
            // At the end of the turn: taking out one that has ended moves the others.
            Source::Output(_) => {}
            Source::Child(_) | Source::Successor => self.read_messages(source, MESSAGES_PER_TURN, time),
        }
    }

    /// Handles up to `limit` messages of one process, one in any case, and others as long as there is time.
    fn read_messages(&mut self, source: Source, limit: usize, time: Duration) {
        let begin = Instant::now();
        for n_read in 0..limit {
            if n_read > 0 && begin.elapsed() >= time {
                return;
            }
            let is_read = match source {
                Source::Child(Child::Controller) => self.read_controller(),
                Source::Child(Child::Router(id)) => self.read_router(id),
                Source::Child(Child::Reader) => self.read_reader(),
                Source::Child(Child::Prototype(id)) => {
                    self.children.read_prototype(id, self.inheritance.control.address())
                }
                Source::Successor => self.read_successor(),
                Source::Signals
                | Source::SuccessorEnd
                | Source::Predecessor
                | Source::Tree
                | Source::Output(_) => false,
            };
            self.hear_news();
            if !is_read {
                return;
            }
        }
    }

    /// The timers of everything that is due although nothing happens.
    fn timers(&self) -> Timers {
        let Self { children, configuration, restarts, .. } = self;
        let mut timers = Timers::default();
        let peers = children.peers().chain(self.upgrade.unready());
        timers.set(Timer::Peers, peers.filter_map(Peer::deadline).min());
        let starts = self.starts();
        timers.set(Timer::Applications, children.apps.values().filter_map(|app| app.deadline(starts)).min());
        timers.set(Timer::Sign, self.audience.service_manager.next_sign());
        timers.set(Timer::Upgrade, self.upgrade.deadline());
        timers.set(Timer::Store, self.stored.retry_at());
        timers.set(Timer::Silence, self.questions.deadline(|router| children.hears(router)));
        if self.stopping.has_begun() {
            timers.set(Timer::Stop, self.stopping.deadline());
            return timers;
        }
        timers.set(Timer::StartRouter, children.routers.in_charge.role.restart_at());
        timers.set(Timer::StartReader, children.reader.restart_at());
        if self.may_start_controller() {
            timers.set(Timer::StartController, children.controller.restart_at());
        }
        timers.set(Timer::Look, restarts.next_look().filter(|_| !self.upgrade.goes_on()));
        timers.set(Timer::Word, self.audience.next_word());
        timers.set(Timer::Change, self.next_change());
        // A job of its own, for a time at which nothing else goes on.
        if children.routers.in_charge.role.is_ready {
            timers.set(Timer::Rebind, configuration.rebind_at());
        }
        timers
    }

    /// Whether anything is started again that has ended.
    fn starts(&self) -> Starts {
        if self.stopping.has_begun() { Starts::Over } else { Starts::Permitted }
    }

    fn on_time(&mut self, now: Instant) {
        self.note_owed(now);
        for timer in self.timers().due(now) {
            self.on_timer(timer, now);
            self.hear_news();
        }
        if self.stopping.has_begun() {
            self.stop_on(StopEvent::Turn, now);
        }
        self.hear_news();
    }

    fn on_timer(&mut self, timer: Timer, now: Instant) {
        let starts = self.starts();
        let Self { children, programs, configuration, audience, restarts, secrets, .. } = self;
        match timer {
            Timer::Peers => {
                let peers = children.peers().chain(self.upgrade.unready());
                peers.for_each(|peer| peer.kill_if_overdue(now));
            }
            Timer::Applications => children.apps_on_time(starts, programs, now),
            Timer::Sign => audience.service_manager.on_time(now),
            Timer::Upgrade => self.upgrade.unready().into_iter().for_each(|peer| peer.kill(Signal::KILL)),
            // A client that asks for the status hears why it fails.
            Timer::Store => drop(self.store_again()),
            Timer::Silence => self.end_silent(now),
            // Whatever has its time: it goes on in each turn.
            Timer::Stop => {}
            Timer::StartRouter => children.start_router(programs, secrets),
            Timer::StartReader => self.start_reader(),
            Timer::StartController => self.start_controller(),
            Timer::Look => look_at_files(restarts, configuration, children, now),
            Timer::Word => audience.speak(children.outputs.last_word(), now),
            Timer::Change => self.follow_change(),
            Timer::Rebind if configuration.is_quiet() => configuration.rebind(now),
            Timer::Rebind => {}
        }
    }
}
