//! The control thread: obeys `main`, builds generations beside the running one, and tells the event loops.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use corral_channel::{Bell, Lane, LaneReceiver, Shape, WorkerBell, WorkerPort};
use corral_config::address::ListenAddress;
use corral_config::plan::{AppSpec, AssetKind, Assets};
use corral_config::settings::TelemetrySettings;
use corral_config::{Config, Known, json, validate};
use corral_ipc::link::Link;
use corral_ipc::message::{
    AppId, Exit, FromRouter, Generation as GenerationId, Status, Ticket, ToRouter, WorkerId,
};
use corral_sys::watched::Watched;
use tokio::io::Interest;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::access_log::AccessLog;
use crate::app::{App, ChannelPort, Failure, Lease};
use crate::event_loop::{self, Command, Handle, NewWorker};
use crate::generation::Generation;
use crate::main_link::MainLink;
use crate::proxy::{Checks, Groups, Resolver, ServerError, Trust, Workshop};
use crate::rules::Rules;
use crate::telemetry::Telemetry;
use crate::{console, script, temp, tls};

/// How often spare workers and missing ones are looked for.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The router as the control thread sees it.
struct Control {
    main: MainLink,
    loops: Vec<Handle>,
    apps: HashMap<AppId, KnownApp>,
    pending: Option<Pending>,
    current: Option<(GenerationId, Arc<Generation>)>,
    /// Health checks of the current generation.
    checks: Checks,
    resolver: Resolver,
    quitting: bool,
}

/// An application instance that `main` has announced.
struct KnownApp {
    bell: Arc<Bell>,
    /// Once a generation names it.
    app: Option<Arc<App>>,
    lease: Weak<Lease>,
    /// Workers that came before the first generation that names it.
    early: Vec<(WorkerId, u32, OwnedFd)>,
}

/// What has arrived of a generation that is not in force.
#[derive(Default)]
struct Pending {
    id: Option<GenerationId>,
    sockets: Vec<(ListenAddress, Vec<OwnedFd>)>,
    /// In the order of the configuration.
    access_logs: Vec<File>,
    generation: Option<Arc<Generation>>,
}

/// Runs the router until `main` says that it is over, or is gone.
///
/// # Errors
///
/// When the event loops cannot be started.
pub(crate) fn run(link: Link) -> anyhow::Result<()> {
    let link = Arc::new(link);
    let Some((ToRouter::Start { n_threads, temp_dir, console }, _)) = link.recv()? else {
        bail!("the main process sent something else than its first message");
    };
    temp::set_folder(temp_dir);
    if console {
        console::enable();
    }
    let loops = (0..n_threads.max(1)).map(|lane| event_loop::spawn(Lane(lane)));
    let control = Control {
        main: MainLink::new(Arc::clone(&link)),
        loops: loops.collect::<Result<_, _>>().context("start the event loops")?,
        apps: HashMap::new(),
        pending: None,
        current: None,
        checks: Checks::default(),
        resolver: Resolver::default(),
        quitting: false,
    };
    control.main.send(&FromRouter::Ready);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(control.obey(&link))
}

