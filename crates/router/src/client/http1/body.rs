//! The body of a request on its way in: taken out of its framing, or discarded.

use std::future::poll_fn;
use std::io::IoSlice;
use std::pin::pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use corral_http::chunked::ChunkDecoder;
use corral_http::request::RequestFraming;
use corral_http::response::CONTINUE;

use crate::clock::deadline::Deadline;
use crate::generation::request_settings::RequestSettings;
use crate::io::ClientStream;
use crate::request::body::BodyError;
use crate::storage::buffers::{self, Rest};

/// Bytes of an unwanted body that are read so that the connection can be kept.
const MAX_DISCARDED: u64 = 256 * 1024;

/// Room for one read of a body.
pub(super) const READ_STEP: usize = 32 * 1024;

/// The same for a client that has not sent as much at a time yet: many slow ones must not hold large buffers.
const SMALL_STEP: usize = 2 * 1024;

/// A request's body on its way in. The bytes that came along with the head are at the start of the input.
pub(super) struct Http1Body {
    framing: Decoding,
    /// Bytes that have come, without their framing.
    n_come: u64,
    /// The client waits for `100 Continue`.
    expects_continue: bool,
    /// The last read has filled its room, or much came with the head.
    is_fast: bool,
    /// The client was told that its head was received.
    is_acknowledged: bool,
    /// The whole body, if it was read along with the head and not taken yet.
    whole: Option<Rest>,
}

enum Decoding {
    /// Bytes that are still to come.
    Length(u64),
    Chunked(ChunkDecoder),
    Done,
}

impl Http1Body {
    pub(super) fn new(framing: RequestFraming, expects_continue: bool, rules: &RequestSettings) -> Self {
        let framing = match framing {
            RequestFraming::Length(0) => Decoding::Done,
            RequestFraming::Length(len) => Decoding::Length(len),
            RequestFraming::Chunked => Decoding::Chunked(ChunkDecoder::new(rules.bounds.max_body_size)),
        };
        Self { framing, expects_continue, ..Self::none() }
    }

    /// Permits so many bytes of a body whose length is not known before.
    pub(super) fn limit(&mut self, most: u64) {
        if let Decoding::Chunked(decoder) = &mut self.framing {
            decoder.limit(most);
        }
    }

    /// No body, or none that will be read.
    pub(super) fn none() -> Self {
        Self {
            framing: Decoding::Done,
            n_come: 0,
            expects_continue: false,
            is_fast: false,
            is_acknowledged: false,
            whole: None,
        }
    }

    /// Takes over what was read along with the head, if that is all of the body and nothing else.
    pub(super) fn adopt(&mut self, read: Rest) -> Result<(), Rest> {
        match self.framing {
            Decoding::Length(left) if left == read.len() as u64 => {
                self.framing = Decoding::Done;
                self.n_come = left;
                self.whole = Some(read);
                Ok(())
            }
            _ => Err(read),
        }
    }

    /// Whether what is left comes without a word from here, so that it can be read and forgotten. A client that waits
    /// for `100 Continue` has sent nothing, and may never send it.
    pub(super) fn comes_uninvited(&self, input: &[u8]) -> bool {
        self.is_done() || !self.expects_continue || !input.is_empty()
    }

