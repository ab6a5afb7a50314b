//! Workers one by one: which processes they are, what those use, and the end of one.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use corral_ipc::message::{
    AppId, AppStatus, EndCause, MOST_WORKERS, ToRouter, WorkerEnding, WorkerId, WorkerState, WorkerStatus,
    WorkerUsage,
};
use corral_sys::child_check::VerifiedChild;
use corral_sys::usage::{self, ProcessUsage};

use super::Children;
use crate::children::app::App;
use crate::children::look_budget::LARGEST;
use crate::ids::RouterId;

/// Processes whose shared memory is looked at for one question: that takes the longest.
const MOST_LOOKS: usize = 64;

/// The time for what the processes of one question use otherwise: microseconds for each.
const LONGEST_READING: Duration = Duration::from_millis(20);

/// Processes of commands whose time on processors is read at once; each takes a few microseconds.
const MOST_TIMES: usize = 256;

impl Children {
    /// The instances of an application that run, and the routers that know their workers.
    pub(crate) fn instances_of(&self, name: &str) -> Vec<(AppId, Option<RouterId>)> {
        let named = self.apps.iter().filter(|(_, app)| app.spec.name == name);
        named.map(|(id, app)| (*id, app.router)).collect()
    }

    /// The workers of instances as their routers have told, with their processes; whether each instance is in force.
    /// Their shares of memory are told while there is time for looks.
    pub(crate) fn describe_workers(
        &mut self,
        told: Vec<(AppId, bool, Vec<WorkerStatus>)>,
    ) -> Vec<WorkerStatus> {
        let known = told.into_iter().filter_map(|(app, is_in_force, workers)| {
            Some(describe(self.apps.get(&app)?, workers, is_in_force))
        });
        let known: Vec<_> = known.flatten().take(MOST_WORKERS).collect();
        let mut measured = measured(known, Instant::now() + LONGEST_READING);
        let began = Instant::now();
        let deadline = began + self.looks.left(began);
        if began < deadline {
            add_shares(&mut measured, deadline);
            self.looks.note(began, Instant::now());
        }
        measured.into_iter().map(|(status, _)| status).collect()
    }

    /// The worker of an application that is this process, which nothing else can be by now.
    pub(crate) fn find_worker(&self, name: &str, pid: u32) -> Option<(AppId, WorkerId)> {
        let named = self.apps.iter().filter(|(_, app)| app.spec.name == name);
        let mut workers = named
            .flat_map(|(id, app)| app.workers.processes().map(|(worker, process)| (*id, worker, process)));
        let found = workers.find(|(_, _, process)| number(process) == pid && process.has_number());
        found.map(|(app, worker, _)| (app, worker))
    }

    /// Ends a worker, as a person wants it. Its prototype does so, which is its parent, so that no other process can be
    /// meant.
    pub(crate) fn end_worker(&mut self, id: AppId, worker: WorkerId, pid: u32, ending: WorkerEnding) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        let (name, has_router) = (app.spec.name.clone(), app.router.is_some());
        self.tell_router_of(id, &ToRouter::DrainWorker { app: id, worker });
        match ending {
            WorkerEnding::Drain => {
                tracing::info!(
                    target: "notice",
                    "\"{name}\" application: process {pid} ends after its requests, as the control API was asked to"
                );
                self.note_cause(id, worker, EndCause::Drained);
                if !has_router {
                    self.retire_worker(id, worker);
                }
            }
            WorkerEnding::Now => {
                let reason = format!("process {pid}, as the control API was asked to");
                self.kill_worker(id, worker, EndCause::Ended, &reason);
            }
        }
    }

    /// A worker is about to end, for this reason.
    pub(crate) fn note_cause(&mut self, id: AppId, worker: WorkerId, cause: EndCause) {
        if let Some(app) = self.apps.get_mut(&id) {
            app.workers.note_cause(worker, cause);
        }
    }

    /// Notes the time that the processes of an instance have had processors; `workers` is that of its workers, if its
    /// router knows it.
    pub(crate) fn note_cpu(&mut self, id: AppId, workers: Duration) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        let workers = if app.background.is_some() { time_of_commands(app) } else { workers };
        let prototype = app.prototype.as_ref().map(|peer| peer.pid().as_raw_nonzero().get().unsigned_abs());
        app.cpu.note(workers, || usage::processor_time(prototype?));
    }

    /// The time that the instances of each application have had processors.
    pub(crate) fn cpu_by_name(&self) -> HashMap<String, Duration> {
        let mut times: HashMap<String, Duration> = HashMap::new();
        for app in self.apps.values() {
            let time = times.entry(app.spec.name.clone()).or_default();
            *time = time.saturating_add(app.cpu.total());
        }
        times
    }

    /// Tells how many workers an application had, and how long they had processors; `times` are those of instances.
    pub(crate) fn fill_in_workers(&self, figures: &mut AppStatus, times: &HashMap<String, Duration>) {
        let record = self.records.of(&figures.name);
        let present = times.get(&figures.name).copied().unwrap_or_default();
        figures.workers = record.map(|record| record.counts).unwrap_or_default();
        figures.cpu = record.map_or(Duration::ZERO, |record| record.cpu).saturating_add(present);
    }

    /// Forgets what was counted of an application that has left the configuration, unless an instance is left.
    pub(crate) fn forget_record(&mut self, name: &str) {
        if !self.apps.values().any(|app| app.spec.name == name) {
            self.records.forget(name);
        }
    }

    /// Tells how often processes of an application crashed, and how the last one did.
    pub(crate) fn fill_in_crashes(&self, figures: &mut AppStatus) {
        let record = self.records.of(&figures.name);
        figures.crashes = record.map(|record| record.n_crashes).unwrap_or_default();
        figures.last_crash = record.and_then(|record| record.last_crash.clone());
    }
}

