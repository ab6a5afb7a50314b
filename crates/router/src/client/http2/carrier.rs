//! A stream as the carrier of one exchange.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fs::File;
use std::future;
use std::io;
use std::mem;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use corral_http::request::HttpVersion;
use corral_http::response::ReplyFraming;
use h2::server::SendResponse;
use h2::{Reason, SendStream};
use http::{HeaderMap, Response, StatusCode};

use super::StreamContext;
use super::body::Http2Body;
use super::piece::UnsentPiece;
use super::reply;
use super::switched::RawHead;
use super::unsent::UnsentBytes;
use crate::exchange::carrier::{Carrier, ClientSignal, ConnectionUse, RawBytes, ReplyHead};
use crate::request::body::BodyError;
use crate::storage::buffers::{self, Rest};
use crate::tls::TlsPeer;

/// Bytes of a file that are read at a time.
const FILE_STEP: usize = 16 * 1024;

/// A stream while it carries an exchange.
pub(super) struct Http2Carrier<'s> {
    pub(super) shared: &'s StreamContext,
    /// Which stream of the connection it is, from 1.
    n_request: u32,
    pub(super) body: Http2Body,
    /// In a cell, because to ask whether the client is gone changes it.
    pub(super) output: RefCell<StreamOutput>,
    /// The reply's head, which is sent with what follows.
    head: Option<Response<()>>,
    /// Bytes to be sent before the next piece.
    held: Vec<u8>,
    /// The fields behind the body, once its end is known.
    end: Option<HeaderMap>,
    /// The stream is that of another protocol.
    is_switched: bool,
    /// The code of the reset if there is no complete reply.
    reason: Reason,
    /// The head that the application writes which has taken the stream over.
    pub(super) raw_head: RawHead,
}

/// The direction to the client.
pub(super) enum StreamOutput {
    /// The reply has not begun.
    Waiting(SendResponse<UnsentPiece>),
    Body(SendStream<UnsentPiece>),
    /// The end was sent.
    Ended,
}

impl<'s> Http2Carrier<'s> {
    pub(super) fn new(
        shared: &'s StreamContext,
        body: Http2Body,
        respond: SendResponse<UnsentPiece>,
    ) -> Self {
        Self {
            shared,
            n_request: shared.count_request(),
            body,
            output: RefCell::new(StreamOutput::Waiting(respond)),
            head: None,
            held: Vec::new(),
            end: None,
            is_switched: false,
            reason: Reason::INTERNAL_ERROR,
            raw_head: RawHead::default(),
        }
    }

    /// Ends what has been answered, or has switched to another protocol.
    pub(super) fn finish(&mut self) {
        // A client that is gone does not see it.
        let _ = self.output.get_mut().end(&self.shared.unsent);
    }

    /// Gives up a reply that cannot be sent to its end; true if the client has given it up.
    pub(super) fn abandon(&mut self) -> bool {
        let output = self.output.get_mut();
        let is_theirs = output.was_reset();
        output.reset(self.reason);
        is_theirs
    }

    /// Sends the head that waits; with the end of the reply if that is all.
    fn send_head(&mut self, is_all: bool) -> io::Result<()> {
        let Some(head) = self.head.take() else { return Ok(()) };
        let ends = is_all && self.end.as_ref().is_some_and(HeaderMap::is_empty);
        self.output.get_mut().begin(head, ends)
    }

    /// Sends the end if nothing stands before it.
    fn send_end(&mut self) -> io::Result<()> {
        match self.end.take() {
            Some(trailers) => self.output.get_mut().end_with(trailers, &self.shared.unsent),
            None => Ok(()),
        }
    }

    fn held(&mut self) -> &mut Vec<u8> {
        if self.held.capacity() == 0 {
            self.held = buffers::take();
        }
        &mut self.held
    }

    /// Sends as much of what is held, and of a piece, as there is room for; returns how much of the piece.
    fn send_some(&mut self, piece: &[u8]) -> io::Result<usize> {
        let Self { shared, held, output, end, .. } = self;
        let output = output.get_mut();
        let n_wanted = held.len() + piece.len();
        let n = output.room(n_wanted, &shared.unsent)?.min(n_wanted);
        let ends = n == n_wanted && end.as_ref().is_some_and(HeaderMap::is_empty);
        let n_held = n.min(held.len());
        let bytes = if n == held.len() {
            UnsentPiece::new(mem::take(held), &shared.unsent)
        } else {
            let copied = UnsentPiece::copy_of([&held[..], piece], n, &shared.unsent);
            held.drain(..n_held);
            copied
        };
        output.send(bytes, ends)?;
        if ends {
            *end = None;
        }
        Ok(n - n_held)
    }
}

