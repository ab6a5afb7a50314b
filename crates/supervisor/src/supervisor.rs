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
mod sources;
mod status;
mod stopping;
mod sums;
mod timers;
mod upgrading;
mod workers;

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use corral_ipc::message::ControlToken;
use corral_sys::signal::SignalFd;

use self::sources::Source;
use crate::audience::Audience;
use crate::children::routers::threads_for;
use crate::children::{Child, Children};
use crate::configuration::Configuration;
use crate::decide::stop::Stopping;
use crate::decide::upgrade::Upgrade;
use crate::files::Files;
use crate::inheritance::Inheritance;
use crate::issued_secrets::IssuedSecrets;
use crate::peer::Peer;
use crate::programs::Programs;
use crate::questions::Questions;
use crate::restarts::Restarts;
use crate::stored::Stored;
use crate::usage::OwnUsage;
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
    pub(crate) read_token: Option<ControlToken>,
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
    /// The token of those that change nothing.
    read_token: Option<ControlToken>,
    questions: Questions,
    usage: OwnUsage,
    /// The successor has asked for the counters, and hears of more.
    sums_are_wanted: bool,
    restarts: Restarts,
    upgrade: Upgrade<Peer>,
    /// Follows the code for developers who work on the site.
    watch: Option<Watch>,
    stopping: Stopping,
}

/// Messages taken from one child before the others get their turn.
const MESSAGES_PER_TURN: usize = 64;

/// The time that all children together have of one turn, unless each has a single message or piece of output that takes
/// longer.
const LONGEST_TURN: Duration = Duration::from_millis(10);

/// The last counters wait so long for a successor that is busy.
const LONGEST_FAREWELL: Duration = Duration::from_secs(5);

impl Supervisor {
    pub(crate) fn new(parts: DaemonParts) -> Self {
        let now = Instant::now();
        let DaemonParts { signals, programs, inheritance, stored, files, audience, token, read_token } =
            parts;
        let watch = audience.console.as_ref().and_then(|console| Watch::of(&console.watch));
        let mut questions = Questions::new(now);
        let before = inheritance.predecessor.as_ref().map(|predecessor| predecessor.sums.clone());
        before.into_iter().for_each(|sums| questions.inherit(sums));
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
            read_token,
            questions,
            usage: OwnUsage::default(),
            sums_are_wanted: false,
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
        self.tell_sums();
        self.hand_on_earlier();
        self.upgrade.peer_mut().into_iter().for_each(|successor| successor.finish(LONGEST_FAREWELL));
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

    fn read(&mut self, source: Source, time: Duration) {
        match source {
            Source::Signals => self.on_signals(),
            Source::SuccessorEnd => self.successor_ended(),
            Source::Earlier(_) => self.hear_earlier(),
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
                Source::Child(Child::Image(id)) => self.children.read_image(id),
                Source::Child(Child::Prototype(id)) => {
                    self.children.read_prototype(id, self.inheritance.control.address())
                }
                Source::Successor => self.read_successor(),
                Source::Signals
                | Source::SuccessorEnd
                | Source::Earlier(_)
                | Source::Tree
                | Source::Output(_) => false,
            };
            self.hear_news();
            if !is_read {
                return;
            }
        }
    }
}
