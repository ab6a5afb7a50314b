//! Heads of replies: status line, fields, and the fields that the server itself adds, in Unit's order.

mod date;
mod status;

pub use self::date::{DateCache, HttpDate, format_date, parse_date};
pub use self::status::reason;

use corral_syntax::is_token;

use crate::chars;
use crate::version::HttpVersion;

/// How a reply's body is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyFraming {
    /// `Content-Length`.
    Length(u64),
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// The body ends with the connection, which the caller has to close.
    UntilClose,
    /// The body ends where its stream says.
    UntilEnd,
    /// No body and no word about it: 1xx, 204 and 304.
    NoBody,
}

impl ReplyFraming {
    /// The framing of a reply with a body of `length` bytes, if that is known beforehand, to a request of
    /// this version. The same for HEAD: its reply is the head that GET would get.
    pub fn choose(status: u16, version: HttpVersion, length: Option<u64>) -> ReplyFraming {
        match length {
            _ if !permits_body(status) => ReplyFraming::NoBody,
            Some(length) => ReplyFraming::Length(length),
            None => match version {
                HttpVersion::Http10 => ReplyFraming::UntilClose,
                HttpVersion::Http11 => ReplyFraming::Chunked,
                HttpVersion::Http2 => ReplyFraming::UntilEnd,
            },
        }
    }
}

/// Whether a reply of that status may have a body, leaving HEAD aside.
pub fn permits_body(status: u16) -> bool {
    !matches!(status, 100..=199 | 204 | 304)
}

/// The `ConnectionField` field of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionField {
    /// No field: the version's default holds.
    Unsaid,
    /// `ConnectionField: close`
    Close,
    /// `Connection: keep-alive`
    KeepAlive,
    /// `ConnectionField: upgrade`, for 101.
    Upgrade,
}

impl ConnectionField {
    /// Says what is not the default of the version. Streams of HTTP/2 know no such field.
    pub fn choose(version: HttpVersion, keep_alive: bool) -> ConnectionField {
        match (version, keep_alive) {
            (HttpVersion::Http10, true) => ConnectionField::KeepAlive,
            (HttpVersion::Http11, false) => ConnectionField::Close,
            _ => ConnectionField::Unsaid,
        }
    }
}

/// Fields that the server adds to a reply's own.
#[derive(Debug, Clone, Copy)]
pub struct Trailer<'a> {
    /// Value of `Server`; `None` when the reply has its own.
    pub server: Option<&'a [u8]>,
    /// Value of `Date`; `None` when the reply has its own.
    pub date: Option<&'a HttpDate>,
    /// How the body is framed.
    pub framing: ReplyFraming,
    /// The `ConnectionField` field.
    pub connection: ConnectionField,
}

/// Appends a whole head: status line, `fields`, then `Server`, `Date`, `Content-Length`, `ConnectionField` and
/// `Transfer-Encoding`, and the empty line.
///
/// No field can break out of its line: see `append_field`.
pub fn append_head<'f>(
    out: &mut Vec<u8>,
    status: u16,
    fields: impl IntoIterator<Item = (&'f [u8], &'f [u8])>,
    trailer: &Trailer<'_>,
) {
    append_status_line(out, status);
    for (name, value) in fields {
        append_field(out, name, value);
    }
    append_trailer(out, trailer);
}

/// Appends `HTTP/1.1 NNN REASON` with its line end; the version is that of the server (RFC 9110 section 6.2).
pub fn append_status_line(out: &mut Vec<u8>, status: u16) {
    let reason = if status == PLAIN_ON_TLS { PLAIN_ON_TLS_REASON } else { reason(status) };
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(&status_digits(wire_status(status)));
    out.push(b' ');
    out.extend_from_slice(reason.as_bytes());
    out.extend_from_slice(CRLF);
}