    /// Whether nothing more of it is to come.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.framing, Decoding::Done)
    }

    /// Bytes that have come, without their framing.
    pub(super) fn n_come(&self) -> u64 {
        self.n_come
    }

    /// Whether nothing of it has to be read that is not in the input. Of chunks that is unknown before they are taken
    /// apart.
    pub(super) fn has_come(&self, input: &[u8]) -> bool {
        match self.framing {
            Decoding::Length(left) => left <= input.len() as u64,
            Decoding::Chunked(_) => false,
            Decoding::Done => true,
        }
    }

    /// The bytes that came along with the head.
    pub(super) fn begin(&mut self, input: &mut Vec<u8>) -> Result<Rest, BodyError> {
        if let Some(whole) = self.whole.take() {
            return Ok(whole);
        }
        let mut out = self.buffer(input);
        self.decode(input, &mut out)?;
        Ok(out.into())
    }

    /// Where it goes that is read: a large buffer if much is likely to come at once, and fits.
    fn buffer(&self, input: &[u8]) -> Vec<u8> {
        let is_large = |left| (READ_STEP as u64..=buffers::LARGE_CAPACITY as u64).contains(&left);
        match self.framing {
            Decoding::Length(left) if input.len() >= SMALL_STEP && is_large(left) => buffers::take_large(),
            _ => Vec::new(),
        }
    }

    /// Reads some of it: to `out` what needs no decoding, else through `rest`, where what follows the body stays.
    pub(super) fn poll_read(
        &mut self,
        stream: &mut ClientStream,
        rest: &mut Vec<u8>,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<Result<(), BodyError>> {
        let Decoding::Length(left) = self.framing else {
            ready!(self.poll_more(stream, context, rest))?;
            return Poll::Ready(self.decode(rest, out));
        };
        let n_before = out.len();
        ready!(self.poll_more(stream, context, out))?;
        let n_own = at_most(left, out.len() - n_before);
        rest.extend(out.drain(n_before + n_own..));
        self.count(n_own);
        Poll::Ready(Ok(()))
    }

    /// So many bytes have come of a body whose length is known.
    fn count(&mut self, n: usize) {
        self.n_come += n as u64;
        if let Decoding::Length(left) = &mut self.framing {
            *left -= n as u64;
            if *left == 0 {
                self.framing = Decoding::Done;
            }
        }
    }

    /// Reads and forgets what is left, as far as that is worth it. True when the connection can be kept.
    pub(super) async fn discard(
        &mut self,
        stream: &mut ClientStream,
        rest: &mut Vec<u8>,
        (deadline, limit): (&Deadline, Duration),
    ) -> bool {
        let mut n_discarded = 0;
        let mut nowhere = Vec::new();
        loop {
            if self.decode(rest, &mut nowhere).is_err() {
                return false;
            }
            n_discarded += nowhere.len() as u64;
            nowhere.clear();
            if self.is_done() {
                return true;
            }
            let reading = poll_fn(|context| self.poll_more(stream, context, rest));
            if n_discarded > MAX_DISCARDED
                || !matches!(deadline.limit(limit, pin!(reading)).await, Ok(Ok(())))
            {
                return false;
            }
        }
    }

    /// Moves as much as it can from the input to `out`.
    pub(super) fn decode(&mut self, input: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<(), BodyError> {
        self.is_fast |= input.len() >= SMALL_STEP;
        if let Some(whole) = self.whole.take() {
            out.extend_from_slice(&whole);
            whole.give();
        }
        match &mut self.framing {
            Decoding::Done => {}
            Decoding::Length(left) => {
                let len = at_most(*left, input.len());
                out.extend(input.drain(..len));
                self.count(len);
            }
            Decoding::Chunked(decoder) => {
                let n_before = out.len();
                let decoded = decoder.decode(input, out, usize::MAX)?;
                self.n_come += (out.len() - n_before) as u64;
                input.drain(..decoded.consumed);
                if decoded.done {
                    self.framing = Decoding::Done;
                }
            }
        }
        Ok(())
    }

    /// Tells a client that waits for it to send the body.
    pub(super) fn invite(&mut self, stream: &mut ClientStream, input: &[u8]) -> Result<(), BodyError> {
        if std::mem::take(&mut self.expects_continue) && input.is_empty() {
            // Too small to find no room, unless the client reads nothing at all: then it gets no body through.
            stream.try_write(&[IoSlice::new(CONTINUE)]).map_err(|_| BodyError::Gone)?;
        }
        Ok(())
    }

    /// Reads some of it into the input, behind what is there.
    fn poll_more(
        &mut self,
        stream: &mut ClientStream,
        context: &mut Context<'_>,
        input: &mut Vec<u8>,
    ) -> Poll<Result<(), BodyError>> {
        self.invite(stream, input)?;
        if !self.is_fast && input.is_empty() && input.capacity() >= READ_STEP {
            buffers::give(std::mem::replace(input, buffers::take()));
        }
        input.reserve(match self.framing {
            _ if !self.is_fast => SMALL_STEP,
            Decoding::Length(left) => at_most(left, buffers::LARGE_CAPACITY),
            _ => READ_STEP,
        });
        let room = input.capacity() - input.len();
        let polled = stream.poll_read(context, input);
        // A client that gathers its writes sends the rest no sooner.
        if polled.is_pending() && !std::mem::replace(&mut self.is_acknowledged, true) {
            stream.acknowledge();
        }
        match ready!(polled) {
            Ok(n) if n > 0 => {
                self.is_fast = n >= room;
                Poll::Ready(Ok(()))
            }
            Ok(_) | Err(_) => Poll::Ready(Err(BodyError::Gone)),
        }
    }
}

/// So many bytes of those that are left.
fn at_most(left: u64, n: usize) -> usize {
    usize::try_from(left).map_or(n, |left| left.min(n))
}
