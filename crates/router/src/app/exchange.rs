//! Requests in flight, as one event loop sees them: what it asked, and what the workers answer.
//!
//! Everything here belongs to one event loop. Frames are taken from the rings by [`LoopApp::drain`], which
//! the loop calls before it sleeps and after it wakes; connections wait for [`Exchange::next_piece`].

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Instant;

use corral_channel::{
    Bell, Flags, FrameHead, INITIAL_CREDIT, Kind, Lane, LaneReceiver, MAX_INLINE_BODY, RequestId,
};
use corral_config::plan::RuntimeSpec;
use corral_ipc::message::{Exit, WorkerId};
use slab::Slab;

use super::{App, Failure, Gone, Patience, Program, Request, RequestBody, Turn, WasRunning, WorkerKey};
use crate::buffers;
use crate::proxy::{LoopServer, LoopServers};
use crate::spool::Spool;

/// Response bytes that are acknowledged at a time.
const CREDIT_STEP: u32 = 128 * 1024;

/// Bytes of one response that are kept for a client that does not read them, before its worker waits.
const MAX_SPOOLED: u64 = 256 * 1024 * 1024;

/// Index bits of a request id; the rest tells the uses of one index apart.
const INDEX_BITS: u32 = 20;

/// An application as one event loop uses it.
pub(crate) struct LoopApp {
    pub(crate) app: Arc<App>,
    lane: Lane,
    /// Replaced when a new prototype takes the place of one that died.
    bell: RefCell<Arc<Bell>>,
    /// By worker index; `None` where the worker is gone.
    receivers: RefCell<Vec<Option<(WorkerKey, LaneReceiver)>>>,
    entries: RefCell<Slab<Rc<Shared>>>,
    /// Kept connections to workers that are programs.
    programs: RefCell<HashMap<WorkerId, Rc<LoopServer>>>,
    next_stamp: Cell<u32>,
    /// Something was put into rings since the workers were last woken.
    touched: Cell<bool>,
    /// A connection was woken since the frames were last drained.
    woke: Cell<bool>,
    busy: Rc<BusyApps>,
    /// It is among those.
    is_busy: Cell<bool>,
}

/// The applications that an event loop has to look after before and after each sleep: of many sites, those that
/// somebody has asked for something.
#[derive(Default)]
pub(crate) struct BusyApps(RefCell<Vec<Rc<LoopApp>>>);

impl BusyApps {
    fn add(&self, app: &Rc<LoopApp>) {
        if !app.is_busy.replace(true) {
            self.0.borrow_mut().push(Rc::clone(app));
        }
    }

    /// Forgets those that nothing is waited for from.
    pub(crate) fn prune(&self) {
        self.0.borrow_mut().retain(|app| {
            let is_busy = app.is_waiting() || app.touched.get();
            app.is_busy.set(is_busy);
            is_busy
        });
    }

    pub(crate) fn each(&self, act: impl FnMut(&Rc<LoopApp>)) {
        self.0.borrow().iter().for_each(act);
    }

    /// Whether workers may say something.
    pub(crate) fn are_waiting(&self) -> bool {
        self.0.borrow().iter().any(|app| app.is_waiting())
    }
}

/// What a worker's answer consists of, in order.
#[derive(Debug)]
pub(crate) enum Piece {
    /// The head, encoded, and the first bytes of the body behind it.
    Head(Vec<u8>),
    /// More of the body.
    Data(Vec<u8>),
    /// Nothing more comes.
    End,
}

/// The state of one request, shared by the connection that waits and the loop that drains.
#[derive(Debug)]
struct Shared {
    id: RequestId,
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    waker: Option<Waker>,
    head: Option<Vec<u8>>,
    spool: Spool,
    /// The response is complete.
    ended: bool,
    failure: Option<Failure>,
    body: RequestBody,
    /// Which worker answers; known from its first frame.
    worker: Option<WorkerKey>,
    /// Response bytes that were stored and not yet acknowledged to the worker.
    uncredited: u32,
    /// Response bytes that the worker may still send, or more.
    allowed: u64,
    /// Nobody waits any more: whatever comes is dropped.
    abandoned: bool,
}

/// A request that was handed to an application. Dropping it gives the answer up.
pub(crate) struct Exchange {
    app: Rc<LoopApp>,
    shared: Rc<Shared>,
}

