//! Sends a form of a file: whole, in parts, or not at all when the client has it already.

use std::io;

use corral_http::conditional::{PreconditionResult, Preconditions, Validators};
use corral_http::encoding::ContentCoding;
use corral_http::range::{self, Boundary, ByteRange, Multipart, RangeSelection, Ranges};
use corral_http::request::KnownField;

use super::representation::{FileRepresentation, RepresentationForm};
use crate::clock;
use crate::exchange::Exchange;
use crate::reply::compression::{ChosenCompressor, add_vary, cache};
use crate::request::client::Gone;

/// Answers with the form that was chosen.
pub(super) async fn file(exchange: &mut Exchange<'_>, reply: FileRepresentation<'_>) -> Result<(), Gone> {
    exchange.reply.coding_is_settled = true;
    if reply.form == RepresentationForm::Unacceptable {
        return exchange.send_error(406).await;
    }
    let selection = if exchange.request.head.is_conditional() && !exchange.answers_error() {
        match conditions(exchange, &reply) {
            Ok(selection) => selection,
            Err(304) => return send_not_modified(exchange, &reply).await,
            Err(status) => return exchange.send_error(status).await,
        }
    } else {
        RangeSelection::Whole
    };
    match (selection, reply.form) {
        (RangeSelection::Whole, RepresentationForm::Compressed(chosen)) => {
            Box::pin(send_compressed(exchange, reply, chosen)).await
        }
        (RangeSelection::Whole, _) => send_whole(exchange, &reply).await,
        (RangeSelection::One(range), _) => send_range(exchange, &reply, range).await,
        (RangeSelection::Many(ranges), _) => Box::pin(send_ranges(exchange, &reply, ranges)).await,
        (RangeSelection::Unsatisfiable, _) => send_unsatisfiable(exchange, &reply).await,
    }
}

/// The part that is asked for under the request's preconditions, or the status that they lead to.
fn conditions(exchange: &Exchange<'_>, reply: &FileRepresentation<'_>) -> Result<RangeSelection, u16> {
    let (head, bytes) = (exchange.request.head, exchange.request.bytes);
    let preconditions = Preconditions::of_request(head, bytes);
    let etag = reply.etag();
    let (modified, _) = reply.file.modified(clock::now());
    let current = Validators { etag: Some(&etag), modified };
    match preconditions.evaluate(head.method(bytes), &current) {
        PreconditionResult::NotModified => return Err(304),
        PreconditionResult::PreconditionFailed => return Err(412),
        PreconditionResult::Proceed => {}
    }
    match head.value(bytes, KnownField::Range) {
        // Range has a meaning for GET only (RFC 9110 section 14.2).
        Some(field) if !exchange.is_head() && preconditions.permit_range(&current, clock::now()) => {
            Ok(range::select(field, reply.file.size))
        }
        _ => Ok(RangeSelection::Whole),
    }
}

async fn send_not_modified(exchange: &mut Exchange<'_>, reply: &FileRepresentation<'_>) -> Result<(), Gone> {
    reply.push_validators(exchange);
    exchange.send_empty(304).await
}

async fn send_whole(exchange: &mut Exchange<'_>, reply: &FileRepresentation<'_>) -> Result<(), Gone> {
    let file = &reply.file;
    reply.push_fields(exchange, reply.content_type);
    let mut writer = exchange.open(200, Some(file.size));
    if exchange.is_head() || file.size == 0 {
        return writer.finish(exchange, b"").await;
    }
    if let Some(content) = file.content() {
        return writer.finish(exchange, content).await;
    }
    writer.send_file(exchange, &file.file, ByteRange { first: 0, last: file.size - 1 }).await?;
    writer.finish(exchange, b"").await
}

/// Sends what a compressor makes of the file: kept for the next request, or while it is made if the file is large.
async fn send_compressed(
    exchange: &mut Exchange<'_>,
    reply: FileRepresentation<'_>,
    chosen: ChosenCompressor,
) -> Result<(), Gone> {
    let failure = if cache::is_kept(&reply.file, chosen) {
        match cache::body(&reply.file, chosen).await {
            Ok(body) => {
                reply.push_fields(exchange, reply.content_type);
                return exchange.open(200, Some(body.len() as u64)).finish(exchange, &body).await;
            }
            Err(error) => error,
        }
    } else {
        match cache::FileEncoder::new(&reply.file, chosen) {
            Ok(stream) => return send_stream(exchange, &reply, stream).await,
            Err(error) => error,
        }
    };
    tracing::warn!("compress a file: {failure}; it is sent as it is");
    send_whole(exchange, &FileRepresentation { form: RepresentationForm::Plain, ..reply }).await
}