impl Drop for Http2Carrier<'_> {
    fn drop(&mut self) {
        buffers::give(mem::take(&mut self.held));
    }
}

impl StreamOutput {
    pub(super) fn begin(&mut self, head: Response<()>, ends: bool) -> io::Result<()> {
        let Self::Waiting(respond) = self else { return Err(io::ErrorKind::InvalidInput.into()) };
        let stream = respond.send_response(head, ends).map_err(io::Error::other)?;
        *self = if ends { Self::Ended } else { Self::Body(stream) };
        Ok(())
    }

    fn inform(&mut self, head: Response<()>) -> io::Result<()> {
        let Self::Waiting(respond) = self else { return Err(io::ErrorKind::InvalidInput.into()) };
        respond.send_informational(head).map_err(io::Error::other)
    }

    /// Bytes of those wanted that can be sent.
    pub(super) fn room(&mut self, n_wanted: usize, unsent: &UnsentBytes) -> io::Result<usize> {
        let Self::Body(stream) = self else { return Err(io::ErrorKind::BrokenPipe.into()) };
        if n_wanted == 0 {
            return Ok(0);
        }
        // Also where it has to wait for other streams: it is asked for its windows alone by then.
        stream.reserve_capacity(n_wanted);
        match stream.capacity() {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            _ if unsent.is_full() => Err(io::ErrorKind::WouldBlock.into()),
            n => Ok(n),
        }
    }

    pub(super) fn send(&mut self, bytes: UnsentPiece, ends: bool) -> io::Result<()> {
        let Self::Body(stream) = self else { return Err(io::ErrorKind::BrokenPipe.into()) };
        stream.send_data(bytes, ends).map_err(io::Error::other)?;
        if ends {
            *self = Self::Ended;
        }
        Ok(())
    }

    pub(super) fn end(&mut self, unsent: &Rc<UnsentBytes>) -> io::Result<()> {
        self.end_with(HeaderMap::new(), unsent)
    }

    fn end_with(&mut self, trailers: HeaderMap, unsent: &Rc<UnsentBytes>) -> io::Result<()> {
        let Self::Body(stream) = self else { return Ok(()) };
        let sent = if trailers.is_empty() {
            stream.send_data(UnsentPiece::new(Vec::new(), unsent), true)
        } else {
            stream.send_trailers(trailers)
        };
        *self = Self::Ended;
        sent.map_err(io::Error::other)
    }

    /// Waits until the client has reset the stream, or is gone.
    fn poll_reset(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self {
            Self::Waiting(respond) => respond.poll_reset(context).map(drop),
            Self::Body(stream) => stream.poll_reset(context).map(drop),
            Self::Ended => Poll::Pending,
        }
    }

    fn was_reset(&mut self) -> bool {
        self.poll_reset(&mut Context::from_waker(std::task::Waker::noop())).is_ready()
    }

    fn reset(&mut self, reason: Reason) {
        match self {
            Self::Waiting(respond) => respond.send_reset(reason),
            Self::Body(stream) => stream.send_reset(reason),
            Self::Ended => {}
        }
    }

    /// Waits for room to send something.
    pub(super) fn poll_room(
        &mut self,
        context: &mut Context<'_>,
        unsent: &UnsentBytes,
    ) -> Poll<io::Result<()>> {
        let Self::Body(stream) = self else { return Poll::Ready(Ok(())) };
        if unsent.is_full() {
            unsent.wait(context);
            return stream.poll_reset(context).map(|_| Err(io::ErrorKind::ConnectionReset.into()));
        }
        if stream.capacity() > 0 {
            return Poll::Ready(Ok(()));
        }
        stream.poll_capacity(context).map(|room| match room {
            Some(Ok(_)) => Ok(()),
            Some(Err(error)) => Err(io::Error::other(error)),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        })
    }
}

