//! Applications and their workers, as the main process announces them.

use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use std::time::Instant;

use anyhow::{Context, bail};
use corral_channel::{Bell, ChannelShape, LaneReceiver, WorkerPort};
use corral_config::address::ListenAddress;
use corral_config::plan::RuntimeSpec;
use corral_ipc::message::{AppId, EndCause, Exit, FromRouter, StartedInstance, Ticket, WorkerId};

use super::announced_worker::{AnnouncedWorker, ProgramHost, WorkerAccess, address_of};
use super::{ControlThread, send};
use crate::event_loop::command::{LoopCommand, NewWorker};
use crate::instance::{AppCounts, AppFailure, AppInstance, ChannelPort, InstanceLease, WorkerKey};

/// An application instance that `main` has announced.
pub(super) struct KnownApp {
    bell: Arc<Bell>,
    /// Once a generation names it.
    pub(super) app: Option<Arc<AppInstance>>,
    lease: Weak<InstanceLease>,
    /// Workers that came before the first generation that names it.
    early: Vec<(WorkerId, u32, WorkerAccess)>,
}

impl KnownApp {
    /// Whether it has to be looked after regularly.
    pub(super) fn is_busy(&self) -> bool {
        self.app.as_ref().is_some_and(|app| self.lease.strong_count() == 0 || app.is_busy())
    }
}

/// A worker that is in its pool, where it takes nothing yet.
enum AddedWorker {
    Channel(Arc<NewWorker>, Vec<LaneReceiver>),
    Program(WorkerKey),
}

impl ControlThread {
    /// Takes over what the workers of an instance ring. Without it they are of no use, so `main` is told when that
    /// cannot be done.
    pub(super) fn take_app(&mut self, id: AppId, rings: bool, fds: Vec<OwnedFd>) {
        if let Err(error) = self.try_to_take_app(id, rings, fds) {
            let reason = format!("the router cannot use its processes: {error:#}");
            self.main.send(&FromRouter::AppNotTaken { app: id, reason });
        }
    }

    fn try_to_take_app(&mut self, id: AppId, rings: bool, fds: Vec<OwnedFd>) -> anyhow::Result<()> {
        let bell = if rings {
            let mut fds = fds.into_iter();
            let memory = fds.next().context("no descriptor is left for the memory that they share")?;
            let n_lanes = self.shape().n_lanes;
            Arc::new(Bell::map(memory, fds.collect(), n_lanes).context("map an application's bell")?)
        } else {
            Arc::clone(&self.silent_bell)
        };
        if let Some(known) = self.apps.get_mut(&id) {
            known.bell = Arc::clone(&bell);
            if let Some(app) = known.app.clone() {
                self.attach(&app, &bell);
            }
            return Ok(());
        }
        self.apps.insert(id, KnownApp { bell, app: None, lease: Weak::new(), early: Vec::new() });
        Ok(())
    }

    fn shape(&self) -> ChannelShape {
        ChannelShape { n_lanes: self.loops.len() as u16 }
    }

    /// Makes every event loop listen to an application's bell.
    fn attach(&self, app: &Arc<AppInstance>, bell: &Arc<Bell>) {
        for event_loop in &self.loops {
            send(event_loop, LoopCommand::AddApp { app: Arc::clone(app), bell: Arc::clone(bell) });
        }
    }

    /// The counts of the applications in force, by name.
    pub(super) fn known_counts(&self) -> HashMap<String, AppCounts> {
        let leases = self.current.iter().flat_map(|(_, generation)| &generation.leases);
        leases.map(|lease| (lease.0.spec.name.clone(), lease.0.counts())).collect()
    }

    /// A claim on an application instance, which is made usable with the first one. Of an application that is known,
    /// the counts go on.
    pub(super) fn lease(
        &mut self,
        instance: StartedInstance,
        known_counts: &HashMap<String, AppCounts>,
    ) -> anyhow::Result<Arc<InstanceLease>> {
        let StartedInstance { id, spec, n_coming } = instance;
        if !self.apps.contains_key(&id) {
            // Its prototype has not loaded yet: its requests wait for the workers that are to come, if any are.
            let bell = Arc::clone(&self.silent_bell);
            self.apps.insert(id, KnownApp { bell, app: None, lease: Weak::new(), early: Vec::new() });
        }
        let known =
            self.apps.get_mut(&id).with_context(|| format!("application \"{}\" is not ready", spec.name))?;
        if let Some(lease) = known.lease.upgrade() {
            return Ok(lease);
        }
        let counts = known_counts.get(&spec.name).cloned();
        let counts = counts.unwrap_or_else(|| AppCounts::new(self.loops.len()));
        let app = AppInstance::start(id, spec, counts, self.main.clone(), Arc::clone(&self.control_waker));
        let lease = Arc::new(InstanceLease(Arc::clone(&app)));
        known.lease = Arc::downgrade(&lease);
        known.app = Some(Arc::clone(&app));
        let (bell, early) = (Arc::clone(&known.bell), std::mem::take(&mut known.early));
        self.attach(&app, &bell);
        // All are known before the first takes requests, or the pool would ask for those that are there.
        let added = early.into_iter().filter_map(|(worker, pid, access)| {
            let added = self.add_worker(&app, worker, pid, access);
            added.map_err(|error| self.turn_away(id, &app, worker, &error)).ok()
        });
        let added = added.collect::<Vec<_>>();
        app.expect_workers(n_coming);
        for added in added {
            self.announce_worker(&app, added);
        }
        Ok(lease)
    }

