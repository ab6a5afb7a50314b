//! Everything that runs beside main, and how it is reached.

pub(crate) mod app;
mod applications;
mod background;
pub(crate) mod images;
mod look_budget;
pub(crate) mod outputs;
mod proportional;
pub(crate) mod prototypes;
pub(crate) mod role;
pub(crate) mod routers;
pub(crate) mod started_worker;
mod taken_port;
mod takeover;
mod worker_records;
mod workers;

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use corral_ipc::message::{AppId, ToRouter};
use corral_sys::process;
use corral_sys::signal::{self, Pid, Signal};

use self::app::App;
use self::images::{Images, KindId};
use self::look_budget::LookBudget;
use self::outputs::Outputs;
use self::proportional::ProportionalMemory;
use self::role::Role;
use self::routers::Routers;
use self::worker_records::WorkerRecords;
use crate::ids::{Ids, RouterId};
use crate::peer::Peer;

/// One of the processes that main has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Child {
    Controller,
    Reader,
    Router(RouterId),
    Prototype(AppId),
    Image(KindId),
}

/// News of an application, for the parts of main that wait for them.
#[derive(Debug)]
pub(crate) enum AppEvent {
    /// Everything that was asked for is there.
    Up(AppId),
    /// The application could not be loaded, or a worker of it not be started; why.
    Failed(AppId, String),
    /// A worker has come, or could not be started.
    Decided(AppId),
    /// All its processes have ended. The name is that of the application.
    Ended(AppId, String),
}

/// All processes that main has started.
pub(crate) struct Children {
    pub(crate) controller: Role,
    /// The reader of configuration files, if the configuration comes from any.
    pub(crate) reader: Role,
    pub(crate) routers: Routers,
    pub(crate) apps: BTreeMap<AppId, App>,
    pub(crate) images: Images,
    pub(crate) records: WorkerRecords,
    proportional: ProportionalMemory,
    looks: LookBudget,
    pub(crate) outputs: Outputs,
    pub(crate) ids: Ids,
    events: VecDeque<AppEvent>,
}

impl Children {
    /// No child has started yet; the router is to have this many event loops.
    pub(crate) fn new(n_threads: u16, now: Instant) -> Self {
        Self {
            controller: Role::new("controller", now),
            reader: Role::new("reader", now),
            routers: Routers::new(n_threads, now),
            apps: BTreeMap::new(),
            images: Images::default(),
            records: WorkerRecords::default(),
            proportional: ProportionalMemory::default(),
            looks: LookBudget::default(),
            outputs: Outputs::default(),
            ids: Ids::default(),
            events: VecDeque::new(),
        }
    }

    /// Takes the oldest of the news that were not heard yet.
    pub(crate) fn next_event(&mut self) -> Option<AppEvent> {
        self.events.pop_front()
    }

    /// Applications that may run.
    fn all(&self) -> impl Iterator<Item = Child> {
        let routers = self.routers.iter().map(|router| Child::Router(router.id));
        let prototypes = self.apps.keys().copied().map(Child::Prototype);
        let images = self.images.ids().map(Child::Image);
        [Child::Controller, Child::Reader].into_iter().chain(routers).chain(images).chain(prototypes)
    }

    /// The children that are listened to.
    pub(crate) fn open(&self) -> impl Iterator<Item = Child> {
        self.all().filter(|child| self.peer(*child).is_some_and(Peer::is_open))
    }

    /// The one with this number.
    pub(crate) fn find(&self, pid: Pid) -> Option<Child> {
        self.all().find(|child| self.peer(*child).is_some_and(|peer| peer.pid() == pid))
    }

    pub(crate) fn peer(&self, child: Child) -> Option<&Peer> {
        match child {
            Child::Controller => self.controller.peer.as_ref(),
            Child::Reader => self.reader.peer.as_ref(),
            Child::Router(id) => self.routers.find(id)?.role.peer.as_ref(),
            Child::Prototype(id) => self.apps.get(&id)?.prototype.as_ref(),
            Child::Image(id) => self.images.peer(id),
        }
    }

    pub(crate) fn peer_mut(&mut self, child: Child) -> Option<&mut Peer> {
        match child {
            Child::Controller => self.controller.peer.as_mut(),
            Child::Reader => self.reader.peer.as_mut(),
            Child::Router(id) => self.routers.peer_mut(id),
            Child::Prototype(id) => self.apps.get_mut(&id)?.prototype.as_mut(),
            Child::Image(id) => self.images.peer_mut(id),
        }
    }

    /// The processes that belong to no application.
    fn own_peers(&self) -> impl Iterator<Item = &Peer> {
        let roles = [&self.controller.peer, &self.reader.peer].into_iter().flatten();
        roles.chain(self.routers.peers()).chain(self.images.peers())
    }

    /// Every process that runs.
    pub(crate) fn peers(&self) -> impl Iterator<Item = &Peer> {
        self.own_peers().chain(self.apps.values().filter_map(|app| app.prototype.as_ref()))
    }

    /// Whether no process runs, and no instance waits for one.
    pub(crate) fn is_empty(&self) -> bool {
        self.own_peers().next().is_none() && self.apps.is_empty()
    }

    /// Tells all children to end.
    pub(crate) fn end_all(&mut self) {
        self.own_peers().for_each(|peer| peer.kill(Signal::TERM));
        self.stop_apps(|_, _| true);
    }

    /// Kills every child, those among them that applications left behind. No main process is another one's child.
    pub(crate) fn kill_all(&self) {
        for child in process::children() {
            signal::kill_child(child, Signal::KILL);
        }
        self.peers().for_each(|peer| peer.kill(Signal::KILL));
    }

    pub(crate) fn tell_router(&mut self, id: RouterId, message: &ToRouter) {
        if let Some(peer) = self.routers.peer_mut(id) {
            peer.send(message, &[]);
        }
    }

    /// Tells the router that an instance works for.
    pub(crate) fn tell_router_of(&mut self, app: AppId, message: &ToRouter) {
        if let Some(router) = self.apps.get(&app).and_then(|app| app.router) {
            self.tell_router(router, message);
        }
    }

    /// Tells all routers.
    pub(crate) fn tell_routers(&mut self, message: &ToRouter) {
        self.routers.peers_mut().for_each(|peer| peer.send(message, &[]));
    }

    /// Kills a router that says what none of ours does.
    pub(crate) fn end_router(&mut self, id: RouterId, what: &str) {
        if let Some(peer) = self.routers.peer_mut(id) {
            peer.give_up(what);
        }
    }

    /// Whether a router can still say something.
    pub(crate) fn hears(&self, router: RouterId) -> bool {
        self.peer(Child::Router(router)).is_some_and(Peer::is_open)
    }
}