/// The body of the reply to a request without TLS where TLS is spoken, which is mostly a wrong address.
pub const PLAIN_ON_TLS_PAGE: &[u8] =
    b"<!DOCTYPE html><title>Error 400</title><p>Error 400. The plain HTTP request was sent to HTTPS port.\r\n";

/// The status of such a request in logs (contract 7).
pub const PLAIN_ON_TLS: u16 = 497;

const PLAIN_ON_TLS_REASON: &str = "The plain HTTP request was sent to HTTPS port";

/// The status that clients see: the server's own one for a request without TLS where TLS is spoken becomes 400.
pub fn wire_status(status: u16) -> u16 {
    if status == PLAIN_ON_TLS { 400 } else { status }
}

/// Appends one field. Control characters in the value become spaces (RFC 9110 section 5.5); a field whose
/// name is not a token is left out, since no client could make sense of it.
pub fn append_field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    if !is_token(name) {
        return;
    }
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    let start = out.len();
    out.extend_from_slice(value);
    if !chars::is_field_value(value) {
        out[start..].iter_mut().filter(|b| b.is_ascii_control()).for_each(|b| *b = b' ');
    }
    out.extend_from_slice(CRLF);
}

/// Appends one field that was checked when it was received: it is among those of a parsed head.
pub fn append_checked_field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.reserve(name.len() + value.len() + FIELD_OVERHEAD);
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(CRLF);
}

/// Appends the server's own fields and the empty line.
pub fn append_trailer(out: &mut Vec<u8>, trailer: &Trailer<'_>) {
    if let Some(server) = trailer.server {
        append_field(out, b"Server", server);
    }
    if let Some(date) = trailer.date {
        out.extend_from_slice(b"Date: ");
        out.extend_from_slice(date);
        out.extend_from_slice(CRLF);
    }
    if let ReplyFraming::Length(length) = trailer.framing {
        out.extend_from_slice(b"Content-Length: ");
        out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
        out.extend_from_slice(CRLF);
    }
    out.extend_from_slice(match trailer.connection {
        ConnectionField::Unsaid => b"",
        ConnectionField::Close => b"Connection: close\r\n",
        ConnectionField::KeepAlive => b"Connection: keep-alive\r\n",
        ConnectionField::Upgrade => b"Connection: Upgrade\r\n",
    });
    if trailer.framing == ReplyFraming::Chunked {
        out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
    }
    out.extend_from_slice(CRLF);
}

/// The interim reply to `Expect: 100-continue`.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The body of an error reply.
pub fn error_page(status: u16) -> [u8; ERROR_PAGE_LEN] {
    let mut page = *ERROR_PAGE;
    let digits = status_digits(status);
    for at in [TITLE_AT, TEXT_AT] {
        page[at..at + 3].copy_from_slice(&digits);
    }
    page
}

/// The body of an error reply for programs (RFC 9457); its type is `application/problem+json`.
pub fn problem(status: u16) -> String {
    let title = if status == PLAIN_ON_TLS { PLAIN_ON_TLS_REASON } else { reason(status) };
    format!("{{\"status\":{},\"title\":\"{title}\"}}", wire_status(status))
}

/// `Content-Type` of error pages.
pub const ERROR_PAGE_TYPE: &[u8] = b"text/html";

/// Bytes of every error page.
pub const ERROR_PAGE_LEN: usize = ERROR_PAGE.len();

const ERROR_PAGE: &[u8; 54] = b"<!DOCTYPE html><title>Error NNN</title><p>Error NNN.\r\n";
const TITLE_AT: usize = 28;
const TEXT_AT: usize = 48;
const CRLF: &[u8] = b"\r\n";

/// Bytes of a field's line beside its name and its value.
pub const FIELD_OVERHEAD: usize = 4;

/// Always three digits: `return` takes 0 to 999, and 0 is sent as `000`.
fn status_digits(status: u16) -> [u8; 3] {
    let status = status.min(999);
    [status / 100, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8)
}

#[cfg(test)]
mod tests;
