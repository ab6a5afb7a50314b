//! An application as one event loop uses it: its workers' receivers, and the requests that are in flight.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use corral_channel::{Bell, Lane, LaneReceiver, RequestId};
use corral_config::plan::RuntimeSpec;
use corral_config::protocol::Protocol;
use corral_ipc::message::{Exit, Refusal, WorkerId};
use slab::Slab;

use super::app::{AppInstance, WasRunning};
use super::failure::AppFailure;
use super::pool::members::StartedRequest;
use super::pool::worker::WorkerKey;
use super::program::ReadyProgram;
use super::protocol_guard::UnknownRequests;
use super::state::SharedCall;
use super::workers::{DeadWorker, WokenWorkers};
use crate::upstream::{LoopServer, LoopServers};

/// Index bits of a request id; the rest tells the uses of one index apart.
pub(super) const INDEX_BITS: u32 = 20;

/// How often a worker that is gone is heard. Its ring can hold no more, and what it has left behind might go on
/// writing.
const LAST_WORDS: usize = 8;

/// The frames from one worker to an event loop.
pub(super) struct WorkerFrames {
    pub(super) worker: WorkerKey,
    pub(super) receiver: LaneReceiver,
    /// With what it says of requests that are not known.
    pub(super) unknown_requests: UnknownRequests,
}

/// An application as one event loop uses it.
pub(crate) struct LoopApp {
    pub(crate) app: Arc<AppInstance>,
    pub(super) lane: Lane,
    /// Replaced when a new prototype takes the place of one that died.
    pub(super) bell: RefCell<Arc<Bell>>,
    /// By worker index; `None` where the worker is gone.
    pub(super) listeners: RefCell<Vec<Option<WorkerFrames>>>,
    pub(super) entries: RefCell<Slab<Rc<SharedCall>>>,
    /// Kept connections to workers that are programs.
    pub(super) programs: RefCell<HashMap<WorkerId, Rc<LoopServer>>>,
    pub(super) next_stamp: Cell<u32>,
    /// Requests that had something for a worker whose ring was full.
    pub(super) stuck: RefCell<Vec<RequestId>>,
    /// Something was put into rings since the workers were last woken.
    pub(super) touched: Cell<bool>,
    /// A connection was woken since the frames were last drained.
    pub(super) woke: Cell<bool>,
    /// Bytes of bodies that were sent to workers since then.
    pub(super) n_fed: Cell<usize>,
    pub(super) busy: Rc<BusyApps>,
    /// The application is in `BusyApps`.
    pub(super) is_busy: Cell<bool>,
}

/// The applications that an event loop has to look after before and after each sleep: of many sites, those that
/// have requests.
#[derive(Default)]
pub(crate) struct BusyApps {
    apps: RefCell<Vec<Rc<LoopApp>>>,
    /// More is left to be done for them than was done at a time.
    is_behind: Cell<bool>,
}

impl BusyApps {
    pub(super) fn add(&self, app: &Rc<LoopApp>) {
        if !app.is_busy.replace(true) {
            self.apps.borrow_mut().push(Rc::clone(app));
        }
    }

    /// Forgets those that nothing is waited for from.
    pub(crate) fn prune(&self) {
        self.apps.borrow_mut().retain(|app| {
            let is_busy = app.is_waiting() || app.touched.get();
            app.is_busy.set(is_busy);
            is_busy
        });
    }

    pub(crate) fn each(&self, act: impl FnMut(&Rc<LoopApp>)) {
        self.apps.borrow().iter().for_each(act);
    }

    /// Whether something was left for the next turn. Asked once.
    pub(crate) fn take_behind(&self) -> bool {
        self.is_behind.take()
    }

    pub(super) fn leave_rest(&self) {
        self.is_behind.set(true);
    }

    /// Whether workers may say something.
    pub(crate) fn are_waiting(&self) -> bool {
        self.apps.borrow().iter().any(|app| app.is_waiting())
    }
}

impl LoopApp {
    pub(crate) fn new(app: Arc<AppInstance>, lane: Lane, bell: Arc<Bell>, busy: Rc<BusyApps>) -> Rc<Self> {
        Rc::new(Self {
            app,
            lane,
            bell: RefCell::new(bell),
            listeners: RefCell::new(Vec::new()),
            entries: RefCell::new(Slab::new()),
            programs: RefCell::default(),
            next_stamp: Cell::new(0),
            stuck: RefCell::default(),
            touched: Cell::new(false),
            woke: Cell::new(false),
            n_fed: Cell::new(0),
            busy,
            is_busy: Cell::new(false),
        })
    }

    /// The connections of this loop to a program.
    pub(crate) fn server(&self, program: &ReadyProgram, servers: &LoopServers) -> Rc<LoopServer> {
        let mut programs = self.programs.borrow_mut();
        let server = programs.entry(program.id).or_insert_with(|| servers.server(&program.server, self.lane));
        Rc::clone(server)
    }