impl LoopApp {
    pub(crate) fn new(app: Arc<App>, lane: Lane, bell: Arc<Bell>, busy: Rc<BusyApps>) -> Rc<Self> {
        Rc::new(Self {
            app,
            lane,
            bell: RefCell::new(bell),
            receivers: RefCell::new(Vec::new()),
            entries: RefCell::new(Slab::new()),
            programs: RefCell::default(),
            next_stamp: Cell::new(0),
            touched: Cell::new(false),
            woke: Cell::new(false),
            busy,
            is_busy: Cell::new(false),
        })
    }

    /// Hands an encoded request to the application.
    pub(crate) fn begin(self: &Rc<Self>, payload: Vec<u8>, body: RequestBody, now: Instant) -> Exchange {
        let mut entries = self.entries.borrow_mut();
        let entry = entries.vacant_entry();
        let stamp = self.next_stamp.get();
        self.next_stamp.set(stamp.wrapping_add(1));
        let id = RequestId((stamp << INDEX_BITS) | entry.key() as u32 & ((1 << INDEX_BITS) - 1));
        let shared = Rc::new(Shared { id, state: RefCell::new(State::new(body)) });
        entry.insert(Rc::clone(&shared));
        drop(entries);
        self.touched.set(true);
        self.busy.add(self);
        if let Err(refused) = self.app.submit(Request { lane: self.lane, id, payload, arrived: now }, now) {
            buffers::give(refused.request.payload);
            self.fail(id, self.app.explain(refused.reason));
        }
        Exchange { app: Rc::clone(self), shared }
    }

    /// Queues a request for the turn of a program; `description` is its head.
    pub(crate) fn begin_turn(self: &Rc<Self>, description: Vec<u8>, now: Instant) -> Turn {
        let id = RequestId(self.next_stamp.get());
        self.next_stamp.set(id.0.wrapping_add(1));
        let turn = Turn::new(Rc::clone(self), self.lane, id);
        self.touched.set(true);
        self.busy.add(self);
        let request = Request { lane: self.lane, id, payload: description, arrived: now };
        if let Err(refused) = self.app.submit(request, now) {
            buffers::give(refused.request.payload);
            self.fail(id, self.app.explain(refused.reason));
        }
        turn
    }

    /// The connections of this loop to a program.
    pub(crate) fn server(&self, program: &Program, servers: &LoopServers) -> Rc<LoopServer> {
        let mut programs = self.programs.borrow_mut();
        let server = programs.entry(program.id).or_insert_with(|| servers.server(&program.server, self.lane));
        Rc::clone(server)
    }

    /// Whether its workers are programs.
    pub(crate) fn runs_programs(&self) -> bool {
        matches!(self.app.spec.runtime, RuntimeSpec::Http(_))
    }

    /// Listens to a new worker.
    pub(crate) fn add_receiver(&self, worker: WorkerKey, receiver: LaneReceiver) {
        let mut receivers = self.receivers.borrow_mut();
        if receivers.len() <= worker.index {
            receivers.resize_with(worker.index + 1, || None);
        }
        receivers[worker.index] = Some((worker, receiver));
    }

    /// A worker's process is gone: takes what it still said, then fails what it left behind.
    pub(crate) fn remove_receiver(self: &Rc<Self>, gone: &Gone, exit: Exit) {
        self.drain(Instant::now());
        self.programs.borrow_mut().remove(&gone.id);
        if let Some(receiver) = self.receivers.borrow_mut().get_mut(gone.index) {
            *receiver = None;
        }
        for &(lane, id) in &gone.started {
            if lane == self.lane {
                self.fail(id, gone.failure((lane, id), exit));
            }
        }
    }

    /// Ends a request without an answer.
    pub(crate) fn fail(&self, id: RequestId, failure: Failure) {
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
        self.receivers.borrow().iter().flatten().any(|(_, receiver)| receiver.has_frames())
    }

    pub(crate) fn cancel_sleep(&self) {
        self.bell.borrow().cancel_sleep(self.lane);
    }

    /// Listens to the bell of a new prototype.
    pub(crate) fn replace_bell(&self, bell: Arc<Bell>) {
        self.bell.replace(bell);
    }

    /// Wakes the workers that this loop has put something in front of. True when the application's
    /// `rescue` should be called in a while.
    pub(crate) fn wake_workers(&self) -> bool {
        self.touched.replace(false) && self.app.wake_workers()
    }

