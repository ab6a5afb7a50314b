//! Entries of the fuzz targets: each function takes any bytes and panics when an invariant does not hold.

use crate::chunked::{ChunkDecoder, ChunkError};
use crate::conditional::{EntityTag, Preconditions, Validators};
use crate::encoding::{Accepted, ContentCoding};
use crate::mime::MimeTypes;
use crate::path;
use crate::proxy_protocol;
use crate::range::{self, RangeSelection};
use crate::request::{HeadProgress, HeadRules, ParsedHead, RequestHeadError, parse_head};
use crate::response::{format_date, parse_date};
use crate::upstream::{ResponseError, ResponseHead, parse_response};
use crate::websocket::{ClientFrames, ClientItem, CloseReason, Control, ServerFrames};

/// Frames of a WebSocket client: the same messages however they are split, and whatever the window; none of them
/// larger than a frame may be.
pub fn fuzz_websocket(data: &[u8]) {
    let Some((&options, data)) = data.split_first() else { return };
    let (step, window) = (usize::from(options & 15) + 1, usize::from(options >> 4) + 1);
    let whole = read_messages(data, data.len().max(1), usize::MAX);
    assert_eq!(whole, read_messages(data, step, window), "pieces of {step} through a window of {window}");
    assert_eq!(whole.err(), check_frames(data, step).err(), "checked in pieces of {step}");
    let mut outgoing = ServerFrames::default();
    for piece in data.chunks(step) {
        if outgoing.take(piece).is_err() {
            return;
        }
        outgoing.control(Control::Pong, b"");
    }
    assert!(outgoing.pending().len() <= data.len() * 3);
}

/// Frames that would be passed on as they are.
fn check_frames(data: &[u8], step: usize) -> Result<(), CloseReason> {
    let (mut incoming, mut buffer) = (ClientFrames::new(100), Vec::new());
    for piece in data.chunks(step) {
        buffer.extend_from_slice(piece);
        while let (n @ 1.., _) = incoming.check(&buffer)? {
            buffer.drain(..n);
        }
    }
    Ok(())
}

/// The messages in a client's bytes, with the parts of each joined.
fn read_messages(data: &[u8], step: usize, window: usize) -> Result<Vec<u8>, CloseReason> {
    let mut incoming = ClientFrames::new(100);
    let (mut said, mut buffer) = (Vec::new(), Vec::new());
    for piece in data.chunks(step) {
        buffer.extend_from_slice(piece);
        loop {
            let (n, item) = incoming.next(&mut buffer, window)?;
            match item {
                Some(ClientItem::Text(part)) => {
                    said.extend_from_slice(&buffer[part.bytes]);
                    said.extend(part.ends.then_some(b'T'));
                }
                Some(ClientItem::Binary(part)) => {
                    said.extend_from_slice(&buffer[part.bytes]);
                    said.extend(part.ends.then_some(b'B'));
                }
                Some(ClientItem::Ping(bytes) | ClientItem::Close(bytes)) => {
                    said.extend_from_slice(&buffer[bytes]);
                }
                Some(ClientItem::Pong) => {}
                None if n == 0 => break,
                None => {}
            }
            buffer.drain(..n);
        }
    }
    Ok(said)
}

/// A head: the same result however it is split, offsets within it, a clean path.
pub fn fuzz_head(data: &[u8]) {
    let Some((&options, data)) = data.split_first() else { return };
    let rules = HeadRules {
        max_head: 512,
        max_line: if options & 4 == 0 { 128 } else { 512 },
        discard_unsafe_fields: options & 1 != 0,
        chunked_permitted: options & 2 != 0,
        is_stream: false,
    };
    let whole = describe(data, &rules, data.len().max(1));
    let step = usize::from(options >> 3).max(1);
    assert_eq!(whole, describe(data, &rules, step), "split into pieces of {step}");
}

