//! HTTP/1: a connection carries one exchange after the other.

mod body;
mod carrier;
pub(super) mod head;

use std::mem;

use corral_channel::MAX_INLINE_BODY;
use corral_http::request::RequestFraming;
use corral_http::response;
use corral_ipc::message::ConnectionProtocol;

use self::body::{Http1Body, READ_STEP};
use self::carrier::{AfterReply, Http1Carrier};
use self::head::HeadRefusal;
use crate::client::connection::{AfterRequest, ClientConnection};
use crate::client::request_state::RequestState;
use crate::dispatch;
use crate::exchange::Exchange;
use crate::exchange::carrier::Carrier;
use crate::generation::listener_settings::ListenerSettings;
use crate::request::client::Gone;
use crate::request::head::ReceivedRequest;
use crate::storage::buffers::{self, Rest};

/// Answers the request whose head is complete in `work`.
pub(super) async fn run(
    connection: &mut ClientConnection,
    work: &mut RequestState,
    settings: ListenerSettings,
) -> AfterRequest {
    let started = work.started(connection);
    let RequestState { input, head, .. } = work;
    let rules = &settings.generation.shared.request_settings;
    let mut incoming = Http1Body::new(head.framing(), head.expects_continue(), rules);
    let rest = split_rest(input, head.len(), &mut incoming);
    connection.sends_much = is_large(head.framing());
    note_first(connection);
    connection.n_requests = connection.n_requests.saturating_add(1);
    let request = ReceivedRequest { head, bytes: input, started };
    let ClientConnection { stream, handle, peer, n_requests, deadline, services, .. } = connection;
    let (deadline, services) = (&*deadline, &**services);
    let client = (*peer, *n_requests);
    let mut carrier = Http1Carrier::new(stream, handle, client, request, (incoming, rest));
    let (answered, after) = {
        let mut exchange = Exchange::new(&mut carrier, (deadline, services), &settings, request);
        exchange.reply.close = !head.keep_alive();
        let answered = dispatch::answer(&mut exchange).await;
        dispatch::note_end(&exchange);
        exchange.end();
        (answered, AfterReply::of(&exchange.reply))
    };
    let next = match answered {
        Ok(()) => carrier.next(after, deadline, rules).await,
        Err(Gone) => AfterRequest::Close,
    };
    let rest = carrier.take_over();
    drop(carrier);
    if rest.is_empty() {
        input.clear();
        buffers::give(rest);
    } else {
        buffers::give(mem::replace(input, rest));
    }
    next
}

/// Answers what is not a request: an error page, unless the client has left already, and a log entry.
pub(super) async fn refuse(
    connection: &mut ClientConnection,
    work: &mut RequestState,
    settings: &ListenerSettings,
    refusal: HeadRefusal,
) {
    let status = match refusal {
        HeadRefusal::Malformed(error) => error.status(),
        HeadRefusal::TimedOut => 408,
        HeadRefusal::Cut => 400,
        HeadRefusal::PlainOnTls => response::PLAIN_ON_TLS,
        HeadRefusal::Crowded => 503,
    };
    // The address was complained about already.
    if !matches!(refusal, HeadRefusal::Crowded) {
        tracing::info!("request refused with {status}: {refusal}");
    }
    note_first(connection);
    let started = work.started(connection);
    let request = ReceivedRequest { head: &work.head, bytes: &work.input, started };
    let ClientConnection { stream, handle, peer, n_requests, deadline, services, .. } = connection;
    let client = (*peer, n_requests.saturating_add(1));
    let mut carrier = Http1Carrier::new(stream, handle, client, request, (Http1Body::none(), Vec::new()));
    let mut exchange = Exchange::new(&mut carrier, (&*deadline, &**services), settings, request);
    exchange.reply.close = true;
    exchange.reply.refusal = refusal.reason();
    if matches!(refusal, HeadRefusal::Cut) {
        exchange.reply.status = Some(status);
    } else {
        // Nothing follows, whether or not the client still listens.
        let _ = exchange.response().send_error(status).await;
    }
    dispatch::note_end(&exchange);
}

/// With its first request a connection has shown what it speaks.
fn note_first(connection: &ClientConnection) {
    if connection.n_requests == 0 {
        connection.services.counters.traffic.begin(ConnectionProtocol::Http1);
    }
}

/// Takes what follows the head out of the input; most often that is nothing, and costs nothing. A large body that is
/// there as a whole stays where it is, and the head leaves instead.
fn split_rest(input: &mut Vec<u8>, head_len: usize, incoming: &mut Http1Body) -> Vec<u8> {
    if buffers::is_large(input) {
        let mut head = buffers::take();
        head.extend_from_slice(&input[..head_len]);
        let read = Rest::new(mem::replace(input, head), head_len);
        return incoming.adopt(read).map_or_else(Rest::into_small, |()| Vec::new());
    }
    if input.len() == head_len {
        return Vec::new();
    }
    let mut rest = buffers::take();
    rest.extend_from_slice(&input[head_len..]);
    input.truncate(head_len);
    rest
}

/// Whether a body is worth a large buffer, and fits into one with its head.
fn is_large(framing: RequestFraming) -> bool {
    matches!(framing, RequestFraming::Length(len) if (READ_STEP as u64..=MAX_INLINE_BODY as u64).contains(&len))
}
