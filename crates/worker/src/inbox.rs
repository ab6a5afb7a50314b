//! What the router has sent to this worker: the running request's stream, the request ahead, and
//! whether to leave.

use std::collections::VecDeque;
use std::time::Duration;

use corral_channel::{Flags, FrameHead, INITIAL_CREDIT, Kind, Lane, RequestId, SendError, WorkerEnd};
use rustix::process::{Pid, getppid};

use crate::log::complain;
use crate::prototype::Place;
use crate::runtime::ClientGone;
use crate::yielding::Yielding;

/// How long a worker sleeps at most before it looks whether it is an orphan.
const LOOK_AROUND: Duration = Duration::from_secs(5);

/// The worker's end of its channel, with the frames sorted by request.
pub(crate) struct Inbox {
    pub(crate) end: WorkerEnd,
    parent: Pid,
    /// The request that runs.
    current: Option<(Lane, RequestId, Stream)>,
    /// Requests that wait, in the order of their arrival: usually none or one.
    ahead: VecDeque<Received>,
    yielding: Yielding,
    /// A buffer for the next frame.
    payload: Vec<u8>,
    note: Vec<u8>,
    /// The router said that nothing more will come.
    leaving: bool,
    /// The memory is not what it should be.
    damaged: bool,
}

/// Whether a frame is worth waiting for room when its request was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    UntilCancelled,
    Endless,
}

/// A request as it arrived.
pub(crate) struct Received {
    pub(crate) head: FrameHead,
    pub(crate) payload: Vec<u8>,
    stream: Stream,
}

/// What belongs to a request and arrives after it.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Body bytes that were not read yet, from `body_read` on.
    body: Vec<u8>,
    body_read: usize,
    pub(crate) body_ended: bool,
    /// Bytes of response body that may still be sent.
    pub(crate) credit: u64,
    pub(crate) cancelled: bool,
}

impl Stream {
    fn new() -> Self {
        let credit = u64::from(INITIAL_CREDIT);
        Self { body: Vec::new(), body_read: 0, body_ended: false, credit, cancelled: false }
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
        match head.kind {
            Kind::Body => {
                self.body.extend_from_slice(payload);
                self.body_ended |= head.flags.contains(Flags::END);
            }
            Kind::Credit => self.credit += u64::from(head.aux),
            Kind::Cancel => self.cancelled = true,
            _ => {}
        }
    }
}

/// What a worker does next.
pub(crate) enum Next {
    /// Answer this request; it is started.
    Serve(Received),
    /// Nothing any more.
    Leave,
}

impl Inbox {
    pub(crate) fn new(place: Place) -> Self {
        Self {
            end: place.end,
            parent: place.parent,
            current: None,
            ahead: VecDeque::new(),
            yielding: Yielding::default(),
            payload: Vec::new(),
            note: Vec::new(),
            leaving: false,
            damaged: false,
        }
    }

    /// Waits for the next request that was not taken back meanwhile.
    pub(crate) fn next(&mut self) -> Next {
        loop {
            self.receive();
            while let Some(received) = self.ahead.pop_front() {
                if self.end.start(&received.head) {
                    return Next::Serve(received);
                }
            }
            if self.leaving || self.damaged || self.is_orphan() {
                return Next::Leave;
            }
            // On a busy machine the router is waiting for this processor, and has something to hand over
            // as soon as it gets it: that costs less than a sleep and a wake-up.
            if self.yielding.is_worth_it() {
                std::thread::yield_now();
                self.yielding.note(self.end.has_frames());
            }
            if !self.end.has_frames() {
                self.end.wait(Some(LOOK_AROUND));
            }
        }
    }

    /// Makes a request the one whose stream is [`Inbox::stream`], and gives its payload.
    pub(crate) fn begin(&mut self, received: Received) -> (FrameHead, Vec<u8>) {
        self.current = Some((received.head.lane, received.head.request, received.stream));
        (received.head, received.payload)
    }

    /// Ends the current request and keeps its buffer for another.
    pub(crate) fn end(&mut self, payload: Vec<u8>) {
        self.current = None;
        if payload.capacity() > self.payload.capacity() {
            self.payload = payload;
        }
    }

    /// The stream of the current request.
    pub(crate) fn stream(&mut self) -> &mut Stream {
        let (_, _, stream) = self.current.as_mut().expect("asked for during a request only");
        stream
    }