/// Reads a head that arrives in pieces of `step` bytes, and describes it.
fn describe(data: &[u8], rules: &HeadRules, step: usize) -> Result<String, RequestHeadError> {
    let mut head = ParsedHead::default();
    let mut received = 0;
    loop {
        received = data.len().min(received + step);
        let buf = &data[..received];
        match parse_head(&mut head, buf, rules)? {
            HeadProgress::Complete { len } => return Ok(check_head(&head, buf, len)),
            HeadProgress::Partial if received == data.len() => return Ok("partial".into()),
            HeadProgress::Partial => {}
        }
    }
}

fn check_head(head: &ParsedHead, buf: &[u8], len: usize) -> String {
    assert!(len <= buf.len() && head.len() == len && buf[..len].ends_with(b"\n"));
    let path = head.path(buf);
    assert!(path.starts_with(b"/"), "path {path:?}");
    assert!(path.split(|&b| b == b'/').all(|segment| segment != b".." && segment != b"."), "path {path:?}");
    assert!(!path.contains(&0));
    for (name, value) in head.fields(buf) {
        assert!(crate::is_token(name) && crate::is_field_value(value));
        assert_eq!(crate::trim(value), value);
    }
    let fields: Vec<_> = head.fields(buf).collect();
    format!(
        "{len} {:?} {:?} {path:?} {:?} {:?} {:?} {} {fields:?}",
        head.method(buf),
        head.target(buf),
        head.query(buf),
        head.host(buf),
        head.framing(),
        head.keep_alive(),
    )
}

/// A chunked body: the same result however it is split, never more than permitted.
pub fn fuzz_chunked(data: &[u8]) {
    let Some((&step, data)) = data.split_first() else { return };
    let whole = decode(data, data.len().max(1), usize::MAX);
    let step = usize::from(step).max(1);
    assert_eq!(whole, decode(data, step, usize::MAX), "split into pieces of {step}");
    assert_eq!(whole, decode(data, data.len().max(1), step), "at most {step} bytes at once");
}

/// Body, bytes consumed, and whether it was complete.
fn decode(data: &[u8], step: usize, limit: usize) -> Result<(Vec<u8>, usize, bool), ChunkError> {
    const MAX_BODY: u64 = 300;
    let mut decoder = ChunkDecoder::new(MAX_BODY);
    let mut body = Vec::new();
    let mut consumed = 0;
    while consumed < data.len() && !decoder.is_done() {
        let piece = &data[consumed..data.len().min(consumed + step)];
        let decoded = decoder.decode(piece, &mut body, limit)?;
        assert!(decoded.consumed > 0 && decoded.consumed <= piece.len());
        assert_eq!(decoded.done, decoder.is_done());
        consumed += decoded.consumed;
    }
    assert!(body.len() as u64 <= MAX_BODY);
    Ok((body, consumed, decoder.is_done()))
}

/// A path: never a dot segment, `normalise` finds nothing more to do, encoding is undone by decoding.
pub fn fuzz_path(data: &[u8]) {
    let mut normal = Vec::new();
    let result = path::normalise(data, &mut normal);
    assert!(normal.split(|&b| b == b'/').all(|segment| segment != b".." && segment != b"."));
    assert!(!normal.contains(&0) && !normal.windows(2).any(|pair| pair == b"//"));
    if !path::needs_normalising(data) && data.starts_with(b"/") && !data.contains(&0) {
        assert_eq!((result, &*normal), (Ok(()), data));
    }
    let mut encoded = Vec::new();
    path::append_encoded_path(&normal, &mut encoded);
    let mut again = Vec::new();
    assert_eq!(path::normalise(&encoded, &mut again), Ok(()));
    assert_eq!(again, normal);
    encoded.clear();
    path::append_location(data, &mut encoded);
    assert!(encoded.iter().all(u8::is_ascii_graphic));
    let mut twice = Vec::new();
    path::append_location(&encoded, &mut twice);
    assert_eq!(twice, encoded);
}

