//! The `share` action: answers with a file (UNIT-COMPAT 12, and beyond it ranges, conditions and
//! precompressed siblings).

use std::rc::Rc;

use corral_config::route::Share;
use corral_http::conditional::{Preconditions, Validators, Verdict};
use corral_http::encoding::{Accepted, Coding};
use corral_http::path;
use corral_http::range::{self, Boundary, ByteRange, Multipart, Ranges, Selection};
use corral_http::request::Name;

use crate::files::{self, Found, OpenFile};
use crate::transaction::{Gone, Transaction};
use crate::{buffers, clock};

/// What came of a share.
pub(crate) enum Outcome {
    Sent,
    /// No file; the status if there is no fallback.
    Missed(u16),
}

/// A file that answers a request.
struct Reply<'a> {
    file: Rc<OpenFile>,
    coding: Coding,
    /// A sibling in some coding exists, so caches must tell requests apart.
    varies: bool,
    content_type: Option<&'a [u8]>,
}

/// Looks for a file and sends it.
pub(crate) async fn answer(tx: &mut Transaction<'_>, share: &Share) -> Result<Outcome, Gone> {
    if !matches!(tx.method(), b"GET" | b"HEAD") {
        return Ok(Outcome::Missed(405));
    }
    let mut outcome = Outcome::Missed(404);
    let mut file_path = buffers::take();
    for template in &share.paths {
        file_path.clear();
        let rendered = template.render(&mut tx.variables(), &mut file_path);
        if let Err(exception) = rendered {
            tx.fail_script(&exception).await?;
            outcome = Outcome::Sent;
            break;
        }
        outcome = try_path(tx, share, &mut file_path).await?;
        if matches!(outcome, Outcome::Sent) {
            break;
        }
    }
    buffers::give(file_path);
    Ok(outcome)
}

async fn try_path(tx: &mut Transaction<'_>, share: &Share, file_path: &mut Vec<u8>) -> Result<Outcome, Gone> {
    let is_index = file_path.ends_with(b"/");
    if is_index {
        file_path.extend_from_slice(share.index.as_bytes());
    }
    let content_type = tx.rules().mime_types.lookup(file_path);
    if let Some(types) = &share.types
        && !is_index
        && !types.matches(content_type.unwrap_or_default())
    {
        return Ok(Outcome::Missed(403));
    }
    match files::open(file_path, tx.connection.now()) {
        Found::File(file) => send_file(tx, choose(tx, file, file_path, content_type)).await,
        Found::Directory if !file_path.ends_with(b"/") => redirect_to_folder(tx).await,
        Found::Directory => Ok(Outcome::Missed(404)),
        Found::Nothing(status) => {
            log_refusal(status, file_path);
            Ok(Outcome::Missed(status))
        }
        Found::Failed(error) => {
            tracing::error!("open \"{}\": {error}", String::from_utf8_lossy(file_path).escape_debug());
            tx.send_error(500).await?;
            Ok(Outcome::Sent)
        }
    }
}

fn log_refusal(status: u16, file_path: &[u8]) {
    if status == 403 {
        tracing::error!("open \"{}\": permission denied", String::from_utf8_lossy(file_path).escape_debug());
    }
}

/// Takes the best of the file and its compressed siblings.
fn choose<'a>(
    tx: &Transaction<'_>,
    file: Rc<OpenFile>,
    file_path: &[u8],
    content_type: Option<&'a [u8]>,
) -> Reply<'a> {
    let head = tx.request.head;
    let plain = Reply { file, coding: Coding::Identity, varies: false, content_type };
    if !head.has(Name::AcceptEncoding) {
        return plain;
    }
    let accepted = Accepted::parse(head.values(tx.request.bytes, Name::AcceptEncoding));
    if !accepted.accepts_compressed() {
        return plain;
    }
    let best = accepted
        .preferred()
        .take_while(|&coding| coding != Coding::Identity)
        .find_map(|coding| Some((plain.file.sibling(file_path, coding)?, coding)));
    match best {
        Some((file, coding)) => Reply { file, coding, varies: true, ..plain },
        None => plain,
    }
}

async fn redirect_to_folder(tx: &mut Transaction<'_>) -> Result<Outcome, Gone> {
    let mut location = Vec::new();
    path::append_encoded_path(tx.path(), &mut location);
    location.push(b'/');
    if let Some(query) = tx.request.head.query(tx.request.bytes) {
        location.push(b'?');
        location.extend_from_slice(query);
    }
    tx.reply.fields.push(b"Location", &location);
    tx.send_empty(301).await?;
    Ok(Outcome::Sent)
}

