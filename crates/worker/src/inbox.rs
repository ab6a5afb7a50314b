//! Everything that the router has sent to this worker: the streams of the running requests, the requests ahead, and
//! whether to leave.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use corral_channel::message::FilePart;
use corral_channel::{Flags, FrameHead, FrameKind, Lane, RequestId};
use corral_sys::signal;

use crate::client_gone::ClientGone;
use crate::file::FileRest;
use crate::request_state::ClientState;
use crate::setup::WorkerSetup;
use crate::worker_channel::{Handover, WorkerChannel};
use crate::yielding::Yielding;

/// How long a worker sleeps at most before it looks whether it is an orphan. The kernel ends it with its prototype,
/// unless the application has changed its user.
pub(crate) const LOOK_AROUND: Duration = Duration::from_mins(10);

/// The worker's end of its channel, with the frames sorted by request.
pub(crate) struct Inbox {
    pub(crate) wire: WorkerChannel,
    /// The requests that run: one, if there are no threads.
    running: Vec<(Lane, RequestId, RequestStream)>,
    /// Requests that wait, in the order of their arrival: usually none or one.
    ahead: VecDeque<ReceivedRequest>,
    yielding: Yielding,
    /// A buffer for the next frame.
    payload: Vec<u8>,
    note: Vec<u8>,
    /// A stream has got something since [`Inbox::take_news`].
    has_news: bool,
    /// The router said that nothing more will come.
    leaving: bool,
    /// The application has connections of its own, or had: it leaves when the router says that they have ended.
    has_hijacked: bool,
}

/// Whether a frame is worth waiting for room when its request was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReceiveWait {
    UntilCancelled,
    Endless,
}

/// A request as it arrived.
pub(crate) struct ReceivedRequest {
    pub(crate) head: FrameHead,
    pub(crate) payload: Vec<u8>,
    stream: RequestStream,
}

/// The state of a request that arrives after it.
#[derive(Debug)]
pub(crate) struct RequestStream {
    /// Body bytes that were not read yet, from `body_read` on.
    body: Vec<u8>,
    body_read: usize,
    pub(crate) body_ended: bool,
    pub(crate) client: ClientState,
}

impl RequestStream {
    fn new() -> Self {
        Self { body: Vec::new(), body_read: 0, body_ended: false, client: ClientState::new() }
    }

    /// Whether there is body to read, or none will come.
    pub(crate) fn has_body(&self) -> bool {
        self.body_ended || !self.body.is_empty()
    }

    /// Takes body bytes out, as many as there are and fit.
    pub(crate) fn take_body(&mut self, buffer: &mut [u8]) -> usize {
        let rest = &self.body[self.body_read..];
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        self.body_read += n;
        if self.body_read == self.body.len() {
            self.body.clear();
            self.body_read = 0;
        }
        n
    }

    fn take_frame(&mut self, head: FrameHead, payload: &[u8]) {
        if head.kind != FrameKind::Body {
            return self.client.take_frame(&head);
        }
        self.body.extend_from_slice(payload);
        self.body_ended |= head.flags.contains(Flags::END);
    }
}

/// The worker's next step.
pub(crate) enum NextRequest {
    /// Answer this request; it is started.
    Serve(ReceivedRequest),
    /// Nothing any more.
    Leave,
}

impl Inbox {
    pub(crate) fn new(place: WorkerSetup) -> Self {
        Self {
            wire: WorkerChannel::new(place.end, place.parent),
            running: Vec::new(),
            ahead: VecDeque::new(),
            yielding: Yielding::default(),
            payload: Vec::new(),
            note: Vec::new(),
            has_news: false,
            leaving: false,
            has_hijacked: false,
        }
    }

    /// Waits for the next request that was not taken back meanwhile.
    pub(crate) fn next(&mut self) -> NextRequest {
        loop {
            self.receive_request();
            if let Some(received) = self.start_next() {
                return NextRequest::Serve(received);
            }
            if self.is_over() {
                return NextRequest::Leave;
            }
            // On a busy machine the router is waiting for this processor, and has something to hand over
            // as soon as it gets it: that costs less than a sleep and a wake-up.
            if self.yielding.is_worth_it() {
                std::thread::yield_now();
                self.yielding.note(self.wire.end.has_frames());
            }
            if !self.wire.end.has_frames() {
                self.wire.end.wait_unless(Some(LOOK_AROUND), signal::is_termination_noted);
            }
        }
    }

    /// The next request that was not taken back meanwhile; it is started.
    pub(crate) fn start_next(&mut self) -> Option<ReceivedRequest> {
        while let Some(received) = self.ahead.pop_front() {
            if self.wire.end.start(&received.head) {
                return Some(received);
            }
        }
        None
    }

