//! Replies in the terms of crate `http`, from the form that HTTP/1 gives them.

use corral_http::response::wire_status;
use corral_http::upstream::{ResponseHead, parse_response};
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, Response, StatusCode};

use crate::exchange::carrier::{ConnectionUse, ReplyHead};
use corral_http::response::ReplyFraming;

/// The head of a reply.
pub(super) fn response(head: &ReplyHead<'_>) -> Response<()> {
    let is_switch = head.then == ConnectionUse::Switched;
    let mut response = Response::new(());
    *response.status_mut() = if is_switch { StatusCode::OK } else { status(head.status) };
    let fields = response.headers_mut();
    fields.reserve(head.fields.iter().count() + OWN_FIELDS);
    for (name, value) in head.fields.iter() {
        append(fields, name, value, is_switch);
    }
    if let Some(server) = head.server {
        append(fields, b"server", server, false);
    }
    if let Some(date) = head.date {
        append(fields, b"date", &date[..], false);
    }
    if let ReplyFraming::Length(length) = head.framing {
        fields.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    response
}

/// Fields that the server adds.
const OWN_FIELDS: usize = 3;

/// The status as clients see it. One that HTTP/2 does not have, while HTTP/1 takes any three digits, becomes 500.
fn status(status: u16) -> StatusCode {
    match StatusCode::from_u16(wire_status(status)) {
        Ok(status) if !status.is_informational() => status,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn append(fields: &mut HeaderMap, name: &[u8], value: &[u8], is_switch: bool) {
    let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) else {
        return;
    };
    let is_answer_to_key = is_switch && name == header::SEC_WEBSOCKET_ACCEPT;
    if !is_of_connection(&name) && !is_answer_to_key {
        fields.append(name, value);
    }
}

/// Fields that must not be in HTTP/2 (RFC 9113 section 8.2.2).
fn is_of_connection(name: &HeaderName) -> bool {
    match *name {
        header::CONNECTION | header::TRANSFER_ENCODING | header::UPGRADE => true,
        _ => matches!(name.as_str(), "keep-alive" | "proxy-connection"),
    }
}

/// Lines of fields as they stand behind a body in chunks.
pub(super) fn trailers(lines: &[u8]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for line in lines.split(|&byte| byte == b'\n') {
        if let Some(colon) = line.iter().position(|&byte| byte == b':') {
            append(&mut fields, &line[..colon], line[colon + 1..].trim_ascii(), false);
        }
    }
    fields
}

/// Heads of interim responses.
pub(super) fn interim(mut heads: &[u8]) -> Vec<Response<()>> {
    let mut responses = Vec::new();
    let mut head = ResponseHead::default();
    while let Ok(true) = parse_response(&mut head, heads) {
        responses.extend(bare(&head, heads));
        heads = &heads[head.len()..];
    }
    responses
}

/// A head that an application or a server has written; none if its status is none.
pub(super) fn bare(head: &ResponseHead, bytes: &[u8]) -> Option<Response<()>> {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(head.status()).ok()?;
    for (name, value) in head.fields(bytes) {
        append(response.headers_mut(), name, value, false);
    }
    Some(response)
}