async fn send_file(tx: &mut Transaction<'_>, reply: Reply<'_>) -> Result<Outcome, Gone> {
    let head = tx.request.head;
    let selection = if head.is_conditional() {
        match conditions(tx, &reply.file) {
            Ok(selection) => selection,
            Err(status) => return send_verdict(tx, &reply, status).await,
        }
    } else {
        Selection::Whole
    };
    match selection {
        Selection::Whole => send_whole(tx, &reply).await?,
        Selection::One(range) => send_range(tx, &reply, range).await?,
        Selection::Many(ranges) => send_ranges(tx, &reply, ranges).await?,
        Selection::Unsatisfiable => send_unsatisfiable(tx, &reply).await?,
    }
    Ok(Outcome::Sent)
}

/// What is asked for under the request's preconditions, or the status that they lead to.
fn conditions(tx: &Transaction<'_>, file: &OpenFile) -> Result<Selection, u16> {
    let (head, bytes) = (tx.request.head, tx.request.bytes);
    let preconditions = Preconditions::of_request(head, bytes);
    let modified = u64::try_from(file.modified).ok();
    let current = Validators { etag: Some(file.etag.as_bytes()), modified };
    match preconditions.evaluate(head.method(bytes), &current) {
        Verdict::NotModified => return Err(304),
        Verdict::PreconditionFailed => return Err(412),
        Verdict::Proceed => {}
    }
    match head.value(bytes, Name::Range) {
        // Range has a meaning for GET only (RFC 9110 section 14.2).
        Some(field) if !tx.is_head() && preconditions.permit_range(&current, clock::now()) => {
            Ok(range::select(field, file.size))
        }
        _ => Ok(Selection::Whole),
    }
}

async fn send_verdict(tx: &mut Transaction<'_>, reply: &Reply<'_>, status: u16) -> Result<Outcome, Gone> {
    if status == 304 {
        reply.push_validators(tx);
        tx.send_empty(304).await?;
    } else {
        tx.send_error(status).await?;
    }
    Ok(Outcome::Sent)
}

async fn send_whole(tx: &mut Transaction<'_>, reply: &Reply<'_>) -> Result<(), Gone> {
    let file = &reply.file;
    reply.push_fields(tx, reply.content_type);
    let mut writer = tx.open(200, Some(file.size));
    if tx.is_head() || file.size == 0 {
        return writer.finish(tx, b"").await;
    }
    if let Some(content) = file.content() {
        return writer.finish(tx, content).await;
    }
    writer.send_file(tx, &file.file, ByteRange { first: 0, last: file.size - 1 }).await?;
    writer.finish(tx, b"").await
}

async fn send_range(tx: &mut Transaction<'_>, reply: &Reply<'_>, range: ByteRange) -> Result<(), Gone> {
    let mut content_range = Vec::new();
    range.append_content_range(reply.file.size, &mut content_range);
    reply.push_fields(tx, reply.content_type);
    tx.reply.fields.push(b"Content-Range", &content_range);
    let mut writer = tx.open(206, Some(range.len()));
    writer.send_file(tx, &reply.file.file, range).await?;
    writer.finish(tx, b"").await
}

async fn send_ranges(tx: &mut Transaction<'_>, reply: &Reply<'_>, ranges: Ranges) -> Result<(), Gone> {
    let boundary = Boundary::new(tx.variables().random());
    let multipart = Multipart::new(ranges, reply.file.size, reply.content_type, boundary);
    reply.push_fields(tx, Some(&multipart.content_type()));
    let mut writer = tx.open(206, Some(multipart.content_length()));
    let mut part_head = Vec::new();
    for range in multipart.ranges() {
        part_head.clear();
        multipart.append_part_head(range, &mut part_head);
        writer.hold(tx, &part_head);
        writer.send_file(tx, &reply.file.file, *range).await?;
    }
    part_head.clear();
    multipart.append_end(&mut part_head);
    writer.finish(tx, &part_head).await
}

async fn send_unsatisfiable(tx: &mut Transaction<'_>, reply: &Reply<'_>) -> Result<(), Gone> {
    let mut content_range = Vec::new();
    range::append_unsatisfied(reply.file.size, &mut content_range);
    tx.reply.fields.push(b"Content-Range", &content_range);
    tx.send_empty(416).await
}

impl Reply<'_> {
    fn push_fields(&self, tx: &mut Transaction<'_>, content_type: Option<&[u8]>) {
        self.push_validators(tx);
        let fields = &mut tx.reply.fields;
        if let Some(content_type) = content_type {
            fields.push(b"Content-Type", content_type);
        }
        if self.coding != Coding::Identity {
            fields.push(b"Content-Encoding", self.coding.name().as_bytes());
        }
        fields.push(b"Accept-Ranges", b"bytes");
    }

    /// The fields that a 304 repeats (RFC 9110 section 15.4.5).
    fn push_validators(&self, tx: &mut Transaction<'_>) {
        let fields = &mut tx.reply.fields;
        fields.push(b"Last-Modified", &self.file.last_modified);
        fields.push(b"ETag", self.file.etag.as_bytes());
        if self.varies {
            fields.push(b"Vary", b"Accept-Encoding");
        }
    }
}
