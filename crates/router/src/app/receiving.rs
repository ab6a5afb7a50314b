//! What workers say to one event loop: frames are taken from the rings, and given to the requests that they are about.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use corral_channel::{Flags, FrameHead, Kind, LaneReceiver, MAX_INLINE_BODY, RequestId};

use super::exchange::{Shared, State};
use super::loop_app::{LoopApp, index};
use super::{Failure, RequestBody, SentFile, WorkerKey, file};
use crate::buffers;

/// Response bytes that are acknowledged at a time.
const CREDIT_STEP: u32 = 128 * 1024;

/// Bytes of one response that are kept for a client that does not read them, before its worker waits.
const MAX_SPOOLED: u64 = 256 * 1024 * 1024;

/// Bytes of informational responses that are kept, likewise.
const MAX_INTERIM: usize = 64 * 1024;

/// Bytes of a request's body that are not sent alone while there is no room for more.
const SMALLEST_PIECE: usize = 4096;

impl LoopApp {
    /// Takes all frames that workers have published for this loop; returns whether they woke a connection.
    /// They need not: its client may be slow, or gone.
    pub(crate) fn drain(&self, now: Instant) -> bool {
        self.woke.set(false);
        self.retry_stuck();
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
            let file = match head.flags.contains(Flags::FILE) {
                true => Some(file::take(receiver, &head, &mut payload)?),
                false => None,
            };
            if head.kind == Kind::Hijacked {
                let socket = receiver.take_socket(head.aux).map_err(|error| error.to_string())?;
                self.on_hijacked(worker, head.request, socket);
            }
            self.on_frame(worker, &head, &mut payload, file, now)?;
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
        file: Option<Result<SentFile, Failure>>,
        now: Instant,
    ) -> Result<(), String> {
        if head.kind == Kind::Started {
            self.touched.set(true);
            self.app.started(worker, now);
            return Ok(());
        }
        if let Some(shared) = self.lookup(head.request) {
            self.on_answer(worker, &shared, head, payload, file)?;
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
        if !self.app.done(worker, self.lane, id, head.aux, now) {
            return Err(format!("the worker ended request {} that it does not hold", id.0));
        }
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
        file: Option<Result<SentFile, Failure>>,
    ) -> Result<(), String> {
        let mut state = shared.state.borrow_mut();
        state.worker = Some(worker);
        let is_body = matches!(head.kind, Kind::Response | Kind::Data);
        if file.is_some() || (is_body && !payload.is_empty()) {
            state.require_no_file()?;
        }
        state.has_begun |= is_body;
        match head.kind {
            Kind::Response if state.head.is_none() && !state.abandoned => {
                state.uncredited = state.uncredited.saturating_add(payload.len() as u32);
                state.head = Some(std::mem::replace(payload, buffers::take()));
            }
            Kind::Response | Kind::Data => {
                state.take(payload.len())?;
                state.store(std::mem::replace(payload, buffers::take()));
            }
            Kind::Informational => state.take_informational(payload)?,
            Kind::Trailers => state.take_trailers(payload)?,
            Kind::Failed => state.failure = Some(Failure::NoResponse),
            Kind::BodyCredit => {
                state.wanted = state.wanted.saturating_add(head.aux);
                self.send_body(worker, shared.id, &mut state);
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

    pub(super) fn wake(&self, state: &mut State) {
        if let Some(waker) = state.waker.take() {
            waker.wake();
            self.woke.set(true);
        }
    }

    /// Lets the worker send more once what it sent is stored, unless too much is.
    pub(super) fn credit(&self, worker: WorkerKey, id: RequestId, state: &mut State) {
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
    fn send_body(&self, worker: WorkerKey, id: RequestId, state: &mut State) {
        if matches!(state.body, RequestBody::Messages | RequestBody::Live) {
            return;
        }
        self.touched.set(true);
        let mut piece = buffers::take();
        while state.wanted > 0 {
            let wanted = state.wanted as usize;
            let room = self.app.with_port(worker, |port| port.channel.free_space()).unwrap_or(0);
            if room < wanted.min(SMALLEST_PIECE) {
                self.stuck.borrow_mut().push(id);
                break;
            }
            let end = match state.body.read(&mut piece, wanted.min(MAX_INLINE_BODY).min(room)) {
                Ok(end) => end,
                Err(error) => {
                    state.failure = Some(Failure::Store(Arc::new(error)));
                    break;
                }
            };
            state.wanted -= piece.len() as u32;
            let sent =
                self.app.with_port(worker, |port| port.channel.body(id, self.lane, &piece, end).is_ok());
            if sent != Some(true) {
                state.failure = Some(Failure::NoResponse);
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
            if let Some(worker) = state.worker {
                self.send_body(worker, id, &mut state);
            }
            // Else whoever waits has nothing to do: the loop would go round and round.
            if state.failure.is_some() {
                self.wake(&mut state);
            }
        }
    }
}