/// A range field: ranges within the size, apart from each other, not more than asked for.
pub fn fuzz_range(data: &[u8]) {
    let Some((size, field)) = data.split_first_chunk::<3>() else { return };
    let size = u64::from(size[0]) | u64::from(size[1]) << 8 | u64::from(size[2]) << 16;
    match range::select(field, size) {
        RangeSelection::Whole | RangeSelection::Unsatisfiable => {}
        RangeSelection::One(one) => assert!(one.first <= one.last && one.last < size),
        RangeSelection::Many(mut sorted) => {
            assert!(sorted.len() >= 2 && sorted.len() <= range::MAX_RANGES);
            sorted.sort_by_key(|range| range.first);
            assert!(sorted.iter().all(|range| range.first <= range.last && range.last < size));
            assert!(sorted.windows(2).all(|pair| pair[0].last < pair[1].first));
        }
    }
}

/// Values of single fields, one in each line: a date, entity tags, codings, a file name.
pub fn fuzz_fields(data: &[u8]) {
    let mut lines = data.split(|&b| b == b'\n');
    let mut line = || lines.next().unwrap_or_default();
    let (date, tags, codings, name) = (line(), line(), line(), line());
    if let Some(seconds) = parse_date(date) {
        assert_eq!(parse_date(&format_date(seconds)), Some(seconds));
    }
    let etag = EntityTag::of_file((date.len() as i64, i64::from(tags.is_empty())), tags.len() as u64);
    let current = Validators { etag: Some(etag.as_bytes()), modified: Some(0) };
    let preconditions = Preconditions {
        if_none_match: [tags].into_iter().collect(),
        if_range: Some(tags),
        if_unmodified_since: Some(date),
        ..Preconditions::default()
    };
    preconditions.evaluate(b"GET", &current);
    preconditions.permit_range(&current, 1);
    let accepted = Accepted::parse([codings].into_iter());
    let chosen = accepted.choose(&[ContentCoding::Identity, ContentCoding::Gzip]);
    assert!(chosen.is_none_or(|coding| accepted.accepts(coding)));
    MimeTypes::default().lookup(name);
}

/// A response's head: the same result however it is split, fields that can be sent again.
pub fn fuzz_upstream(data: &[u8]) {
    let Some((&step, data)) = data.split_first() else { return };
    let whole = describe_response(data, data.len().max(1));
    let split = describe_response(data, usize::from(step).max(1));
    // What is wrong is found sooner or later in a head that comes in pieces, but what is right stays right.
    if whole.is_ok() {
        assert_eq!(whole, split, "split into pieces of {step}");
    }
}

/// Reads a response's head that arrives in pieces of `step` bytes, and describes it.
fn describe_response(data: &[u8], step: usize) -> Result<String, ResponseError> {
    let mut head = ResponseHead::default();
    let mut received = 0;
    loop {
        received = data.len().min(received + step);
        let buf = &data[..received];
        if parse_response(&mut head, buf)? {
            return Ok(check_response(&head, buf));
        }
        if received == data.len() {
            return Ok("partial".into());
        }
    }
}

fn check_response(head: &ResponseHead, buf: &[u8]) -> String {
    assert!(head.len() <= buf.len() && buf[..head.len()].ends_with(b"\n"));
    assert!((100..=999).contains(&head.status()));
    for (name, value) in head.fields(buf) {
        assert!(crate::is_token(name) && crate::is_field_value(value), "{name:?}: {value:?}");
        assert_eq!(crate::trim(value), value);
    }
    let fields: Vec<_> = head.fields(buf).collect();
    format!("{} {} {:?} {} {fields:?}", head.len(), head.status(), head.body(false), head.keep_alive(false))
}

/// A PROXY protocol header: the same result however it is split, within its limit, and never past its end.
pub fn fuzz_proxy_protocol(data: &[u8]) {
    let whole = proxy_protocol::parse(data);
    if let Ok(Some(header)) = whole {
        assert!(header.len <= data.len().min(proxy_protocol::MAX_HEADER), "the header has an end");
        assert_eq!(proxy_protocol::parse(&data[..header.len]), whole, "what follows makes no difference");
    }
    for len in 0..data.len().min(256) {
        match (proxy_protocol::parse(&data[..len]), whole) {
            // More bytes can only complete it, or show that it is none.
            (Ok(None), _) => {}
            (early, whole) => assert_eq!(early, whole, "the first {len} bytes"),
        }
    }
}
