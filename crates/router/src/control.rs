//! The control thread: obeys `main`, builds generations beside the running one, and tells the event loops.

mod announced_worker;
mod applications;
mod generations;
mod inner;
mod retired_generations;
mod schedule;
mod usage_survey;

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use corral_channel::{Bell, Lane};
use corral_config::Config;
use corral_config::address::ListenAddress;
use corral_ipc::bounded::MOST;
use corral_ipc::link::Link;
use corral_ipc::message::{
    AppId, DaemonStatus, FromRouter, GenerationId, LimitStatus, ListenerFigures, MirrorStatus, Status,
    StepFigures, ToRouter,
};
use corral_sys::watched::Watched;
use tokio::io::Interest;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use self::announced_worker::{AnnouncedWorker, WorkerAccess};
use self::applications::KnownApp;
use self::retired_generations::RetiredGenerations;
use self::schedule::ControlSchedule;
use self::usage_survey::UsageSurvey;
use crate::control_waker::{self, ControlWaker};
use crate::counters::traffic;
use crate::dev_reload;
use crate::event_loop::command::LoopCommand;
use crate::event_loop::{self, LoopHandle, LoopShared};
use crate::generation::Generation;
use crate::instance::AppInstance;
use crate::main_link::MainSender;
use crate::observe::access_log::AccessLogWriter;
use crate::observe::console;
use crate::services::SharedServices;
use crate::services::admission::Admission;
use crate::services::control_line::ControlLine;
use crate::services::countdown::Countdown;
use crate::services::uncertified_clients::UncertifiedClients;
use crate::storage::buffered::MemoryBudget;
use crate::storage::temp;
use crate::tls::IssuedSecrets;
use crate::upstream::{HealthChecks, NameResolver};

/// How often running requests are looked at, where their time has a limit.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// How long event loops that are busy are waited for.
const SETTLING_TIME: Duration = Duration::from_millis(100);

/// The router as the control thread sees it.
struct ControlThread {
    main: MainSender,
    loops: Vec<LoopHandle>,
    commons: LoopShared,
    apps: HashMap<AppId, KnownApp>,
    /// The bell of all applications that have no prototype with one of its own.
    silent_bell: Arc<Bell>,
    pending: Option<PendingGeneration>,
    current: Option<(GenerationId, Arc<Generation>)>,
    /// Generations and their copies of the configuration, so that no event loop is the last to have one, and frees it.
    retired: RetiredGenerations,
    /// Descriptors that its listeners and applications have for good.
    n_fixed: u64,
    /// Health checks of the current generation.
    checks: HealthChecks,
    resolver: Arc<NameResolver>,
    control_waker: Arc<ControlWaker>,
    schedule: ControlSchedule,
    /// Which workers' resources are looked at for the next status.
    survey: UsageSurvey,
    /// Ends when the event loops accept nothing any more, once they are told to finish.
    closing: Option<mpsc::Receiver<()>>,
    /// Ends when they have finished what they had begun.
    finishing: Option<mpsc::Receiver<()>>,
}

/// The sockets of a listener.
type ListenerSockets = (ListenAddress, Vec<OwnedFd>);

/// The sockets that one event loop accepts from; others may do so as well.
type LoopSockets = (ListenAddress, Vec<Arc<OwnedFd>>);

/// The parts of a generation that have arrived before it is in force.
#[derive(Default)]
struct PendingGeneration {
    id: Option<GenerationId>,
    sockets: Vec<ListenerSockets>,
    /// How many those are.
    n_sockets: usize,
    /// The share of each event loop in the sockets, once there is a generation.
    shares: Vec<Vec<LoopSockets>>,
    /// In the order of the configuration.
    access_logs: Vec<File>,
    generation: Option<Arc<Generation>>,
    /// One copy of its configuration for each event loop.
    copies: Vec<Arc<Config>>,
}

