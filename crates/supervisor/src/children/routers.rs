//! The routers that run: the one in charge, the one that is to take over from it, and those that finish what
//! they had begun when another took over. Knows no messages.

use std::num::NonZero;
use std::time::Instant;

use corral_config::plan::Plan;

use crate::children::role::Role;
use crate::ids::RouterId;
use crate::peer::Peer;

/// Most event loops of a router: more than this many eventfds would not fit one message.
const MAX_THREADS: u32 = 128;

/// Event loops that a plan asks for, or one for each processor.
pub(crate) fn threads_for(plan: Option<&Plan>) -> u16 {
    let n_threads = plan.and_then(|plan| plan.listen_threads).map_or_else(n_processors, NonZero::get);
    n_threads.min(MAX_THREADS) as u16
}

fn n_processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}

/// One router.
pub(crate) struct RouterProcess {
    pub(crate) id: RouterId,
    /// The router's event loops. Workers have a lane for each, which is why they belong to one router.
    pub(crate) n_threads: u16,
    pub(crate) role: Role,
    /// The router has not said that it accepts no connections any more.
    accepts: bool,
}

impl RouterProcess {
    fn new(id: u32, n_threads: u16, now: Instant) -> Self {
        Self { id: RouterId(id), n_threads, role: Role::new("router", now), accepts: true }
    }
}

/// All of them.
pub(crate) struct Routers {
    /// Has the configuration in force; started again when it dies.
    pub(crate) in_charge: RouterProcess,
    /// The configuration that is being applied is for this one, which takes over with it.
    pub(crate) successor: Option<RouterProcess>,
    /// Finish what they have begun.
    retired: Vec<RouterProcess>,
    last_id: u32,
}

impl Routers {
    pub(crate) fn new(n_threads: u16, now: Instant) -> Self {
        Self {
            in_charge: RouterProcess::new(0, n_threads, now),
            successor: None,
            retired: Vec::new(),
            last_id: 0,
        }
    }

    /// One with this many event loops, not started yet.
    pub(crate) fn successor_with(&mut self, n_threads: u16) -> &mut RouterProcess {
        self.last_id += 1;
        self.successor.insert(RouterProcess::new(self.last_id, n_threads, Instant::now()))
    }

    /// The one that configurations are prepared for.
    pub(crate) fn newest(&self) -> &RouterProcess {
        self.successor.as_ref().unwrap_or(&self.in_charge)
    }

    /// Puts the successor in charge. One that has died and was replaced is not started again.
    pub(crate) fn take_over(&mut self) {
        let Some(successor) = self.successor.take() else { return };
        let replaced = std::mem::replace(&mut self.in_charge, successor);
        self.retired.extend(Some(replaced).filter(|router| router.role.peer.is_some()));
    }

    /// The successor is not wanted any more.
    pub(crate) fn dismiss_successor(&mut self) {
        // It has never had a configuration.
        self.retired.extend(self.successor.take().map(|router| RouterProcess { accepts: false, ..router }));
    }

    /// One accepts no connections any more.
    pub(crate) fn closed(&mut self, id: RouterId) {
        if let Some(router) = self.find_mut(id) {
            router.accepts = false;
        }
    }

    /// Whether one that another has taken over from still accepts connections.
    pub(crate) fn retired_accept(&self) -> bool {
        self.retired.iter().any(|router| router.accepts)
    }

    /// A successor or a retired one has ended.
    pub(crate) fn remove(&mut self, id: RouterId) {
        self.successor = self.successor.take().filter(|router| router.id != id);
        self.retired.retain(|router| router.id != id);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &RouterProcess> {
        [&self.in_charge].into_iter().chain(&self.successor).chain(&self.retired)
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut RouterProcess> {
        [&mut self.in_charge].into_iter().chain(&mut self.successor).chain(&mut self.retired)
    }

    pub(crate) fn find(&self, id: RouterId) -> Option<&RouterProcess> {
        self.iter().find(|router| router.id == id)
    }

    pub(crate) fn find_mut(&mut self, id: RouterId) -> Option<&mut RouterProcess> {
        self.iter_mut().find(|router| router.id == id)
    }

    /// The process of one, if it runs.
    pub(crate) fn peer_mut(&mut self, id: RouterId) -> Option<&mut Peer> {
        self.find_mut(id)?.role.peer.as_mut()
    }

    /// The running processes.
    pub(crate) fn peers(&self) -> impl Iterator<Item = &Peer> {
        self.iter().filter_map(|router| router.role.peer.as_ref())
    }

    pub(crate) fn peers_mut(&mut self) -> impl Iterator<Item = &mut Peer> {
        self.iter_mut().filter_map(|router| router.role.peer.as_mut())
    }
}
