//! Heads of responses that upstream servers send: parsed in place, framed strictly.
//!
//! Syntax is `httparse`'s, without its leniencies. Framing is RFC 9112 section 6.3, except that whatever two
//! readers could understand differently is refused rather than repaired: a response that is split in two
//! would be the answer to another client's request (contract 13, 24, 29).

mod error;
mod hop;

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Status};

pub use self::error::ResponseError;
pub use self::hop::{MAX_OPTIONS, NamedFields, is_hop_by_hop};
use crate::chars;
use crate::response::permits_body;

/// A response's head: offsets into the buffer that it was parsed from. Made to be used again.
#[derive(Debug, Default)]
pub struct ResponseHead {
    status: u16,
    version_minor: u8,
    /// Bytes that the head takes.
    len: usize,
    /// Bytes in which no head's end was found by earlier calls.
    searched: usize,
    fields: Vec<ResponseField>,
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    /// Options of all `Connection` fields.
    n_options: usize,
    /// Some `Connection` field names something else than how to go on.
    names_fields: bool,
    keep_alive_seconds: Option<u64>,
}

/// How the body follows the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseBody {
    /// No body, whatever the head says.
    Absent,
    /// This many bytes.
    Length(u64),
    /// Chunks, see `chunked::Decoder`.
    Chunked,
    /// All until the connection ends.
    UntilClose,
}

/// Reads a response's head from the start of `buf`: true when it is complete, false when there has to be
/// more. After false the next call has the same bytes and more behind them; otherwise it is a new head.
///
/// # Errors
///
/// When no client could rely on what the response is, or where it ends.
pub fn parse_response(head: &mut ResponseHead, buf: &[u8]) -> Result<bool, ResponseError> {
    if head.searched > 0 && !ends_in(buf, head.searched) {
        head.searched = buf.len();
        return Ok(false);
    }
    *head = ResponseHead { fields: std::mem::take(&mut head.fields), ..ResponseHead::default() };
    head.fields.clear();
    let complete = head.parse(buf)?;
    head.searched = if complete { 0 } else { buf.len() };
    Ok(complete)
}

/// Whether the empty line that ends a head may be among the bytes behind `searched`.
fn ends_in(buf: &[u8], searched: usize) -> bool {
    let unseen = &buf[searched.saturating_sub(2).min(buf.len())..];
    memchr::memchr_iter(b'\n', unseen).any(|at| matches!(unseen[at + 1..], [b'\n', ..] | [b'\r', b'\n', ..]))
}

impl ResponseHead {
    /// The status, 100 to 999.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Bytes of the buffer that the head takes.
    #[expect(clippy::len_without_is_empty, reason = "a complete head is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether another head follows this one: 1xx, but for 101, after which no HTTP follows.
    pub fn is_interim(&self) -> bool {
        self.status < 200 && self.status != 101
    }

    /// How the body follows, in an answer to HEAD or to another method.
    pub fn body(&self, to_head: bool) -> ResponseBody {
        match self.length {
            _ if to_head || !permits_body(self.status) => ResponseBody::Absent,
            _ if self.chunked => ResponseBody::Chunked,
            Some(length) => ResponseBody::Length(length),
            None => ResponseBody::UntilClose,
        }
    }

    /// The value of `Content-Length`, which an answer to HEAD has without a body.
    pub fn content_length(&self) -> Option<u64> {
        self.length
    }

    /// Whether the connection can be used again, once a body of the kind that `body` says was read.
    pub fn keep_alive(&self, to_head: bool) -> bool {
        let stays = if self.version_minor == 0 { self.keep_alive && !self.close } else { !self.close };
        // A body that must not be there may come all the same, and a moment later: a server that announces one is
        // not trusted.
        let is_announced = self.chunked || self.length.is_some_and(|n| n > 0);
        let is_clear = !is_announced || self.body(to_head) != ResponseBody::Absent;
        stays && is_clear && self.body(to_head) != ResponseBody::UntilClose
    }

    /// How many seconds the server keeps an idle connection, where it says so (`Keep-Alive: timeout=5`).
    pub fn keep_alive_seconds(&self) -> Option<u64> {
        self.keep_alive_seconds
    }

