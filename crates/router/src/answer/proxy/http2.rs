//! A request to a server that speaks HTTP/2: a stream on a connection that others share.

mod exchange;
mod websocket;

use std::ops::ControlFlow;

use self::exchange::Http2Request;
use super::attempt::{AttemptOutcome, connected};
use super::judgement::{self, Judge};
use super::request;
use super::retry::{FailedAttempt, RetryState, RetryTarget};
use super::upload::Upload;
use crate::answer::websocket::is_wanted as websocket_is_wanted;
use crate::exchange::response::ResponseWriter;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::http2::{H2RequestHead, H2Stream, StreamPermit, StreamUse};
use crate::upstream::{LoopServer, ServerFailure};

/// Gives the request to the server.
pub(super) async fn run(
    response: &mut ResponseWriter<'_, '_>,
    server: &LoopServer,
    (upload, judge): (&mut Upload, Option<&Judge<'_>>),
) -> Result<AttemptOutcome, Gone> {
    let mut retries = RetryState::new(RetryTarget::Stream, response.request.received.is_idempotent());
    loop {
        let opening = server.stream_permit(&response.services.proxy_servers);
        let permit = match connected(response, server, opening).await {
            Ok(permit) => permit,
            Err(broken) => return broken.into_outcome(),
        };
        retries.begin(server);
        let was_used = !permit.is_first();
        let failure = match send_request(response, server, (upload, judge), permit).await? {
            AttemptOutcome::Failed(failure) => failure,
            outcome => return Ok(outcome),
        };
        if !retries.retry(FailedAttempt { was_used, ..FailedAttempt::new(&failure) }, upload) {
            return Ok(AttemptOutcome::Failed(failure));
        }
    }
}

async fn send_request(
    response: &mut ResponseWriter<'_, '_>,
    server: &LoopServer,
    (upload, judge): (&mut Upload, Option<&Judge<'_>>),
    permit: StreamPermit,
) -> Result<AttemptOutcome, Gone> {
    let kind = if websocket_is_wanted(response.request.received) {
        StreamUse::WebSocket
    } else {
        StreamUse::Exchange
    };
    let stream = match begin(response, server, (upload, kind), permit) {
        Ok(stream) => stream,
        Err(failure) => return Ok(AttemptOutcome::Failed(failure)),
    };
    let timeouts = &server.shared.options.timeouts;
    let mut conversation = Http2Request::new(stream, kind, upload, timeouts);
    let answer = match conversation.ask(response).await {
        Ok(answer) => answer,
        Err(broken) => return broken.into_outcome(),
    };
    if let Some(failure) = judgement::judge(judge, (response, server), answer.status(), conversation.upload())
    {
        return Ok(AttemptOutcome::Failed(failure));
    }
    conversation.commit();
    if kind == StreamUse::WebSocket {
        conversation = match Box::pin(conversation.switch(response, &answer)).await? {
            ControlFlow::Break(()) => return Ok(AttemptOutcome::Answered),
            ControlFlow::Continue(conversation) => conversation,
        };
    }
    Ok(match conversation.relay(response, &answer).await? {
        Some(failure) => AttemptOutcome::Cut(failure),
        None => AttemptOutcome::Answered,
    })
}

fn begin(
    response: &ResponseWriter<'_, '_>,
    server: &LoopServer,
    (upload, kind): (&Upload, StreamUse),
    permit: StreamPermit,
) -> Result<H2Stream, ServerFailure> {
    let (mut target, mut fields) = (buffers::take(), buffers::take());
    request::append_target(response.request, &mut target);
    request::append_all_fields(response, &server.shared, upload.length(), &mut fields);
    let head = H2RequestHead { method: response.request.method(), target: &target, fields: &fields, kind };
    let stream = H2Stream::begin(permit, &head, kind == StreamUse::Exchange && upload.is_sent());
    buffers::give(target);
    buffers::give(fields);
    stream
}