fn time_of_commands(app: &App) -> Duration {
    let processes = app.workers.processes().take(MOST_TIMES);
    processes.filter_map(|(_, process)| usage::processor_time(number(process))).sum()
}

pub(super) fn number(process: &VerifiedChild) -> u32 {
    process.pid().as_raw_nonzero().get().unsigned_abs()
}

/// The workers of an instance and their processes. One that its router does not know yet is starting; those of an
/// instance that was replaced leave.
fn describe(
    app: &App,
    told: Vec<WorkerStatus>,
    is_in_force: bool,
) -> impl Iterator<Item = (WorkerStatus, &VerifiedChild)> {
    let mut told: BTreeMap<_, _> = told.into_iter().map(|status| (status.worker, status)).collect();
    let unknown = if app.background.is_some() { WorkerState::Busy } else { WorkerState::Starting };
    let running = app.workers.processes().map(move |(worker, process)| {
        let known = told.remove(&worker);
        (known.unwrap_or_else(|| WorkerStatus::new(worker, unknown)), process)
    });
    let starting = app
        .workers
        .starting()
        .map(|(worker, process)| (WorkerStatus::new(worker, WorkerState::Starting), process));
    running.chain(starting).map(move |(mut status, process)| {
        status.pid = number(process);
        if !is_in_force {
            status.state = WorkerState::Leaving;
        }
        (status, process)
    })
}

/// Adds what the processes use, but for their shares of memory, as far as that can be found out until the deadline.
fn measured(
    mut known: Vec<(WorkerStatus, &VerifiedChild)>,
    deadline: Instant,
) -> Vec<(WorkerStatus, &VerifiedChild)> {
    let machine_start = usage::machine_start();
    for (status, process) in &mut known {
        if Instant::now() < deadline {
            status.usage = usage_of(process, machine_start);
        }
    }
    known
}

/// Adds the shares of memory, each of which takes the longest to find out.
fn add_shares(known: &mut [(WorkerStatus, &VerifiedChild)], deadline: Instant) {
    let is_small = |status: &WorkerStatus| status.usage.resident.is_some_and(|bytes| bytes <= LARGEST);
    let small = known.iter_mut().filter(|(status, _)| is_small(status));
    for (status, process) in small.take(MOST_LOOKS) {
        if Instant::now() >= deadline {
            return;
        }
        let bytes = usage::proportional_memory(status.pid);
        status.usage.proportional = bytes.filter(|_| process.has_number());
    }
}

