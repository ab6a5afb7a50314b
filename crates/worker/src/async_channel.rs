//! The channel of a worker that runs many requests at once in one thread. Nothing here waits: an interpreter's event
//! loop asks what has come ([`AsyncChannel::receive`]), sleeps until the bell rings, and keeps what cannot be sent yet.
//!
//! The interpreter's loop sleeps in epoll and not on the futex of the channel, so the router wakes it by a byte through
//! a socket: a writer to a counter could be made to block. While something comes, the loop looks at the ring after each
//! turn and no byte is needed. The worker says with its readiness how many requests it takes at once.

mod active;
mod arriving;
mod frame;

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use corral_channel::message::{self, Malformed, RequestView};
use corral_channel::{Flags, FrameHead, FrameKind, Lane, N_SLOTS, Opcode, RequestId};
use corral_sys::doorbell::Doorbell;
use corral_sys::forked::is_stranger;

use self::active::ActiveRequest;
pub use self::arriving::Message;
use crate::body::Body;
use crate::client_gone::ClientGone;
use crate::file::FileRest;
use crate::log::complain;
use crate::request_state::ResponsePhase;
use crate::setup::WorkerSetup;
use crate::worker_channel::{Handover, WorkerChannel};

/// Requests that come at once, and bytes, after which the router hears that there is room again: below what makes it
/// wait for that.
const MANY_REQUESTS: usize = N_SLOTS / 2;
const MANY_BYTES: usize = 64 * 1024;

/// Bytes of a response that may wait for the end of its request. Sending them is not reported, so a caller that waits
/// for room must not wait for so few to be no longer [pending](AsyncChannel::n_pending).
pub const MOST_HELD_BACK: usize = 32 * 1024;

/// A request that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestKey {
    lane: Lane,
    id: RequestId,
}

/// Something has come.
#[derive(Debug)]
pub enum ChannelEvent {
    /// A request, as [`message::decode_request`] reads it; it has been started.
    Begun(RequestKey, Arc<Vec<u8>>),
    /// More of a request's body, or a message, or the end of its client, or room for more of its response.
    Changed(RequestKey),
}

/// All requests of a worker.
pub struct AsyncChannel {
    wire: WorkerChannel,
    doorbell: Doorbell,
    requests: HashMap<RequestKey, ActiveRequest>,
    /// Requests with something to send for which there was no room.
    blocked: Vec<RequestKey>,
    /// Requests among them for which there was some room, which was not reported.
    eased: Vec<RequestKey>,
    /// Requests until the worker is replaced.
    n_left: Option<u32>,
    /// Words about requests and not of them, once there is room: that many were started, that none is to come.
    words: Vec<FrameHead>,
    is_leaving: bool,
    /// The loop asks what has come before it sleeps again.
    is_up: bool,
    /// Requests with a whole response that was not sent, because their end is likely to come along with it.
    late: Vec<RequestKey>,
    payload: Vec<u8>,
}

impl AsyncChannel {
    pub(crate) fn new(place: WorkerSetup, doorbell: Doorbell, n_left: Option<u32>) -> Self {
        Self {
            wire: WorkerChannel::new(place.end, place.parent),
            doorbell,
            requests: HashMap::new(),
            blocked: Vec::new(),
            eased: Vec::new(),
            n_left,
            words: Vec::new(),
            is_leaving: false,
            is_up: false,
            late: Vec::new(),
            payload: Vec::new(),
        }
    }

