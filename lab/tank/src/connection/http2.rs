//! Requests on a connection of HTTP/2, as many at a time as there may be streams. The protocol is the crate `h2`, whose
//! futures are polled here: the socket wakes the connection, and the connection wakes its streams.

mod socket;
mod stream;
mod wakes;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Task, Poll};

use bytes::Bytes;
use h2::client::{self, SendRequest};
use slab::Slab;

use self::socket::Socket;
use self::stream::{Progress, Stream};
use self::wakes::Wakes;
use super::Context;
use crate::clock::Nanos;
use crate::failure::Failure;
use crate::outcome::{Job, Marks, Outcome};
use crate::transport::Transport;

/// How much may come on a stream, and on all of a connection, before the server has to wait.
const WINDOW: u32 = 1 << 24;
const CONNECTION_WINDOW: u32 = 1 << 28;

/// How often a request may be given back by servers that have not begun it.
const MOST_RETURNS: u8 = 3;

type Handshake = dyn Future<Output = Result<(SendRequest<Bytes>, client::Connection<Socket>), h2::Error>>;

/// A connection, and the requests on it.
pub(super) struct Http2 {
    phase: Phase,
    wakes: Wakes,
    /// Requests that were taken, and have no stream yet.
    waiting: VecDeque<Job>,
    streams: Slab<Stream>,
    /// Since when the connection is ready, for the requests that waited for it.
    ready: Nanos,
    /// The server takes no more requests.
    is_closing: bool,
}

enum Phase {
    Handshake(Pin<Box<Handshake>>),
    Open { sender: SendRequest<Bytes>, connection: Box<client::Connection<Socket>> },
}

