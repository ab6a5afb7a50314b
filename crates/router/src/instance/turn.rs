//! Whose turn it is: a request that programs serve, as the pool and the connection that waits for it share it.

use std::collections::HashMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Instant;

use corral_channel::{Lane, RequestId};
use parking_lot::Mutex;

use super::{Failure, LoopApp, Patience, Program};

/// The requests of all event loops that wait for their turn or have it.
#[derive(Default)]
pub(crate) struct Turns(Mutex<HashMap<(u16, u32), Arc<Cell>>>);

/// One request's turn, as the pool and the connection share it.
#[derive(Default)]
pub(super) struct Cell(Mutex<State>);

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
    /// The connection was upgraded: the program has its hands free, and keeps the connection.
    Tunnel(Arc<Program>),
    Failed(Failure),
}

impl Turns {
    pub(super) fn insert(&self, lane: Lane, id: RequestId) -> Arc<Cell> {
        let cell = Arc::<Cell>::default();
        self.0.lock().insert((lane.0, id.0), Arc::clone(&cell));
        cell
    }

    fn remove(&self, lane: Lane, id: RequestId) {
        self.0.lock().remove(&(lane.0, id.0));
    }

    pub(super) fn find(&self, lane: Lane, id: RequestId) -> Option<Arc<Cell>> {
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
    pub(super) fn give(&self, program: &Arc<Program>) {
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

    pub(super) fn take_back(&self) -> bool {
        let mut state = self.0.lock();
        let is_given = matches!(state.phase, Phase::Given(_));
        if is_given {
            state.phase = Phase::Waiting;
        }
        is_given
    }

    pub(super) fn is_started(&self) -> bool {
        matches!(self.0.lock().phase, Phase::Started(_) | Phase::Tunnel(_))
    }

    /// The program, if this is when its turn becomes a tunnel.
    fn become_tunnel(&self) -> Option<Arc<Program>> {
        let mut state = self.0.lock();
        let Phase::Started(program) = &state.phase else { return None };
        let program = Arc::clone(program);
        state.phase = Phase::Tunnel(Arc::clone(&program));
        Some(program)
    }

    /// Begins the turn if it was given.
    pub(super) fn begin(&self) -> Option<Result<Arc<Program>, Failure>> {
        let mut state = self.0.lock();
        match &state.phase {
            Phase::Given(program) => {
                let program = Arc::clone(program);
                state.phase = Phase::Started(Arc::clone(&program));
                Some(Ok(program))
            }
            Phase::Failed(failure) => Some(Err(failure.clone())),
            Phase::Waiting | Phase::Started(_) | Phase::Tunnel(_) => None,
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
        let cell = app.app.turns.insert(lane, id);
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

    /// The connection was upgraded. It counts as a request no more, but the program is not told to end before it has ended.
    pub(crate) fn become_tunnel(&self) {
        if let Some(program) = self.cell.become_tunnel() {
            self.free_hand(&program);
        }
    }

    fn free_hand(&self, program: &Program) {
        let elapsed = self.begun.get().map_or_else(Default::default, |begun| begun.elapsed());
        self.app.app.free_hand(program, self.request(), elapsed);
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
        let (program, is_tunnel) = match &self.cell.0.lock().phase {
            Phase::Started(program) => (Some(Arc::clone(program)), false),
            Phase::Tunnel(program) => (Some(Arc::clone(program)), true),
            Phase::Waiting | Phase::Given(_) | Phase::Failed(_) => (None, false),
        };
        match program {
            Some(program) => {
                if !is_tunnel {
                    self.free_hand(&program);
                }
                self.app.app.end_turn(&program);
            }
            None => drop(self.app.app.cancel(self.lane, self.id)),
        }
        self.app.app.turns.remove(self.lane, self.id);
    }
}
