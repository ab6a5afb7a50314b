//! Frames from workers to one event loop: they are taken from the rings, and given to the requests that they are about.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use corral_channel::{Flags, FrameHead, FrameKind, MAX_INLINE_BODY, RequestId};
use corral_sys::deferred_close::ForeignFd;

use super::failure::AppFailure;
use super::file::{self, SentFile};
use super::hijacked::{Hijacked, Hold};
use super::loop_app::{LoopApp, WorkerFrames, index};
use super::pool::worker::{ScriptTrace, WorkerKey};
use super::protocol_guard::{self, FrameAllowance};
use super::state::{CallState, EndedRun, SharedCall};
use crate::request::body::rest::RequestBody;
use crate::storage::buffers;

/// Response bytes that are acknowledged at a time.
const CREDIT_STEP: u32 = 128 * 1024;

/// Bytes of one response that are kept for a client that does not read them, before its worker waits.
const MAX_SPOOLED: u64 = 256 * 1024 * 1024;

/// Bytes of informational responses that are kept, likewise.
const MAX_INTERIM: usize = 64 * 1024;

/// Bytes of requests' bodies that are sent at a time, however fast workers take them: about what one has room for.
const MOST_FED: usize = 1024 * 1024;

/// Bytes of a request's body that are not sent alone while there is no room for more.
const SMALLEST_PIECE: usize = 4096;

impl LoopApp {
    /// Takes what workers have published for this loop, as much at a time as leaves it time for others; returns whether
    /// they woke a connection. They need not: its client may be slow, or gone.
    pub(crate) fn drain(&self, now: Instant) -> bool {
        self.woke.set(false);
        self.n_fed.set(0);
        self.retry_stuck();
        for listener in self.listeners.borrow_mut().iter_mut() {
            self.drain_listener(listener, now);
        }
        self.woke.get()
    }

    /// Takes what one worker has said.
    pub(super) fn drain_listener(&self, place: &mut Option<WorkerFrames>, now: Instant) {
        let Some(listener) = place.as_mut().filter(|listener| listener.receiver.has_frames()) else { return };
        if let Err(violation) = self.drain_worker(listener, now) {
            let worker = listener.worker;
            // Nothing that it says is worth hearing; its requests are failed when it is gone.
            *place = None;
            self.app.give_up(worker, &violation);
        }
    }

    fn drain_worker(&self, listener: &mut WorkerFrames, now: Instant) -> Result<(), String> {
        let worker = listener.worker;
        let mut payload = buffers::take();
        let mut allowance = FrameAllowance::default();
        while let Some(head) = listener.receiver.recv(&mut payload).map_err(|corrupt| corrupt.to_string())? {
            let receiver = &listener.receiver;
            let file = match head.flags.contains(Flags::FILE) {
                true => Some(file::take(receiver, &head, &mut payload)?),
                false => None,
            };
            if head.kind == FrameKind::Hijacked {
                let socket = receiver.take_socket(head.aux).map_err(|error| error.to_string())?;
                self.on_hijacked(worker, head.request, socket)?;
            }
            let is_known = self.on_frame(worker, &head, &mut payload, file, now)?;
            listener.unknown_requests.hear(is_known, head.flags)?;
            if !allowance.take(head.len) {
                self.busy.leave_rest();
                break;
            }
        }
        buffers::give(payload);
        listener.receiver.wake_producer();
        Ok(())
    }

    /// A worker has taken the connection of a request over.
    fn on_hijacked(&self, worker: WorkerKey, id: RequestId, socket: Option<ForeignFd>) -> Result<(), String> {
        let hold = Hold::new(&self.app, worker);
        let Some(shared) = self.lookup(id) else { return Ok(()) };
        shared.state.borrow_mut().take_hijacked(socket.map(|socket| Hijacked { socket, hold }))
    }

    /// False of a request that is not known here.
    fn on_frame(
        &self,
        worker: WorkerKey,
        head: &FrameHead,
        payload: &mut Vec<u8>,
        file: Option<Result<SentFile, AppFailure>>,
        now: Instant,
    ) -> Result<bool, String> {
        protocol_guard::check_payload(head.kind, payload)?;
        if head.kind == FrameKind::Started {
            self.touched.set(true);
            self.app.started(worker, now);
            return Ok(true);
        }
        let shared = self.lookup(head.request);
        if head.kind == FrameKind::State {
            self.app.left_state.note(&self.app.spec.name, head.aux);
            return Ok(shared.is_some());
        }
        if head.kind == FrameKind::Trace {
            let trace = ScriptTrace { text: payload.as_slice().into(), taken: now };
            return Ok(self.app.trace(worker, self.lane, head.request, trace));
        }
        if let Some(shared) = &shared {
            self.on_answer(worker, shared, head, payload, file)?;
        }
        if head.flags.contains(Flags::LAST) {
            self.touched.set(true);
            self.app.leaving(worker, now);
        }
        if head.flags.contains(Flags::DONE) {
            self.on_done(worker, head, now)?;
        }
        Ok(shared.is_some())
    }

