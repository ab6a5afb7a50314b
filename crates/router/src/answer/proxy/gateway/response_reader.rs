//! The response on its way from a server: its output taken out of the framing, and kept for a client that is slower.

use std::io;

use corral_cgi::fastcgi::{DecodeEvent, Decoder, RequestEndStatus};
use corral_config::protocol::Protocol;

use super::connection_return::ConnectionReturn;
use super::error_output::ErrorOutput;
use crate::answer::proxy::socket::make_room;
use crate::storage::buffers;
use crate::storage::spool::Spool;
use crate::upstream::{ServerConnection, ServerFailure};

/// Bytes of a response that are kept for a client that does not take them, until the server has to wait.
const MOST_KEPT: u64 = 256 * 1024 * 1024;

/// A response on its way in.
pub(super) struct ResponseReader<'k> {
    /// The connection; none when nothing more is to be read and the server has its process back.
    connection: Option<ServerConnection>,
    connection_return: Option<ConnectionReturn<'k>>,
    /// Called when the server has its process back.
    on_end: Option<&'k dyn Fn()>,
    /// All of the request was sent, so that the connection is in step at its end.
    pub(super) is_asked: bool,
    /// Bytes that were received, in whatever framing.
    n_received: u64,
    /// Received, and not looked at yet.
    input: Vec<u8>,
    /// The framing of the output, if it has one.
    decoder: Option<Decoder>,
    /// Output that is not passed on yet.
    pub(super) content: Vec<u8>,
    /// Output behind that.
    spool: Spool,
    pub(super) log: ErrorOutput,
    failure: Option<ServerFailure>,
}

impl<'k> ResponseReader<'k> {
    pub(super) fn new(
        connection: ServerConnection,
        protocol: Protocol,
        connection_return: Option<ConnectionReturn<'k>>,
    ) -> Self {
        let decoder = (protocol == Protocol::FastCgi).then(|| Decoder::for_request(connection.n_requests()));
        Self {
            connection: Some(connection),
            connection_return,
            on_end: None,
            is_asked: false,
            input: Vec::new(),
            decoder,
            n_received: 0,
            content: Vec::new(),
            spool: Spool::default(),
            log: ErrorOutput::default(),
            failure: None,
        }
    }

    /// Calls `told` when the server has its process back.
    pub(super) fn tell_of_end(mut self, told: &'k dyn Fn()) -> Self {
        self.on_end = Some(told);
        self
    }

    /// The connection and where to read to, while there is something to read.
    pub(super) fn open(&mut self) -> Option<(&mut ServerConnection, &mut Vec<u8>)> {
        Some((self.connection.as_mut()?, &mut self.input))
    }

    /// Whether all of the response is here, or why no more will come.
    pub(super) fn end(&mut self) -> Option<Result<(), ServerFailure>> {
        self.connection.is_none().then(|| self.failure.take().map_or(Ok(()), Err))
    }

    /// The end that was asked for is still to be dealt with.
    pub(super) fn put_back(&mut self, failure: ServerFailure) {
        self.failure = Some(failure);
    }

    pub(super) fn n_received(&self) -> u64 {
        self.n_received
    }

    /// Bytes of the response that are here and not passed on, if all of it is here.
    pub(super) fn n_left(&self) -> Option<u64> {
        let is_complete = self.connection.is_none() && self.failure.is_none();
        is_complete.then(|| self.content.len() as u64 + self.spool.len())
    }

    /// Looks at what was read.
    pub(super) fn take(&mut self, received: io::Result<usize>) {
        match received {
            Err(error) => self.close(Some(ServerFailure::Receive(error))),
            Ok(0) if self.decoder.is_none() => self.close(None),
            Ok(0) => self.close(Some(ServerFailure::Receive(io::ErrorKind::UnexpectedEof.into()))),
            Ok(n) => {
                self.n_received += n as u64;
                self.digest();
            }
        }
        // On a connection that is kept the kernel would wait for something to send with it, which is 40 ms.
        if let Some(connection) = self.connection.as_ref().filter(|_| self.connection_return.is_some()) {
            connection.acknowledge();
        }
    }

    fn digest(&mut self) {
        let mut input = std::mem::take(&mut self.input);
        let Some(decoder) = &mut self.decoder else {
            match self.content.is_empty() {
                true => self.content = input,
                false => self.content.append(&mut input),
            }
            return;
        };
        let mut rest = &input[..];
        loop {
            match decoder.next(&mut rest) {
                Ok(Some(DecodeEvent::Stdout(bytes))) => self.content.extend_from_slice(bytes),
                Ok(Some(DecodeEvent::Stderr(bytes))) => self.log.push(bytes),
                Ok(Some(DecodeEvent::End(end))) => {
                    let is_clean =
                        matches!(decoder.next(&mut rest), Ok(None)) && decoder.is_done() && rest.is_empty();
                    let failure = match end {
                        RequestEndStatus::Complete if is_clean && self.is_asked => {
                            self.keep();
                            None
                        }
                        RequestEndStatus::Complete => None,
                        RequestEndStatus::Overloaded => Some(ServerFailure::Overloaded),
                        RequestEndStatus::UnknownRole => Some(ServerFailure::NoResponder),
                    };
                    self.close(failure);
                    break;
                }
                Ok(None) => break,
                Err(error) => {
                    self.close(Some(error.into()));
                    break;
                }
            }
        }
        input.clear();
        self.input = input;
    }

    fn keep(&mut self) {
        if let (Some(connection_return), Some(connection)) =
            (self.connection_return.take(), self.connection.take())
        {
            connection_return.keep(connection);
        }
    }

    fn close(&mut self, failure: Option<ServerFailure>) {
        self.connection = None;
        self.connection_return = None;
        if let Some(told) = self.on_end.take().filter(|_| failure.is_none()) {
            told();
        }
        self.failure = failure;
    }

    /// Output to pass on, in its order.
    pub(super) fn pop(&mut self) -> io::Result<Option<Vec<u8>>> {
        if !self.content.is_empty() {
            return Ok(Some(std::mem::take(&mut self.content)));
        }
        self.spool.pop()
    }

    /// Reads on while the client takes its time, for ever: nothing is lost when it is not waited for.
    pub(super) async fn keep_filling(&mut self) {
        loop {
            if self.spool.is_stuck() || self.spool.len() >= MOST_KEPT {
                return std::future::pending().await;
            }
            let Some(connection) = &mut self.connection else { return std::future::pending().await };
            let received = connection.read(make_room(&mut self.input)).await;
            self.take(received);
            if !self.content.is_empty() {
                self.spool.push(std::mem::take(&mut self.content));
            }
        }
    }
}

impl Drop for ResponseReader<'_> {
    fn drop(&mut self) {
        buffers::give(std::mem::take(&mut self.input));
        buffers::give(std::mem::take(&mut self.content));
    }
}