impl Carrier for Http2Carrier<'_> {
    fn peer(&self) -> Option<SocketAddr> {
        self.shared.peer
    }

    fn local_address(&self) -> Option<SocketAddr> {
        self.shared.local_address
    }

    fn n_requests(&self) -> u32 {
        self.n_request
    }

    fn speaks_tls(&self) -> bool {
        self.shared.tls_peer.is_some()
    }

    fn tls_peer(&self) -> Option<Cow<'_, TlsPeer<'_>>> {
        self.shared.tls_peer.as_ref().map(Cow::Borrowed)
    }

    fn limit_body(&mut self, most: u64) {
        self.body.limit(most);
    }

    fn body_is_done(&self) -> bool {
        self.body.is_done()
    }

    fn n_body_bytes(&self) -> u64 {
        self.body.n_come()
    }

    fn body_comes_uninvited(&self, taken: &[u8]) -> bool {
        self.body.comes_uninvited(taken)
    }

    fn begin_body(&mut self) -> Result<Rest, BodyError> {
        let mut out = self.body.buffer();
        self.body.take(&mut out)?;
        Ok(out.into())
    }

    fn take_body(&mut self, out: &mut Vec<u8>) -> Result<(), BodyError> {
        self.body.take(out)
    }

    fn invite_body(&mut self) -> Result<(), BodyError> {
        if !self.body.take_invitation() {
            return Ok(());
        }
        let mut head = Response::new(());
        *head.status_mut() = StatusCode::CONTINUE;
        self.output.get_mut().inform(head).map_err(|_| BodyError::Gone)
    }

    fn poll_body(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<Result<(), BodyError>> {
        self.invite_body()?;
        self.body.poll(context, out)
    }

    fn poll_stir(&self, context: &mut Context<'_>) -> Poll<()> {
        self.output.borrow_mut().poll_reset(context)
    }

    fn body_has_come(&self) -> bool {
        self.body.is_done()
    }

    /// A client that has sent all of its request has only said that; what stirs is its end.
    fn departure(&self, _: ClientSignal) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(future::ready(()))
    }

    fn hold_interim(&mut self, heads: &[u8]) {
        for head in reply::interim(heads) {
            // A client that is gone does not see it.
            let _ = self.output.get_mut().inform(head);
        }
    }

    fn framing(&self, status: u16, length: Option<u64>) -> ReplyFraming {
        ReplyFraming::choose(status, HttpVersion::Http2, length)
    }

    fn is_last(&self) -> bool {
        false
    }

    fn begin(&mut self, head: &ReplyHead<'_>) {
        self.head = Some(reply::response(head));
        self.is_switched = head.then == ConnectionUse::Switched;
        if self.is_switched {
            self.body.become_bytes();
        }
    }

    fn hold(&mut self, piece: &[u8]) {
        if !piece.is_empty() {
            self.held().extend_from_slice(piece);
        }
    }

    fn try_send(&mut self, piece: &[u8], n_sent: &mut usize) -> io::Result<()> {
        self.send_head(self.held.is_empty() && piece.is_empty())?;
        while !self.held.is_empty() || *n_sent < piece.len() {
            *n_sent += self.send_some(&piece[*n_sent..])?;
        }
        self.send_end()
    }

    fn begin_file(&mut self, _: u64) {}

    fn try_send_file(&mut self, file: &File, offset: u64, len: u64) -> io::Result<usize> {
        self.try_send(b"", &mut 0)?;
        let output = self.output.get_mut();
        let wanted = len.min(FILE_STEP as u64) as usize;
        let unsent = &self.shared.unsent;
        let room = output.room(wanted, unsent)?.min(wanted);
        // No larger than it must be: a client decides how many such pieces wait, and how long they are.
        let mut bytes = vec![0; room];
        let n = file.read_at(&mut bytes, offset)?;
        bytes.truncate(n);
        if n > 0 {
            output.send(UnsentPiece::new(bytes, unsent), false)?;
        }
        Ok(n)
    }

    fn end_file(&mut self) {}

    fn poll_writable(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.output.get_mut().poll_room(context, &self.shared.unsent)
    }

    /// The code says neither that the server has failed (`INTERNAL_ERROR`) nor that the request may be sent again
    /// (`REFUSED_STREAM`), which clients would do.
    fn give_no_reply(&mut self) {
        self.reason = Reason::CANCEL;
    }

    fn end(&mut self, trailers: &[u8]) {
        if !self.is_switched {
            self.end = Some(reply::trailers(trailers));
        }
    }

    fn take_over(&mut self) -> Vec<u8> {
        self.body.become_bytes();
        Vec::new()
    }

    fn wire(&mut self) -> &mut dyn RawBytes {
        self
    }
}
