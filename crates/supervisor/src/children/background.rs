//! Applications that no listener reaches: carries out what their work asks for.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use corral_ipc::log::clean;
use corral_ipc::message::{AppId, EndCause, Exit, ScheduleStatus, ToPrototype, WorkerId};
use corral_sys::child_check::VerifiedChild;

use super::{AppEvent, Children};
use crate::children::app::App;
use crate::decide::background::{Background, CommandStep, Now, RunOutcome};
use crate::decide::life::LifePhase;
use crate::programs::Programs;

/// Applications whose work is gone on with before others are heard again: a start takes a few milliseconds.
const LOOKS_PER_TURN: usize = 4;

/// Runs of all schedules beside each other. Hundreds may be due at the same minute.
const MOST_RUNS: usize = 100;

impl App {
    /// When its work has something to do, if anything could be started.
    pub(crate) fn work_deadline(&self) -> Option<Instant> {
        self.background.as_ref().filter(|_| self.can_work()).and_then(Background::deadline)
    }

    /// The counts of its runs, if it has a schedule.
    pub(super) fn run_counts(&self) -> Option<ScheduleStatus> {
        self.background.as_ref()?.run_counts()
    }

    /// Whether a process could be started.
    fn can_work(&self) -> bool {
        let runs_always = self.background.as_ref().is_some_and(Background::runs_always);
        self.life.phase() == LifePhase::Ready || (self.life.phase() == LifePhase::Dormant && !runs_always)
    }
}

impl Children {
    /// Goes on with the work that is due.
    pub(super) fn work_on_time(&mut self, programs: &Programs, now: Instant) {
        let is_due = |app: &App| app.work_deadline().is_some_and(|at| at <= now);
        let due = self.apps.iter().filter(|(_, app)| is_due(app));
        let mut due: Vec<_> = due.map(|(id, app)| (app.work_deadline(), *id)).collect();
        due.sort();
        let now = Now::at(now);
        for (_, id) in due.into_iter().take(LOOKS_PER_TURN) {
            let has_room = self.has_room_for_runs();
            let Some(work) = self.apps.get_mut(&id).and_then(|app| app.background.as_mut()) else { continue };
            let steps = if has_room { work.look(now) } else { work.wait(now) };
            steps.into_iter().for_each(|step| self.take_step(id, step, programs));
        }
    }

    fn has_room_for_runs(&self) -> bool {
        let runs_at_times =
            |app: &&App| app.background.as_ref().is_some_and(|background| !background.runs_always());
        self.apps.values().filter(runs_at_times).map(|app| app.workers.n_all()).sum::<usize>() < MOST_RUNS
    }

    fn take_step(&mut self, id: AppId, step: CommandStep, programs: &Programs) {
        match step {
            CommandStep::Start => self.start_process(id, programs),
            CommandStep::End(worker) => {
                self.complain_of(id, "it takes too long: ending it");
                self.note_cause(id, worker, EndCause::KillAfter);
                self.retire_worker(id, worker);
            }
            CommandStep::Retire(worker) => {
                self.note_cause(id, worker, EndCause::Idle);
                self.retire_worker(id, worker);
            }
            CommandStep::Delayed => {
                let what =
                    format!("its time has come, and {MOST_RUNS} commands run: it waits for one of them");
                self.complain_of(id, &what);
            }
            CommandStep::Skipped => self.complain_of(id, "its time has come, and it still runs: left out"),
        }
    }

    fn complain_of(&self, id: AppId, what: &str) {
        if let Some(app) = self.apps.get(&id) {
            tracing::warn!("\"{}\" application: {what}", app.spec.name);
        }
    }

