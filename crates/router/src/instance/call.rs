//! A request in flight, as the connection that waits for its answer sees it.
//!
//! Everything here belongs to one event loop, which gives it what the workers say (`receiving`).

use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use corral_channel::{Opcode, RequestId, SendError, WorkerPort};

use super::failure::AppFailure;
use super::loop_app::{INDEX_BITS, LoopApp};
use super::pool::pool_request::PoolRequest;
use super::request_timeouts::RequestTimeouts;
use super::state::{AnswerPiece, CallState, SharedCall};
use crate::reply::timings::RunTimes;
use crate::request::body::rest::RequestBody;
use crate::storage::buffers::{self, Rest};

/// A request that was handed to an application. Dropping it gives the answer up.
pub(crate) struct AppCall {
    pub(super) app: Rc<LoopApp>,
    pub(super) shared: Rc<SharedCall>,
}

impl AppCall {
    /// The next piece of the answer. Cancel safe: a piece is only taken when it is returned.
    pub(crate) async fn next_piece(&self) -> Result<AnswerPiece, AppFailure> {
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
    pub(crate) fn try_next_piece(&self) -> Option<Result<AnswerPiece, AppFailure>> {
        let mut state = self.shared.state.borrow_mut();
        let piece = state.next_piece().transpose();
        if piece.is_some()
            && let Some(worker) = state.worker
        {
            self.app.credit(worker, self.shared.id, &mut state);
        }
        piece
    }

    /// Waits until there is a piece, if one is wanted, or the application takes another number of bytes of messages
    /// than `window`. Cancel safe.
    pub(crate) async fn changed(&self, wants_piece: bool, window: u32) {
        poll_fn(|context| {
            let mut state = self.shared.state.borrow_mut();
            if (wants_piece && state.has_piece()) || state.wanted != window {
                return Poll::Ready(());
            }
            state.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Bytes of messages that the application takes.
    pub(crate) fn window(&self) -> u32 {
        self.shared.state.borrow().wanted
    }

    /// Sends a part of a message that the client has sent. False when there is no room for it yet: then try
    /// again in [a moment](AppCall::a_moment).
    pub(crate) fn send_message(&self, bytes: &[u8], opcode: Opcode, ends: bool) -> bool {
        let (id, lane) = (self.shared.id, self.app.lane);
        self.send(bytes.len(), |channel| channel.message(id, lane, bytes, opcode, ends))
    }

    /// Sends a piece of the body, as [`AppCall::send_message`].
    pub(crate) fn send_body(&self, bytes: &[u8], ends: bool) -> bool {
        let (id, lane) = (self.shared.id, self.app.lane);
        self.send(bytes.len(), |channel| channel.body(id, lane, bytes, ends))
    }

    fn send(&self, len: usize, send: impl FnOnce(&mut WorkerPort) -> Result<(), SendError>) -> bool {
        let app = &self.app;
        let mut state = self.shared.state.borrow_mut();
        let Some(worker) = state.worker else { return false };
        app.touched.set(true);
        match app.app.with_port(worker, |port| send(&mut port.channel)) {
            Some(Ok(())) => {
                state.wanted = state.wanted.saturating_sub(len as u32);
                true
            }
            // A worker that breaks the rules, or is gone: its requests are failed.
            Some(Err(_)) | None => false,
        }
    }

    /// Until a worker may have made room in its ring; for ever if that is not what is waited for.
    pub(crate) async fn a_moment(is_stuck: bool) {
        if is_stuck {
            tokio::time::sleep(Duration::from_millis(5)).await;
        } else {
            pending::<()>().await;
        }
    }

    /// Whether a worker has said something about the request.
    pub(crate) fn has_worker(&self) -> bool {
        self.shared.state.borrow().worker.is_some()
    }

    /// Whether there is something of the answer.
    pub(crate) fn has_piece(&self) -> bool {
        self.shared.state.borrow().has_piece()
    }

    /// The request has become a connection for as long as both sides like: no limit of time is for it.
    pub(crate) fn upgraded(&self) {
        if let Some(worker) = self.shared.state.borrow().worker {
            self.app.app.upgraded(worker, self.app.lane, self.shared.id);
        }
    }

    /// Tells the worker, once, that the client sends nothing more.
    pub(crate) fn client_left(&self) {
        if !std::mem::replace(&mut self.shared.state.borrow_mut().has_left, true) {
            self.app.app.client_left(self.app.lane, self.shared.id);
        }
    }

    /// Whether the client is to be listened to while the answer comes.
    pub(crate) fn streams(&self) -> bool {
        self.app.app.streams()
    }

    /// For how long the next piece is waited for.
    pub(crate) fn timeouts(&self) -> RequestTimeouts {
        RequestTimeouts::new(&self.app.app.spec.limits, self.shared.state.borrow().worker.is_none())
    }

    /// Whether no worker has begun to run the request.
    pub(crate) fn is_queued(&self) -> bool {
        self.shared.state.borrow().worker.is_none() && self.app.app.is_queued(self.app.lane, self.shared.id)
    }

    /// Whether nothing runs before the request any more, or it is over.
    pub(crate) fn is_in_hand(&self) -> bool {
        self.shared.state.borrow().worker.is_some() || self.app.app.is_in_hand(self.app.lane, self.shared.id)
    }

    /// Whether everything has arrived that the application has to say, and it was a whole response.
    pub(crate) fn has_ended(&self) -> bool {
        let state = self.shared.state.borrow();
        state.ended && state.failure.is_none()
    }

    /// Where the time has gone of a request that was handed over at `began`, and has failed if so. The pool is asked
    /// only about a request that is over for its client earlier than for its worker.
    pub(crate) fn times(&self, began: Instant, now: Instant, failure: Option<&AppFailure>) -> RunTimes {
        let state = self.shared.state.borrow();
        let failure = failure.or(state.failure.as_ref());
        if let Some(times) = state.times(began, now, failure) {
            return times;
        }
        let was_run = state.worker.is_some() || failure.is_some();
        drop(state);
        let running = self.app.app.running_since(self.app.lane, self.shared.id);
        let (since, pid) = running.map_or((None, None), |(since, pid)| (Some(since), Some(pid)));
        let started = since.map(|since| since.max(began)).or(was_run.then_some(began));
        RunTimes { began, started, ended: now, pid }
    }

    /// Whether there are fields behind the body.
    pub(crate) fn has_trailers(&self) -> bool {
        !self.shared.state.borrow().trailers.is_empty()
    }

    /// The lines behind the body; complete when that has ended.
    pub(crate) fn take_trailers(&self) -> Vec<u8> {
        std::mem::take(&mut self.shared.state.borrow_mut().trailers)
    }

    /// Bytes of the body that have arrived and were not taken yet.
    pub(crate) fn n_stored(&self) -> u64 {
        self.shared.state.borrow().n_stored()
    }
}

impl Drop for AppCall {
    fn drop(&mut self) {
        self.app.abandon(&self.shared);
    }
}

impl LoopApp {
    /// Hands an encoded request to the application, with the first piece of its body.
    pub(crate) fn begin(
        self: &Rc<Self>,
        payload: Vec<u8>,
        inline: Rest,
        body: RequestBody,
        now: Instant,
    ) -> AppCall {
        let mut entries = self.entries.borrow_mut();
        let entry = entries.vacant_entry();
        let stamp = self.next_stamp.get();
        self.next_stamp.set(stamp.wrapping_add(1));
        let id = RequestId((stamp << INDEX_BITS) | entry.key() as u32 & ((1 << INDEX_BITS) - 1));
        let shared = Rc::new(SharedCall { id, state: RefCell::new(CallState::new(body)) });
        entry.insert(Rc::clone(&shared));
        drop(entries);
        self.touched.set(true);
        self.busy.add(self);
        let job = PoolRequest { lane: self.lane, id, payload, inline, arrived: now };
        if let Err(rejected) = self.app.submit(job, now) {
            buffers::give(rejected.request.payload);
            self.fail(id, self.app.explain(rejected.reason));
        }
        AppCall { app: Rc::clone(self), shared }
    }
}
