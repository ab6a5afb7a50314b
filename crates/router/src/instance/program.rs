//! Programs that serve HTTP themselves, as workers of a pool.
//!
//! The pool does not hand them requests: it says whose turn it is at which program, and the connection that waits for
//! its turn speaks to the program itself. The end of the turn is the end of the request; an upgraded connection holds
//! its program, but no turn.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use corral_channel::{Lane, RequestId};
use corral_ipc::message::WorkerId;

use super::failure::AppFailure;
use super::pool::verdict::KillReason;
use super::pool::worker::WorkerKey;
use crate::upstream::UpstreamServer;

/// A program that is ready for requests.
pub(crate) struct ReadyProgram {
    pub(crate) id: WorkerId,
    pub(crate) pid: u32,
    /// How it is spoken to.
    pub(crate) server: Arc<UpstreamServer>,
    /// Keeps alive what `server` leads to.
    _socket: Option<OwnedFd>,
    /// Turns that were given and have not ended.
    pub(super) n_turns: AtomicU32,
    /// Requests until it is replaced.
    n_left: Option<AtomicU32>,
    /// The program gets nothing more, and is told to end as soon as it has nothing left.
    is_dismissed: AtomicBool,
    is_retired: AtomicBool,
    has_answered: AtomicBool,
    /// The program's place in the pool, once it has one.
    key: OnceLock<WorkerKey>,
    /// Why it is killed, if it is.
    pub(super) kill_reason: OnceLock<KillReason>,
}

impl ReadyProgram {
    /// A program that is replaced after `n_requests`.
    pub(crate) fn new(
        id: WorkerId,
        pid: u32,
        server: Arc<UpstreamServer>,
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
            has_answered: AtomicBool::new(false),
            key: OnceLock::new(),
            kill_reason: OnceLock::new(),
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

    /// The program has answered a request.
    pub(crate) fn note_answer(&self) {
        self.has_answered.store(true, Ordering::Relaxed);
    }

    /// Whether it has ever answered a request.
    pub(crate) fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }

    /// Gives it nothing more.
    pub(super) fn dismiss(&self) {
        self.is_dismissed.store(true, Ordering::Release);
    }

    /// Whether it is to be told to end now; once.
    pub(super) fn retires_now(&self) -> bool {
        let is_done = self.is_dismissed.load(Ordering::Acquire) && self.n_turns.load(Ordering::Acquire) == 0;
        let retires = is_done && !self.is_retired.swap(true, Ordering::AcqRel);
        if let Some(slots) = self.server.slots.as_ref().filter(|_| retires) {
            // A program of FastCGI that waits for a request there may not hear of its end before the connection's.
            slots.close_idle();
        }
        retires
    }

    /// Why it was killed, if that was for this request.
    pub(crate) fn verdict(&self, request: (Lane, RequestId)) -> Option<AppFailure> {
        self.kill_reason.get().and_then(|kill_reason| kill_reason.failure(request, self.pid))
    }
}