impl Http2 {
    pub(super) fn new(transport: Transport, waiting: VecDeque<Job>, ready: Nanos) -> Self {
        let mut builder = client::Builder::new();
        builder
            .initial_window_size(WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .enable_push(false);
        let handshake = async move { builder.handshake(Socket(transport)).await };
        let (wakes, streams) = (Wakes::default(), Slab::new());
        Self {
            phase: Phase::Handshake(Box::pin(handshake)),
            wakes,
            waiting,
            streams,
            ready,
            is_closing: false,
        }
    }

    pub(super) fn has_room(&self, n_streams: usize) -> bool {
        let most = match &self.phase {
            Phase::Open { connection, .. } => connection.max_concurrent_send_streams().min(n_streams),
            Phase::Handshake(_) => n_streams,
        };
        !self.is_closing && self.waiting.len() + self.streams.len() < most
    }

    pub(super) fn take(&mut self, job: Job) {
        self.waiting.push_back(job);
    }

    /// Has the connection look at its socket with the next [`Self::drive`].
    pub(super) fn wake(&self) {
        self.wakes.wake_connection();
    }

    /// Polls until nothing moves.
    pub(super) fn drive(&mut self, cx: &mut Context) -> Result<(), Failure> {
        loop {
            self.open_streams(cx)?;
            let ended = self.wakes.take_connection().then(|| self.poll_connection());
            let mut has_moved = ended.is_some();
            while let Some(slot) = self.wakes.take_stream() {
                has_moved = true;
                self.poll_stream(slot, cx);
            }
            if let Some(Poll::Ready(result)) = ended {
                return result.and(Err(Failure::Closed));
            }
            if self.is_closing && self.streams.is_empty() {
                return Err(Failure::Closed);
            }
            if !has_moved {
                return Ok(());
            }
        }
    }

    /// Goes on with handshake or connection; ready once it is over.
    fn poll_connection(&mut self) -> Poll<Result<(), Failure>> {
        let waker = self.wakes.connection_waker();
        let mut task = Task::from_waker(&waker);
        match &mut self.phase {
            Phase::Handshake(handshake) => match handshake.as_mut().poll(&mut task) {
                Poll::Ready(Ok((sender, connection))) => {
                    self.phase = Phase::Open { sender, connection: Box::new(connection) };
                    self.wakes.wake_connection();
                    Poll::Pending
                }
                Poll::Ready(Err(error)) => Poll::Ready(Err(failure(&error))),
                Poll::Pending => Poll::Pending,
            },
            Phase::Open { connection, .. } => {
                Pin::new(connection.as_mut()).poll(&mut task).map_err(|error| failure(&error))
            }
        }
    }

    /// Sends the requests that wait.
    fn open_streams(&mut self, cx: &mut Context) -> Result<(), Failure> {
        let Phase::Open { sender, .. } = &mut self.phase else { return Ok(()) };
        while !self.waiting.is_empty() && !self.is_closing {
            let waker = self.wakes.connection_waker();
            match sender.poll_ready(&mut Task::from_waker(&waker)) {
                Poll::Pending => break,
                Poll::Ready(Err(_)) => self.is_closing = true,
                Poll::Ready(Ok(())) => {
                    let Some(job) = self.waiting.pop_front() else { break };
                    let marks = Marks { ready: self.ready.max(job.taken), ..Marks::default() };
                    match Stream::open(sender, job, marks, cx) {
                        Ok(stream) => {
                            let slot = self.streams.insert(stream);
                            self.wakes.wake_stream(slot);
                        }
                        Err(error) => give_back(job, marks, &error, cx),
                    }
                }
            }
        }
        if self.is_closing {
            // No server has seen these.
            for job in self.waiting.drain(..) {
                give_back_unseen(job, cx);
            }
        }
        Ok(())
    }

    fn poll_stream(&mut self, slot: usize, cx: &mut Context) {
        let waker = self.wakes.stream_waker(slot);
        let Some(stream) = self.streams.get_mut(slot) else { return };
        match stream.poll(&mut Task::from_waker(&waker), cx) {
            Progress::Pending => {}
            Progress::Whole(outcome) => {
                self.streams.remove(slot);
                cx.done.push(outcome);
            }
            Progress::Failed(error) => {
                let stream = self.streams.remove(slot);
                if is_going_away(&error) {
                    self.is_closing = true;
                }
                give_back(stream.job, stream.marks, &error, cx);
            }
        }
    }

    /// Gives up one request: its stream is reset, the others go on.
    pub(super) fn expire(&mut self, place: u64, cx: &mut Context) -> Result<(), Failure> {
        let end = cx.clock.now();
        let is_expired = |job: &Job| job.place == place;
        if let Some(at) = self.waiting.iter().position(is_expired)
            && let Some(job) = self.waiting.remove(at)
        {
            cx.done.push(Outcome::failed(job, Marks::default(), end, Failure::Timeout));
        }
        let found = self.streams.iter().find(|(_, stream)| is_expired(&stream.job)).map(|(slot, _)| slot);
        if let Some(slot) = found {
            cx.done.push(self.streams.remove(slot).failed(Failure::Timeout, end));
        }
        // A server that does not even finish the handshake.
        let is_open = matches!(self.phase, Phase::Open { .. });
        if is_open || !self.waiting.is_empty() { self.drive(cx) } else { Err(Failure::Timeout) }
    }

    pub(super) fn abandon(&mut self, failure: Failure, end: Nanos, cx: &mut Context) {
        let failed = |job: Job| Outcome::failed(job, Marks::default(), end, failure);
        cx.done.extend(self.waiting.drain(..).map(failed));
        cx.done.extend(self.streams.drain().map(|stream| stream.failed(failure, end)));
    }
}

/// Ends a request with its error, unless no server has begun it: then another connection may take it.
fn give_back(job: Job, marks: Marks, error: &h2::Error, cx: &mut Context) {
    let is_refused =
        error.is_remote() && error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
    if (is_going_away(error) || is_refused) && job.n_returned < MOST_RETURNS {
        give_back_unseen(job, cx);
    } else {
        let end = cx.clock.now();
        cx.done.push(Outcome::failed(job, marks, end, failure(error)));
    }
}

fn give_back_unseen(job: Job, cx: &mut Context) {
    cx.returned.push(Job { n_returned: job.n_returned + 1, ..job });
}

/// Whether the server ends the connection in order, as nginx does after `keepalive_requests`.
fn is_going_away(error: &h2::Error) -> bool {
    error.is_remote() && error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR)
}

fn failure(error: &h2::Error) -> Failure {
    match error.get_io() {
        Some(error) => Failure::of_io(error),
        None if error.is_remote() && (error.is_reset() || error.is_go_away()) => Failure::Reset,
        None => Failure::Protocol,
    }
}
