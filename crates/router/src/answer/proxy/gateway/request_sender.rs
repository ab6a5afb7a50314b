//! A request on its way to a server: the opening, then the body in its framing.

use std::io::{self, IoSlice};

use corral_cgi::fastcgi::{self, Stdin};
use corral_config::protocol::Protocol;

use crate::answer::proxy::http1_request::OutgoingHead;
use crate::answer::proxy::socket::write_now;
use crate::answer::proxy::upload::Upload;
use crate::upstream::ServerConnection;

/// A request on its way, but for its body.
pub(super) struct RequestSender {
    opening: OutgoingHead,
    /// The framing of the body, if it has one.
    stdin: Option<Stdin>,
    n_sent: u64,
    /// The end of a body without framing is to be seen: the connection is closed in this direction.
    closes: bool,
    is_abandoned: bool,
}

impl RequestSender {
    /// For the request with this number on its connection.
    pub(super) fn new(opening: Vec<u8>, protocol: Protocol, id: u16) -> Self {
        let stdin = (protocol == Protocol::FastCgi).then(|| Stdin::of_request(id));
        Self { opening: OutgoingHead::new(opening), stdin, n_sent: 0, closes: false, is_abandoned: false }
    }

    /// Has a server that reads a body without framing see its end, whether or not it counts the bytes.
    pub(super) fn ending_visibly(self) -> Self {
        Self { closes: self.stdin.is_none(), ..self }
    }

    /// Sends as much as there is room for.
    pub(super) fn send(&mut self, connection: &mut ServerConnection, upload: &mut Upload) -> io::Result<()> {
        while !self.is_sent(upload) {
            let (framing, n_content) = match &mut self.stdin {
                Some(stdin) => stdin.next(upload.pending().len(), upload.is_complete()),
                None => (&[][..], upload.pending().len()),
            };
            let content = upload.pending().get(..n_content).unwrap_or_default();
            let n_opening = self.opening.pending().len();
            let pieces = [self.opening.pending(), framing, content].map(IoSlice::new);
            let Some(n) = write_now(connection, &pieces)? else { return Ok(()) };
            self.n_sent += n as u64;
            self.opening.advance(n.min(n_opening));
            let n = n - n.min(n_opening);
            let n = self.stdin.as_mut().map_or(n, |stdin| stdin.advance(n));
            upload.advance(n)?;
        }
        if self.closes && self.is_complete(upload) {
            self.closes = false;
            connection.finish_writing()?;
        }
        Ok(())
    }

    /// Nothing more is sent.
    pub(super) fn abandon(&mut self, upload: &mut Upload) {
        self.opening.abandon();
        upload.abandon();
        self.is_abandoned = true;
    }

    /// Whether everything was sent that ever will be.
    pub(super) fn is_sent(&self, upload: &Upload) -> bool {
        self.is_abandoned || self.is_complete(upload)
    }

    /// Whether all of the request was sent.
    pub(super) fn is_complete(&self, upload: &Upload) -> bool {
        let is_framed = self.stdin.as_ref().is_none_or(Stdin::is_sent);
        !self.is_abandoned && self.opening.pending().is_empty() && upload.is_sent() && is_framed
    }

    /// Whether the server cannot have seen any of it.
    pub(super) fn has_sent_nothing(&self) -> bool {
        self.n_sent == 0
    }
}

/// Begins the next request on a connection before it is known.
pub(super) fn announce(connection: &mut ServerConnection) -> io::Result<()> {
    let mut begin = Vec::new();
    fastcgi::append_begin(true, &mut begin);
    fastcgi::set_request_id(fastcgi::request_id(connection.n_requests().saturating_add(1)), &mut begin);
    match connection.try_write(&[IoSlice::new(&begin)])? {
        n if n == begin.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}
