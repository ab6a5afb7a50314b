//! The interface of an exchange to the connection, or the stream, that carries it. Everything is tried or polled;
//! waiting, and for how long, is the exchange's affair.

use std::borrow::Cow;
use std::fs::File;
use std::future::{pending, poll_fn};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use corral_http::response::{HttpDate, ReplyFraming};

use crate::io::SocketInterest;
use crate::reply::ReplyFields;
use crate::request::body::BodyError;
use crate::storage::buffers::Rest;
use crate::tls::TlsPeer;

/// Carries one exchange. A method that is said to hold something keeps it until something is sent.
pub(crate) trait Carrier {
    /// The address at the other end, as the PROXY protocol has it if that is spoken; none for a Unix socket.
    fn peer(&self) -> Option<SocketAddr>;

    /// The address that the client connected to; none for a Unix socket. Costs a system call.
    fn local_address(&self) -> Option<SocketAddr>;

    /// Which request of its connection it is, from 1.
    fn n_requests(&self) -> u32;

    /// Whether the connection speaks TLS.
    fn speaks_tls(&self) -> bool;

    /// The client, if it speaks TLS.
    fn tls_peer(&self) -> Option<Cow<'_, TlsPeer<'_>>>;

    /// Permits a body of so many bytes, before any of it is taken. One whose length was announced is the exchange's
    /// affair.
    fn limit_body(&mut self, most: u64);

    /// Whether nothing more of the request's body is to come, beside what may have come.
    fn body_is_done(&self) -> bool;

    /// Bytes of the request's body that have come.
    fn n_body_bytes(&self) -> u64;

    /// Whether what is left of the body comes without a word from here. `taken` is what has been taken of it.
    fn body_comes_uninvited(&self, taken: &[u8]) -> bool;

    /// The part of the body that came along with the head, as it is if that is possible.
    fn begin_body(&mut self) -> Result<Rest, BodyError>;

    /// Appends what has come of the body.
    fn take_body(&mut self, out: &mut Vec<u8>) -> Result<(), BodyError>;

    /// Tells a client that waits for it to send the body.
    fn invite_body(&mut self) -> Result<(), BodyError>;

    /// Reads, and appends what that has brought of the body, which may be nothing but framing.
    fn poll_body(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<Result<(), BodyError>>;

    /// Waits for what may be the client's end: cheaper than the end alone, and nearly always neither comes.
    fn poll_stir(&self, context: &mut Context<'_>) -> Poll<()>;

    /// Whether all that is left of the request's body has come, read or not.
    fn body_has_come(&self) -> bool;

    /// Waits until there is this sign that the client is gone. In a box: it is asked for when something has stirred.
    fn departure(&self, sign: ClientSignal) -> Pin<Box<dyn Future<Output = ()> + '_>>;

    /// Holds heads of interim responses, in the form of HTTP/1. Not all clients know what that is.
    fn hold_interim(&mut self, heads: &[u8]);

    /// How a body is framed of which `length` is known.
    fn framing(&self, status: u16, length: Option<u64>) -> ReplyFraming;

    /// Whether nothing can follow this exchange, whatever is said about that.
    fn is_last(&self) -> bool;

    /// Holds the head of the reply.
    fn begin(&mut self, head: &ReplyHead<'_>);

    /// Holds a short piece of the body.
    fn hold(&mut self, piece: &[u8]);

    /// Sends what is held, and then a piece of the body. After `WouldBlock` it goes on where it was when it is called
    /// with the same piece and the same `n_sent`, which is 0 at first.
    fn try_send(&mut self, piece: &[u8], n_sent: &mut usize) -> io::Result<()>;

    /// Holds what stands before `len` bytes of the body that come from a file. They are more than none.
    fn begin_file(&mut self, len: u64);

    /// Sends what is held, and then a part of a file, straight from the page cache if that is possible; returns how
    /// much of it.
    fn try_send_file(&mut self, file: &File, offset: u64, len: u64) -> io::Result<usize>;

    /// Holds what stands behind the bytes of a file, when all of them have been sent.
    fn end_file(&mut self);

    /// The rest of the reply follows at once, and then the end of the connection: they may travel together.
    fn cork(&mut self) {}

    /// Waits for room to send something.
    fn poll_writable(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// The exchange ends without a reply, as it is meant to.
    fn give_no_reply(&mut self);

    /// Holds what ends the body, with lines of fields behind it if that is possible.
    fn end(&mut self, trailers: &[u8]);

    /// The bytes that the client has sent behind the request, to which a reply has switched, or which are not answered.
    fn take_over(&mut self) -> Vec<u8>;

    /// The connection that has been taken over.
    fn wire(&mut self) -> &mut dyn RawBytes;
}

/// Bytes to and from a client, whatever they mean.
pub(crate) trait RawBytes {
    /// Waits until there is something of what is wanted.
    fn poll_ready(
        &mut self,
        context: &mut Context<'_>,
        wanted: SocketInterest,
    ) -> Poll<io::Result<SocketInterest>>;

    /// Appends what there is to read; 0 at the end.
    fn poll_read(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<io::Result<usize>>;

    /// Writes as much of the pieces as there is room for. After `WouldBlock` the next call must begin with the same
    /// bytes.
    fn try_write(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Says that nothing more will be written.
    fn poll_shut_down(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// The head of a reply.
pub(crate) struct ReplyHead<'h> {
    pub(crate) status: u16,
    /// All fields but those that the server adds.
    pub(crate) fields: &'h ReplyFields,
    /// Value of `Server`; none when the reply has its own.
    pub(crate) server: Option<&'h [u8]>,
    /// Value of `Date`; none when the reply has its own.
    pub(crate) date: Option<&'h HttpDate>,
    pub(crate) framing: ReplyFraming,
    /// The body itself is sent, too.
    pub(crate) has_body: bool,
    pub(crate) then: ConnectionUse,
}

/// The use of the connection after a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionUse {
    More,
    Nothing,
    /// Another protocol, to which it is switched.
    Switched,
}

impl dyn Carrier + '_ {
    /// Waits for [the departure](Carrier::departure). Cancel safe.
    pub(crate) async fn gone(&self, sign: ClientSignal) {
        if sign == ClientSignal::None {
            return pending().await;
        }
        poll_fn(|context| self.poll_stir(context)).await;
        self.departure(sign).await;
    }
}

/// A sign that a client is gone. A stream of HTTP/2 has but one, its reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientSignal {
    /// The client has said that it sends nothing more.
    Finished,
    /// The same of a client that has announced it, and that has got nothing for some seconds since.
    Lasting,
    /// The connection is broken.
    Broken,
    /// No sign is waited for: the client is known to be gone, or does not matter.
    None,
}