fn usage_of(process: &VerifiedChild, machine_start: Duration) -> WorkerUsage {
    let found = ProcessUsage::of(number(process)).filter(|_| process.has_number());
    let Some(ProcessUsage { resident, cpu, started, .. }) = found else { return WorkerUsage::default() };
    WorkerUsage {
        started: Some(machine_start.saturating_add(started)),
        resident: Some(resident),
        proportional: None,
        cpu: Some(cpu),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use corral_sys::signal::Pid;

    use super::*;
    use crate::testing::{command, program, spec};

    /// A process as main knows one.
    struct Sleeper(Child);

    impl Sleeper {
        fn start() -> Self {
            Self(Command::new("sleep").arg("100").spawn().unwrap())
        }

        fn process(&self) -> VerifiedChild {
            let this = Pid::from_raw(std::process::id().cast_signed()).unwrap();
            VerifiedChild::find(this, self.0.id(), false, None).unwrap().unwrap()
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn told(number: u32, state: WorkerState) -> WorkerStatus {
        WorkerStatus { requests: Some(7), ..WorkerStatus::new(WorkerId(number), state) }
    }

    /// The states of the workers of an instance that runs these.
    fn states(app: &App, told: Vec<WorkerStatus>, is_in_force: bool) -> Vec<(u32, WorkerState)> {
        let workers = describe(app, told, is_in_force);
        workers.map(|(status, _)| (status.worker.0, status.state)).collect()
    }

    #[test]
    fn main_says_which_workers_there_are() {
        let sleepers = [Sleeper::start(), Sleeper::start(), Sleeper::start()];
        let mut app = App::new(program("a"), Some(RouterId(1)), Instant::now());
        app.workers.forked(WorkerId(1), Some(sleepers[0].process()));
        app.workers.forked(WorkerId(2), Some(sleepers[1].process()));
        app.workers.forked(WorkerId(3), None);
        app.workers.has_begun(WorkerId(4), sleepers[2].process());
        // A router may tell of others.
        let router =
            || vec![told(1, WorkerState::Busy), told(3, WorkerState::Idle), told(99, WorkerState::Idle)];
        let expected = [(1, WorkerState::Busy), (2, WorkerState::Starting), (4, WorkerState::Starting)];
        assert_eq!(states(&app, router(), true), expected);
        let expected = [1, 2, 4].map(|number| (number, WorkerState::Leaving));
        assert_eq!(states(&app, router(), false), expected);
    }

    #[test]
    fn commands_are_busy() {
        let sleeper = Sleeper::start();
        let mut app = App::new(command("a", None), None, Instant::now());
        app.workers.forked(WorkerId(1), Some(sleeper.process()));
        assert_eq!(states(&app, vec![], true), [(1, WorkerState::Busy)]);
    }

    #[test]
    fn processes_are_measured_while_there_is_time() {
        let sleeper = Sleeper::start();
        let process = sleeper.process();
        let one = || vec![(told(1, WorkerState::Idle), &process)];
        let mut status = describe_one(&sleeper, one(), Instant::now() + Duration::from_secs(60));
        assert!(status.usage.resident.is_some_and(|bytes| bytes > 0), "{status:?}");
        assert!(status.usage.cpu.is_some() && status.usage.started.is_some(), "{status:?}");
        assert!(status.usage.proportional.is_some(), "it is this user's: {status:?}");
        status = describe_one(&sleeper, one(), Instant::now());
        assert_eq!(status.usage, WorkerUsage::default());
    }

    fn describe_one(
        sleeper: &Sleeper,
        mut known: Vec<(WorkerStatus, &VerifiedChild)>,
        deadline: Instant,
    ) -> WorkerStatus {
        known.iter_mut().for_each(|(status, _)| status.pid = sleeper.0.id());
        let mut measured = measured(known, deadline);
        add_shares(&mut measured, deadline);
        measured.remove(0).0
    }

    #[test]
    fn only_a_worker_of_the_application_is_found() {
        let (sleeper, mut gone) = (Sleeper::start(), Sleeper::start());
        let mut children = Children::new(1, Instant::now());
        for (id, name) in [(1, "a=/a"), (2, "b=/b")] {
            children.apps.insert(AppId(id), App::new(spec(name), Some(RouterId(0)), Instant::now()));
        }
        let workers = &mut children.apps.get_mut(&AppId(1)).unwrap().workers;
        workers.forked(WorkerId(1), Some(sleeper.process()));
        workers.forked(WorkerId(2), Some(gone.process()));
        workers.forked(WorkerId(3), None);
        let (pid, gone_pid) = (sleeper.0.id(), gone.0.id());
        assert_eq!(children.find_worker("a", pid), Some((AppId(1), WorkerId(1))));
        assert_eq!(children.find_worker("a", gone_pid), Some((AppId(1), WorkerId(2))));
        gone.0.kill().unwrap();
        gone.0.wait().unwrap();
        for (name, pid) in
            [("b", pid), ("a", gone_pid), ("a", std::process::id()), ("a", 0), ("a", 1), ("c", pid)]
        {
            assert_eq!(children.find_worker(name, pid), None, "{name} {pid}");
        }
    }
}
