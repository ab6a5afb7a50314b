//! A connection as the carrier of one exchange.

use std::borrow::Cow;
use std::fs::File;
use std::future::pending;
use std::io::{self, IoSlice};
use std::mem;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use corral_http::chunked::{CHUNK_END, ChunkHead, LAST_CHUNK};
use corral_http::request::{HttpVersion, ParsedHead};
use corral_http::response::{self, ConnectionField, ReplyFraming, Trailer};

use super::body::Http1Body;
use crate::client::connection::AfterRequest;
use crate::client::listener_handle::ListenerHandle;
use crate::clock::deadline::Deadline;
use crate::exchange::carrier::{Carrier, ClientSignal, ConnectionUse, RawBytes, ReplyHead};
use crate::generation::request_settings::RequestSettings;
use crate::io::{ClientStream, SocketInterest};
use crate::reply::Reply;
use crate::request::body::BodyError;
use crate::request::head::ReceivedRequest;
use crate::storage::buffers::{self, Rest};
use crate::tls::TlsPeer;

/// How long a client that has closed its sending half, as it has announced, may wait without getting anything. Whether
/// it still listens shows when something is sent to it.
const HALF_CLOSED: Duration = Duration::from_secs(5);

/// A connection while it carries an exchange.
pub(super) struct Http1Carrier<'c> {
    stream: &'c mut ClientStream,
    handle: &'c ListenerHandle,
    peer: Option<SocketAddr>,
    n_requests: u32,
    head: &'c ParsedHead,
    /// The head is that of a request.
    is_understood: bool,
    incoming: Http1Body,
    /// Bytes that the client has sent behind the head.
    rest: Vec<u8>,
    /// Bytes that have to be sent before the next piece: at first the reply's head.
    held: Vec<u8>,
    /// The pieces of the reply's body are chunks.
    is_chunked: bool,
}

/// The state of a connection after a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterReply {
    Keep,
    Close,
    /// The connection closes, and the client is likely to send on.
    Linger,
}

impl AfterReply {
    pub(super) fn of(reply: &Reply) -> Self {
        match (reply.close, reply.linger) {
            (false, _) => Self::Keep,
            (true, false) => Self::Close,
            (true, true) => Self::Linger,
        }
    }
}

impl<'c> Http1Carrier<'c> {
    /// For a request with a body, of which some may have come behind the head.
    pub(super) fn new(
        stream: &'c mut ClientStream,
        handle: &'c ListenerHandle,
        (peer, n_requests): (Option<SocketAddr>, u32),
        request: ReceivedRequest<'c>,
        (incoming, rest): (Http1Body, Vec<u8>),
    ) -> Self {
        Self {
            stream,
            handle,
            peer,
            n_requests,
            head: request.head,
            is_understood: !request.method().is_empty(),
            incoming,
            rest,
            held: Vec::new(),
            is_chunked: false,
        }
    }

    /// Reads what is left of the request, and says what becomes of the connection.
    pub(super) async fn next(
        &mut self,
        after: AfterReply,
        deadline: &Deadline,
        rules: &RequestSettings,
    ) -> AfterRequest {
        let is_read = self.incoming.is_done();
        match after {
            AfterReply::Close if is_read && self.rest.is_empty() => return AfterRequest::Close,
            AfterReply::Close | AfterReply::Linger => return AfterRequest::Linger,
            AfterReply::Keep => {}
        }
        if is_read {
            return AfterRequest::Keep;
        }
        let Self { incoming, stream, rest, .. } = self;
        let limit = rules.bounds.body_read_timeout;
        if incoming.discard(stream, rest, (deadline, limit)).await {
            AfterRequest::Keep
        } else {
            AfterRequest::Linger
        }
    }

    fn held(&mut self) -> &mut Vec<u8> {
        if self.held.capacity() == 0 {
            self.held = buffers::take();
        }
        &mut self.held
    }

    /// The reply's `Connection` field.
    fn connection_field(&self, then: ConnectionUse) -> ConnectionField {
        // A request that was not understood gets an explicit word in any case.
        let version = if self.is_understood { self.head.version() } else { HttpVersion::Http11 };
        match then {
            ConnectionUse::More => ConnectionField::choose(version, true),
            ConnectionUse::Nothing => ConnectionField::choose(version, false),
            ConnectionUse::Switched => ConnectionField::Upgrade,
        }
    }
}

impl Drop for Http1Carrier<'_> {
    fn drop(&mut self) {
        buffers::give(mem::take(&mut self.held));
    }
}