/// Runs the router until `main` says that it is over, or is gone.
///
/// # Errors
///
/// When the event loops cannot be started.
pub(crate) fn run(link: Link) -> anyhow::Result<()> {
    let link = Arc::new(link);
    let Some((ToRouter::Start { n_threads, temp_dir, console, dev_mode: services }, _)) = link.recv()? else {
        bail!("the main process sent something else than its first message");
    };
    temp::set_folder(temp_dir);
    if let Some(console) = console {
        console::enable(console.colours);
    }
    let n_loops = n_threads.max(1);
    let main = MainSender::new(Arc::clone(&link));
    let shared = SharedServices {
        admission: Admission::new(usize::from(n_loops)),
        secrets: IssuedSecrets::new()?,
        uncertified: UncertifiedClients::new(main.clone()),
        control: ControlLine::new(main.clone()),
    };
    let commons = LoopShared { shared, budget: Arc::<MemoryBudget>::default() };
    let loops = (0..n_loops).map(|lane| event_loop::spawn(Lane(lane), commons.clone()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let control = ControlThread {
        main,
        loops: loops.collect::<Result<_, _>>().context("start the event loops")?,
        commons,
        apps: HashMap::new(),
        silent_bell: Arc::new(Bell::silent(n_loops).context("make a bell")?),
        pending: None,
        current: None,
        retired: RetiredGenerations::default(),
        n_fixed: 0,
        checks: HealthChecks::default(),
        resolver: Arc::new(NameResolver::new(runtime.handle().clone())),
        control_waker: Arc::default(),
        schedule: ControlSchedule::new(Instant::now()),
        survey: UsageSurvey::default(),
        closing: None,
        finishing: None,
    };
    dev_reload::enable(services, control.main.clone());
    control.main.send(&FromRouter::Ready);
    runtime.block_on(control.obey(&link))
}

impl ControlThread {
    async fn obey(mut self, link: &Link) -> anyhow::Result<()> {
        let readiness = Watched::new(link.as_fd().try_clone_to_owned()?, Interest::READABLE)
            .context("listen to the main process")?;
        let mut watch = tokio::time::interval(WATCH_INTERVAL);
        watch.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let wanted = Arc::clone(&self.control_waker);
        let mut ending = signal(SignalKind::terminate()).context("listen for the end")?;
        loop {
            tokio::select! {
                ready = readiness.readable() => {
                    let mut guard = ready.context("listen to the main process")?;
                    if !self.take_messages(link).await? {
                        return Ok(());
                    }
                    guard.clear_ready();
                    self.schedule.wake(self.interval());
                }
                _ = ending.recv() => {
                    self.settle().await;
                    self.flush_logs();
                    return Ok(());
                }
                () = finished(&mut self.closing) => {
                    self.closing = None;
                    self.main.send(&FromRouter::Closed);
                }
                () = finished(&mut self.finishing) => {
                    self.flush_logs();
                    let status = self.figures();
                    self.main.send(&FromRouter::Finished { status });
                    return Ok(());
                }
                () = wanted.wanted(), if self.schedule.is_resting() => self.schedule.wake(self.interval()),
                () = self.schedule.due() => self.keep_up(),
                _ = watch.tick(), if self.watches() => self.watch(),
            }
        }
    }

    /// Obeys everything that has arrived. False when the router is to end.
    async fn take_messages(&mut self, link: &Link) -> anyhow::Result<bool> {
        loop {
            let (message, fds) = match link.try_recv() {
                Ok(Some(received)) => received,
                Ok(None) => return Ok(false),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error).context("receive a message of the main process"),
            };
            if let Err(error) = self.on_message(message, fds).await {
                tracing::error!("{error:#}");
            }
        }
    }

    async fn on_message(&mut self, message: ToRouter, fds: Vec<OwnedFd>) -> anyhow::Result<()> {
        match message {
            ToRouter::Start { .. } => bail!("the main process sent its first message twice"),
            ToRouter::Provide { ticket, secrets } => {
                // The event loops look into the same store, so all of them answer with it by now.
                self.commons.shared.secrets.take(secrets);
                self.main.send(&FromRouter::Provided { ticket });
            }
            ToRouter::Told { ticket, words } => dev_reload::answer(ticket, words),
            ToRouter::ExportMetrics { request } => self.export(request),
            ToRouter::Listener { generation, address } => {
                self.pending(generation).sockets.push((address, fds));
            }
            ToRouter::AccessLog { generation, log } => self.take_access_log(generation, log as usize, fds)?,
            ToRouter::AppReady { app, rings } => self.take_app(app, rings, fds),
            ToRouter::Prepare { generation, document, applications, assets } => {
                let prepared = self.prepare(generation, &document, applications, &assets);
                self.main.send(&match prepared {
                    Ok(failed) => FromRouter::Prepared { generation, failed },
                    Err(error) => FromRouter::NotPrepared { generation, reason: format!("{error:#}") },
                });
            }
            ToRouter::Commit { generation } => self.commit(generation).await?,
            ToRouter::Abandon { .. } => self.pending = None,
            ToRouter::WorkerReady { app, worker, pid, concurrency, files } => {
                let access = WorkerAccess::of_channel(concurrency, files, fds);
                self.take_worker(app, AnnouncedWorker { worker, pid, access })?;
            }
            ToRouter::ProgramReady { app, worker, pid, endpoint } => {
                self.take_worker(
                    app,
                    AnnouncedWorker { worker, pid, access: WorkerAccess::of_program(endpoint, fds) },
                )?;
            }
            ToRouter::WorkerGone { app, worker, exit } => self.drop_worker(app, worker, exit),
            ToRouter::WorkerFailed { app, reason } => self.worker_failed(app, &reason),
            ToRouter::AppGone { app } => self.drop_app(app),
            ToRouter::Status { ticket } => {
                self.settle().await;
                let status = self.figures();
                self.main.send(&FromRouter::Status { ticket, status });
            }
            ToRouter::Workers { ticket, app } => self.tell_workers(ticket, app),
            ToRouter::DrainWorker { app, worker } => self.drain_worker(app, worker),
            ToRouter::Finish { keep_idle } => self.finish(keep_idle),
        }
        Ok(())
    }

    fn apps(&self) -> impl Iterator<Item = &Arc<AppInstance>> {
        self.apps.values().filter_map(|known| known.app.as_ref())
    }

    fn watches(&self) -> bool {
        !self.schedule.is_resting() && self.apps().any(|app| app.is_watched())
    }

    fn watch(&self) {
        let now = Instant::now();
        self.apps().filter(|app| app.is_watched()).for_each(|app| app.watch(now));
    }

    fn keep_up(&mut self) {
        let now = Instant::now();
        let goes_on = self.control_waker.take();
        self.apps().for_each(|app| app.tick(now));
        self.logs().for_each(|log| log.tick(now));
        self.forget_unused();
        let is_busy = goes_on
            || self.apps.values().any(KnownApp::is_busy)
            || !self.logs().all(AccessLogWriter::is_at_rest);
        let retirement = self.apps().filter_map(|app| app.next_retirement()).min();
        self.schedule.looked(now, self.interval(), is_busy, retirement);
    }

    /// How often it looks while something goes on.
    fn interval(&self) -> Duration {
        if self.apps().any(|app| app.is_impatient()) { schedule::IMPATIENT } else { control_waker::INTERVAL }
    }

    fn logs(&self) -> impl Iterator<Item = &AccessLogWriter> {
        self.current.iter().flat_map(|(_, generation)| &generation.access_logs)
    }

    /// The figures of the status; everything is counted that a client knows of if the loops have settled.
    fn figures(&self) -> Status {
        let sum = |figure: fn(&LoopHandle) -> u64| self.loops.iter().map(figure).sum::<u64>();
        let accepted = sum(|event_loop| event_loop.counters.accepted.get());
        let closed = sum(|event_loop| event_loop.counters.closed.get());
        let active = sum(|event_loop| event_loop.counters.active.get());
        let leases = self.current.as_ref().map_or(&[][..], |(_, generation)| generation.leases.values());
        self.survey.look(leases);
        Status {
            accepted,
            active,
            idle: accepted.saturating_sub(closed).saturating_sub(active),
            closed,
            refused: sum(|event_loop| event_loop.counters.refused.get()),
            requests: sum(|event_loop| event_loop.counters.requests.get()),
            dropped_datagrams: sum(|event_loop| event_loop.counters.dropped_datagrams.get()),
            listeners: self.listeners(),
            steps: self.steps(),
            applications: leases.iter().map(|lease| lease.0.status()).take(MOST).collect(),
            background: Vec::new(),
            failed_listeners: Vec::new(),
            upstreams: self
                .current
                .as_ref()
                .map_or_else(Vec::new, |(_, generation)| generation.servers.status()),
            limits: self.limits(),
            mirrors: self.mirrors(),
            traffic: traffic::sum(
                self.loops.iter().map(|event_loop| &event_loop.counters.traffic),
                accepted.saturating_sub(closed),
            ),
            inner: self.inner(),
            slow: event_loop::slow_requests(&self.loops),
            daemon: DaemonStatus::default(),
        }
    }

    fn listeners(&self) -> Vec<ListenerFigures> {
        let counts = self.current.iter().flat_map(|(_, generation)| &generation.listener_counts);
        counts.map(|counts| counts.figures()).take(MOST).collect()
    }

    fn steps(&self) -> Vec<StepFigures> {
        let current = self.current.as_ref().map(|(_, generation)| generation);
        let steps = current.map(|generation| generation.step_counts.figures(&generation.config.tables.steps));
        steps.into_iter().flatten().take(MOST).collect()
    }

    fn limits(&self) -> Vec<LimitStatus> {
        let now = Instant::now();
        let limits = self.current.iter().flat_map(|(_, generation)| generation.limits.iter());
        limits.map(|limit| limit.status(now)).take(MOST).collect()
    }

    fn mirrors(&self) -> Vec<MirrorStatus> {
        self.current.iter().flat_map(|(_, generation)| generation.mirrors.status()).take(MOST).collect()
    }

    /// The entries that access logs have gathered must not end with the process.
    fn flush_logs(&self) {
        self.logs().for_each(AccessLogWriter::flush);
    }

    /// Waits until the event loops have counted and logged what clients have seen by now. One that is busy for
    /// longer is left alone.
    async fn settle(&self) {
        let settled = self.tell_all(|done| LoopCommand::Settle { done });
        let _ = tokio::time::timeout(SETTLING_TIME, settled).await;
    }

    /// Gives each event loop a command, and waits until all have obeyed.
    async fn tell_all(&self, command: impl Fn(Countdown) -> LoopCommand) {
        // Ends when the last loop has dropped its sender.
        let _ = self.begin_all(command).recv().await;
    }

    fn begin_all(&self, command: impl Fn(Countdown) -> LoopCommand) -> mpsc::Receiver<()> {
        let (done, all_done) = mpsc::channel(1);
        let done = Arc::new(done);
        for event_loop in &self.loops {
            send(event_loop, command(Arc::clone(&done)));
        }
        all_done
    }

    /// Told twice, it hurries.
    fn finish(&mut self, keep_idle: Duration) {
        let (closed, all_closed) = mpsc::channel(1);
        let closed = Arc::new(closed);
        self.finishing = Some(self.begin_all(|done| {
            let closed = Arc::clone(&closed);
            LoopCommand::Finish { keep_idle, closed, done }
        }));
        self.closing = Some(all_closed);
    }
}

/// Waits for the end of what was begun; for ever if nothing is to end.
async fn finished(finishing: &mut Option<mpsc::Receiver<()>>) {
    match finishing {
        Some(all_done) => drop(all_done.recv().await),
        None => std::future::pending().await,
    }
}

/// A loop that is gone has taken the process with it.
fn send(event_loop: &LoopHandle, command: LoopCommand) {
    if event_loop.commands.send(command).is_err() {
        tracing::error!("an event loop is gone");
    }
}

fn only(fds: Vec<OwnedFd>) -> anyhow::Result<OwnedFd> {
    let [fd] = exactly(fds)?;
    Ok(fd)
}

fn exactly<const N: usize>(fds: Vec<OwnedFd>) -> anyhow::Result<[OwnedFd; N]> {
    <[OwnedFd; N]>::try_from(fds).map_err(|fds| anyhow::anyhow!("{} descriptors came", fds.len()))
}