    /// Counts a request that is over.
    pub(crate) fn count(&self, status: Option<u16>, took: Duration) {
        self.app.request_counts.of_loop(self.lane).note(status, took);
    }

    /// Counts a request that no worker has had, if this is why.
    pub(crate) fn count_refused(&self, refusal: Refusal) {
        self.app.request_counts.of_loop(self.lane).refuse(refusal);
    }

    /// Whether its workers are programs.
    pub(crate) fn runs_programs(&self) -> bool {
        matches!(self.app.spec.runtime, RuntimeSpec::Http(_))
    }

    /// Whether its programs were written for Unit, which keeps clients to the rules of WebSocket.
    pub(crate) fn is_written_for_unit(&self) -> bool {
        matches!(&self.app.spec.runtime, RuntimeSpec::Http(http) if http.kind.is_of_unit())
    }

    /// The protocol of its programs, if that is not HTTP.
    pub(crate) fn gateway(&self) -> Option<Protocol> {
        self.app.spec.runtime.gateway()
    }

    /// Listens to a new worker.
    pub(crate) fn add_receiver(&self, worker: WorkerKey, receiver: LaneReceiver) {
        let mut listeners = self.listeners.borrow_mut();
        if listeners.len() <= worker.index {
            listeners.resize_with(worker.index + 1, || None);
        }
        listeners[worker.index] =
            Some(WorkerFrames { worker, receiver, unknown_requests: UnknownRequests::default() });
    }

    /// A worker's process is gone: takes what it still said, then fails what it left behind.
    pub(crate) fn remove_receiver(self: &Rc<Self>, dead: &DeadWorker, exit: Exit) {
        self.programs.borrow_mut().remove(&dead.id);
        if let Some(place) = self.listeners.borrow_mut().get_mut(dead.index) {
            let now = Instant::now();
            (0..LAST_WORDS).for_each(|_| self.drain_listener(place, now));
            *place = None;
        }
        for &StartedRequest { id, waited, .. } in dead.started.iter().filter(|begun| begun.lane == self.lane)
        {
            self.app.request_counts.of_loop(self.lane).note_wait(waited);
            self.fail(id, dead.failure((self.lane, id), exit));
        }
    }

    /// Ends a request without an answer.
    pub(crate) fn fail(&self, id: RequestId, failure: AppFailure) {
        if self.app.turns.fail(self.lane, id, &failure) {
            return;
        }
        let Some(shared) = self.lookup(id) else { return };
        self.entries.borrow_mut().remove(index(id));
        let mut state = shared.state.borrow_mut();
        if !state.ended {
            state.failure = Some(failure);
            self.wake(&mut state);
        }
    }

    /// Whether workers may say something to this loop.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.entries.borrow().is_empty()
    }

    /// Publishes that this loop is about to sleep. True when it must not, because a frame came meanwhile.
    pub(crate) fn announce_sleep(&self) -> bool {
        self.bell.borrow().announce_sleep(self.lane);
        self.listeners.borrow().iter().flatten().any(|listener| listener.receiver.has_frames())
    }

    pub(crate) fn cancel_sleep(&self) {
        self.bell.borrow().cancel_sleep(self.lane);
    }

    /// Listens to the bell of a new prototype.
    pub(crate) fn replace_bell(&self, bell: Arc<Bell>) {
        self.bell.replace(bell);
    }

    /// Wakes the workers that this loop has put something in front of.
    pub(crate) fn wake_workers(&self) -> WokenWorkers {
        if self.touched.replace(false) { self.app.wake_workers() } else { WokenWorkers::default() }
    }

    pub(super) fn lookup(&self, id: RequestId) -> Option<Rc<SharedCall>> {
        let entries = self.entries.borrow();
        let shared = entries.get(index(id))?;
        (shared.id == id).then(|| Rc::clone(shared))
    }

    pub(super) fn abandon(&self, shared: &SharedCall) {
        {
            let mut state = shared.state.borrow_mut();
            state.abandoned = true;
            state.waker = None;
            state.hijacked = None;
            state.spool.clear();
            state.file = None;
        }
        if self.lookup(shared.id).is_none() {
            return;
        }
        // A complete answer whose script still runs needs no word; its entry goes with the last frame.
        if shared.state.borrow().ended {
            return;
        }
        self.touched.set(true);
        if self.app.cancel(self.lane, shared.id) == WasRunning::No {
            self.entries.borrow_mut().remove(index(shared.id));
        }
    }
}

pub(super) fn index(id: RequestId) -> usize {
    (id.0 & ((1 << INDEX_BITS) - 1)) as usize
}