    /// Whether requests have arrived that were not started.
    pub(crate) fn has_requests(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// Whether no request will come any more.
    pub(crate) fn is_over(&self) -> bool {
        self.leaving || signal::is_termination_noted() || self.wire.is_broken()
    }

    /// Whether it is to stay after its last request.
    pub(crate) fn is_bound(&self) -> bool {
        self.has_hijacked && !self.is_over()
    }

    /// Waits, after the last request, until it need not stay.
    pub(crate) fn stay(&mut self) {
        while self.is_bound() {
            self.wire.end.wait_unless(Some(LOOK_AROUND), signal::is_termination_noted);
            self.receive();
        }
    }

    /// No further request is to be started.
    pub(crate) fn leave(&mut self) {
        self.leaving = true;
    }

    /// Whether a stream has got something since this was asked.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    /// Makes a request one whose stream is known, and gives its payload.
    pub(crate) fn begin(&mut self, received: ReceivedRequest) -> (FrameHead, Vec<u8>) {
        self.running.push((received.head.lane, received.head.request, received.stream));
        (received.head, received.payload)
    }

    /// Ends a request and keeps its buffer for another.
    pub(crate) fn end(&mut self, frame: &FrameHead, payload: Vec<u8>) {
        self.running.retain(|(lane, request, _)| (*lane, *request) != (frame.lane, frame.request));
        if payload.capacity() > self.payload.capacity() {
            self.payload = payload;
        }
    }

    /// The stream of a request that runs.
    pub(crate) fn stream(&mut self, frame: &FrameHead) -> &mut RequestStream {
        let is_it = |running: &&mut (Lane, RequestId, RequestStream)| {
            (running.0, running.1) == (frame.lane, frame.request)
        };
        &mut self.running.iter_mut().find(is_it).expect("asked for during its request only").2
    }

    /// Takes what has arrived up to the first request. Others wait in the ring, as they would here: their bodies are
    /// copied when their turn comes, into the buffer of the one before.
    fn receive_request(&mut self) {
        while self.ahead.is_empty()
            && let Some(head) = self.wire.recv(&mut self.payload)
        {
            self.take(head);
        }
        if self.wire.is_damaged() {
            self.give_up();
        }
    }

    /// Sorts in everything that has arrived.
    pub(crate) fn receive(&mut self) {
        while let Some(head) = self.wire.recv(&mut self.payload) {
            self.take(head);
        }
        if self.wire.is_damaged() {
            self.give_up();
        }
    }

    fn take(&mut self, head: FrameHead) {
        match head.kind {
            FrameKind::Request => {
                let payload = std::mem::take(&mut self.payload);
                self.ahead.push_back(ReceivedRequest { head, payload, stream: RequestStream::new() });
            }
            FrameKind::Quit => self.leaving = true,
            _ => {
                let payload = std::mem::take(&mut self.payload);
                if let Some(stream) = self.stream_of(head) {
                    stream.take_frame(head, &payload);
                    self.has_news = true;
                }
                self.payload = payload;
            }
        }
    }

    /// A request that was taken back may be submitted again with its number, so the last one counts.
    fn stream_of(&mut self, head: FrameHead) -> Option<&mut RequestStream> {
        let is_meant = |received: &&mut ReceivedRequest| {
            received.head.lane == head.lane && received.head.request == head.request
        };
        let ahead = self.ahead.iter_mut().rev().find(is_meant).map(|received| &mut received.stream);
        ahead.or_else(|| {
            let is_it = |running: &&mut (Lane, RequestId, RequestStream)| {
                (running.0, running.1) == (head.lane, head.request)
            };
            self.running.iter_mut().find(is_it).map(|(_, _, stream)| stream)
        })
    }

    /// The memory is damaged: nothing can be received from now on, so no thread is to wait for more.
    fn give_up(&mut self) {
        for (_, _, stream) in &mut self.running {
            stream.client.cancel();
        }
        self.has_news = true;
    }

    /// Sends a frame and wakes its receiver; false if there is no room for it.
    pub(crate) fn try_send(&mut self, frame: FrameHead, pieces: &[&[u8]]) -> Result<bool, ClientGone> {
        self.wire.try_send(frame, pieces).inspect_err(|_| self.give_up())
    }

    /// As [`Inbox::try_send`] with a file.
    pub(crate) fn try_send_file(
        &mut self,
        frame: FrameHead,
        collected: &[u8],
        file: &FileRest<'_>,
    ) -> Result<Handover, ClientGone> {
        self.wire.try_send_file(frame, &[collected], file).inspect_err(|_| self.give_up())
    }

    /// The same with a socket, for which this worker stays as long as the router has it.
    pub(crate) fn try_send_socket(
        &mut self,
        frame: FrameHead,
        socket: BorrowedFd<'_>,
    ) -> Result<Handover, ClientGone> {
        let handover = self.wire.try_send_socket(frame, socket).inspect_err(|_| self.give_up())?;
        self.has_hijacked |= handover == Handover::Done;
        Ok(handover)
    }

    fn wait_for_room(
        &mut self,
        frame: &FrameHead,
        len: usize,
        patience: ReceiveWait,
    ) -> Result<(), ClientGone> {
        self.receive();
        let cancelled = patience == ReceiveWait::UntilCancelled && self.stream(frame).client.is_gone();
        if cancelled || self.wire.is_broken() {
            return Err(ClientGone);
        }
        self.wire.end.wait_for_room(frame.lane, len, Some(LOOK_AROUND));
        Ok(())
    }

    /// Tells the router what is being done; does nothing when it was told already.
    pub(crate) fn set_note(&mut self, text: &[u8]) {
        if self.note != text {
            self.note.clear();
            self.note.extend_from_slice(text);
            self.wire.end.set_note(text);
        }
    }
}

/// The way of one request: to the streams that come for it and of the frames that go back.
pub(crate) trait RequestChannel: Send {
    /// Bytes of payload that one frame can have.
    fn max_payload(&self) -> usize;

