//! Sends a form of a file: whole, in parts, or not at all when the client has it already.

use std::io;

use corral_http::conditional::{PreconditionResult, Preconditions, Validators};
use corral_http::encoding::ContentCoding;
use corral_http::range::{self, Boundary, ByteRange, Multipart, RangeSelection, Ranges};
use corral_http::request::KnownField;

use super::representation::{FileRepresentation, RepresentationForm};
use crate::clock;
use crate::exchange::request::RoutedRequest;
use crate::exchange::response::ResponseWriter;
use crate::reply::compression::{ChosenCompressor, add_vary, cache};
use crate::request::client::Gone;

/// Answers with the form that was chosen.
pub(super) async fn file(
    response: &mut ResponseWriter<'_, '_>,
    reply: FileRepresentation<'_>,
) -> Result<(), Gone> {
    // What is changed on its way is compressed behind that.
    response.reply.coding_is_settled = reply.form != RepresentationForm::Changed;
    if reply.form == RepresentationForm::Unacceptable {
        return response.send_error(406).await;
    }
    let selection = if response.request.received.head.is_conditional() && !response.answers_error() {
        match conditions(response.request, &reply) {
            Ok(selection) => selection,
            Err(304) => return send_not_modified(response, &reply).await,
            Err(status) => return response.send_error(status).await,
        }
    } else {
        RangeSelection::Whole
    };
    match (selection, reply.form) {
        (RangeSelection::Whole, RepresentationForm::Compressed(chosen)) => {
            Box::pin(send_compressed(response, reply, chosen)).await
        }
        (RangeSelection::Whole, _) => send_whole(response, &reply).await,
        (RangeSelection::One(range), _) => send_range(response, &reply, range).await,
        (RangeSelection::Many(ranges), _) => Box::pin(send_ranges(response, &reply, ranges)).await,
        (RangeSelection::Unsatisfiable, _) => send_unsatisfiable(response, &reply).await,
    }
}

/// The part that is asked for under the request's preconditions, or the status that they lead to.
fn conditions(request: &RoutedRequest<'_>, reply: &FileRepresentation<'_>) -> Result<RangeSelection, u16> {
    let (head, bytes) = (request.received.head, request.received.bytes);
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
        Some(field)
            if reply.form != RepresentationForm::Changed
                && !request.is_head()
                && preconditions.permit_range(&current, clock::now()) =>
        {
            Ok(range::select(field, reply.file.size))
        }
        _ => Ok(RangeSelection::Whole),
    }
}

async fn send_not_modified(
    response: &mut ResponseWriter<'_, '_>,
    reply: &FileRepresentation<'_>,
) -> Result<(), Gone> {
    reply.push_validators(response);
    response.send_empty(304).await
}

async fn send_whole(
    response: &mut ResponseWriter<'_, '_>,
    reply: &FileRepresentation<'_>,
) -> Result<(), Gone> {
    let file = &reply.file;
    reply.push_fields(response, reply.content_type);
    let mut writer = response.open(200, Some(file.size));
    if response.request.is_head() || file.size == 0 {
        return writer.finish(response, b"").await;
    }
    if let Some(content) = file.content() {
        return writer.finish(response, content).await;
    }
    writer.send_file(response, &file.file, ByteRange { first: 0, last: file.size - 1 }).await?;
    writer.finish(response, b"").await
}

/// Sends what a compressor makes of the file: kept for the next request, or while it is made if the file is large.
async fn send_compressed(
    response: &mut ResponseWriter<'_, '_>,
    reply: FileRepresentation<'_>,
    chosen: ChosenCompressor,
) -> Result<(), Gone> {
    let failure = if cache::is_kept(&reply.file, chosen) {
        match cache::body(&reply.file, chosen).await {
            Ok(body) => {
                reply.push_fields(response, reply.content_type);
                return response.open(200, Some(body.len() as u64)).finish(response, &body).await;
            }
            Err(error) => error,
        }
    } else {
        match cache::FileEncoder::new(&reply.file, chosen) {
            Ok(stream) => return send_stream(response, &reply, stream).await,
            Err(error) => error,
        }
    };
    tracing::warn!("compress a file: {failure}; it is sent as it is");
    send_whole(response, &FileRepresentation { form: RepresentationForm::Plain, ..reply }).await
}

async fn send_stream(
    response: &mut ResponseWriter<'_, '_>,
    reply: &FileRepresentation<'_>,
    mut stream: cache::FileEncoder,
) -> Result<(), Gone> {
    reply.push_fields(response, reply.content_type);
    let mut writer = response.open(200, None);
    if response.request.is_head() {
        return writer.finish(response, b"").await;
    }
    loop {
        match stream.next().await {
            Ok(Some(piece)) if piece.is_empty() => {}
            Ok(Some(piece)) => writer.send(response, &piece).await?,
            Ok(None) => return writer.finish(response, b"").await,
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
    response: &mut ResponseWriter<'_, '_>,
    reply: &FileRepresentation<'_>,
    range: ByteRange,
) -> Result<(), Gone> {
    let mut content_range = Vec::new();
    range.append_content_range(reply.file.size, &mut content_range);
    reply.push_fields(response, reply.content_type);
    response.reply.fields.push(b"Content-Range", &content_range);
    let mut writer = response.open(206, Some(range.len()));
    writer.send_file(response, &reply.file.file, range).await?;
    writer.finish(response, b"").await
}

async fn send_ranges(
    response: &mut ResponseWriter<'_, '_>,
    reply: &FileRepresentation<'_>,
    ranges: Ranges,
) -> Result<(), Gone> {
    let boundary = Boundary::new(response.variables().random());
    let multipart = Multipart::new(ranges, reply.file.size, reply.content_type, boundary);
    reply.push_fields(response, Some(&multipart.content_type()));
    let mut writer = response.open(206, Some(multipart.content_length()));
    let mut part_head = Vec::new();
    for range in multipart.ranges() {
        part_head.clear();
        multipart.append_part_head(range, &mut part_head);
        writer.hold(response, &part_head);
        writer.send_file(response, &reply.file.file, *range).await?;
    }
    part_head.clear();
    multipart.append_end(&mut part_head);
    writer.finish(response, &part_head).await
}

async fn send_unsatisfiable(
    response: &mut ResponseWriter<'_, '_>,
    reply: &FileRepresentation<'_>,
) -> Result<(), Gone> {
    let mut content_range = Vec::new();
    range::append_unsatisfied(reply.file.size, &mut content_range);
    response.reply.fields.push(b"Content-Range", &content_range);
    response.send_empty(416).await
}

impl FileRepresentation<'_> {
    fn push_fields(&self, response: &mut ResponseWriter<'_, '_>, content_type: Option<&[u8]>) {
        self.push_validators(response);
        let fields = &mut response.reply.fields;
        if let Some(content_type) = content_type {
            fields.push(b"Content-Type", content_type);
        }
        let coding = self.coding();
        if coding != ContentCoding::Identity {
            fields.push(b"Content-Encoding", coding.name().as_bytes());
        }
        if !matches!(self.form, RepresentationForm::Compressed(_) | RepresentationForm::Changed) {
            fields.push(b"Accept-Ranges", b"bytes");
        }
    }

    /// The fields that a 304 repeats (RFC 9110 section 15.4.5).
    fn push_validators(&self, response: &mut ResponseWriter<'_, '_>) {
        let fields = &mut response.reply.fields;
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
