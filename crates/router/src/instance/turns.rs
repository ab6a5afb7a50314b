//! The turns at programs, as the pool and the connections that wait share it.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::{Context, Waker};

use corral_channel::{Lane, RequestId};
use parking_lot::Mutex;

use super::failure::AppFailure;
use super::program::ReadyProgram;

/// The requests of all event loops that wait for their turn or have it.
#[derive(Default)]
pub(crate) struct ProgramTurns(Mutex<HashMap<(u16, u32), Arc<TurnCell>>>);

/// One request's turn, as the pool and the connection share it.
#[derive(Default)]
pub(super) struct TurnCell(Mutex<TurnState>);

#[derive(Default)]
struct TurnState {
    phase: TurnPhase,
    waker: Option<Waker>,
}

#[derive(Default)]
enum TurnPhase {
    #[default]
    Waiting,
    /// The request may begin; the pool can still take that back.
    Given(Arc<ReadyProgram>),
    Started(Arc<ReadyProgram>),
    /// The connection was upgraded: the program is released, and keeps the connection.
    Tunnel(Arc<ReadyProgram>),
    Failed(AppFailure),
}

impl ProgramTurns {
    pub(super) fn insert(&self, lane: Lane, id: RequestId) -> Arc<TurnCell> {
        let cell = Arc::<TurnCell>::default();
        self.0.lock().insert((lane.0, id.0), Arc::clone(&cell));
        cell
    }

    pub(super) fn remove(&self, lane: Lane, id: RequestId) {
        self.0.lock().remove(&(lane.0, id.0));
    }

    pub(super) fn find(&self, lane: Lane, id: RequestId) -> Option<Arc<TurnCell>> {
        self.0.lock().get(&(lane.0, id.0)).map(Arc::clone)
    }

    /// No program is going to serve a request. False when it is none of those here.
    pub(super) fn fail(&self, lane: Lane, id: RequestId, failure: &AppFailure) -> bool {
        let Some(cell) = self.find(lane, id) else { return false };
        cell.change(|phase| matches!(phase, TurnPhase::Waiting).then(|| TurnPhase::Failed(failure.clone())));
        true
    }
}

impl TurnCell {
    pub(super) fn give(&self, program: &Arc<ReadyProgram>) {
        self.change(|phase| {
            matches!(phase, TurnPhase::Waiting).then(|| TurnPhase::Given(Arc::clone(program)))
        });
    }

    /// Puts another phase in place, if there is one, and wakes the request.
    fn change(&self, next: impl FnOnce(&TurnPhase) -> Option<TurnPhase>) {
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
        let is_given = matches!(state.phase, TurnPhase::Given(_));
        if is_given {
            state.phase = TurnPhase::Waiting;
        }
        is_given
    }

    pub(super) fn is_started(&self) -> bool {
        matches!(self.0.lock().phase, TurnPhase::Started(_) | TurnPhase::Tunnel(_))
    }

    /// The program, if this is when its turn becomes a tunnel.
    pub(super) fn become_tunnel(&self) -> Option<Arc<ReadyProgram>> {
        let mut state = self.0.lock();
        let TurnPhase::Started(program) = &state.phase else { return None };
        let program = Arc::clone(program);
        state.phase = TurnPhase::Tunnel(Arc::clone(&program));
        Some(program)
    }

    /// Begins the turn if it was given.
    pub(super) fn begin(&self) -> Option<Result<Arc<ReadyProgram>, AppFailure>> {
        let mut state = self.0.lock();
        match &state.phase {
            TurnPhase::Given(program) => {
                let program = Arc::clone(program);
                state.phase = TurnPhase::Started(Arc::clone(&program));
                Some(Ok(program))
            }
            TurnPhase::Failed(failure) => Some(Err(failure.clone())),
            TurnPhase::Waiting | TurnPhase::Started(_) | TurnPhase::Tunnel(_) => None,
        }
    }

    /// Has the caller woken when it is given, if it was not meanwhile.
    pub(super) fn wait(&self, context: &Context<'_>) {
        let mut state = self.0.lock();
        if matches!(state.phase, TurnPhase::Waiting) {
            state.waker = Some(context.waker().clone());
        } else {
            // It was given in between.
            context.waker().wake_by_ref();
        }
    }

    /// The program that it has begun at, and whether as a tunnel.
    pub(super) fn program(&self) -> Option<(Arc<ReadyProgram>, bool)> {
        match &self.0.lock().phase {
            TurnPhase::Started(program) => Some((Arc::clone(program), false)),
            TurnPhase::Tunnel(program) => Some((Arc::clone(program), true)),
            TurnPhase::Waiting | TurnPhase::Given(_) | TurnPhase::Failed(_) => None,
        }
    }
}
