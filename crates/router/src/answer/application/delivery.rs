//! Passes an application's answer on to the client: its head, then its body as it comes.

use corral_channel::message::{self, ResponseView};
use corral_http::list;

use super::content::{ContentDecoder, TakenContent};
use super::{AppExchange, Unanswered, empty_error};
use crate::answer::{hijack, websocket};
use crate::dev_reload;
use crate::error_chain::Chain;
use crate::exchange::opening::UPGRADE_REQUIRED;
use crate::exchange::request::RoutedRequest;
use crate::exchange::response::ResponseWriter;
use crate::exchange::writer::BodyWriter;
use crate::instance::{AnswerPiece, AppCall, AppFailure, AppInstance, FramingError, SentFile};
use crate::request::client::Gone;
use crate::storage::buffered::HeldMemory;
use crate::storage::buffers;

/// Passes the answer on. What the request's body has `held` waits no longer when there is one.
pub(super) async fn relay(
    response: &mut ResponseWriter<'_, '_>,
    app_exchange: &mut AppExchange<'_>,
    app: &AppInstance,
    held: HeldMemory,
) -> Result<(), Unanswered> {
    let call = app_exchange.call;
    let first = app_exchange.first_piece(response).await?;
    drop(held);
    let payload = match first {
        Ok(AnswerPiece::Head(payload)) => payload,
        Ok(AnswerPiece::Hijacked(hijacked)) => return Ok(hijack::run(response, call, hijacked).await?),
        Ok(_) => return Err(AppFailure::NoResponse.into()),
        Err(failure) => return Err(failure.into()),
    };
    let (view, body_start) = match message::decode_response(&payload) {
        Ok(decoded) => decoded,
        Err(error) => {
            buffers::give(payload);
            return Err(AppFailure::Malformed(error).into());
        }
    };
    let first = &payload[body_start..];
    if view.status == 101 && websocket::is_wanted(response.request.received) {
        take_fields(response, &view);
        return Ok(websocket::run(response, call, first, &app.spec.name).await?);
    }
    if view.status < 200 {
        let failure = AppFailure::NotFinal { status: view.status };
        buffers::give(payload);
        return Err(failure.into());
    }
    if view.is_refusal {
        let status = view.status;
        buffers::give(payload);
        return Ok(response.send_error(status).await?);
    }
    if response.intercepts(view.status, view.fields) {
        return Ok(());
    }
    let is_empty = first.is_empty() && call.has_ended() && call.n_stored() == 0;
    if is_empty && view.status >= 400 && !response.request.is_head() {
        if dev_reload::explaining().is_some() {
            let status = view.status;
            buffers::give(payload);
            return Ok(response.send_error(status).await?);
        }
        if empty_error::gets_page(response.request, &view) {
            take_fields(response, &view);
            let status = view.status;
            buffers::give(payload);
            return Ok(Box::pin(response.send_page_for_empty(status)).await?);
        }
    }
    let AnnouncedBody { length, is_chunked } = take_fields(response, &view);
    // Event loops are left the framing by their interface: what they say of it is no more than a wish.
    let has_chunks =
        is_chunked && !call.streams() && !response.request.is_head() && !matches!(view.status, 204 | 304);
    let mut content = ContentDecoder::new(has_chunks, has_chunks && response.request.takes_trailers());
    let announced = length.filter(|_| !has_chunks);
    let is_all = call.has_ended() && call.n_stored() == 0;
    let taken = match content.take(first, is_all, app) {
        Ok(taken) => taken,
        Err(failure) => {
            buffers::give(payload);
            return Err(failure.into());
        }
    };
    let length = length_of(response.request, call, &taken, (has_chunks, view.status), announced);
    let mut writer = response.open(view.status, length);
    if let (bytes, Some(lines)) = taken {
        let sent = finish(response, (call, app), writer, bytes, lines).await;
        buffers::give(payload);
        sent?;
        if call.has_ended() && call.n_stored() == 0 {
            return Ok(());
        }
        return Ok(Box::pin(await_end(response, app_exchange, content, app)).await?);
    }
    // Where there is no body yet and more of it is there, the head leaves with that.
    let has_next = taken.0.is_empty() && (has_chunks || call.n_stored() > 0);
    let sent = if has_next { Ok(()) } else { writer.send(response, taken.0).await };
    // The client may take long for the rest.
    buffers::give(payload);
    sent?;
    Ok(send_rest(response, app_exchange, writer, content, app).await?)
}

/// The length of a response's body, if it is known.
fn length_of(
    request: &RoutedRequest<'_>,
    call: &AppCall,
    (first, end): &TakenContent<'_>,
    (has_chunks, status): (bool, u16),
    announced: Option<u64>,
) -> Option<u64> {
    let has_lines = call.has_trailers() || end.as_ref().is_some_and(|lines| !lines.is_empty());
    if announced.is_none() && has_lines && request.takes_trailers() {
        return None;
    }
    let is_complete = if has_chunks { end.is_some() } else { call.has_ended() };
    let n_next = if has_chunks { 0 } else { call.n_stored() };
    let complete = is_complete.then(|| first.len() as u64 + n_next);
    if request.is_head() || matches!(status, 204 | 304) {
        // A body that was made all the same is measured.
        return complete.filter(|length| *length > 0 || !request.is_head()).or(announced);
    }
    // A length that is wrong is not put right: the client is to notice what is missing, as where it comes in pieces.
    announced.or(complete)
}