    /// Sorts in everything that has arrived.
    pub(crate) fn receive(&mut self) {
        loop {
            match self.end.recv(&mut self.payload) {
                Ok(Some(head)) => self.take(head),
                Ok(None) => return,
                Err(error) => return self.give_up(&error),
            }
        }
    }

    fn take(&mut self, head: FrameHead) {
        match head.kind {
            Kind::Request => {
                let payload = std::mem::take(&mut self.payload);
                self.ahead.push_back(Received { head, payload, stream: Stream::new() });
            }
            Kind::Quit => self.leaving = true,
            _ => {
                let payload = std::mem::take(&mut self.payload);
                if let Some(stream) = self.stream_of(head) {
                    stream.take_frame(head, &payload);
                }
                self.payload = payload;
            }
        }
    }

    /// A request that was taken back may be submitted again with its number, so the last one counts.
    fn stream_of(&mut self, head: FrameHead) -> Option<&mut Stream> {
        let is_meant = |received: &&mut Received| {
            received.head.lane == head.lane && received.head.request == head.request
        };
        let ahead = self.ahead.iter_mut().rev().find(is_meant).map(|received| &mut received.stream);
        ahead.or_else(|| match &mut self.current {
            Some((lane, request, stream)) if (*lane, *request) == (head.lane, head.request) => Some(stream),
            _ => None,
        })
    }

    /// The memory is damaged: nothing can be received from now on, so nobody waits for more.
    fn give_up(&mut self, error: &dyn std::error::Error) {
        if !self.damaged {
            complain(format_args!("the worker leaves, its channel is damaged: {error}"));
        }
        self.damaged = true;
        if let Some((_, _, stream)) = &mut self.current {
            stream.cancelled = true;
        }
    }

    /// Sends a frame and wakes its receiver.
    pub(crate) fn send(
        &mut self,
        frame: FrameHead,
        pieces: &[&[u8]],
        patience: Patience,
    ) -> Result<(), ClientGone> {
        let len = pieces.iter().map(|piece| piece.len()).sum();
        loop {
            let sent = self.end.send(frame, pieces);
            self.end.ring(frame.lane);
            match sent {
                Ok(()) => return Ok(()),
                Err(SendError::Full) => self.wait_for_room(frame.lane, len, patience)?,
                Err(error) => {
                    self.give_up(&error);
                    return Err(ClientGone);
                }
            }
        }
    }

    fn wait_for_room(&mut self, lane: Lane, len: usize, patience: Patience) -> Result<(), ClientGone> {
        self.receive();
        let cancelled = patience == Patience::UntilCancelled && self.stream().cancelled;
        if cancelled || self.damaged || self.is_orphan() {
            return Err(ClientGone);
        }
        self.end.wait_for_room(lane, len, Some(LOOK_AROUND));
        Ok(())
    }

    /// Waits until the running request may send `n` bytes of body, and says how many it may.
    pub(crate) fn wait_for_credit(&mut self, n: u64) -> Result<u64, ClientGone> {
        self.wait_until(|stream| stream.credit >= n)?;
        Ok(self.stream().credit)
    }

    /// Waits until there is body to read, or none will come.
    pub(crate) fn wait_for_body(&mut self) -> Result<(), ClientGone> {
        self.wait_until(|stream| stream.body_ended || !stream.body.is_empty())
    }

    fn wait_until(&mut self, ready: impl Fn(&Stream) -> bool) -> Result<(), ClientGone> {
        loop {
            self.receive();
            if self.stream().cancelled {
                return Err(ClientGone);
            }
            if ready(self.stream()) {
                return Ok(());
            }
            if self.is_orphan() {
                return Err(ClientGone);
            }
            self.end.wait(Some(LOOK_AROUND));
        }
    }

    /// Tells the router what is being done; does nothing when it was told already.
    pub(crate) fn note(&mut self, text: &[u8]) {
        if self.note != text {
            self.note.clear();
            self.note.extend_from_slice(text);
            self.end.set_note(text);
        }
    }

    /// Without its prototype a worker gets no orders. It may be that main and router are gone too.
    fn is_orphan(&self) -> bool {
        getppid() != Some(self.parent)
    }
}