    /// Does something with the request's stream.
    fn with_stream<R>(&mut self, frame: &FrameHead, act: impl FnOnce(&mut RequestStream) -> R) -> R;

    /// Sorts in what has arrived.
    fn receive(&mut self);

    /// Waits until this is true of the request's stream.
    fn wait_until(
        &mut self,
        frame: &FrameHead,
        ready: impl Fn(&RequestStream) -> bool,
    ) -> Result<(), ClientGone>;

    /// Sends a frame and wakes its receiver. Waits for room.
    fn send(&mut self, frame: FrameHead, pieces: &[&[u8]], patience: ReceiveWait) -> Result<(), ClientGone>;

    /// Sends a frame and wakes its receiver, or drops the frame where there is no room for it now.
    fn send_if_room(&mut self, frame: FrameHead, pieces: &[&[u8]]);

    /// Makes an attempt to send a frame with a descriptor, and another one each time that there may be room for its
    /// `len` bytes. False, and nothing is sent, if the descriptor cannot be.
    fn hand_over(
        &mut self,
        frame: &FrameHead,
        len: usize,
        attempt: impl FnMut(&mut Inbox) -> Result<Handover, ClientGone>,
    ) -> Result<bool, ClientGone>;

    /// As [`RequestChannel::send`] with a file, if that can be sent.
    fn send_file(
        &mut self,
        frame: FrameHead,
        collected: &[u8],
        file: &FileRest<'_>,
    ) -> Result<bool, ClientGone> {
        let len = collected.len() + FilePart::SIZE;
        self.hand_over(&frame, len, |inbox| inbox.try_send_file(frame, collected, file))
    }

    /// The same with a socket by which the application has the client's connection, and no bytes.
    fn send_socket(&mut self, frame: FrameHead, socket: BorrowedFd<'_>) -> Result<bool, ClientGone> {
        self.hand_over(&frame, 0, |inbox| inbox.try_send_socket(frame, socket))
    }

    /// Tells the router what is being done.
    fn note(&mut self, text: &[u8]);
}

impl RequestChannel for Inbox {
    fn max_payload(&self) -> usize {
        self.wire.end.max_payload()
    }

    fn with_stream<R>(&mut self, frame: &FrameHead, act: impl FnOnce(&mut RequestStream) -> R) -> R {
        act(self.stream(frame))
    }

    fn receive(&mut self) {
        Self::receive(self);
    }

    fn wait_until(
        &mut self,
        frame: &FrameHead,
        ready: impl Fn(&RequestStream) -> bool,
    ) -> Result<(), ClientGone> {
        loop {
            Self::receive(self);
            let stream = self.stream(frame);
            if stream.client.is_gone() {
                return Err(ClientGone);
            }
            if ready(stream) {
                return Ok(());
            }
            if self.wire.is_orphan() {
                return Err(ClientGone);
            }
            self.wire.end.wait(Some(LOOK_AROUND));
        }
    }

    fn send(&mut self, frame: FrameHead, pieces: &[&[u8]], patience: ReceiveWait) -> Result<(), ClientGone> {
        let len = pieces.iter().map(|piece| piece.len()).sum();
        while !self.try_send(frame, pieces)? {
            self.wait_for_room(&frame, len, patience)?;
        }
        Ok(())
    }

    fn send_if_room(&mut self, frame: FrameHead, pieces: &[&[u8]]) {
        // Fails when there is no router.
        let _ = self.try_send(frame, pieces);
    }

    fn hand_over(
        &mut self,
        frame: &FrameHead,
        len: usize,
        mut attempt: impl FnMut(&mut Inbox) -> Result<Handover, ClientGone>,
    ) -> Result<bool, ClientGone> {
        loop {
            match attempt(self)? {
                Handover::NoRoom => self.wait_for_room(frame, len, ReceiveWait::UntilCancelled)?,
                handover => return Ok(handover == Handover::Done),
            }
        }
    }

    fn note(&mut self, text: &[u8]) {
        self.set_note(text);
    }
}
