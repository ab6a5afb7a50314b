//! A request in flight, as the connection that waits for its answer sees it.
//!
//! Everything here belongs to one event loop, which gives it what the workers say (`receiving`).

use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use corral_channel::{INITIAL_CREDIT, Opcode, RequestId, SendError, WorkerPort};

use super::{Failure, Hijacked, LoopApp, Patience, SentFile, WorkerKey};
use crate::request::body::rest::RequestBody;
use crate::storage::buffers;
use crate::storage::spool::Spool;

/// What a worker's answer consists of, in order.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Heads of informational responses, as they are sent.
    Interim(Vec<u8>),
    /// The application has taken the connection over: there is no response.
    Hijacked(Hijacked),
    /// The head, encoded, and the first bytes of the body behind it.
    Head(Vec<u8>),
    /// More of the body.
    Data(Vec<u8>),
    /// The rest of it.
    File(SentFile),
    /// Nothing more comes.
    End,
}

/// The state of one request, shared by the connection that waits and the loop that drains.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) id: RequestId,
    pub(super) state: RefCell<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) waker: Option<Waker>,
    /// Heads of informational responses that wait to be sent.
    pub(super) interim: Vec<u8>,
    pub(super) hijacked: Option<Hijacked>,
    pub(super) head: Option<Vec<u8>>,
    /// The response has begun: nothing comes before it any more.
    pub(super) has_begun: bool,
    pub(super) spool: Spool,
    /// What the body ends with.
    pub(super) file: Option<SentFile>,
    /// Nothing of the body comes any more.
    pub(super) has_file: bool,
    /// The response is complete.
    pub(super) ended: bool,
    /// The lines behind the body, as they are sent.
    pub(super) trailers: Vec<u8>,
    pub(super) failure: Option<Failure>,
    pub(super) body: RequestBody,
    /// Bytes of it that the worker has asked for and not got.
    pub(super) wanted: u32,
    /// It waits for room, or for the next turn.
    pub(super) is_stuck: bool,
    /// Which worker answers; known from its first frame.
    pub(super) worker: Option<WorkerKey>,
    /// Response bytes that were stored and not yet acknowledged to the worker.
    pub(super) uncredited: u32,
    /// Response bytes that the worker may still send, or more.
    pub(super) allowed: u64,
    /// The worker was told that the client sends nothing more.
    pub(super) has_left: bool,
    /// Nobody waits any more: whatever comes is dropped.
    pub(super) abandoned: bool,
}

/// A request that was handed to an application. Dropping it gives the answer up.
pub(crate) struct Exchange {
    pub(super) app: Rc<LoopApp>,
    pub(super) shared: Rc<Shared>,
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
    /// again in [a moment](Exchange::a_moment).
    pub(crate) fn send_message(&self, bytes: &[u8], opcode: Opcode, ends: bool) -> bool {
        let (id, lane) = (self.shared.id, self.app.lane);
        self.send(bytes.len(), |channel| channel.message(id, lane, bytes, opcode, ends))
    }

    /// Sends a piece of the body, as [`Exchange::send_message`].
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
    pub(crate) fn patience(&self) -> Patience {
        Patience::new(&self.app.app.spec.limits, self.shared.state.borrow().worker.is_none())
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

    /// Whether the body ends with a file.
    pub(crate) fn has_file(&self) -> bool {
        self.shared.state.borrow().has_file
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

impl Drop for Exchange {
    fn drop(&mut self) {
        self.app.abandon(&self.shared);
    }
}

impl State {
    pub(super) fn new(body: RequestBody) -> Self {
        Self {
            waker: None,
            interim: Vec::new(),
            hijacked: None,
            head: None,
            has_begun: false,
            spool: Spool::default(),
            file: None,
            has_file: false,
            ended: false,
            trailers: Vec::new(),
            failure: None,
            body,
            wanted: 0,
            is_stuck: false,
            worker: None,
            uncredited: 0,
            allowed: u64::from(INITIAL_CREDIT),
            has_left: false,
            abandoned: false,
        }
    }

    pub(super) fn next_piece(&mut self) -> Result<Option<Piece>, Failure> {
        if !self.interim.is_empty() {
            return Ok(Some(Piece::Interim(std::mem::take(&mut self.interim))));
        }
        if let Some(hijacked) = self.hijacked.take() {
            return Ok(Some(Piece::Hijacked(hijacked)));
        }
        if let Some(head) = self.head.take() {
            return Ok(Some(Piece::Head(head)));
        }
        if let Some(data) = self.spool.pop().map_err(|error| Failure::Store(Arc::new(error)))? {
            return Ok(Some(Piece::Data(data)));
        }
        if let Some(file) = self.file.take() {
            return Ok(Some(Piece::File(file)));
        }
        match &self.failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(self.ended.then_some(Piece::End)),
        }
    }

    pub(super) fn has_piece(&self) -> bool {
        let has_content = self.head.is_some() || self.hijacked.is_some() || self.n_stored() > 0;
        has_content || !self.interim.is_empty() || self.failure.is_some() || self.ended
    }

    pub(super) fn n_stored(&self) -> u64 {
        self.spool.len() + self.file.as_ref().map_or(0, |file| file.range().len())
    }

    pub(super) fn store(&mut self, data: Vec<u8>) {
        self.uncredited = self.uncredited.saturating_add(data.len() as u32);
        if self.abandoned {
            return buffers::give(data);
        }
        self.spool.push(data);
    }

    /// More of the response has come. A worker that sends more than it may would fill memory and disks.
    pub(super) fn take(&mut self, len: usize) -> Result<(), String> {
        let left = self.allowed.checked_sub(len as u64);
        self.allowed = left.ok_or("the worker sends more of a response than it may")?;
        Ok(())
    }
}