    fn start_process(&mut self, id: AppId, programs: &Programs) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        let is_dormant = app.life.phase() == LifePhase::Dormant;
        match app.want_one_more() {
            Ok(()) if is_dormant => self.start_prototype(id, programs),
            Ok(()) => self.fork_next(id),
            Err(reason) => self.lose_work(id, &reason),
        }
    }

    /// Runs a command at once that has a schedule.
    pub(crate) fn run_now(&mut self, id: AppId, programs: &Programs) -> Result<(), String> {
        let has_room = self.has_room_for_runs();
        let work = self.apps.get_mut(&id).and_then(|app| app.background.as_mut());
        let work = work.ok_or("it serves requests, and has no \"schedule\"")?;
        if !has_room && !work.runs_always() {
            return Err(format!("{MOST_RUNS} commands run already"));
        }
        let step = work.run_now()?;
        self.take_step(id, step, programs);
        Ok(())
    }

    /// A process runs. It has nothing to make ready.
    /// `number` is what its prototype calls it.
    pub(super) fn process_begun(
        &mut self,
        id: AppId,
        worker: WorkerId,
        number: u32,
        process: Option<VerifiedChild>,
    ) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        let pid = app.number_of(worker, number, process.as_ref());
        app.workers.forked(worker, process);
        app.cpu.worker_changed();
        self.records.start(&app.spec.name);
        app.background.iter_mut().for_each(|work| work.begun(worker, Now::at(Instant::now())));
        tracing::info!("\"{}\" application started, process {pid}", app.spec.name);
        self.events.push_back(AppEvent::Decided(id));
        self.fork_next(id);
    }

    /// The length of its queue was looked at.
    pub(super) fn queue_measured(&mut self, id: AppId, length: Result<u64, String>) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        let Some(work) = app.background.as_mut() else {
            return app.end_liar("says how long a queue is that it does not have");
        };
        let (name, before) = (&app.spec.name, work.queue());
        if let Err(reason) = &length {
            tracing::error!("\"{name}\" application: the length of its queue is unknown: {reason}");
        }
        work.measured(length, Now::at(Instant::now()));
        if let (Some(before), Some(after)) = (before, work.queue())
            && before.wanted != after.wanted
        {
            let length = after.length.unwrap_or_default();
            tracing::info!(
                "\"{name}\" application: {length} jobs, {} processes instead of {}",
                after.wanted,
                before.wanted
            );
        }
    }

    /// A process has ended, or its start has failed.
    pub(super) fn process_ended(&mut self, id: AppId, worker: WorkerId, how: Result<Exit, &str>) {
        let Some(app) = self.apps.get(&id).filter(|app| app.background.is_some()) else { return };
        let words = if app.workers.is_empty() {
            self.outputs.all_words_of(id)
        } else {
            self.outputs.last_words_of(id)
        };
        let output = words.iter().map(|line| clean(line).into_owned()).collect();
        let Some(app) = self.apps.get_mut(&id) else { return };
        let Some(work) = app.background.as_mut() else { return };
        let outcome = match how {
            Ok(exit) => RunOutcome { exit: Some(exit), error: None, output },
            Err(reason) => RunOutcome { output, ..RunOutcome::failed(reason) },
        };
        if let Some(duration) = work.ended(worker, outcome, Now::at(Instant::now())) {
            let (name, seconds) = (&app.spec.name, duration.as_secs_f64());
            match how {
                Ok(Exit::Code(0)) => {
                    tracing::info!(target: "notice", "\"{name}\" has run for {seconds:.1} s");
                }
                Ok(Exit::Code(code)) => {
                    tracing::error!("\"{name}\" has failed after {seconds:.1} s: exited with code {code}");
                }
                Ok(Exit::Signal(number)) => {
                    tracing::error!("\"{name}\" has failed after {seconds:.1} s: exited on signal {number}");
                }
                Err(_) => {}
            }
        }
        self.end_if_done(id);
    }

    /// Nothing of an application runs any more, nor is about to.
    pub(super) fn lose_work(&mut self, id: AppId, reason: &str) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        let Some(work) = app.background.as_mut() else { return };
        work.lost(reason, Now::at(Instant::now()));
        app.workers.give_up();
        if !work.runs_always() {
            app.life.sleeps();
        }
        self.end_if_done(id);
    }

    fn end_if_done(&mut self, id: AppId) {
        let work = self.apps.get(&id).and_then(|app| app.background.as_ref());
        if work.is_some_and(|work| work.is_leaving() && work.may_end()) {
            self.stop_app(id);
        }
    }

    /// As `leave_background`, for all instances that no listener reaches.
    pub(crate) fn leave_all_background(&mut self) {
        let all = self.apps.iter().filter(|(_, app)| app.background.is_some());
        let all: Vec<_> = all.map(|(id, _)| *id).collect();
        self.leave_background(&all);
    }

    /// Others take the place of these instances, or none: what runs all the time ends at once, a run goes on to its
    /// end.
    pub(super) fn leave_background(&mut self, replaced: &[AppId]) {
        for id in replaced {
            let Some(work) = self.apps.get_mut(id).and_then(|app| app.background.as_mut()) else { continue };
            if work.leaves() {
                self.complain_of(*id, "runs that wait are left out, as it is replaced");
            }
            self.end_if_done(*id);
        }
    }

    /// The counts of all runs of each application that has or had a schedule, with those of instances that have ended.
    pub(crate) fn runs_by_name(&self) -> HashMap<&str, ScheduleStatus> {
        let mut sums: HashMap<_, _> = self.records.runs().map(|(name, runs)| (name, runs.clone())).collect();
        for app in self.apps.values() {
            let runs = app.run_counts().into_iter();
            runs.for_each(|runs| sums.entry(&*app.spec.name).or_default().count(&runs));
        }
        sums
    }

    /// Lets the instances begin whose predecessors have ended.
    pub(crate) fn release_background(&mut self, in_force: &[AppId], may_begin: impl Fn(&Background) -> bool) {
        let leaving =
            self.apps.values().filter(|app| app.background.as_ref().is_some_and(|work| !work.is_held()));
        let names: Vec<_> = leaving.map(|app| app.spec.name.clone()).collect();
        for id in in_force {
            let Some(app) = self.apps.get_mut(id) else { continue };
            let is_free = !names.contains(&app.spec.name);
            if let Some(work) = app.background.as_mut()
                && work.is_held()
                && is_free
                && may_begin(work)
            {
                work.release();
            }
        }
    }

    /// Whether an instance runs that no listener reaches, or only one of those that run all the time.
    pub(crate) fn has_background(&self, is_meant: impl Fn(&Background) -> bool) -> bool {
        self.apps.values().filter_map(|app| app.background.as_ref()).any(is_meant)
    }

    /// Longest time that a command has to end once it is told.
    pub(crate) fn longest_grace(&self) -> Duration {
        let commands = self.apps.values().filter(|app| app.background.is_some() && app.prototype.is_some());
        commands.map(|app| app.spec.grace().unwrap_or(Duration::MAX / 2)).max().unwrap_or_default()
    }

    /// Tells a prototype to fork, and its work which process that will be.
    pub(super) fn fork_process(app: &mut App, worker: WorkerId) {
        if let Some(work) = app.background.as_mut() {
            work.forking(worker, Now::at(Instant::now()));
        }
        app.tell(&ToPrototype::Fork { worker });
    }
}
