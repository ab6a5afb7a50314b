//! One request on one connection to a server, up to the head of the response.

use std::io::{self, IoSlice};

use corral_config::upstream::Timeouts;
use corral_http::upstream::ResponseHead;

use super::receive::{AttemptFailure, ServerTransport, look_for_client, receive};
use super::response_head::{HeadReader, HeadStatus, ResponseStart, pass_on_interim};
use super::socket;
use super::time_limit::{ResponsePart, WaitLimit};
use super::upload::Upload;
use crate::exchange::carrier::Carrier;
use crate::exchange::response::ResponseWriter;
use crate::storage::buffers;
use crate::upstream::{ServerConnection, ServerFailure};

/// A request whose head is still to be sent.
pub(crate) struct Http1Request<'e> {
    pub(crate) connection: &'e mut ServerConnection,
    pub(crate) upload: &'e mut Upload,
    pub(crate) timeouts: &'e Timeouts,
    /// The request's head, as far as it was not sent.
    pub(crate) request: OutgoingHead,
    /// Interim heads of the server are meant for the client.
    pub(crate) passes_interim: bool,
}

/// A head on its way out, whose buffer is given back as soon as it is gone.
#[derive(Default)]
pub(crate) struct OutgoingHead {
    bytes: Vec<u8>,
    n_sent: usize,
}

impl OutgoingHead {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, n_sent: 0 }
    }

    pub(super) fn pending(&self) -> &[u8] {
        &self.bytes[self.n_sent..]
    }

    pub(super) fn advance(&mut self, n: usize) {
        self.n_sent += n;
        if self.pending().is_empty() {
            self.abandon();
        }
    }

    /// Nothing more of it is sent.
    pub(super) fn abandon(&mut self) {
        self.n_sent = 0;
        buffers::give(std::mem::take(&mut self.bytes));
    }
}

impl Drop for OutgoingHead {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// A connection on which one request goes out and its response comes in.
pub(super) struct Http1Transport<'e> {
    connection: &'e mut ServerConnection,
    head: OutgoingHead,
    /// Received, and not looked at yet.
    pub(super) input: &'e mut Vec<u8>,
    /// Why nothing more is sent. The server may have answered before it closed.
    send_error: Option<io::Error>,
}

impl<'e> Http1Transport<'e> {
    /// Sends the head, if there is something left of it, and the body.
    pub(super) fn new(
        connection: &'e mut ServerConnection,
        head: OutgoingHead,
        input: &'e mut Vec<u8>,
    ) -> Self {
        Self { connection, head, input, send_error: None }
    }

    fn try_send(&mut self, upload: &mut Upload) -> io::Result<()> {
        while !self.head.pending().is_empty() {
            let head = self.head.pending();
            let pieces = [IoSlice::new(head), IoSlice::new(upload.pending())];
            let pieces = if upload.pending().is_empty() { &pieces[..1] } else { &pieces[..] };
            let Some(n) = socket::write_now(self.connection, pieces)? else { return Ok(()) };
            let n_head = n.min(head.len());
            self.head.advance(n_head);
            upload.advance(n - n_head)?;
        }
        while !upload.pending().is_empty() {
            let piece = [IoSlice::new(upload.pending())];
            let Some(n) = socket::write_now(self.connection, &piece)? else { break };
            upload.advance(n)?;
        }
        Ok(())
    }

    /// The connection has ended before there was a head.
    fn ended(&mut self, received: io::Result<usize>) -> ServerFailure {
        match (received, self.send_error.take()) {
            _ if !self.input.is_empty() => ServerFailure::Cut,
            (_, Some(error)) => ServerFailure::Send(error),
            (Err(error), None) => ServerFailure::Receive(error),
            (Ok(_), None) => ServerFailure::Closed,
        }
    }
}

impl ServerTransport for Http1Transport<'_> {
    /// So many bytes, or none at the end.
    type Received = io::Result<usize>;

    fn send(&mut self, upload: &mut Upload) -> Result<(), ServerFailure> {
        if let Err(error) = self.try_send(upload) {
            upload.abandon();
            self.connection.spoil();
            self.head.abandon();
            self.send_error = Some(error);
        }
        Ok(())
    }

    fn is_blocked(&self, upload: &Upload) -> bool {
        !self.head.pending().is_empty() || !upload.pending().is_empty()
    }

    async fn receive_undisturbed(&mut self, carrier: &dyn Carrier) -> Option<Self::Received> {
        socket::receive_undisturbed(self.connection, carrier, self.input).await
    }

    async fn receive(&mut self, wants_room: bool) -> Option<Self::Received> {
        socket::receive(self.connection, self.input, wants_room).await
    }
}

impl Http1Request<'_> {
    /// Sends the request and waits for the head of the response.
    pub(crate) async fn run(
        self,
        response: &mut ResponseWriter<'_, '_>,
    ) -> Result<ResponseStart, AttemptFailure> {
        let Self { connection, upload, timeouts, request, passes_interim } = self;
        let mut answer = ResponseStart { head: ResponseHead::default(), input: Vec::new() };
        let mut server = Http1Transport::new(connection, request, &mut answer.input);
        let mut reader = HeadReader::default();
        let mut limit = WaitLimit::new(ResponsePart::Head, timeouts);
        loop {
            match receive(response, (&mut server, upload), &mut limit).await? {
                Ok(n) if n > 0 => {}
                ended => return Err(server.ended(ended).into()),
            }
            let client = passes_interim.then_some(&mut *response);
            if take_head(client, &mut reader, &mut answer.head, server.input).await? {
                break;
            }
            look_for_client(response, upload).await?;
        }
        if server.is_blocked(upload) || !upload.is_sent() {
            // The server may make anything of the rest of the request.
            server.connection.spoil();
        }
        Ok(answer)
    }
}

/// Looks for the head of the response; heads of interim responses are passed over, or on to a client.
async fn take_head(
    mut client: Option<&mut ResponseWriter<'_, '_>>,
    reader: &mut HeadReader,
    head: &mut ResponseHead,
    input: &mut Vec<u8>,
) -> Result<bool, AttemptFailure> {
    let mut start = 0;
    let is_there = loop {
        let rest = &input[start..];
        match reader.read(head, rest)? {
            HeadStatus::Partial => break false,
            HeadStatus::Final => break true,
            HeadStatus::Interim => {}
        }
        if let Some(response) = &mut client {
            pass_on_interim(response, head, rest).await?;
        }
        start += head.len();
    };
    input.drain(..start);
    Ok(is_there)
}
