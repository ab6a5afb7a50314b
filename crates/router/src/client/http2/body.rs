//! The body of a request on its way in.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use corral_http::request::{ParsedHead, RequestFraming};
use h2::RecvStream;

use crate::clock::deadline::Deadline;
use crate::generation::request_settings::RequestSettings;
use crate::request::body::BodyError;
use crate::storage::buffers;

/// A body from which less than this is to come is not worth a large buffer.
const MUCH: u64 = 32 * 1024;

/// Bytes of an unwanted body that are read, and for how long.
const MAX_DISCARDED: usize = 1024 * 1024;
const DISCARD_TIME: Duration = Duration::from_secs(2);

/// A request's body on its way in. What is taken of it makes room for as much.
pub(super) struct Http2Body {
    stream: RecvStream,
    /// Announced, or none of it.
    length: Option<u64>,
    /// Bytes that may come.
    most: u64,
    n_come: u64,
    is_done: bool,
    /// The client waits for `100 Continue`.
    expects_continue: bool,
    /// Received by a look that only asked whether there is something.
    ahead: Bytes,
}

impl Http2Body {
    /// The body of the request with this head.
    pub(super) fn new(stream: RecvStream, head: &ParsedHead, rules: &RequestSettings) -> Self {
        let length = match head.framing() {
            RequestFraming::Length(length) => Some(length),
            RequestFraming::Chunked => None,
        };
        let most = rules.bounds.max_body_size;
        let is_done = length == Some(0) || stream.is_end_stream();
        let expects_continue = head.expects_continue() && !is_done;
        Self { stream, length, most, n_come: 0, is_done, expects_continue, ahead: Bytes::new() }
    }

    /// Permits so many bytes.
    pub(super) fn limit(&mut self, most: u64) {
        self.most = most;
    }

    /// Bytes behind a request that has switched to another protocol are not body, and have no limit.
    pub(super) fn become_bytes(&mut self) {
        (self.most, self.is_done) = (u64::MAX, self.stream.is_end_stream());
    }

    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Bytes that have come.
    pub(super) fn n_come(&self) -> u64 {
        self.n_come
    }

    /// Whether what is left comes without a word from here.
    pub(super) fn comes_uninvited(&self, taken: &[u8]) -> bool {
        self.is_done || !self.expects_continue || !taken.is_empty()
    }

    /// Whether the client waits for a word; once.
    pub(super) fn take_invitation(&mut self) -> bool {
        let has_come = !self.ahead.is_empty();
        std::mem::take(&mut self.expects_continue) && !has_come
    }

    /// A buffer for it: a large one if much will come, and fits.
    pub(super) fn buffer(&self) -> Vec<u8> {
        match self.length {
            Some(MUCH..) if self.length <= Some(buffers::LARGE_CAPACITY as u64) => buffers::take_large(),
            _ => Vec::new(),
        }
    }

    /// Reads and forgets what is left, as far as that is worth it: a client that still sends may take a reset, though
    /// there is nothing wrong, for the end of the reply.
    pub(super) async fn discard(&mut self, deadline: &Deadline) {
        if self.expects_continue {
            return;
        }
        // The limit is for what is kept.
        self.most = u64::MAX;
        let mut nowhere = Vec::new();
        let mut n_discarded = 0;
        let discarding = poll_fn(|context| {
            while !self.is_done && n_discarded < MAX_DISCARDED {
                nowhere.clear();
                if ready!(self.poll(context, &mut nowhere)).is_err() {
                    break;
                }
                n_discarded += nowhere.len();
            }
            Poll::Ready(())
        });
        // Whether it ended by itself makes no difference: nothing of it is used.
        let _ = deadline.limit(DISCARD_TIME, pin!(discarding)).await;
    }

    /// Appends what is there.
    pub(super) fn take(&mut self, out: &mut Vec<u8>) -> Result<(), BodyError> {
        let mut context = Context::from_waker(Waker::noop());
        while !self.is_done {
            match self.poll(&mut context, out) {
                Poll::Ready(taken) => taken?,
                Poll::Pending => break,
            }
        }
        Ok(())
    }

    /// Appends what comes next.
    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<Result<(), BodyError>> {
        ready!(self.poll_ahead(context))?;
        let bytes = std::mem::take(&mut self.ahead);
        out.extend_from_slice(&bytes);
        // It fails for a stream that is over, which shows at the next read.
        let _ = self.stream.flow_control().release_capacity(bytes.len());
        self.is_done |= self.stream.is_end_stream();
        Poll::Ready(Ok(()))
    }

    /// Waits until there is something to take, or the end.
    pub(super) fn poll_ahead(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BodyError>> {
        if self.is_done || !self.ahead.is_empty() {
            return Poll::Ready(Ok(()));
        }
        match ready!(self.stream.poll_data(context)) {
            None => self.is_done = true,
            Some(Err(_)) => return Poll::Ready(Err(BodyError::Gone)),
            Some(Ok(bytes)) => {
                self.n_come = self.n_come.saturating_add(bytes.len() as u64);
                if self.n_come > self.most {
                    return Poll::Ready(Err(BodyError::TooLarge));
                }
                self.ahead = bytes;
            }
        }
        Poll::Ready(Ok(()))
    }
}
