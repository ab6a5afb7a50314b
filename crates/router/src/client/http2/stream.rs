//! One request of a connection, from its head to the end of its reply.

use std::future::poll_fn;
use std::pin::pin;

use corral_http::request::{HeadProgress, RequestHeadError, parse_head};
use corral_ipc::log;
use corral_ipc::message::Refusal;
use h2::RecvStream;
use h2::server::SendResponse;
use http::Request as HttpRequest;

use super::body::Http2Body;
use super::carrier::Http2Carrier;
use super::head::{self, StreamKind};
use super::piece::UnsentPiece;
use super::{RunningStream, StreamContext};
use crate::client::request_state::RequestState;
use crate::clock::deadline::Deadline;
use crate::dev_reload;
use crate::dispatch;
use crate::exchange::Exchange;
use crate::generation::listener_settings::ListenerSettings;
use crate::request::client::Gone;
use crate::request::head::ReceivedRequest;

/// Why there is no request to answer.
#[derive(Debug, thiserror::Error)]
enum StreamRefusal {
    #[error(transparent)]
    Malformed(#[from] RequestHeadError),
    #[error("it asks for a protocol that is not spoken here")]
    UnknownProtocol,
}

impl StreamRefusal {
    fn status(&self) -> u16 {
        match self {
            Self::Malformed(error) => error.status(),
            Self::UnknownProtocol => 501,
        }
    }
}

/// A request that has come.
struct StreamRequest {
    /// With its head in the form of HTTP/1.
    work: Box<RequestState>,
    refusal: Option<StreamRefusal>,
    stream: RecvStream,
    respond: SendResponse<UnsentPiece>,
}

/// Answers a request.
pub(super) fn run(
    running: RunningStream,
    request: HttpRequest<RecvStream>,
    respond: SendResponse<UnsentPiece>,
) -> impl Future<Output = ()> {
    let asked = read(&running.0, request, respond);
    async move {
        let shared = &*running.0;
        let mut answering = pin!(answer(shared, asked));
        poll_fn(|context| log::about(shared.id, || answering.as_mut().poll(context))).await;
    }
}

fn read(
    shared: &StreamContext,
    request: HttpRequest<RecvStream>,
    respond: SendResponse<UnsentPiece>,
) -> StreamRequest {
    let (parts, stream) = request.into_parts();
    let kind = StreamKind::of(&parts);
    let mut work = RequestState::take_for_stream();
    let RequestState { input, head, .. } = &mut *work;
    // No larger than it must be: a connection may have a hundred streams that wait.
    input.reserve_exact(head::len_at_most(&parts));
    head::append(&parts, kind, stream.is_end_stream(), input);
    head.clear();
    let settings = shared.handle.settings();
    let refusal = match parse_head(head, input, &settings.generation.shared.request_settings.stream_head) {
        // It is a CONNECT that is for no proxy (RFC 8441 section 4).
        Err(RequestHeadError::Connect) if kind == StreamKind::Unknown => Some(StreamRefusal::UnknownProtocol),
        Err(error) => Some(error.into()),
        Ok(HeadProgress::Partial) => Some(RequestHeadError::TooLarge.into()),
        Ok(HeadProgress::Complete { .. }) => None,
    };
    StreamRequest { work, refusal, stream, respond }
}

async fn answer(shared: &StreamContext, asked: StreamRequest) {
    let StreamRequest { work, refusal, stream, respond } = asked;
    if let Some(dev) = dev_reload::watching() {
        // Boxed, as a daemon has no use for it.
        Box::pin(dev.be_current()).await;
    }
    let settings = shared.handle.settings();
    let body = Http2Body::new(stream, &work.head, &settings.generation.shared.request_settings);
    let deadline = shared.services.deadlines.add(shared.handle.id());
    let mut carrier = Http2Carrier::new(shared, body, respond);
    // Boxed, because most of it is over while a client still sends what is thrown away.
    let answered = Box::pin(converse(&mut carrier, &deadline, &settings, &work, refusal.as_ref())).await;
    work.give_without_input();
    drop(settings);
    match answered {
        Ok(()) => {
            carrier.finish();
            shared.resets.borrow_mut().regain();
            carrier.body.discard(&deadline).await;
        }
        Err(Gone) => {
            if carrier.abandon() {
                shared.note_reset();
            }
        }
    }
}

async fn converse(
    carrier: &mut Http2Carrier<'_>,
    deadline: &Deadline,
    settings: &ListenerSettings,
    work: &RequestState,
    refusal: Option<&StreamRefusal>,
) -> Result<(), Gone> {
    let services = &*carrier.shared.services;
    let request = ReceivedRequest { head: &work.head, bytes: &work.input, started: services.deadlines.now() };
    let mut exchange = Exchange::new(carrier, (deadline, services), settings, request);
    let answered = respond_to(&mut exchange, refusal).await;
    dispatch::note_end(&exchange);
    exchange.end();
    answered
}

async fn respond_to(exchange: &mut Exchange<'_>, refusal: Option<&StreamRefusal>) -> Result<(), Gone> {
    if let Some(refusal) = refusal {
        let status = refusal.status();
        exchange.reply.refuse(Refusal::of_status(status));
        tracing::info!("request refused with {status}: {refusal}");
        return exchange.response().send_error(status).await;
    }
    dispatch::answer(exchange).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_task<F>(
        _: fn(RunningStream, HttpRequest<RecvStream>, SendResponse<UnsentPiece>) -> F,
    ) -> usize {
        size_of::<F>()
    }

    /// A connection may have a hundred of them.
    #[test]
    fn a_stream_is_small() {
        let size = size_of_task(run);
        assert!(size <= 1024, "the task of a stream has {size} bytes");
    }
}
