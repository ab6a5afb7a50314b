//! A question about a request, which a server or an application answers without its body: a GET with the request's
//! fields.

use std::rc::Rc;

use corral_config::table::{InnerListener, Key};
use corral_config::upstream::Timeouts;
use corral_http::request::KnownField;
use corral_http::response;

use super::admission::{self, NotAdmitted};
use super::attempt::{dismiss, keep, kept_or_open};
use super::forwarded;
use super::http1_request::{Http1Request, OutgoingHead};
use super::relay::{Relayed, ResponseRelay};
use super::request::{append_escaped, append_host, end_to_end_fields};
use super::response_head::ResponseStart;
use super::retry::{FailedAttempt, RetryState, RetryTarget};
use super::upload::Upload;
use crate::clock::Millis;
use crate::exchange::response::ResponseWriter;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::{
    Freshness, LoopGroup, LoopServer, ServerConnection, ServerFailure, ServerWish, TriedServers,
};

/// An answer whose head is there.
pub(crate) struct SubrequestResponse {
    /// The server whose connection can be kept; none of an application.
    server: Option<Rc<LoopServer>>,
    connection: ServerConnection,
    start: ResponseStart,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SubrequestError {
    #[error(transparent)]
    NotAdmitted(#[from] NotAdmitted),
    #[error(transparent)]
    Failed(#[from] ServerFailure),
}

impl SubrequestError {
    /// The status of the reply to the client.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::NotAdmitted(reason) => reason.status(),
            Self::Failed(failure) => failure.status(),
        }
    }
}

/// Asks one server of the group after the other until one answers.
pub(crate) async fn ask(
    response: &mut ResponseWriter<'_, '_>,
    group: &LoopGroup,
    target: &str,
) -> Result<Result<SubrequestResponse, SubrequestError>, Gone> {
    // For as long as `forward` waits.
    let most = group.shared.upstream.retries.most;
    let mut retries = RetryState::new(RetryTarget::server(group.servers.len(), most, None), true);
    let mut tried = TriedServers::new();
    let mut last = None;
    loop {
        let wish = ServerWish { tried: &tried, key: b"", preferred: None, now: response.now() };
        let (chosen, place) = match admission::admit(response, group, wish).await? {
            Ok(admitted) => admitted,
            Err(reason) => return Ok(Err(last.map_or(reason.into(), SubrequestError::Failed))),
        };
        let server = group.begin_attempt(chosen, &tried);
        let active = server.figures().begin_request();
        let asked = ask_server(response, server, target).await;
        drop((active, place));
        let failure = match asked? {
            Ok(reply) => return Ok(Ok(reply)),
            Err(failure) => failure,
        };
        if failure.is_theirs() {
            server.figures().failures.add(1);
            server.shared.health.failed(&server.shared.passive, Millis::of(response.now()));
        }
        let may_retry = retries.permit(FailedAttempt::new(&failure), true);
        tried.push(chosen);
        if !may_retry {
            return Ok(Err(failure.into()));
        }
        last = Some(failure);
    }
}

/// Asks an application, which the router reaches as a client of its own.
pub(crate) async fn ask_application(
    response: &mut ResponseWriter<'_, '_>,
    listener: Key<InnerListener>,
    target: &str,
) -> Result<Result<SubrequestResponse, SubrequestError>, Gone> {
    let generation = &response.request.settings.generation;
    let connected = response.services.inner.connect(generation, listener, response.request.client.address);
    let mut connection = match connected.map_err(ServerFailure::of_connecting) {
        Ok(socket) => ServerConnection::new(socket, None),
        Err(failure) => return Ok(Err(failure.into())),
    };
    let mut head = begin_head(target);
    if let Some(host) =
        response.request.received.head.value(response.request.received.bytes, KnownField::Host)
    {
        response::append_checked_field(&mut head, b"Host", host);
    }
    response::append_field(&mut head, b"Connection", b"close");
    append_fields(response, &mut head);
    let (mut upload, timeouts) = (Upload::none(), Timeouts::default());
    let request = OutgoingHead::new(head);
    let http1_request = Http1Request {
        connection: &mut connection,
        upload: &mut upload,
        timeouts: &timeouts,
        request,
        passes_interim: false,
    };
    match http1_request.run(response).await {
        Ok(start) => Ok(Ok(SubrequestResponse { server: None, connection, start })),
        Err(failure) => Ok(Err(failure.of_server()?.into())),
    }
}

/// Asks a server; a kept connection that turns out to be closed is replaced by a new one.
async fn ask_server(
    response: &mut ResponseWriter<'_, '_>,
    server: &Rc<LoopServer>,
    target: &str,
) -> Result<Result<SubrequestResponse, ServerFailure>, Gone> {
    let mut retries = RetryState::new(RetryTarget::Connection, true);
    loop {
        let (mut connection, is_kept) = match kept_or_open(response, server, Freshness::Any).await {
            Ok(connected) => connected,
            Err(failure) => return failure.of_server().map(Err),
        };
        retries.begin(server);
        connection.begin_request();
        let mut head = begin_head(target);
        append_host(&server.shared, &mut head);
        append_fields(response, &mut head);
        let mut upload = Upload::none();
        let timeouts = &server.shared.options.timeouts;
        let http1_request = Http1Request {
            connection: &mut connection,
            upload: &mut upload,
            timeouts,
            request: OutgoingHead::new(head),
            passes_interim: false,
        };
        let failure = match http1_request.run(response).await {
            Ok(start) => {
                server.shared.health.succeeded();
                return Ok(Ok(SubrequestResponse { server: Some(Rc::clone(server)), connection, start }));
            }
            Err(failure) => failure.of_server()?,
        };
        let attempt = FailedAttempt { was_used: is_kept, ..FailedAttempt::new(&failure) };
        if !retries.permit(attempt, true) {
            return Ok(Err(failure));
        }
    }
}

impl SubrequestResponse {
    pub(crate) fn status(&self) -> u16 {
        self.start.head.status()
    }