    /// Readable when something has come while the loop did not look.
    #[must_use]
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.doorbell.as_fd()
    }

    /// The bell was heard: the event loop is up.
    pub fn silence(&mut self) {
        self.is_up = true;
        if is_stranger() {
            // It is the parent's, which would miss it.
            return;
        }
        self.wire.end.cancel_sleep();
        self.doorbell.silence();
    }

    /// Has the bell ring from now on. False when something came meanwhile, and the loop must not sleep.
    #[must_use]
    pub fn may_sleep(&mut self) -> bool {
        let has_frames = self.wire.end.announce_at_bell();
        // Room that was made before the announcement rings no bell.
        self.retry();
        let may_sleep = !has_frames && self.eased.is_empty();
        self.is_up = !may_sleep;
        if !may_sleep {
            self.wire.end.cancel_sleep();
        }
        may_sleep
    }

    /// No further request will be started, and those that run have ended or lost their client.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.wire.is_broken() || (self.is_leaving && self.requests.is_empty())
    }

    /// No further request is to be started.
    pub fn leave(&mut self) {
        self.is_leaving = true;
    }

    /// Whether no further request will be started.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// Takes what has come, and sends what there is room for by now.
    pub fn receive(&mut self, events: &mut Vec<ChannelEvent>) {
        let (mut n_requests, mut n_bytes) = (0, 0);
        while let Some(head) = self.wire.recv(&mut self.payload) {
            n_requests += usize::from(head.kind == FrameKind::Request);
            n_bytes += self.payload.len();
            self.take(head, events);
            if n_requests >= MANY_REQUESTS || n_bytes >= MANY_BYTES {
                (n_requests, n_bytes) = (0, 0);
                self.words.push(FrameHead::new(FrameKind::Started, head.lane, head.request));
            }
        }
        if self.wire.is_damaged() {
            self.is_leaving = true;
            for (key, request) in &mut self.requests {
                request.cancel();
                events.push(ChannelEvent::Changed(*key));
            }
        }
        self.retry();
        events.extend(self.eased.drain(..).map(ChannelEvent::Changed));
    }

    fn take(&mut self, head: FrameHead, events: &mut Vec<ChannelEvent>) {
        let key = RequestKey { lane: head.lane, id: head.request };
        match head.kind {
            FrameKind::Request => self.begin(key, head, events),
            FrameKind::Quit => self.is_leaving = true,
            _ => {
                // Of a request that was taken back, or that has ended here already.
                let Some(request) = self.requests.get_mut(&key) else { return };
                request.take(head, &self.payload);
                self.settle(key);
                events.push(ChannelEvent::Changed(key));
            }
        }
    }

    fn begin(&mut self, key: RequestKey, head: FrameHead, events: &mut Vec<ChannelEvent>) {
        if self.n_left == Some(0) || !self.wire.end.start(&head) {
            return;
        }
        let payload = Arc::new(std::mem::take(&mut self.payload));
        let view = match message::decode_request(&payload) {
            Ok(view) => view,
            Err(error) => {
                complain(format_args!("a request cannot be read: {error}"));
                self.requests.insert(key, ActiveRequest::new(head, &unreadable(), Body::from(Vec::new())));
                return self.abort(key);
            }
        };
        let inline = Body::end_of(&payload, view.body.len());
        self.requests.insert(key, ActiveRequest::new(head, &view, inline));
        events.push(ChannelEvent::Begun(key, payload));
        self.n_left = self.n_left.map(|n| n - 1);
        if self.n_left == Some(0) {
            self.is_leaving = true;
            self.words.push(FrameHead::new(FrameKind::End, key.lane, key.id).with_flags(Flags::LAST));
        }
    }

    /// Sends what there was no room for, and what has waited for the end of its request.
    fn retry(&mut self) {
        for key in std::mem::take(&mut self.late) {
            self.settle(key);
        }
        self.want_room(false);
        for key in std::mem::take(&mut self.blocked) {
            let n_before = self.n_pending(key);
            self.settle(key);
            if self.n_pending(key) < n_before {
                self.eased.push(key);
            }
        }
        let wire = &mut self.wire;
        self.words.retain(|word| matches!(wire.try_send(*word, &[]), Ok(false)));
        self.want_room(true);
    }

    /// Has the bell ring, or no longer ring, when there is room in the lanes of what is left to send.
    fn want_room(&mut self, is_wanted: bool) {
        let blocked = self.blocked.iter().map(|key| key.lane);
        for lane in blocked.chain(self.words.iter().map(|word| word.lane)) {
            self.wire.end.want_room(lane, is_wanted);
        }
    }

    /// Whether the response of this request is not read any more, or the request has ended.
    #[must_use]
    pub fn is_gone(&self, key: RequestKey) -> bool {
        self.requests.get(&key).is_none_or(ActiveRequest::is_cancelled)
    }

    /// How far its response is.
    #[must_use]
    pub fn phase(&self, key: RequestKey) -> ResponsePhase {
        self.requests.get(&key).map_or(ResponsePhase::Ended, ActiveRequest::phase)
    }

    /// Bytes of the response that wait until the client has taken others.
    #[must_use]
    pub fn n_pending(&self, key: RequestKey) -> usize {
        self.requests.get(&key).map_or(0, ActiveRequest::n_pending)
    }

    /// The part of the body that has come, and whether it is the end of it; nothing if more has to come first. Taking
    /// it makes room for more.
    pub fn take_body(&mut self, key: RequestKey) -> Option<(Body, bool)> {
        let taken = self.requests.get_mut(&key)?.take_body();
        self.settle(key);
        taken
    }

    /// The next message of a WebSocket connection.
    pub fn take_message(&mut self, key: RequestKey) -> Option<Message> {
        let message = self.requests.get_mut(&key)?.take_message()?;
        self.settle(key);
        Some(message)
    }

    /// Sends an informational response, 102 to 199. Without effect when the response has begun or its client is gone.
    ///
    /// # Errors
    /// For another status, and for fields that no response can have.
    pub fn inform(
        &mut self,
        key: RequestKey,
        status: u16,
        fields: &[(&[u8], &[u8])],
    ) -> Result<(), Malformed> {
        if let Some(request) = self.requests.get_mut(&key) {
            request.inform(status, fields, self.wire.end.max_payload())?;
        }
        self.settle(key);
        Ok(())
    }

    /// Begins the response; only the first call counts. It is sent with what follows. 101 accepts a WebSocket
    /// connection, on which the server's frames are the body of the response from then on.
    pub fn respond(&mut self, key: RequestKey, status: u16, fields: &[(&[u8], &[u8])]) {
        if let Some(request) = self.requests.get_mut(&key) {
            request.respond(status, fields, self.wire.end.max_payload());
        }
        self.settle(key);
    }

    /// Adds to the response's body, and sends as much as may be sent; `ends` says that this is all of it.
    ///
    /// # Errors
    /// When the response is not read any more.
    pub fn write(&mut self, key: RequestKey, bytes: &[u8], ends: bool) -> Result<(), ClientGone> {
        let is_up = self.is_up;
        let most = self.wire.end.max_payload().min(MOST_HELD_BACK);
        let request = self.listening(key)?;
        request.write(bytes, ends);
        if is_up && request.is_one_frame(most) {
            self.late.push(key);
        } else {
            self.settle(key);
        }
        Ok(())
    }

    /// Sends what there is of a response, and a part of a file as the rest of its body: then only fields are behind it,
    /// if it does not end the response. The file is not needed any more then, but must not be changed. False when it
    /// cannot be sent now, and has to be written.
    ///
    /// # Errors
    /// As for [`AsyncChannel::write`].
    pub fn send_file(
        &mut self,
        key: RequestKey,
        file: &FileRest<'_>,
        ends: bool,
    ) -> Result<bool, ClientGone> {
        let max_payload = self.wire.end.max_payload();
        let request = self.listening(key)?;
        if request.drops_body() {
            return self.write(key, b"", ends).map(|()| true);
        }
        let Some(step) = request.step_with_file(max_payload, ends) else { return Ok(false) };
        let Some(request) = self.requests.get_mut(&key) else { return Ok(false) };
        match self.wire.try_send_file(step.frame, &[request.pending(&step)], file)? {
            Handover::Done => request.sent(&step),
            Handover::NoRoom | Handover::Refused => return Ok(false),
        }
        self.settle(key);
        Ok(true)
    }

    /// Ends the response with fields behind its body. They are such that [`message::check_trailers`] accepts them.
    pub fn write_trailers(&mut self, key: RequestKey, fields: &[(&[u8], &[u8])]) {
        if let Some(request) = self.requests.get_mut(&key) {
            request.write_trailers(fields, self.wire.end.max_payload());
        }
        self.settle(key);
    }

    /// A request whose response is still read.
    fn listening(&mut self, key: RequestKey) -> Result<&mut ActiveRequest, ClientGone> {
        self.requests.get_mut(&key).filter(|request| !request.is_cancelled()).ok_or(ClientGone)
    }

    /// Sends a message of a WebSocket connection.
    ///
    /// # Errors
    /// As for [`AsyncChannel::write`].
    pub fn write_message(&mut self, key: RequestKey, opcode: Opcode, bytes: &[u8]) -> Result<(), ClientGone> {
        self.listening(key)?.write_message(opcode, bytes);
        self.settle(key);
        Ok(())
    }

    /// Closes a WebSocket connection.
    ///
    /// # Errors
    /// As for [`AsyncChannel::write`].
    pub fn close(&mut self, key: RequestKey, code: u16, reason: &[u8]) -> Result<(), ClientGone> {
        self.listening(key)?.close(code, reason);
        self.settle(key);
        self.write(key, b"", true)
    }

    /// The request has ended; what there still is of its response is sent without it. A response that was not begun
    /// is one with 500.
    pub fn finish(&mut self, key: RequestKey) {
        if let Some(request) = self.requests.get_mut(&key) {
            request.respond(500, &[], self.wire.end.max_payload());
            request.finish();
        }
        self.settle(key);
    }

    /// The request has ended without the rest of its response, and the client is to see that: it gets 500 if nothing
    /// was sent yet.
    pub fn abort(&mut self, key: RequestKey) {
        let Some(request) = self.requests.get_mut(&key) else { return };
        if request.take_head_back() {
            return self.finish(key);
        }
        request.abort();
        self.settle(key);
    }

    /// Sends what a request has, as far as there is room and credit.
    fn settle(&mut self, key: RequestKey) {
        let max_payload = self.wire.end.max_payload();
        let Some(request) = self.requests.get_mut(&key) else { return };
        while let Some(step) = request.next_step(max_payload) {
            match self.wire.try_send(step.frame, &[request.pending(&step)]) {
                Ok(true) => request.sent(&step),
                Ok(false) => {
                    if !self.blocked.contains(&key) {
                        self.blocked.push(key);
                    }
                    self.wire.end.want_room(key.lane, true);
                    return;
                }
                Err(ClientGone) => return request.cancel(),
            }
        }
        if request.is_done() {
            self.requests.remove(&key);
        }
    }
}

/// Stands for a request that is none.
fn unreadable() -> RequestView<'static> {
    static EMPTY: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| {
        let mut payload = Vec::new();
        message::encode_request(&mut payload, &message::RequestHead::default(), []);
        payload
    });
    message::decode_request(&EMPTY).expect("encoded just now")
}

#[cfg(test)]
mod tests;