    /// Takes all frames that workers have published for this loop; returns whether they woke a connection.
    /// They need not: its client may be slow, or gone.
    pub(crate) fn drain(&self, now: Instant) -> bool {
        self.woke.set(false);
        let mut receivers = self.receivers.borrow_mut();
        for slot in receivers.iter_mut() {
            let Some((worker, receiver)) = slot.as_mut().filter(|(_, receiver)| receiver.has_frames()) else {
                continue;
            };
            let worker = *worker;
            if let Err(violation) = self.drain_worker(worker, receiver, now) {
                // Nothing that it says is worth hearing; its requests are failed when it is gone.
                *slot = None;
                self.app.give_up(worker, &violation);
            }
        }
        self.woke.get()
    }

    fn drain_worker(
        &self,
        worker: WorkerKey,
        receiver: &mut LaneReceiver,
        now: Instant,
    ) -> Result<(), String> {
        let mut payload = buffers::take();
        while let Some(head) = receiver.recv(&mut payload).map_err(|corrupt| corrupt.to_string())? {
            self.on_frame(worker, &head, &mut payload, now)?;
        }
        buffers::give(payload);
        receiver.wake_producer();
        Ok(())
    }

    fn on_frame(
        &self,
        worker: WorkerKey,
        head: &FrameHead,
        payload: &mut Vec<u8>,
        now: Instant,
    ) -> Result<(), String> {
        if let Some(shared) = self.lookup(head.request) {
            self.on_answer(worker, &shared, head, payload)?;
        }
        if head.flags.contains(Flags::LAST) {
            self.touched.set(true);
            self.app.leaving(worker, now);
        }
        if head.flags.contains(Flags::DONE) {
            self.on_done(worker, head, now)?;
        }
        Ok(())
    }

    fn on_done(&self, worker: WorkerKey, head: &FrameHead, now: Instant) -> Result<(), String> {
        self.touched.set(true);
        let id = head.request;
        let Some(buffer) = self.app.done(worker, self.lane, id, head.aux, now) else {
            return Err(format!("the worker ended request {} that it does not hold", id.0));
        };
        buffers::give(buffer);
        if self.lookup(id).is_some() {
            let shared = self.entries.borrow_mut().remove(index(id));
            let mut state = shared.state.borrow_mut();
            state.ended = true;
            self.wake(&mut state);
        }
        Ok(())
    }

    fn on_answer(
        &self,
        worker: WorkerKey,
        shared: &Rc<Shared>,
        head: &FrameHead,
        payload: &mut Vec<u8>,
    ) -> Result<(), String> {
        let mut state = shared.state.borrow_mut();
        state.worker = Some(worker);
        match head.kind {
            Kind::Response if state.head.is_none() && !state.abandoned => {
                state.uncredited = state.uncredited.saturating_add(payload.len() as u32);
                state.head = Some(std::mem::replace(payload, buffers::take()));
            }
            Kind::Response | Kind::Data => {
                state.take(payload.len())?;
                state.store(std::mem::replace(payload, buffers::take()));
            }
            Kind::Failed => state.failure = Some(Failure::NoResponse),
            Kind::BodyCredit => self.send_body(worker, shared.id, &mut state, head.aux),
            _ => {}
        }
        state.ended |= head.flags.contains(Flags::END);
        self.credit(worker, shared.id, &mut state);
        self.wake(&mut state);
        Ok(())
    }

    fn wake(&self, state: &mut State) {
        if let Some(waker) = state.waker.take() {
            waker.wake();
            self.woke.set(true);
        }
    }

    /// Lets the worker send more once what it sent is stored, unless too much is.
    fn credit(&self, worker: WorkerKey, id: RequestId, state: &mut State) {
        let is_full = state.spool.len() > MAX_SPOOLED || state.spool.is_stuck();
        if state.ended || state.uncredited < CREDIT_STEP || is_full {
            return;
        }
        let bytes = std::mem::take(&mut state.uncredited);
        state.allowed += u64::from(bytes);
        self.touched.set(true);
        // Without room for the word the worker is stuck; it is ended by its time-out.
        let _ = self.app.with_port(worker, |port| port.channel.credit(id, self.lane, bytes));
    }

