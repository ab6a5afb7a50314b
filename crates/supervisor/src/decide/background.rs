//! The work of applications that no listener reaches: which processes are started when. Facts and times come in, what
//! is to be done comes out.
//!
//! No command runs beside its predecessor. A new instance loads, by which a change may fail, and is held until no other
//! instance of its name is left. A successor of main holds its own until its predecessor says that its commands have
//! ended. Services are told to end when they are replaced; a run goes on to its end.

mod demand;
mod runs;
mod services;

use std::time::{Duration, Instant};

use corral_config::plan::{AppSpec, RuntimeSpec};
use corral_config::schedule::Timestamp;
use corral_ipc::message::{Exit, QueueStatus, ScheduleStatus, WorkerId};

use self::runs::Runs;
use self::services::Services;

/// A moment by both clocks: one that is never set, and that of the wall.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) instant: Instant,
    pub(crate) wall: Timestamp,
}

impl Now {
    pub(crate) fn at(instant: Instant) -> Self {
        Self { instant, wall: Timestamp::now() }
    }
}

/// A step of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandStep {
    /// Start one more process.
    Start,
    /// Tell a process to end, as it has taken too long.
    End(WorkerId),
    /// Tell a process to end that is not needed any more.
    Retire(WorkerId),
    /// Say that a time has come while the command runs.
    Skipped,
    /// Say that a time has come while too many commands run.
    Delayed,
}

/// Which work there is to do.
#[derive(Debug)]
enum CommandWork {
    Services(Services),
    Runs(Box<Runs>),
}

/// The work of one instance.
#[derive(Debug)]
pub(crate) struct Background {
    work: CommandWork,
    /// Nothing is started, as the processes before have not ended, or the configuration is not in force.
    is_held: bool,
    /// Nothing is started any more.
    is_leaving: bool,
}

impl Background {
    /// The work of an application, if it is one that no listener reaches.
    pub(crate) fn of(spec: &AppSpec, now: Now) -> Option<Self> {
        let RuntimeSpec::Process(process) = &spec.runtime else { return None };
        let work = match &process.schedule {
            None => CommandWork::Services(Services::of(spec, now.instant)),
            Some(schedule) => CommandWork::Runs(Box::new(Runs::new(schedule, &spec.name, now)?)),
        };
        Some(Self { work, is_held: true, is_leaving: false })
    }

    /// Whether its processes run all the time.
    pub(crate) fn runs_always(&self) -> bool {
        matches!(self.work, CommandWork::Services(_))
    }

    pub(crate) fn is_held(&self) -> bool {
        self.is_held
    }

    /// Nothing is in its way any more.
    pub(crate) fn release(&mut self) {
        self.is_held = false;
    }

    /// Another instance takes its place, or none. True if runs that wait are left out.
    pub(crate) fn leaves(&mut self) -> bool {
        self.is_leaving = true;
        match &mut self.work {
            CommandWork::Services(_) => false,
            CommandWork::Runs(runs) => runs.forget_waiting(),
        }
    }

    /// Whether nothing that it is to do keeps it from being ended: processes that run all the time never do.
    pub(crate) fn may_end(&self) -> bool {
        match &self.work {
            CommandWork::Services(_) => true,
            CommandWork::Runs(runs) => self.is_leaving && !runs.is_busy(),
        }
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// When there may be something to do.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match &self.work {
            CommandWork::Services(services) => services.deadline().filter(|_| self.may_start()),
            CommandWork::Runs(runs) => runs.deadline(self.may_start()),
        }
    }

    fn may_start(&self) -> bool {
        !self.is_held && !self.is_leaving
    }

    /// The steps that are due now.
    pub(crate) fn look(&mut self, now: Now) -> Vec<CommandStep> {
        let may_start = self.may_start();
        match &mut self.work {
            CommandWork::Services(services) if may_start => services.look(now.instant),
            CommandWork::Services(_) => Vec::new(),
            CommandWork::Runs(runs) => runs.look(may_start, now),
        }
    }

    /// The steps that are due now although there is no room for further runs: those that come have to wait.
    pub(crate) fn wait(&mut self, now: Now) -> Vec<CommandStep> {
        match &mut self.work {
            CommandWork::Services(_) => self.look(now),
            CommandWork::Runs(runs) => runs.wait(!self.is_held && !self.is_leaving, now),
        }
    }

    /// Begins a run at once, on request.
    pub(crate) fn run_now(&mut self) -> Result<CommandStep, &'static str> {
        let may_start = self.may_start();
        match &mut self.work {
            CommandWork::Services(_) => Err("it runs all the time, and has no \"schedule\""),
            CommandWork::Runs(_) if !may_start => Err("the processes before have not ended"),
            CommandWork::Runs(runs) => runs.run_now(),
        }
    }

    /// A start that was wanted has this number.
    pub(crate) fn forking(&mut self, worker: WorkerId, now: Now) {
        match &mut self.work {
            CommandWork::Services(services) => services.forking(worker, now.instant),
            CommandWork::Runs(runs) => runs.forking(worker, now),
        }
    }

    /// A start has succeeded.
    pub(crate) fn begun(&mut self, worker: WorkerId, now: Now) {
        if let CommandWork::Services(services) = &mut self.work {
            services.begun(worker, now.instant);
        }
    }

    /// The queue has this length, or why it is not known.
    pub(crate) fn measured(&mut self, length: Result<u64, String>, now: Now) {
        if let CommandWork::Services(services) = &mut self.work {
            services.measured(length, now.instant);
        }
    }

    /// A process has ended, or its start has failed with a reason. Returns how long a run took.
    pub(crate) fn ended(&mut self, worker: WorkerId, end: RunOutcome, now: Now) -> Option<Duration> {
        match &mut self.work {
            CommandWork::Services(services) => {
                services.ended(worker, now.instant);
                None
            }
            CommandWork::Runs(runs) => runs.ended(worker, end, now),
        }
    }

    /// Nothing that was started or wanted is there any more.
    pub(crate) fn lost(&mut self, reason: &str, now: Now) {
        match &mut self.work {
            CommandWork::Services(services) => services.lost(now.instant),
            CommandWork::Runs(runs) => runs.lost(reason, now),
        }
    }

    /// The queue that decides how many processes there are, for `/status`.
    pub(crate) fn queue(&self) -> Option<QueueStatus> {
        match &self.work {
            CommandWork::Services(services) => services.queue(),
            CommandWork::Runs(_) => None,
        }
    }

    /// How many runs there were.
    pub(crate) fn run_counts(&self) -> Option<ScheduleStatus> {
        match &self.work {
            CommandWork::Services(_) => None,
            CommandWork::Runs(runs) => Some(runs.counts()),
        }
    }

    /// The runs, for `/status`.
    pub(crate) fn schedule(&self) -> Option<ScheduleStatus> {
        match &self.work {
            CommandWork::Services(_) => None,
            CommandWork::Runs(runs) => Some(runs.status()),
        }
    }
}

/// The end of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunOutcome {
    /// How it has ended.
    pub(crate) exit: Option<Exit>,
    /// Why it was not started.
    pub(crate) error: Option<String>,
    /// The last lines that it has printed.
    pub(crate) output: Vec<String>,
}

impl RunOutcome {
    pub(crate) fn failed(reason: &str) -> Self {
        Self { exit: None, error: Some(reason.to_owned()), output: Vec::new() }
    }
}
