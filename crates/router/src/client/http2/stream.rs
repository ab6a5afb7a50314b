//! One request of a connection, from its head to the end of its reply.

use std::future::poll_fn;
use std::pin::pin;

use corral_http::request::{HeadError, Progress, parse_head};
use corral_ipc::log;
use h2::RecvStream;
use h2::server::SendResponse;
use http::Request as HttpRequest;

use super::body::Body;
use super::carrier::Http2;
use super::head::{self, Kind};
use super::piece::Piece;
use super::{Running, Shared};
use crate::client::work::Work;
use crate::clock::deadline::Deadline;
use crate::desk;
use crate::dispatch;
use crate::exchange::Exchange;
use crate::generation::slot_settings::SlotSettings;
use crate::request::body::BodyError;
use crate::request::client::Gone;
use crate::request::head::Request;

/// Why there is no request to answer.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error(transparent)]
    Malformed(#[from] HeadError),
    #[error("it asks for a protocol that is not spoken here")]
    UnknownProtocol,
}

impl Refusal {
    fn status(&self) -> u16 {
        match self {
            Self::Malformed(error) => error.status(),
            Self::UnknownProtocol => 501,
        }
    }
}

/// A request that has come.
struct Asked {
    /// With its head in the form of HTTP/1.
    work: Box<Work>,
    refusal: Option<Refusal>,
    stream: RecvStream,
    respond: SendResponse<Piece>,
}

/// Answers a request.
pub(super) fn run(
    running: Running,
    request: HttpRequest<RecvStream>,
    respond: SendResponse<Piece>,
) -> impl Future<Output = ()> {
    let asked = read(&running.0, request, respond);
    async move {
        let shared = &*running.0;
        let mut answering = pin!(answer(shared, asked));
        poll_fn(|context| log::about(shared.id, || answering.as_mut().poll(context))).await;
    }
}

fn read(shared: &Shared, request: HttpRequest<RecvStream>, respond: SendResponse<Piece>) -> Asked {
    let (parts, stream) = request.into_parts();
    let kind = Kind::of(&parts);
    let mut work = Work::take_for_stream();
    let Work { input, head, .. } = &mut *work;
    // No larger than it must be: a connection may have a hundred streams that wait.
    input.reserve_exact(head::len_at_most(&parts));
    head::append(&parts, kind, stream.is_end_stream(), input);
    head.clear();
    let settings = shared.slot.settings();
    let refusal = match parse_head(head, input, &settings.generation.shared.rules.stream_head) {
        // It is a CONNECT that is for no proxy (RFC 8441 section 4).
        Err(HeadError::Connect) if kind == Kind::Unknown => Some(Refusal::UnknownProtocol),
        Err(error) => Some(error.into()),
        Ok(Progress::Partial) => Some(HeadError::TooLarge.into()),
        Ok(Progress::Complete { .. }) => None,
    };
    Asked { work, refusal, stream, respond }
}

async fn answer(shared: &Shared, asked: Asked) {
    let Asked { work, refusal, stream, respond } = asked;
    if let Some(desk) = desk::watching() {
        // Boxed, as a daemon has no use for it.
        Box::pin(desk.be_current()).await;
    }
    let settings = shared.slot.settings();
    let (body, body_error) = Body::new(stream, &work.head, &settings.generation.shared.rules);
    let deadline = shared.services.deadlines.add(shared.slot.id());
    let mut carrier = Http2::new(shared, body, respond);
    // Boxed, because most of it is over while a client still sends what nobody wants.
    let answered =
        Box::pin(converse(&mut carrier, &deadline, &settings, &work, refusal.as_ref(), body_error.as_ref()))
            .await;
    work.give_without_input();
    drop(settings);
    match answered {
        Ok(()) => {
            carrier.finish();
            shared.patience.borrow_mut().regain();
            carrier.body.discard(&deadline).await;
        }
        Err(Gone) => {
            if carrier.abandon() {
                shared.patience.borrow_mut().lose();
            }
        }
    }
}

async fn converse(
    carrier: &mut Http2<'_>,
    deadline: &Deadline,
    settings: &SlotSettings,
    work: &Work,
    refusal: Option<&Refusal>,
    body_error: Option<&BodyError>,
) -> Result<(), Gone> {
    let services = &*carrier.shared.services;
    let request = Request { head: &work.head, bytes: &work.input, started: services.deadlines.now() };
    let mut exchange = Exchange::new(carrier, (deadline, services), settings, request);
    let answered = respond_to(&mut exchange, refusal, body_error).await;
    dispatch::note_end(&exchange);
    exchange.end();
    answered
}

async fn respond_to(
    exchange: &mut Exchange<'_>,
    refusal: Option<&Refusal>,
    body_error: Option<&BodyError>,
) -> Result<(), Gone> {
    if let Some(refusal) = refusal {
        let status = refusal.status();
        tracing::info!("request refused with {status}: {refusal}");
        return exchange.send_error(status).await;
    }
    match body_error {
        Some(error) => dispatch::answer_refused(exchange, error).await,
        None => dispatch::answer(exchange).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_task<F>(_: fn(Running, HttpRequest<RecvStream>, SendResponse<Piece>) -> F) -> usize {
        size_of::<F>()
    }

    /// A connection may have a hundred of them.
    #[test]
    fn a_stream_is_small() {
        let size = size_of_task(run);
        assert!(size <= 1024, "the task of a stream has {size} bytes");
    }
}