    /// The fields that are passed on, in order. Those about the connection and the framing are not among
    /// them, nor is `Server`. An `Upgrade` is, where the status asks for one.
    pub fn fields<'b>(&'b self, buf: &'b [u8]) -> impl Iterator<Item = (&'b [u8], &'b [u8])> {
        let named =
            if self.names_fields { NamedFields::of(self.connection(buf)) } else { NamedFields::default() };
        let names_upgrade = self.status == UPGRADE_REQUIRED;
        let is_upgrade = move |field: &ResponseField| names_upgrade && field.kind == FieldTreatment::Upgrade;
        let passed =
            self.fields.iter().filter(move |field| field.kind == FieldTreatment::Passed || is_upgrade(field));
        passed.filter_map(move |field| {
            let name = field.name.of(buf);
            (!named.has(name) || is_upgrade(field)).then(|| (name, field.value.of(buf)))
        })
    }

    /// The value of the `Upgrade` field.
    pub fn upgrade<'b>(&self, buf: &'b [u8]) -> Option<&'b [u8]> {
        self.fields
            .iter()
            .find(|field| field.kind == FieldTreatment::Upgrade)
            .map(|field| field.value.of(buf))
    }

    fn connection<'b>(&'b self, buf: &'b [u8]) -> impl Iterator<Item = &'b [u8]> {
        self.fields
            .iter()
            .filter(|field| field.kind == FieldTreatment::Connection)
            .map(|field| field.value.of(buf))
    }

    fn parse(&mut self, buf: &[u8]) -> Result<bool, ResponseError> {
        if matches!(buf.first(), Some(b'\r' | b'\n')) {
            return Err(ResponseError::Malformed(httparse::Error::Version));
        }
        match self.parse_with::<FEW_FIELDS>(buf, &mut [const { MaybeUninit::uninit() }; FEW_FIELDS]) {
            Err(ResponseError::Malformed(httparse::Error::TooManyHeaders)) => {
                let mut many = Box::new([const { MaybeUninit::uninit() }; MAX_FIELDS]);
                self.parse_with::<MAX_FIELDS>(buf, &mut many)
            }
            result => result,
        }
    }

    fn parse_with<'b, const N: usize>(
        &mut self,
        buf: &'b [u8],
        space: &mut [MaybeUninit<Header<'b>>; N],
    ) -> Result<bool, ResponseError> {
        let mut parsed = httparse::Response::new(&mut []);
        let status = ParserConfig::default().parse_response_with_uninit_headers(&mut parsed, buf, space)?;
        let Status::Complete(len) = status else { return Ok(false) };
        self.len = len;
        self.status = parsed.code.filter(|&status| status >= 100).ok_or(ResponseError::BadStatus)?;
        self.version_minor = parsed.version.unwrap_or_default();
        self.fields.reserve(parsed.headers.len());
        for header in &*parsed.headers {
            self.take_field(buf, header.name.as_bytes(), header.value)?;
        }
        if self.chunked && self.version_minor == 0 {
            return Err(ResponseError::ChunkedInHttp10);
        }
        if self.chunked && self.length.is_some() {
            return Err(ResponseError::LengthAndChunked);
        }
        Ok(true)
    }

    fn take_field(&mut self, buf: &[u8], name: &[u8], value: &[u8]) -> Result<(), ResponseError> {
        let value = chars::trim(value);
        let kind = FieldTreatment::of(name);
        match kind {
            FieldTreatment::ContentLength => self.take_length(value)?,
            FieldTreatment::TransferEncoding => {
                if self.chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(ResponseError::BadTransferEncoding);
                }
                self.chunked = true;
            }
            FieldTreatment::Connection => self.take_connection(value)?,
            FieldTreatment::KeepAlive => self.keep_alive_seconds = timeout_parameter(value),
            FieldTreatment::Passed | FieldTreatment::Upgrade | FieldTreatment::Dropped => {}
        }
        self.fields.push(ResponseField {
            name: ResponseSpan::of_part(name, buf),
            value: ResponseSpan::of_part(value, buf),
            kind,
        });
        Ok(())
    }

    fn take_length(&mut self, value: &[u8]) -> Result<(), ResponseError> {
        if self.length.is_some() {
            return Err(ResponseError::DuplicateContentLength);
        }
        let length = chars::decimal(value).filter(|&length| length <= i64::MAX as u64);
        self.length = Some(length.ok_or(ResponseError::BadContentLength)?);
        Ok(())
    }

    fn take_connection(&mut self, value: &[u8]) -> Result<(), ResponseError> {
        for option in chars::list(value) {
            self.n_options += 1;
            if option.eq_ignore_ascii_case(b"close") {
                self.close = true;
            } else if option.eq_ignore_ascii_case(b"keep-alive") {
                self.keep_alive = true;
            } else {
                self.names_fields = true;
            }
        }
        if self.n_options > MAX_OPTIONS { Err(ResponseError::TooManyOptions) } else { Ok(()) }
    }
}