impl Carrier for Http1Carrier<'_> {
    fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    fn local_address(&self) -> Option<SocketAddr> {
        self.stream.local_address()
    }

    fn n_requests(&self) -> u32 {
        self.n_requests
    }

    fn speaks_tls(&self) -> bool {
        self.stream.tls().is_some()
    }

    fn tls_peer(&self) -> Option<Cow<'_, TlsPeer<'_>>> {
        self.stream.tls().map(|session| Cow::Owned(session.peer()))
    }

    fn limit_body(&mut self, most: u64) {
        self.incoming.limit(most);
    }

    fn body_is_done(&self) -> bool {
        self.incoming.is_done()
    }

    fn n_body_bytes(&self) -> u64 {
        self.incoming.n_come()
    }

    fn body_comes_uninvited(&self, taken: &[u8]) -> bool {
        self.incoming.comes_uninvited(taken)
    }

    fn begin_body(&mut self) -> Result<Rest, BodyError> {
        self.incoming.begin(&mut self.rest)
    }

    fn take_body(&mut self, out: &mut Vec<u8>) -> Result<(), BodyError> {
        self.incoming.decode(&mut self.rest, out)
    }

    fn invite_body(&mut self) -> Result<(), BodyError> {
        self.incoming.invite(self.stream, &self.rest)
    }

    fn poll_body(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<Result<(), BodyError>> {
        self.incoming.poll_read(self.stream, &mut self.rest, context, out)
    }

    fn poll_stir(&self, context: &mut Context<'_>) -> Poll<()> {
        if self.stream.is_read() {
            return Poll::Ready(());
        }
        // An error means that the descriptor is of no further use: something has stirred.
        self.stream.poll_readable(context).map(drop)
    }

    fn body_has_come(&self) -> bool {
        self.incoming.has_come(&self.rest)
    }

    fn departure(&self, sign: ClientSignal) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        match sign {
            ClientSignal::Finished => Box::pin(self.stream.finished()),
            ClientSignal::Lasting => Box::pin(self.stream.finished_for(HALF_CLOSED)),
            ClientSignal::Broken => Box::pin(self.stream.broken()),
            ClientSignal::None => Box::pin(pending()),
        }
    }

    fn hold_interim(&mut self, heads: &[u8]) {
        self.held().extend_from_slice(heads);
    }

    fn framing(&self, status: u16, length: Option<u64>) -> ReplyFraming {
        ReplyFraming::choose(status, self.head.version(), length)
    }

    /// A listener that was removed, or a body that will not be read to its end, closes the connection.
    fn is_last(&self) -> bool {
        self.handle.is_closed() || !self.incoming.comes_uninvited(&self.rest)
    }

    fn begin(&mut self, head: &ReplyHead<'_>) {
        let connection = self.connection_field(head.then);
        let &ReplyHead { status, fields, server, date, framing, .. } = head;
        self.is_chunked = head.has_body && framing == ReplyFraming::Chunked;
        let held = self.held();
        response::append_status_line(held, status);
        fields.append_to(held);
        response::append_trailer(held, &Trailer { server, date, framing, connection });
    }

    fn hold(&mut self, piece: &[u8]) {
        // An empty chunk would be the last one.
        if piece.is_empty() {
            return;
        }
        let is_chunked = self.is_chunked;
        let held = self.held();
        if is_chunked {
            held.extend_from_slice(ChunkHead::new(piece.len()).as_bytes());
        }
        held.extend_from_slice(piece);
        if is_chunked {
            held.extend_from_slice(CHUNK_END);
        }
    }

    fn try_send(&mut self, piece: &[u8], n_sent: &mut usize) -> io::Result<()> {
        let Self { stream, held, is_chunked, .. } = self;
        if piece.is_empty() {
            write_all(stream, &mut [IoSlice::new(held)], n_sent)?;
        } else if *is_chunked {
            let chunk = ChunkHead::new(piece.len());
            let mut slices = [held.as_slice(), chunk.as_bytes(), piece, CHUNK_END].map(IoSlice::new);
            write_all(stream, &mut slices, n_sent)?;
        } else {
            write_all(stream, &mut [IoSlice::new(held), IoSlice::new(piece)], n_sent)?;
        }
        held.clear();
        Ok(())
    }

    /// The whole of it is one chunk.
    fn begin_file(&mut self, len: u64) {
        if self.is_chunked {
            self.held().extend_from_slice(ChunkHead::new(len as usize).as_bytes());
        }
    }

    fn try_send_file(&mut self, file: &File, offset: u64, len: u64) -> io::Result<usize> {
        while !self.held.is_empty() {
            let n = self.stream.try_write_more(&self.held)?;
            self.held.drain(..n);
        }
        self.stream.try_send_file(file, offset, len)
    }

    fn end_file(&mut self) {
        if self.is_chunked {
            self.held().extend_from_slice(CHUNK_END);
        }
    }

    fn cork(&mut self) {
        self.stream.cork();
    }

    fn poll_writable(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_writable(context)
    }

    fn give_no_reply(&mut self) {}

    fn end(&mut self, trailers: &[u8]) {
        if self.is_chunked {
            let held = self.held();
            for part in [LAST_CHUNK, trailers, CHUNK_END] {
                held.extend_from_slice(part);
            }
        }
    }

    fn take_over(&mut self) -> Vec<u8> {
        mem::take(&mut self.rest)
    }

    fn wire(&mut self) -> &mut dyn RawBytes {
        self.stream
    }
}

/// Writes all of these bytes, of which `n_sent` have been written before.
fn write_all(
    stream: &mut ClientStream,
    mut slices: &mut [IoSlice<'_>],
    n_sent: &mut usize,
) -> io::Result<()> {
    IoSlice::advance_slices(&mut slices, *n_sent);
    while !slices.is_empty() {
        let n = stream.try_write(slices)?;
        *n_sent += n;
        IoSlice::advance_slices(&mut slices, n);
    }
    Ok(())
}

impl RawBytes for ClientStream {
    fn poll_ready(
        &mut self,
        context: &mut Context<'_>,
        wanted: SocketInterest,
    ) -> Poll<io::Result<SocketInterest>> {
        self.poll_wait(context, wanted)
    }

    fn poll_read(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<io::Result<usize>> {
        Self::poll_read(self, context, out)
    }

    fn try_write(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        Self::try_write(self, pieces)
    }

    fn poll_shut_down(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Nothing is waited for that would be lost with the future.
        pin!(self.shut_down()).poll(context)
    }
}