/// Sends the body as it comes.
async fn send_rest(
    response: &mut ResponseWriter<'_, '_>,
    app_exchange: &mut AppExchange<'_>,
    mut writer: BodyWriter,
    mut content: ContentDecoder,
    app: &AppInstance,
) -> Result<(), Gone> {
    let call = app_exchange.call;
    loop {
        let piece = match call.try_next_piece() {
            Some(piece) => piece,
            None => {
                writer.flush(response).await?;
                let piece = app_exchange.next_piece(response).await?;
                // Too late for another answer.
                if app_exchange.refused.take().is_some() {
                    return Err(Gone);
                }
                piece
            }
        };
        match piece {
            Ok(AnswerPiece::Data(data)) => match content.take(&data, false, app) {
                Ok((bytes, None)) => {
                    let sent = if bytes.is_empty() { Ok(()) } else { writer.send(response, bytes).await };
                    buffers::give(data);
                    sent?;
                }
                Ok((bytes, Some(lines))) => {
                    finish(response, (call, app), writer, bytes, lines).await?;
                    return Box::pin(await_end(response, app_exchange, content, app)).await;
                }
                Err(failure) => return Err(cut(app, &failure)),
            },
            Ok(AnswerPiece::File(file)) if content.is_whole() => {
                send_file(response, &mut writer, &file, app).await?;
            }
            Ok(AnswerPiece::File(_)) => return Err(cut(app, &FramingError::File.into())),
            Ok(
                AnswerPiece::End | AnswerPiece::Head(_) | AnswerPiece::Interim(_) | AnswerPiece::Hijacked(_),
            ) => {
                let (bytes, end) = content.take(b"", true, app).map_err(|failure| cut(app, &failure))?;
                return finish(response, (call, app), writer, bytes, end.unwrap_or_default()).await;
            }
            Err(failure) => return Err(cut(app, &failure)),
        }
    }
}

/// The client has all of the response, and the application goes on.
async fn await_end(
    response: &mut ResponseWriter<'_, '_>,
    app_exchange: &mut AppExchange<'_>,
    mut content: ContentDecoder,
    app: &AppInstance,
) -> Result<(), Gone> {
    while let Ok(AnswerPiece::Data(data)) = app_exchange.next_piece(response).await? {
        // It says what is wrong with that.
        let _ = content.take(&data, false, app);
        buffers::give(data);
    }
    Ok(())
}

/// The response cannot be completed, and the client is told by the connection's end.
fn cut(app: &AppInstance, failure: &AppFailure) -> Gone {
    let name = &app.spec.name;
    match failure {
        AppFailure::ClientLeft => tracing::info!("\"{name}\": {failure}"),
        _ => tracing::error!("\"{name}\": {}; the response is cut off", Chain(failure)),
    }
    Gone
}

/// Sends the file with which the body ends.
async fn send_file(
    response: &mut ResponseWriter<'_, '_>,
    writer: &mut BodyWriter,
    file: &SentFile,
    app: &AppInstance,
) -> Result<(), Gone> {
    let sent = writer.send_file(response, file.file(), file.range()).await;
    if sent.is_err() && file.is_cut().unwrap_or(true) {
        cut(app, &AppFailure::FileCut);
    }
    sent
}

/// Sends the last piece of the body, and what is behind it to a client that asks for it.
async fn finish(
    response: &mut ResponseWriter<'_, '_>,
    (call, app): (&AppCall, &AppInstance),
    mut writer: BodyWriter,
    piece: &[u8],
    mut lines: Vec<u8>,
) -> Result<(), Gone> {
    if writer.is_wrong_with(piece.len()) {
        tracing::error!("\"{}\": the response's body has another length than it says", app.spec.name);
    }
    if response.request.takes_trailers() {
        lines.extend(call.take_trailers());
        writer.set_trailers(lines);
    }
    writer.finish(response, piece).await
}

/// The words of an application about its response's body.
struct AnnouncedBody {
    length: Option<u64>,
    /// The application has put the body into chunks, or expects the server to do so.
    is_chunked: bool,
}

/// Takes the fields over, but for those that the server makes itself.
fn take_fields(response: &mut ResponseWriter<'_, '_>, view: &ResponseView<'_>) -> AnnouncedBody {
    let mut announced = AnnouncedBody { length: None, is_chunked: false };
    for (name, value) in view.fields {
        if name.len() == 14 && name.eq_ignore_ascii_case(b"content-length") {
            announced.length = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
        } else if name.len() == 17 && name.eq_ignore_ascii_case(b"transfer-encoding") {
            announced.is_chunked =
                list(value).last().is_some_and(|last| last.eq_ignore_ascii_case(b"chunked"));
        } else if !is_ours(name) || view.status == UPGRADE_REQUIRED && name.eq_ignore_ascii_case(b"upgrade") {
            response.reply.fields.push(name, value);
        }
    }
    announced
}

/// Fields that the server makes itself (contract 20.4).
fn is_ours(name: &[u8]) -> bool {
    let ours: &[u8] = match name.len() {
        6 if name[0] | 0x20 == b's' && name[1] | 0x20 == b'e' => b"server",
        6 => b"status",
        7 => b"upgrade",
        10 => b"connection",
        20 => b"sec-websocket-accept",
        _ => return false,
    };
    name.eq_ignore_ascii_case(ours)
}
