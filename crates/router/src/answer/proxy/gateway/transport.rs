//! A connection that a process of a server has for one request.

use std::future::pending;
use std::io;

use super::request_sender::RequestSender;
use super::response_reader::ResponseReader;
use crate::answer::proxy::receive::ServerTransport;
use crate::answer::proxy::socket;
use crate::answer::proxy::upload::Upload;
use crate::exchange::carrier::Carrier;
use crate::upstream::ServerFailure;

/// A connection on which a request goes out and its response comes in.
pub(super) struct GatewayTransport<'k> {
    pub(super) source: ResponseReader<'k>,
    outgoing: RequestSender,
    /// The head of the response is here.
    pub(super) is_answered: bool,
}

impl<'k> GatewayTransport<'k> {
    pub(super) fn new(source: ResponseReader<'k>, outgoing: RequestSender) -> Self {
        Self { source, outgoing, is_answered: false }
    }

    /// Shows a program the end of the request's body; calls `told` when it can do something else.
    pub(super) fn for_program(self, told: &'k dyn Fn()) -> Self {
        let Self { source, outgoing, is_answered } = self;
        Self { source: source.tell_of_end(told), outgoing: outgoing.ending_visibly(), is_answered }
    }
}

impl ServerTransport for GatewayTransport<'_> {
    /// So many bytes, or none at the end.
    type Received = io::Result<usize>;

    /// A server that takes no more may have answered all the same.
    fn send(&mut self, upload: &mut Upload) -> Result<(), ServerFailure> {
        let Some((connection, _)) = self.source.open() else { return Ok(()) };
        let sent = self.outgoing.send(connection, upload);
        self.source.is_asked = self.outgoing.is_complete(upload);
        match sent {
            Err(error) if self.outgoing.has_sent_nothing() => {
                // A body of which no server has seen anything can be sent to another one in full.
                if self.is_answered { Ok(()) } else { Err(ServerFailure::Connect(error)) }
            }
            Err(_) => {
                self.outgoing.abandon(upload);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn is_blocked(&self, upload: &Upload) -> bool {
        !self.outgoing.is_sent(upload)
    }

    /// All of the body was stored before.
    fn is_starving(&self, _: &Upload) -> bool {
        false
    }

    async fn receive_undisturbed(&mut self, carrier: &dyn Carrier) -> Option<Self::Received> {
        let (connection, input) = self.source.open()?;
        socket::receive_undisturbed(connection, carrier, input).await
    }

    async fn receive(&mut self, wants_room: bool) -> Option<Self::Received> {
        match self.source.open() {
            Some((connection, input)) => socket::receive(connection, input, wants_room).await,
            None => pending().await,
        }
    }
}