impl Control {
    async fn obey(mut self, link: &Link) -> anyhow::Result<()> {
        let readiness = Watched::new(link.as_fd().try_clone_to_owned()?, Interest::READABLE)
            .context("listen to the main process")?;
        let mut upkeep = tokio::time::interval(UPKEEP_INTERVAL);
        let mut ending = signal(SignalKind::terminate()).context("listen for the end")?;
        loop {
            tokio::select! {
                ready = readiness.readable() => {
                    let mut guard = ready.context("listen to the main process")?;
                    if !self.take_messages(link).await? {
                        return Ok(());
                    }
                    guard.clear_ready();
                }
                _ = ending.recv() => {
                    self.flush_logs();
                    return Ok(());
                }
                _ = upkeep.tick() => self.keep_up(),
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
            if self.quitting {
                return Ok(false);
            }
        }
    }

    async fn on_message(&mut self, message: ToRouter, fds: Vec<OwnedFd>) -> anyhow::Result<()> {
        match message {
            ToRouter::Start { .. } => bail!("the main process sent its first message twice"),
            ToRouter::Listener { generation, address } => {
                self.pending(generation).sockets.push((address, fds));
            }
            ToRouter::AccessLog { generation, log } => self.take_access_log(generation, log as usize, fds)?,
            ToRouter::AppReady { app } => self.take_app(app, fds)?,
            ToRouter::Prepare { generation, document, applications, assets } => {
                let error = self.prepare(generation, &document, applications, &assets).err();
                let error = error.map(|error| format!("{error:#}"));
                self.main.send(&FromRouter::Prepared { generation, error });
            }
            ToRouter::Commit { generation } => self.commit(generation).await?,
            ToRouter::Abandon { .. } => self.pending = None,
            ToRouter::WorkerReady { app, worker, pid } => self.take_worker(app, worker, pid, fds)?,
            ToRouter::WorkerGone { app, worker, exit } => self.drop_worker(app, worker, exit),
            ToRouter::WorkerFailed { app, reason } => self.worker_failed(app, &reason),
            ToRouter::Status { ticket } => self.report(ticket),
            ToRouter::Quit => self.quit().await,
        }
        Ok(())
    }

    fn pending(&mut self, id: GenerationId) -> &mut Pending {
        let pending = self.pending.get_or_insert_default();
        if pending.id != Some(id) {
            *pending = Pending { id: Some(id), ..Pending::default() };
        }
        pending
    }

    fn take_access_log(&mut self, id: GenerationId, idx: usize, fds: Vec<OwnedFd>) -> anyhow::Result<()> {
        let file = File::from(only(fds).context("take over an access log")?);
        if let Some((current, generation)) = &self.current
            && *current == id
            && let Some(log) = generation.access_logs.get(idx)
        {
            log.replace_file(file);
            return Ok(());
        }
        self.pending(id).access_logs.push(file);
        Ok(())
    }

    fn take_app(&mut self, id: AppId, fds: Vec<OwnedFd>) -> anyhow::Result<()> {
        let mut fds = fds.into_iter();
        let memory = fds.next().context("a bell came without its memory")?;
        let bell = Arc::new(Bell::map(memory, fds.collect()).context("map an application's bell")?);
        if let Some(known) = self.apps.get_mut(&id) {
            known.bell = Arc::clone(&bell);
            if let Some(app) = known.app.clone() {
                self.attach(&app, &bell)?;
            }
            return Ok(());
        }
        self.apps.insert(id, KnownApp { bell, app: None, lease: Weak::new(), early: Vec::new() });
        Ok(())
    }

    fn shape(&self) -> Shape {
        Shape { n_lanes: self.loops.len() as u16 }
    }

    /// A bell that nobody rings, until a prototype brings its own.
    fn silent_bell(&self) -> anyhow::Result<Arc<Bell>> {
        let (_, mut fds) = WorkerBell::create(self.shape().n_lanes).context("make a bell")?;
        let memory = fds.remove(0);
        Ok(Arc::new(Bell::map(memory, fds).context("map a bell")?))
    }

    /// Makes every event loop listen to an application's bell.
    fn attach(&self, app: &Arc<App>, bell: &Arc<Bell>) -> anyhow::Result<()> {
        for (lane, event_loop) in self.loops.iter().enumerate() {
            let ring = bell.eventfd(Lane(lane as u16)).try_clone_to_owned().context("duplicate a bell")?;
            send(event_loop, Command::AddApp { app: Arc::clone(app), bell: Arc::clone(bell), ring });
        }
        Ok(())
    }

    /// Builds a generation from a document that the controller has validated.
    fn prepare(
        &mut self,
        id: GenerationId,
        document: &[u8],
        applications: Vec<(AppId, AppSpec)>,
        assets: &Assets,
    ) -> anyhow::Result<()> {
        let value = json::parse(document).context("parse the configuration")?;
        let config = validate(&value, &Known::validated_elsewhere()).map_err(|problems| {
            let first = problems.first().map_or("unknown reason", |problem| &problem.detail);
            anyhow::anyhow!("the router does not accept the configuration: {first}")
        })?;
        check_assets(&config, assets)?;
        let leases = applications
            .into_iter()
            .map(|(id, spec)| self.lease(id, spec))
            .collect::<anyhow::Result<Vec<_>>>()?;
        check_applications(&config, &leases)?;
        let before: Vec<_> = self.current.iter().flat_map(|(_, generation)| generation.listeners()).collect();
        let tls = tls::contexts(&config.listeners, assets, &before)?;
        let servers = self.servers(&config, assets)?;
        let program = script::program(&config, assets)?;
        let telemetry = self.telemetry(config.settings.telemetry.as_ref())?;
        let n_lanes = self.loops.len();
        let pending = self.pending(id);
        let rules = Rules::new(&config.settings.http);
        let files = std::mem::take(&mut pending.access_logs);
        let access_logs = open_logs(&config, files, n_lanes)?;
        let parts = Generation { config, leases, rules, access_logs, program, telemetry, tls, servers };
        pending.generation = Some(Arc::new(parts));
        Ok(())
    }

    /// The telemetry in force goes on when nothing about it has changed.
    fn telemetry(&self, settings: Option<&TelemetrySettings>) -> anyhow::Result<Option<Arc<Telemetry>>> {
        let Some(settings) = settings else { return Ok(None) };
        let ours = self.current.as_ref().and_then(|(_, generation)| generation.telemetry.as_ref());
        match ours.filter(|ours| ours.obeys(settings)) {
            Some(ours) => Ok(Some(Arc::clone(ours))),
            None => Telemetry::start(settings).map(Some),
        }
    }

    /// The servers of upstreams and proxies; those that stay as they are keep all that is known of them.
    fn servers(&self, config: &Config, assets: &Assets) -> Result<Groups, ServerError> {
        let mut workshop = Workshop {
            n_loops: self.loops.len(),
            resolver: &self.resolver,
            trust: Trust::new(assets),
            previous: self.current.as_ref().map(|(_, generation)| &generation.servers),
        };
        workshop.groups(&config.upstreams, &config.proxies)
    }

    /// A claim on an application instance, which is made usable with the first one.
    fn lease(&mut self, id: AppId, spec: AppSpec) -> anyhow::Result<Arc<Lease>> {
        if !self.apps.contains_key(&id) {
            // Its prototype could not be started yet; its requests are answered with 503 until it is.
            let bell = self.silent_bell()?;
            self.apps.insert(id, KnownApp { bell, app: None, lease: Weak::new(), early: Vec::new() });
        }
        let known =
            self.apps.get_mut(&id).with_context(|| format!("application \"{}\" is not ready", spec.name))?;
        if let Some(lease) = known.lease.upgrade() {
            return Ok(lease);
        }
        let app = App::new(id, spec, self.main.clone());
        let lease = Arc::new(Lease(Arc::clone(&app)));
        known.lease = Arc::downgrade(&lease);
        known.app = Some(Arc::clone(&app));
        let (bell, early) = (Arc::clone(&known.bell), std::mem::take(&mut known.early));
        self.attach(&app, &bell)?;
        // All are known before the first takes requests, or the pool would ask for those that are there.
        let added = early.into_iter().map(|(worker, pid, memory)| self.add_worker(&app, worker, pid, memory));
        for (worker, receivers) in added.collect::<anyhow::Result<Vec<_>>>()? {
            self.announce_worker(&worker, receivers);
        }
        Ok(lease)
    }

    async fn commit(&mut self, id: GenerationId) -> anyhow::Result<()> {
        let pending = self.pending.take().filter(|pending| pending.id == Some(id));
        let pending = pending.context("the main process commits what was not prepared")?;
        let generation = pending.generation.context("the main process commits what was not prepared")?;
        let (done, mut all_done) = mpsc::channel(1);
        let done = Arc::new(done);
        for (lane, event_loop) in self.loops.iter().enumerate() {
            let sockets = sockets_of_lane(&pending.sockets, lane)?;
            let (generation, done) = (Arc::clone(&generation), Arc::clone(&done));
            send(event_loop, Command::Swap { generation, sockets, done });
        }
        drop(done);
        // Ends when the last loop has dropped its sender.
        let _ = all_done.recv().await;
        self.checks = Checks::start(&generation.servers);
        corral_ipc::log::obey(generation.config.settings.log);
        self.current = Some((id, generation));
        self.forget_unused();
        self.main.send(&FromRouter::Committed { generation: id });
        Ok(())
    }

    /// Event loops stop listening to applications that no request can reach any more.
    fn forget_unused(&mut self) {
        let quiet: HashSet<AppId> = self
            .apps
            .iter()
            .filter(|(_, known)| known.lease.strong_count() == 0)
            .filter(|(_, known)| known.app.as_ref().is_some_and(|app| app.is_quiet()))
            .map(|(id, _)| *id)
            .collect();
        for id in quiet {
            self.apps.remove(&id);
            for event_loop in &self.loops {
                send(event_loop, Command::RemoveApp { app: id });
            }
        }
    }

    fn take_worker(
        &mut self,
        app: AppId,
        worker: WorkerId,
        pid: u32,
        fds: Vec<OwnedFd>,
    ) -> anyhow::Result<()> {
        let memory = only(fds).context("take over a worker's memory")?;
        let known = self.apps.get_mut(&app).context("a worker came for an unknown application")?;
        match known.app.clone() {
            Some(app) => {
                let (worker, receivers) = self.add_worker(&app, worker, pid, memory)?;
                self.announce_worker(&worker, receivers);
            }
            None => known.early.push((worker, pid, memory)),
        }
        Ok(())
    }

    /// Puts a worker into its pool, where it takes nothing yet.
    fn add_worker(
        &self,
        app: &Arc<App>,
        worker: WorkerId,
        pid: u32,
        memory: OwnedFd,
    ) -> anyhow::Result<(Arc<NewWorker>, Vec<LaneReceiver>)> {
        let (port, receivers) = WorkerPort::map(memory, self.shape()).context("map a worker's memory")?;
        let index = app.add_worker(worker, pid, ChannelPort { channel: port });
        let n_missing = AtomicUsize::new(self.loops.len());
        Ok((Arc::new(NewWorker { app: Arc::clone(app), index, n_missing }), receivers))
    }

    /// Makes every event loop listen to a worker; the last one lets it take requests.
    fn announce_worker(&self, worker: &Arc<NewWorker>, receivers: Vec<LaneReceiver>) {
        for (event_loop, receiver) in self.loops.iter().zip(receivers) {
            send(event_loop, Command::AddWorker { worker: Arc::clone(worker), receiver });
        }
    }

    fn drop_worker(&mut self, app: AppId, worker: WorkerId, exit: Exit) {
        let Some(known) = self.apps.get_mut(&app) else { return };
        known.early.retain(|(early, _, _)| *early != worker);
        let Some(gone) = known.app.as_ref().and_then(|app| app.remove_worker(worker)) else { return };
        let gone = Arc::new(gone);
        for event_loop in &self.loops {
            send(event_loop, Command::RemoveWorker { app, gone: Arc::clone(&gone), exit });
        }
    }

    fn worker_failed(&self, id: AppId, reason: &str) {
        let Some(app) = self.apps.get(&id).and_then(|known| known.app.as_ref()) else { return };
        for request in app.worker_failed(reason.to_owned()) {
            let failure = Failure::NoWorker(reason.to_owned());
            if let Some(event_loop) = self.loops.get(request.lane.index()) {
                send(event_loop, Command::Fail { app: id, id: request.id, failure });
            }
        }
    }

    fn keep_up(&mut self) {
        let now = Instant::now();
        for app in self.apps.values().filter_map(|known| known.app.as_ref()) {
            app.tick(now);
        }
        for log in self.current.iter().flat_map(|(_, generation)| &generation.access_logs) {
            log.tick(now);
        }
        self.forget_unused();
    }

    fn report(&self, ticket: Ticket) {
        let sum = |figure: fn(&Handle) -> u64| self.loops.iter().map(figure).sum::<u64>();
        let accepted = sum(|event_loop| event_loop.counters.accepted.get());
        let closed = sum(|event_loop| event_loop.counters.closed.get());
        let active = sum(|event_loop| event_loop.counters.active.get());
        let leases = self.current.as_ref().map_or(&[][..], |(_, generation)| &generation.leases);
        let status = Status {
            accepted,
            active,
            idle: accepted.saturating_sub(closed).saturating_sub(active),
            closed,
            requests: sum(|event_loop| event_loop.counters.requests.get()),
            applications: leases.iter().map(|lease| lease.0.status()).collect(),
            failed_listeners: Vec::new(),
            upstreams: self
                .current
                .as_ref()
                .map_or_else(Vec::new, |(_, generation)| generation.servers.status()),
        };
        self.main.send(&FromRouter::Status { ticket, status });
    }

    /// What access logs have gathered must not end with the process.
    fn flush_logs(&self) {
        for log in self.current.iter().flat_map(|(_, generation)| &generation.access_logs) {
            log.flush();
        }
    }

    async fn quit(&mut self) {
        let (done, mut all_done) = mpsc::channel(1);
        let done = Arc::new(done);
        for event_loop in &self.loops {
            send(event_loop, Command::Quit { done: Arc::clone(&done) });
        }
        drop(done);
        // Ends when the last loop has dropped its sender.
        let _ = all_done.recv().await;
        self.flush_logs();
        self.quitting = true;
    }
}

/// A loop that is gone has taken the process with it.
fn send(event_loop: &Handle, command: Command) {
    if event_loop.commands.send(command).is_err() {
        tracing::error!("an event loop is gone");
    }
}

fn only(fds: Vec<OwnedFd>) -> anyhow::Result<OwnedFd> {
    let [fd] =
        <[OwnedFd; 1]>::try_from(fds).map_err(|fds| anyhow::anyhow!("{} descriptors came", fds.len()))?;
    Ok(fd)
}

/// The logs of a configuration, whose files came before it.
fn open_logs(config: &Config, files: Vec<File>, n_lanes: usize) -> anyhow::Result<Vec<AccessLog>> {
    if files.len() != config.access_logs.len() {
        bail!("{} access logs came for {}", files.len(), config.access_logs.len());
    }
    let logs = files.into_iter().zip(&config.access_logs);
    Ok(logs.map(|(file, settings)| AccessLog::new(file, settings, n_lanes)).collect())
}

/// The router indexes both by the configuration's order.
fn check_applications(config: &Config, leases: &[Arc<Lease>]) -> anyhow::Result<()> {
    let named = config.applications.iter().map(|app| &app.name);
    if !named.eq(leases.iter().map(|lease| &lease.0.spec.name)) {
        bail!("the instances do not fit the applications of the configuration");
    }
    Ok(())
}

/// What is built from a certificate bundle or a script can rely on having it.
fn check_assets(config: &Config, assets: &Assets) -> anyhow::Result<()> {
    for kind in [AssetKind::Certificate, AssetKind::Script] {
        for name in config.assets.of_kind(kind) {
            assets.find(kind, name).with_context(|| format!("{kind:?} \"{name}\" was not sent"))?;
        }
    }
    Ok(())
}

/// Its own socket of each group, or the one that all loops share.
fn sockets_of_lane(
    sockets: &[(ListenAddress, Vec<OwnedFd>)],
    lane: usize,
) -> anyhow::Result<Vec<(ListenAddress, OwnedFd)>> {
    sockets
        .iter()
        .filter_map(|(address, group)| Some((address, group.get(lane).or(group.first())?)))
        .map(|(address, socket)| {
            let socket = socket.try_clone().context("duplicate a listening socket")?;
            Ok((address.clone(), socket))
        })
        .collect()
}