    /// All fields that are not about the connection.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.start.head.fields(&self.start.input)
    }

    /// Nothing more of it is wanted. The connection is kept if all of the answer is there.
    pub(crate) fn finish(self, response: &ResponseWriter<'_, '_>) {
        let Self { server, connection, start } = self;
        match server {
            Some(server) => dismiss(response, &server, connection, start, false),
            None => buffers::give(start.input),
        }
    }

    /// Answers the client with it.
    pub(crate) async fn relay(self, response: &mut ResponseWriter<'_, '_>) -> Result<(), Gone> {
        let Self { server, mut connection, mut start } = self;
        let (mut upload, usual) = (Upload::none(), Timeouts::default());
        let timeouts = server.as_ref().map_or(&usual, |server| &server.shared.options.timeouts);
        let mut relay = ResponseRelay { connection: &mut connection, upload: &mut upload, timeouts };
        let relayed = relay.run(response, &mut start).await;
        // The answer to a GET has a body, which is not read for a client that has sent HEAD.
        let may_keep = !response.request.is_head();
        let relayed = match relayed? {
            Relayed::Complete { reusable } => {
                if let Some(server) = server.as_ref().filter(|_| reusable && may_keep) {
                    keep(response, server, connection, start.head.keep_alive_seconds());
                }
                Ok(())
            }
            Relayed::Refused(failure) => return response.send_error(failure.status()).await,
            Relayed::Cut(_) => Err(Gone),
        };
        buffers::give(start.input);
        relayed
    }
}

/// The request line.
fn begin_head(target: &str) -> Vec<u8> {
    let mut head = buffers::take();
    head.extend_from_slice(b"GET ");
    head.extend_from_slice(target.as_bytes());
    head.extend_from_slice(b" HTTP/1.1\r\n");
    head
}

/// All fields of the request that are not a server's matter but the question's, and the end of the head.
fn append_fields(response: &ResponseWriter<'_, '_>, out: &mut Vec<u8>) {
    let (head, bytes) = (response.request.received.head, response.request.received.bytes);
    for (name, value) in end_to_end_fields(response.request) {
        let is_ours =
            ABOUT_REQUEST.iter().any(|ours| name.eq_ignore_ascii_case(ours)) || forwarded::is_one(name);
        if !is_ours {
            response::append_checked_field(out, name, value);
        }
    }
    forwarded::append(response, out);
    response::append_checked_field(out, METHOD, response.request.method());
    let mut uri = buffers::take();
    append_escaped(head.sent_target(bytes), &mut uri);
    response::append_field(out, URI, &uri);
    buffers::give(uri);
    out.extend_from_slice(b"\r\n");
}

const METHOD: &[u8] = b"X-Forwarded-Method";
const URI: &[u8] = b"X-Forwarded-Uri";

/// Fields that are about the body, about which answer is wanted, or that this server says itself.
const ABOUT_REQUEST: [&[u8]; 12] = [
    b"Content-Encoding",
    b"Content-Length",
    b"Content-Type",
    b"Expect",
    b"Host",
    b"If-Match",
    b"If-Modified-Since",
    b"If-None-Match",
    b"If-Unmodified-Since",
    b"Range",
    METHOD,
    URI,
];
