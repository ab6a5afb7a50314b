//! The pool's port to a program: it hands nothing over, and says whose turn it is.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use corral_channel::{RequestSlot, SendError};

use super::pool::pool_request::PoolRequest;
use super::pool::port::PoolPort;
use super::pool::verdict::KillReason;
use super::program::ReadyProgram;
use super::turns::ProgramTurns;

/// The pool's port to a program.
pub(crate) struct ProgramPort {
    pub(crate) program: Arc<ReadyProgram>,
    pub(crate) turns: Arc<ProgramTurns>,
}

impl PoolPort for ProgramPort {
    fn submit(&mut self, _slot: RequestSlot, request: &PoolRequest) -> Result<(), SendError> {
        self.program.n_turns.fetch_add(1, Ordering::AcqRel);
        if let Some(cell) = self.turns.find(request.lane, request.id) {
            cell.give(&self.program);
        }
        Ok(())
    }

    fn take_back(&self, _slot: RequestSlot, request: &PoolRequest) -> bool {
        let is_back = self.turns.find(request.lane, request.id).is_some_and(|cell| cell.take_back());
        if is_back {
            self.program.n_turns.fetch_sub(1, Ordering::AcqRel);
        }
        is_back
    }

    fn is_started(&self, _slot: RequestSlot, request: &PoolRequest) -> bool {
        // One that is not waited for any more is about to end.
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

    fn condemn(&self, kill_reason: KillReason) {
        let _ = self.program.kill_reason.set(kill_reason);
    }
}

#[cfg(test)]
mod tests;
