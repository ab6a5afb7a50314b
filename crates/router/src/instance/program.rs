//! Programs that serve HTTP themselves, as workers of a pool.
//!
//! The pool does not hand them requests: it says whose turn it is at which program, and the connection that waits for
//! its turn speaks to the program itself. The end of the turn is the end of the request; an upgraded connection holds its
//! program, but no hand of it.

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use corral_channel::{Lane, RequestId, SendError, Slot};
use corral_ipc::message::{FromRouter, WorkerId};

use super::pool::{Condemned, Port};
use super::turn::Turns;
use super::{AnyPort, App, Failure, Request, WorkerKey};
use crate::upstream::Server;

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

impl App {
    /// Puts a program into the pool, where it takes nothing yet.
    pub(crate) fn add_program(&self, program: &Arc<Program>) -> WorkerKey {
        *self.last_error.lock() = None;
        let (id, pid) = (program.id, program.pid);
        let port = ProgramPort { program: Arc::clone(program), turns: Arc::clone(&self.turns) };
        let key = self.pool.lock().add_worker(id, pid, AnyPort::Program(port), Instant::now());
        program.set_key(key);
        key
    }

    /// A program can take another request in place of this one.
    pub(super) fn free_hand(&self, program: &Program, (lane, id): (Lane, RequestId), elapsed: Duration) {
        let Some(worker) = program.key() else { return };
        let run_time = u32::try_from(elapsed.as_micros()).unwrap_or(u32::MAX);
        self.done(worker, lane, id, run_time, Instant::now());
    }

    /// A program's turn, whose hand is free, has ended.
    pub(super) fn end_turn(&self, program: &Program) {
        let was_last = program.end_turn();
        let Some(worker) = program.key() else { return };
        if was_last {
            program.dismiss();
            self.leaving(worker, Instant::now());
        }
        if program.retires_now() {
            self.main.send(&FromRouter::RetireWorker { app: self.id, worker: program.id });
        }
    }

    /// A program accepts no connections: it is of no use, if it has not ended already.
    pub(crate) fn forsake(&self, program: &Program, why: &dyn fmt::Display) {
        let Some(worker) = program.key() else { return };
        if self.pool.lock().is_leaving(worker) {
            return; // somebody has done so
        }
        self.leaving(worker, Instant::now());
        let reason = format!("process {} accepts no connections: {why}", program.pid);
        self.main.send(&FromRouter::KillWorker { app: self.id, worker: program.id, reason });
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

#[cfg(test)]
mod tests;
