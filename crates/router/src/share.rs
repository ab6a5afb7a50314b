//! The `share` action: answers with a file (UNIT-COMPAT 12, and beyond it ranges, conditions and
//! precompressed siblings).

use std::rc::Rc;

use corral_config::route::Share;
use corral_http::conditional::{Preconditions, Validators, Verdict};
use corral_http::encoding::{Accepted, Coding};
use corral_http::path;
use corral_http::range::{self, Boundary, ByteRange, Multipart, Ranges, Selection};
use corral_http::request::Name;
use corral_http::response::Framing;

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
    if !matches!(tx.facts().method, b"GET" | b"HEAD") {
        return Ok(Outcome::Missed(405));
    }
    let mut outcome = Outcome::Missed(404);
    let mut file_path = buffers::take();
    for template in &share.paths {
        file_path.clear();
        template.render(&mut tx.variables(), &mut file_path);
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
    path::append_encoded_path(tx.facts().path, &mut location);
    location.push(b'/');
    if let Some(query) = tx.request.head.query(tx.request.bytes) {
        location.push(b'?');
        location.extend_from_slice(query);
    }
    tx.send_empty(301, [(&b"Location"[..], &location[..])]).await?;
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
        tx.send_empty(304, reply.validators()).await?;
    } else {
        tx.send_error(status).await?;
    }
    Ok(Outcome::Sent)
}

async fn send_whole(tx: &mut Transaction<'_>, reply: &Reply<'_>) -> Result<(), Gone> {
    let file = &reply.file;
    let mut head = buffers::take();
    tx.append_head(&mut head, 200, reply.fields(reply.content_type), Framing::Length(file.size));
    if tx.is_head() || file.size == 0 {
        return tx.send_head(head).await.map(buffers::give);
    }
    let sent = match file.content() {
        Some(content) => {
            tx.reply.n_body_bytes += content.len() as u64;
            tx.send_both(&mut head, content).await
        }
        None => send_part(tx, &head, file, ByteRange { first: 0, last: file.size - 1 }).await,
    };
    buffers::give(head);
    sent
}

async fn send_range(tx: &mut Transaction<'_>, reply: &Reply<'_>, range: ByteRange) -> Result<(), Gone> {
    let mut content_range = Vec::new();
    range.append_content_range(reply.file.size, &mut content_range);
    let fields = reply.fields(reply.content_type).chain([(&b"Content-Range"[..], &content_range[..])]);
    let mut head = buffers::take();
    tx.append_head(&mut head, 206, fields, Framing::Length(range.len()));
    let sent = send_part(tx, &head, &reply.file, range).await;
    buffers::give(head);
    sent
}

async fn send_ranges(tx: &mut Transaction<'_>, reply: &Reply<'_>, ranges: Ranges) -> Result<(), Gone> {
    let boundary = Boundary::new(tx.variables().random());
    let multipart = Multipart::new(ranges, reply.file.size, reply.content_type, boundary);
    let content_type = multipart.content_type();
    let mut head = buffers::take();
    let framing = Framing::Length(multipart.content_length());
    tx.append_head(&mut head, 206, reply.fields(Some(&content_type)), framing);
    for range in multipart.ranges() {
        multipart.append_part_head(range, &mut head);
        send_part(tx, &head, &reply.file, *range).await?;
        head.clear();
    }
    multipart.append_end(&mut head);
    tx.send_head(head).await.map(buffers::give)
}

async fn send_unsatisfiable(tx: &mut Transaction<'_>, reply: &Reply<'_>) -> Result<(), Gone> {
    let mut content_range = Vec::new();
    range::append_unsatisfied(reply.file.size, &mut content_range);
    tx.send_empty(416, [(&b"Content-Range"[..], &content_range[..])]).await
}

/// Sends what precedes a part of a file, and the part itself straight from the page cache.
async fn send_part(
    tx: &mut Transaction<'_>,
    prefix: &[u8],
    file: &OpenFile,
    range: ByteRange,
) -> Result<(), Gone> {
    let mut n_sent = 0;
    while n_sent < prefix.len() {
        match tx.connection.stream.try_write_more(&prefix[n_sent..]) {
            Ok(n) => n_sent += n,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => tx.wait_writable().await?,
            Err(_) => return Err(Gone),
        }
    }
    let mut offset = range.first;
    while offset <= range.last {
        match tx.connection.stream.try_send_file(&file.file, offset, range.last - offset + 1) {
            // The file was cut short after its length was announced.
            Ok(0) => return Err(Gone),
            Ok(n) => {
                offset += n as u64;
                tx.reply.n_body_bytes += n as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => tx.wait_writable().await?,
            Err(_) => return Err(Gone),
        }
    }
    Ok(())
}

type Field<'a> = (&'a [u8], &'a [u8]);

impl Reply<'_> {
    fn fields<'a>(&'a self, content_type: Option<&'a [u8]>) -> impl Iterator<Item = Field<'a>> {
        let coding = (self.coding != Coding::Identity).then(|| self.coding.name().as_bytes());
        let content_type = content_type.map(|value| (&b"Content-Type"[..], value));
        let coding = coding.map(|value| (&b"Content-Encoding"[..], value));
        self.validators().chain(content_type).chain(coding).chain([(&b"Accept-Ranges"[..], &b"bytes"[..])])
    }

    /// The fields that a 304 repeats (RFC 9110 section 15.4.5).
    fn validators(&self) -> impl Iterator<Item = Field<'_>> {
        let vary = self.varies.then_some((&b"Vary"[..], &b"Accept-Encoding"[..]));
        let validators = [
            (&b"Last-Modified"[..], &self.file.last_modified[..]),
            (&b"ETag"[..], self.file.etag.as_bytes()),
        ];
        validators.into_iter().chain(vary)
    }
}