    /// Sends as much of the request's body as the worker has asked for.
    fn send_body(&self, worker: WorkerKey, id: RequestId, state: &mut State, mut window: u32) {
        self.touched.set(true);
        let mut piece = buffers::take();
        while window > 0 {
            let end = match state.body.read(&mut piece, (window as usize).min(MAX_INLINE_BODY)) {
                Ok(end) => end,
                Err(error) => {
                    state.failure = Some(Failure::Store(Arc::new(error)));
                    break;
                }
            };
            window -= piece.len() as u32;
            let sent =
                self.app.with_port(worker, |port| port.channel.body(id, self.lane, &piece, end).is_ok());
            if sent != Some(true) {
                // Its ring holds more than one window: the worker does not read what it asked for.
                state.failure = Some(Failure::NoResponse);
            }
            if sent != Some(true) || end {
                break;
            }
        }
        buffers::give(piece);
    }

    fn lookup(&self, id: RequestId) -> Option<Rc<Shared>> {
        let entries = self.entries.borrow();
        let shared = entries.get(index(id))?;
        (shared.id == id).then(|| Rc::clone(shared))
    }

    fn abandon(&self, shared: &Shared) {
        {
            let mut state = shared.state.borrow_mut();
            state.abandoned = true;
            state.waker = None;
            state.spool.clear();
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

impl Exchange {
    /// The next piece of the answer. Cancel safe: a piece is only taken when it is returned.
    pub(crate) async fn next_piece(&self) -> Result<Piece, Failure> {
        poll_fn(|context| {
            if let Some(piece) = self.try_next_piece() {
                return Poll::Ready(piece);
            }
            let mut state = self.shared.state.borrow_mut();
            if !state.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
                state.waker = Some(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    /// The next piece, if it is there already.
    pub(crate) fn try_next_piece(&self) -> Option<Result<Piece, Failure>> {
        let mut state = self.shared.state.borrow_mut();
        let piece = state.next_piece().transpose();
        if piece.is_some()
            && let Some(worker) = state.worker
        {
            self.app.credit(worker, self.shared.id, &mut state);
        }
        piece
    }

    /// For how long the next piece is waited for.
    pub(crate) fn patience(&self) -> Patience {
        Patience::new(&self.app.app.spec.limits, self.shared.state.borrow().worker.is_none())
    }

    /// Whether no worker has begun to run the request.
    pub(crate) fn is_queued(&self) -> bool {
        self.shared.state.borrow().worker.is_none() && self.app.app.is_queued(self.app.lane, self.shared.id)
    }

    /// Whether everything has arrived that the application has to say, and it was a whole response.
    pub(crate) fn has_ended(&self) -> bool {
        let state = self.shared.state.borrow();
        state.ended && state.failure.is_none()
    }

    /// Bytes of the body that have arrived and were not taken yet.
    pub(crate) fn n_stored(&self) -> u64 {
        self.shared.state.borrow().spool.len()
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.app.abandon(&self.shared);
    }
}

impl State {
    fn new(body: RequestBody) -> Self {
        Self {
            waker: None,
            head: None,
            spool: Spool::default(),
            ended: false,
            failure: None,
            body,
            worker: None,
            uncredited: 0,
            allowed: u64::from(INITIAL_CREDIT),
            abandoned: false,
        }
    }

    fn next_piece(&mut self) -> Result<Option<Piece>, Failure> {
        if let Some(head) = self.head.take() {
            return Ok(Some(Piece::Head(head)));
        }
        if let Some(data) = self.spool.pop().map_err(|error| Failure::Store(Arc::new(error)))? {
            return Ok(Some(Piece::Data(data)));
        }
        match &self.failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(self.ended.then_some(Piece::End)),
        }
    }

    fn store(&mut self, data: Vec<u8>) {
        self.uncredited = self.uncredited.saturating_add(data.len() as u32);
        if self.abandoned {
            return buffers::give(data);
        }
        self.spool.push(data);
    }

    /// More of the response has come. A worker that sends more than it may would fill memory and disks.
    fn take(&mut self, len: usize) -> Result<(), String> {
        let left = self.allowed.checked_sub(len as u64);
        self.allowed = left.ok_or("the worker sends more of a response than it may")?;
        Ok(())
    }
}

fn index(id: RequestId) -> usize {
    (id.0 & ((1 << INDEX_BITS) - 1)) as usize
}
