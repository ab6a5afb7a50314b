//! Programs that serve HTTP themselves, as workers of a pool.
//!
//! The pool does not hand them requests: it says whose turn it is at which program, and the connection that waits for
//! its [`Turn`] speaks to the program itself. The end of the turn is the end of the request.

use std::collections::HashMap;
use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};
use std::time::Instant;

use corral_channel::{Lane, RequestId, SendError, Slot};
use corral_ipc::message::WorkerId;
use parking_lot::Mutex;

use super::pool::{Condemned, Port};
use super::{Failure, LoopApp, Patience, Request, WorkerKey};
use crate::proxy::Server;

/// A program that is ready for requests.
pub(crate) struct Program {
    pub(crate) id: WorkerId,
    pub(crate) pid: u32,
    /// How it is spoken to.
    pub(crate) server: Arc<Server>,
    /// Keeps alive what `server` leads to.
    _socket: Option<OwnedFd>,
    /// Turns that were given and have not ended.
    n_turns: AtomicU32,
    /// Requests until it is replaced.
    n_left: Option<AtomicU32>,
    /// It gets nothing more, and is told to end as soon as it has nothing left.
    is_dismissed: AtomicBool,
    is_retired: AtomicBool,
    /// Its place in the pool, once it has one.
    key: OnceLock<WorkerKey>,
    /// Why it is killed, if it is.
    condemned: OnceLock<Condemned>,
}

impl Program {
    /// It is replaced after `n_requests`.
    pub(crate) fn new(
        id: WorkerId,
        pid: u32,
        server: Arc<Server>,
        socket: Option<OwnedFd>,
        n_requests: Option<u32>,
    ) -> Arc<Self> {
        Arc::new(Self {
            id,
            pid,
            server,
            _socket: socket,
            n_turns: AtomicU32::new(0),
            n_left: n_requests.map(AtomicU32::new),
            is_dismissed: AtomicBool::new(false),
            is_retired: AtomicBool::new(false),
            key: OnceLock::new(),
            condemned: OnceLock::new(),
        })
    }

    pub(super) fn set_key(&self, key: WorkerKey) {
        // There is one place for each, and it is given once.
        let _ = self.key.set(key);
    }

    pub(super) fn key(&self) -> Option<WorkerKey> {
        self.key.get().copied()
    }

    /// A turn has ended. True when it was the last one that the program gets.
    pub(super) fn end_turn(&self) -> bool {
        self.n_turns.fetch_sub(1, Ordering::AcqRel);
        let Some(n_left) = &self.n_left else { return false };
        // Turns that were given together may end behind the last one.
        n_left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n_left| n_left.checked_sub(1)) == Ok(1)
    }

    /// It gets nothing more.
    pub(super) fn dismiss(&self) {
        self.is_dismissed.store(true, Ordering::Release);
    }

    /// Whether it is to be told to end now; once.
    pub(super) fn retires_now(&self) -> bool {
        let is_done = self.is_dismissed.load(Ordering::Acquire) && self.n_turns.load(Ordering::Acquire) == 0;
        is_done && !self.is_retired.swap(true, Ordering::AcqRel)
    }

    /// Why it was killed, if that was for this request.
    pub(crate) fn verdict(&self, request: (Lane, RequestId)) -> Option<Failure> {
        self.condemned.get().and_then(|condemned| condemned.failure(request, self.pid))
    }
}

/// The pool's port to a program.
pub(crate) struct ProgramPort {
    pub(crate) program: Arc<Program>,
    pub(crate) turns: Arc<Turns>,
}

impl Port for ProgramPort {
    fn submit(&mut self, _slot: Slot, request: &Request) -> Result<(), SendError> {
        self.program.n_turns.fetch_add(1, Ordering::AcqRel);
        if let Some(cell) = self.turns.find(request.lane, request.id) {
            cell.give(&self.program);
        }
        Ok(())
    }

    fn take_back(&self, _slot: Slot, request: &Request) -> bool {
        let is_back = self.turns.find(request.lane, request.id).is_some_and(|cell| cell.take_back());
        if is_back {
            self.program.n_turns.fetch_sub(1, Ordering::AcqRel);
        }
        is_back
    }

    fn is_started(&self, _slot: Slot, request: &Request) -> bool {
        // One that nobody waits for any more is about to end.
        self.turns.find(request.lane, request.id).is_none_or(|cell| cell.is_started())
    }

    fn quit(&mut self) {
        self.program.dismiss();
    }

    fn is_waiting(&self) -> bool {
        false
    }

    fn note(&self) -> Vec<u8> {
        Vec::new()
    }

    fn condemn(&self, condemned: Condemned) {
        let _ = self.program.condemned.set(condemned);
    }
}

/// The requests of all event loops that wait for their turn or have it.
#[derive(Default)]
pub(crate) struct Turns(Mutex<HashMap<(u16, u32), Arc<Cell>>>);