    /// Event loops stop listening to applications that no request can reach any more.
    pub(super) fn forget_unused(&mut self) {
        self.retired.clear_unused();
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
                send(event_loop, LoopCommand::RemoveApp { app: id });
            }
        }
    }

    pub(super) fn take_worker(&mut self, id: AppId, announced: AnnouncedWorker) -> anyhow::Result<()> {
        let known = self.apps.get_mut(&id).context("a worker came for an unknown application")?;
        let AnnouncedWorker { worker, pid, access } = announced;
        match (known.app.clone(), access.context("take over what a worker is reached by")) {
            (Some(app), access) => {
                match access.and_then(|access| self.add_worker(&app, worker, pid, access)) {
                    Ok(added) => self.announce_worker(&app, added),
                    Err(error) => self.turn_away(id, &app, worker, &error),
                }
            }
            (None, Ok(access)) => known.early.push((worker, pid, access)),
            (None, Err(error)) => {
                let reason = format!("{error:#}");
                let cause = EndCause::Broken;
                self.main.send(&FromRouter::KillWorker { app: id, worker, cause, reason });
            }
        }
        Ok(())
    }

    /// A worker that cannot be used counts as one that could not be started.
    fn turn_away(&self, id: AppId, app: &AppInstance, worker: WorkerId, error: &anyhow::Error) {
        let reason = format!("{error:#}");
        let (cause, words) = (EndCause::Broken, reason.clone());
        self.main.send(&FromRouter::KillWorker { app: id, worker, cause, reason: words });
        self.fail_requests(id, app, &reason);
    }

    /// Puts a worker into its pool, where it takes nothing yet.
    fn add_worker(
        &self,
        app: &Arc<AppInstance>,
        worker: WorkerId,
        pid: u32,
        access: WorkerAccess,
    ) -> anyhow::Result<AddedWorker> {
        let (address, socket) = match access {
            WorkerAccess::Channel { memory, beside, concurrency } => {
                let mapped = WorkerPort::map_with(memory, beside, self.shape());
                let (port, receivers) = mapped.context("map a worker's memory")?;
                let key = app.add_worker(worker, pid, ChannelPort::new(port), concurrency);
                let worker = NewWorker::new(Arc::clone(app), key, self.loops.len());
                return Ok(AddedWorker::Channel(Arc::new(worker), receivers));
            }
            WorkerAccess::Socket(file) => (address_of(&file), Some(file)),
            WorkerAccess::Port(address) => (ListenAddress::Inet(address), None),
        };
        let RuntimeSpec::Http(http) = &app.spec.runtime else {
            bail!("\"{}\" does not consist of programs that serve HTTP", app.spec.name);
        };
        let host = ProgramHost { spec: &app.spec, http, n_loops: self.loops.len() };
        Ok(AddedWorker::Program(app.add_program(&host.program(worker, pid, address, socket))))
    }

    /// Makes every event loop listen to a worker; the last one lets it take requests. A program that was not asked for
    /// anything has no listeners.
    fn announce_worker(&self, app: &AppInstance, added: AddedWorker) {
        match added {
            AddedWorker::Program(key) => app.enable_worker(key),
            AddedWorker::Channel(worker, receivers) => {
                for (event_loop, receiver) in self.loops.iter().zip(receivers) {
                    send(event_loop, LoopCommand::AddWorker { worker: Arc::clone(&worker), receiver });
                }
            }
        }
    }

    /// Tells main of the workers of an instance; of none when it is not known here.
    pub(super) fn tell_workers(&self, ticket: Ticket, app: AppId) {
        let instance = self.apps.get(&app).and_then(|known| known.app.as_ref());
        let workers = instance.map(|instance| instance.workers(Instant::now())).unwrap_or_default();
        self.main.send(&FromRouter::Workers { ticket, app, workers });
    }

    pub(super) fn drain_worker(&self, app: AppId, worker: WorkerId) {
        let instance = self.apps.get(&app).and_then(|known| known.app.as_ref());
        instance.into_iter().for_each(|instance| instance.drain(worker, Instant::now()));
    }

    pub(super) fn drop_worker(&mut self, app: AppId, worker: WorkerId, exit: Exit) {
        let Some(known) = self.apps.get_mut(&app) else { return };
        known.early.retain(|(early, _, _)| *early != worker);
        let Some(dead) = known.app.as_ref().and_then(|app| app.remove_worker(worker)) else { return };
        let dead = Arc::new(dead);
        for event_loop in &self.loops {
            send(event_loop, LoopCommand::RemoveWorker { app, dead: Arc::clone(&dead), exit });
        }
    }

    /// All processes of an instance have ended.
    pub(super) fn drop_app(&self, id: AppId) {
        if let Some(app) = self.apps.get(&id).and_then(|known| known.app.as_ref()) {
            app.make_way();
        }
    }

    pub(super) fn worker_failed(&self, id: AppId, reason: &str) {
        if let Some(app) = self.apps.get(&id).and_then(|known| known.app.as_ref()) {
            self.fail_requests(id, app, reason);
        }
    }

    /// One worker less is going to come.
    fn fail_requests(&self, id: AppId, app: &AppInstance, reason: &str) {
        for request in app.worker_failed(reason.to_owned()) {
            let failure = AppFailure::NoWorker(reason.to_owned());
            if let Some(event_loop) = self.loops.get(request.lane.index()) {
                send(event_loop, LoopCommand::Fail { app: id, id: request.id, failure });
            }
        }
    }
}