async fn send_stream(
    exchange: &mut Exchange<'_>,
    reply: &FileRepresentation<'_>,
    mut stream: cache::FileEncoder,
) -> Result<(), Gone> {
    reply.push_fields(exchange, reply.content_type);
    let mut writer = exchange.open(200, None);
    if exchange.is_head() {
        return writer.finish(exchange, b"").await;
    }
    loop {
        match stream.next().await {
            Ok(Some(piece)) if piece.is_empty() => {}
            Ok(Some(piece)) => writer.send(exchange, &piece).await?,
            Ok(None) => return writer.finish(exchange, b"").await,
            Err(error) => return Err(cut(&error)),
        }
    }
}

/// The reply cannot be completed; the client is told by the connection's end.
fn cut(error: &io::Error) -> Gone {
    tracing::error!("compress a file: {error}; the response is cut off");
    Gone
}

async fn send_range(
    exchange: &mut Exchange<'_>,
    reply: &FileRepresentation<'_>,
    range: ByteRange,
) -> Result<(), Gone> {
    let mut content_range = Vec::new();
    range.append_content_range(reply.file.size, &mut content_range);
    reply.push_fields(exchange, reply.content_type);
    exchange.reply.fields.push(b"Content-Range", &content_range);
    let mut writer = exchange.open(206, Some(range.len()));
    writer.send_file(exchange, &reply.file.file, range).await?;
    writer.finish(exchange, b"").await
}

async fn send_ranges(
    exchange: &mut Exchange<'_>,
    reply: &FileRepresentation<'_>,
    ranges: Ranges,
) -> Result<(), Gone> {
    let boundary = Boundary::new(exchange.variables().random());
    let multipart = Multipart::new(ranges, reply.file.size, reply.content_type, boundary);
    reply.push_fields(exchange, Some(&multipart.content_type()));
    let mut writer = exchange.open(206, Some(multipart.content_length()));
    let mut part_head = Vec::new();
    for range in multipart.ranges() {
        part_head.clear();
        multipart.append_part_head(range, &mut part_head);
        writer.hold(exchange, &part_head);
        writer.send_file(exchange, &reply.file.file, *range).await?;
    }
    part_head.clear();
    multipart.append_end(&mut part_head);
    writer.finish(exchange, &part_head).await
}

async fn send_unsatisfiable(exchange: &mut Exchange<'_>, reply: &FileRepresentation<'_>) -> Result<(), Gone> {
    let mut content_range = Vec::new();
    range::append_unsatisfied(reply.file.size, &mut content_range);
    exchange.reply.fields.push(b"Content-Range", &content_range);
    exchange.send_empty(416).await
}

impl FileRepresentation<'_> {
    fn push_fields(&self, exchange: &mut Exchange<'_>, content_type: Option<&[u8]>) {
        self.push_validators(exchange);
        let fields = &mut exchange.reply.fields;
        if let Some(content_type) = content_type {
            fields.push(b"Content-Type", content_type);
        }
        let coding = self.coding();
        if coding != ContentCoding::Identity {
            fields.push(b"Content-Encoding", coding.name().as_bytes());
        }
        if !matches!(self.form, RepresentationForm::Compressed(_)) {
            fields.push(b"Accept-Ranges", b"bytes");
        }
    }

    /// The fields that a 304 repeats (RFC 9110 section 15.4.5).
    fn push_validators(&self, exchange: &mut Exchange<'_>) {
        let fields = &mut exchange.reply.fields;
        fields.push(b"Last-Modified", &self.file.modified(clock::now()).1);
        fields.push(b"ETag", &self.etag());
        if let Some(cache_control) = &self.cache_control {
            fields.push(b"Cache-Control", cache_control);
        }
        if self.varies {
            add_vary(fields, b"Accept-Encoding");
        }
    }
}