    fn on_done(&self, worker: WorkerKey, head: &FrameHead, now: Instant) -> Result<(), String> {
        self.touched.set(true);
        let id = head.request;
        let Ok(pid) = self.app.done(worker, self.lane, id, head.aux, now) else {
            return Err(format!("the worker ended request {} that it does not hold", id.0));
        };
        if self.lookup(id).is_some() {
            let shared = self.entries.borrow_mut().remove(index(id));
            let mut state = shared.state.borrow_mut();
            state.ended = true;
            state.run = Some(EndedRun { heard: now, took: Duration::from_micros(u64::from(head.aux)), pid });
            self.wake(&mut state);
        }
        Ok(())
    }

    fn on_answer(
        &self,
        worker: WorkerKey,
        shared: &Rc<SharedCall>,
        head: &FrameHead,
        payload: &mut Vec<u8>,
        file: Option<Result<SentFile, AppFailure>>,
    ) -> Result<(), String> {
        let mut state = shared.state.borrow_mut();
        state.check_order(worker, head.kind, file.is_some() || !payload.is_empty())?;
        state.worker = Some(worker);
        state.has_begun |= matches!(head.kind, FrameKind::Response | FrameKind::Data);
        match head.kind {
            FrameKind::Response if !state.abandoned => {
                state.uncredited = state.uncredited.saturating_add(payload.len() as u32);
                state.head = Some(std::mem::replace(payload, buffers::take()));
            }
            FrameKind::Response | FrameKind::Data if !payload.is_empty() => {
                state.take(payload.len())?;
                state.store(std::mem::replace(payload, buffers::take()));
            }
            FrameKind::Informational => state.take_informational(payload)?,
            FrameKind::Trailers => state.take_trailers(payload)?,
            FrameKind::Failed if state.has_left => state.failure = Some(AppFailure::ClientLeft),
            FrameKind::Failed => state.failure = Some(AppFailure::NoResponse),
            FrameKind::BodyCredit => {
                state.wanted = state.wanted.saturating_add(head.aux);
                if !state.is_stuck {
                    self.send_body(worker, shared.id, &mut state);
                }
            }
            _ => {}
        }
        if let Some(file) = file {
            state.take_file(file);
        }
        state.ended |= head.flags.contains(Flags::END);
        self.credit(worker, shared.id, &mut state);
        self.wake(&mut state);
        Ok(())
    }

    pub(super) fn wake(&self, state: &mut CallState) {
        if let Some(waker) = state.waker.take() {
            waker.wake();
            self.woke.set(true);
        }
    }

    /// Lets the worker send more once what it sent is stored, unless too much is.
    pub(super) fn credit(&self, worker: WorkerKey, id: RequestId, state: &mut CallState) {
        let is_full =
            state.spool.len() > MAX_SPOOLED || state.spool.is_stuck() || state.interim.len() > MAX_INTERIM;
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
    fn send_body(&self, worker: WorkerKey, id: RequestId, state: &mut CallState) {
        if matches!(state.body, RequestBody::Messages | RequestBody::Live) {
            return;
        }
        self.touched.set(true);
        let mut piece = buffers::take();
        while state.wanted > 0 {
            let wanted = state.wanted as usize;
            let room = match self.app.with_port(worker, |port| port.channel.free_space()).unwrap_or(Ok(0)) {
                Ok(room) => room,
                Err(violation) => {
                    // The request is failed when the worker is gone.
                    self.app.give_up(worker, &violation.to_string());
                    break;
                }
            };
            let is_fed = self.n_fed.get() > MOST_FED;
            if is_fed || room < wanted.min(SMALLEST_PIECE) {
                state.is_stuck = true;
                self.stuck.borrow_mut().push(id);
                if is_fed {
                    self.busy.leave_rest();
                }
                break;
            }
            let end = match state.body.read(&mut piece, wanted.min(MAX_INLINE_BODY).min(room)) {
                Ok(end) => end,
                Err(error) => {
                    state.failure = Some(AppFailure::Store(Arc::new(error)));
                    break;
                }
            };
            state.wanted -= piece.len() as u32;
            self.n_fed.set(self.n_fed.get() + piece.len());
            let sent =
                self.app.with_port(worker, |port| port.channel.body(id, self.lane, &piece, end).is_ok());
            if sent != Some(true) {
                state.failure = Some(AppFailure::NoResponse);
            }
            if sent != Some(true) || end {
                state.wanted = 0;
                break;
            }
        }
        buffers::give(piece);
    }

    /// Tries once more what there was no room for.
    fn retry_stuck(&self) {
        for id in self.stuck.take() {
            let Some(shared) = self.lookup(id) else { continue };
            let mut state = shared.state.borrow_mut();
            state.is_stuck = false;
            if let Some(worker) = state.worker {
                self.send_body(worker, id, &mut state);
            }
            // Else the request that waits has nothing to do: the loop would go round and round.
            if state.failure.is_some() {
                self.wake(&mut state);
            }
        }
    }
}