/// One request's turn, as the pool and the connection share it.
#[derive(Default)]
struct Cell(Mutex<State>);

#[derive(Default)]
struct State {
    phase: Phase,
    waker: Option<Waker>,
}

#[derive(Default)]
enum Phase {
    #[default]
    Waiting,
    /// It may begin; the pool can still take that back.
    Given(Arc<Program>),
    Started(Arc<Program>),
    Failed(Failure),
}

impl Turns {
    fn find(&self, lane: Lane, id: RequestId) -> Option<Arc<Cell>> {
        self.0.lock().get(&(lane.0, id.0)).map(Arc::clone)
    }

    /// Nobody is going to serve a request. False when it is none of those here.
    pub(super) fn fail(&self, lane: Lane, id: RequestId, failure: &Failure) -> bool {
        let Some(cell) = self.find(lane, id) else { return false };
        cell.change(|phase| matches!(phase, Phase::Waiting).then(|| Phase::Failed(failure.clone())));
        true
    }
}

impl Cell {
    fn give(&self, program: &Arc<Program>) {
        self.change(|phase| matches!(phase, Phase::Waiting).then(|| Phase::Given(Arc::clone(program))));
    }

    /// Puts another phase in place, if there is one, and tells who waits.
    fn change(&self, next: impl FnOnce(&Phase) -> Option<Phase>) {
        let mut state = self.0.lock();
        let Some(phase) = next(&state.phase) else { return };
        state.phase = phase;
        if let Some(waker) = state.waker.take() {
            drop(state);
            waker.wake();
        }
    }

    fn take_back(&self) -> bool {
        let mut state = self.0.lock();
        let is_given = matches!(state.phase, Phase::Given(_));
        if is_given {
            state.phase = Phase::Waiting;
        }
        is_given
    }

    fn is_started(&self) -> bool {
        matches!(self.0.lock().phase, Phase::Started(_))
    }

    /// Begins the turn if it was given.
    fn begin(&self) -> Option<Result<Arc<Program>, Failure>> {
        let mut state = self.0.lock();
        match &state.phase {
            Phase::Given(program) => {
                let program = Arc::clone(program);
                state.phase = Phase::Started(Arc::clone(&program));
                Some(Ok(program))
            }
            Phase::Failed(failure) => Some(Err(failure.clone())),
            Phase::Waiting | Phase::Started(_) => None,
        }
    }
}

/// A request that waits for its turn, or has it. Dropping it ends the turn, or gives it up.
pub(crate) struct Turn {
    app: Rc<LoopApp>,
    lane: Lane,
    id: RequestId,
    cell: Arc<Cell>,
    /// When it began.
    begun: std::cell::Cell<Option<Instant>>,
}

impl Turn {
    /// Takes a request in.
    pub(super) fn new(app: Rc<LoopApp>, lane: Lane, id: RequestId) -> Self {
        let cell = Arc::<Cell>::default();
        app.app.turns.0.lock().insert((lane.0, id.0), Arc::clone(&cell));
        Self { app, lane, id, cell, begun: std::cell::Cell::new(None) }
    }

    /// Waits until it begins. Cancel safe: it has begun when this returns.
    pub(crate) async fn begin(&self) -> Result<Arc<Program>, Failure> {
        poll_fn(|context| {
            if let Some(begun) = self.try_begin() {
                return Poll::Ready(begun);
            }
            let mut state = self.cell.0.lock();
            if matches!(state.phase, Phase::Waiting) {
                state.waker = Some(context.waker().clone());
            } else {
                // It was given in between.
                context.waker().wake_by_ref();
            }
            Poll::Pending
        })
        .await
    }

    /// Begins, if it may at once.
    pub(crate) fn try_begin(&self) -> Option<Result<Arc<Program>, Failure>> {
        let begun = self.cell.begin()?;
        self.begun.set(Some(Instant::now()));
        Some(begun)
    }

    /// For how long it is waited for.
    pub(crate) fn patience(&self) -> Patience {
        Patience::new(&self.app.app.spec.limits, true)
    }

    /// What the pool knows the request by.
    pub(crate) fn request(&self) -> (Lane, RequestId) {
        (self.lane, self.id)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let started = match &self.cell.0.lock().phase {
            Phase::Started(program) => Some(Arc::clone(program)),
            Phase::Waiting | Phase::Given(_) | Phase::Failed(_) => None,
        };
        match started {
            Some(program) => {
                let elapsed = self.begun.get().map_or_else(Default::default, |begun| begun.elapsed());
                self.app.app.end_turn(&program, self.request(), elapsed);
            }
            None => drop(self.app.app.cancel(self.lane, self.id)),
        }
        self.app.app.turns.0.lock().remove(&(self.lane.0, self.id.0));
    }
}