/// The status that says by `Upgrade` what else the server speaks (RFC 9110 section 15.5.22).
const UPGRADE_REQUIRED: u16 = 426;

/// `timeout` of a `Keep-Alive` field.
fn timeout_parameter(value: &[u8]) -> Option<u64> {
    let parameter = chars::list(value).find_map(|parameter| {
        let (name, value) = parameter.split_at_checked(8)?;
        name.eq_ignore_ascii_case(b"timeout=").then_some(value)
    });
    chars::decimal(chars::trim(parameter?))
}

#[derive(Debug, Clone, Copy)]
struct ResponseField {
    name: ResponseSpan,
    value: ResponseSpan,
    kind: FieldTreatment,
}

/// Treatment of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldTreatment {
    Passed,
    /// Hop by hop, or the server's own.
    Dropped,
    Connection,
    ContentLength,
    KeepAlive,
    TransferEncoding,
    Upgrade,
}

impl FieldTreatment {
    fn of(name: &[u8]) -> FieldTreatment {
        match name {
            // The usual spelling, which is quicker to find out.
            b"Server" => return FieldTreatment::Dropped,
            b"Connection" => return FieldTreatment::Connection,
            b"Content-Length" => return FieldTreatment::ContentLength,
            _ => {}
        }
        let (kind, text): (FieldTreatment, &[u8]) =
            match (name.len(), name.first().map_or(0, |first| first | 0x20)) {
                (6, b's') => (FieldTreatment::Dropped, b"server"),
                (7, b'u') => (FieldTreatment::Upgrade, b"upgrade"),
                // Trailer fields are not passed on, so neither is their announcement.
                (7, b't') => (FieldTreatment::Dropped, b"trailer"),
                (10, b'c') => (FieldTreatment::Connection, b"connection"),
                (10, b'k') => (FieldTreatment::KeepAlive, b"keep-alive"),
                (14, b'c') => (FieldTreatment::ContentLength, b"content-length"),
                (16, b'p') => (FieldTreatment::Dropped, b"proxy-connection"),
                (17, b't') => (FieldTreatment::TransferEncoding, b"transfer-encoding"),
                _ => return FieldTreatment::Passed,
            };
        if name.eq_ignore_ascii_case(text) { kind } else { FieldTreatment::Passed }
    }
}

/// A piece of the caller's buffer.
#[derive(Debug, Clone, Copy)]
struct ResponseSpan {
    start: u32,
    len: u32,
}

impl ResponseSpan {
    /// `part` lies in `buf`; where it does not, the span is empty.
    fn of_part(part: &[u8], buf: &[u8]) -> ResponseSpan {
        let start = (part.as_ptr() as usize).wrapping_sub(buf.as_ptr() as usize);
        match (u32::try_from(start), u32::try_from(part.len())) {
            (Ok(start), Ok(len)) => ResponseSpan { start, len },
            _ => ResponseSpan { start: 0, len: 0 },
        }
    }

    /// Empty when the buffer is not the one that was parsed, rather than a panic.
    fn of(self, buf: &[u8]) -> &[u8] {
        let start = self.start as usize;
        buf.get(start..start + self.len as usize).unwrap_or_default()
    }
}

/// An ordinary response has fewer fields; more take memory that has to be allocated.
const FEW_FIELDS: usize = 64;

/// A response with more fields is refused.
const MAX_FIELDS: usize = 1024;

#[cfg(test)]
mod tests;
