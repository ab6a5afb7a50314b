//! The head of an HTTP/1 request: incremental parsing into offsets, and the values derived from it.
//!
//! `httparse` begins again with each call, needs a bound on the number of fields and cannot say which rule a head
//! breaks; `benches` compares the two.

mod error;
mod framing;
mod host;
mod line;
mod name;
mod parse;
mod target;

use smallvec::SmallVec;

pub use self::error::RequestHeadError;
pub use self::framing::RequestFraming;
pub use self::host::is_loopback;
pub use self::line::HTTP_2;
pub use self::name::KnownField;
pub use self::parse::parse_head;
pub use crate::version::HttpVersion;

use self::framing::FramingFields;
use self::host::NormalizedHost;
use crate::chars;
use crate::upstream::MAX_OPTIONS;

/// Bounds and leniencies of a listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadRules {
    /// Most bytes of a head, blank lines before it included.
    pub max_head: usize,
    /// Most bytes of the request line, and of what stands behind the colon of a field.
    pub max_line: usize,
    /// Drops fields whose names hold anything but letters, digits and `-`.
    pub discard_unsafe_fields: bool,
    /// Whether `Transfer-Encoding: chunked` is permitted (`settings.http.chunked_transform`).
    pub chunked_permitted: bool,
    /// The head is that of a stream of HTTP/2, written down in the form of HTTP/1 with [`HTTP_2`] for its version.
    pub is_stream: bool,
}

impl HeadRules {
    /// The rules that follow from `large_header_buffer_size` and `large_header_buffers`: Unit has a first
    /// buffer of 2048 bytes and these behind it, and a request line or a field without its name has to fit into
    /// one of them.
    pub fn from_buffers(buffer_size: usize, n_buffers: usize) -> HeadRules {
        const FIRST_BUFFER: usize = 2048;
        HeadRules {
            max_head: buffer_size.saturating_mul(n_buffers).saturating_add(FIRST_BUFFER),
            max_line: buffer_size.max(FIRST_BUFFER),
            discard_unsafe_fields: true,
            chunked_permitted: false,
            is_stream: false,
        }
    }
}

/// How far a head has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadProgress {
    /// The head takes the first `len` bytes of the buffer; the body follows.
    Complete {
        /// Bytes, blank lines before the request line included.
        len: usize,
    },
    /// More bytes are needed.
    Partial,
}

/// A request head as offsets into the caller's buffer, to be used again for the next one.
///
/// All methods that take `buf` want the buffer that was given to `parse_head`, which may have moved and
/// grown, but not changed. A typical head allocates nothing. They answer empty values before
/// `parse_head` answered `Complete`.
#[derive(Debug, Default, Clone)]
pub struct ParsedHead {
    phase: HeadPhase,
    /// Where the first line that was not yet understood begins.
    next: usize,
    /// No line ends between `next` and here.
    searched: usize,
    request_line: BufferSpan,
    method: BufferSpan,
    target: BufferSpan,
    raw_path: BufferSpan,
    query: Option<BufferSpan>,
    /// The target that a URL without a path stands for: `/` and the query. Its memory is used again.
    origin_form: Vec<u8>,
    /// The host of a target that is a URL.
    authority: Option<BufferSpan>,
    is_for_server: bool,
    version: HttpVersion,
    /// The normalised path; empty when the raw one is it. Its memory is used again.
    path: Vec<u8>,
    host: NormalizedHost,
    fields: SmallVec<[RequestField; 16]>,
    seen: u32,
    framing: FramingFields,
    connection: ConnectionOptions,
}

impl ParsedHead {
    /// Forgets everything, also a half-read head.
    pub fn clear(&mut self) {
        self.phase = HeadPhase::RequestLine;
        self.next = 0;
        self.searched = 0;
        self.request_line = BufferSpan::default();
        self.method = BufferSpan::default();
        self.target = BufferSpan::default();
        self.raw_path = BufferSpan::default();
        self.query = None;
        self.origin_form.clear();
        self.authority = None;
        self.is_for_server = false;
        self.version = HttpVersion::default();
        self.path.clear();
        self.host.clear();
        self.fields.clear();
        if self.fields.capacity() > MAX_KEPT_FIELDS {
            self.fields.shrink_to_fit();
        }
        self.seen = 0;
        self.framing = FramingFields::default();
        self.connection = ConnectionOptions::default();
    }

    /// Bytes of the buffer that the head takes, once it is complete.
    #[expect(clippy::len_without_is_empty, reason = "a complete head is never empty")]
    pub fn len(&self) -> usize {
        self.next
    }

    /// Whether any byte of a request has been seen: blank lines before it are none.
    pub fn has_begun(&self, buf: &[u8]) -> bool {
        self.phase != HeadPhase::RequestLine || buf.get(self.next..).is_some_and(|rest| !rest.is_empty())
    }

    /// The first line without its end, as received; empty when it has not the form of a request line.
    pub fn request_line<'b>(&self, buf: &'b [u8]) -> &'b [u8] {
        self.request_line.of(buf)
    }

    /// The method, as received (methods are case-sensitive).
    pub fn method<'b>(&self, buf: &'b [u8]) -> &'b [u8] {
        self.method.of(buf)
    }

    /// The path with the query, as received, cut before `#`; `*` if `is_for_server`. Of a target that is a URL, what
    /// stands behind the host.
    pub fn target<'b>(&'b self, buf: &'b [u8]) -> &'b [u8] {
        if self.origin_form.is_empty() { self.target.of(buf) } else { &self.origin_form }
    }

    /// As `target`, with what begins at `#`.
    pub fn sent_target<'b>(&'b self, buf: &'b [u8]) -> &'b [u8] {
        let target = self.target(buf);
        if !self.origin_form.is_empty() {
            return target;
        }
        let line = self.request_line(buf);
        let start = self.target.start.saturating_sub(self.request_line.start) as usize;
        match line.get(start + target.len()) {
            Some(b'#') => {}
            _ => return target,
        }
        let version = memchr::memrchr(b' ', line).unwrap_or(line.len());
        line.get(start..version).map_or(target, chars::trim)
    }

    /// The path decoded and normalised, see `path::normalise`.
    pub fn path<'b>(&'b self, buf: &'b [u8]) -> &'b [u8] {
        if self.path.is_empty() { self.raw_path(buf) } else { &self.path }
    }

    /// The path as received.
    pub fn raw_path<'b>(&'b self, buf: &'b [u8]) -> &'b [u8] {
        self.origin_form.get(..1).unwrap_or_else(|| self.raw_path.of(buf))
    }

    /// Whether the request is `OPTIONS *`: it asks what the server can do, whatever is on it.
    pub fn is_for_server(&self) -> bool {
        self.is_for_server
    }

    /// The text behind `?`, as received; `None` without a `?`.
    pub fn query<'b>(&self, buf: &'b [u8]) -> Option<&'b [u8]> {
        self.query.map(|query| query.of(buf))
    }

    /// The version of HTTP.
    pub fn version(&self) -> HttpVersion {
        self.version
    }

    /// The host in lower case, without port and trailing dot; empty when there is none.
    pub fn host<'b>(&'b self, buf: &'b [u8]) -> &'b [u8] {
        self.host.of(buf)
    }

    /// All fields in order: names as received, values trimmed. The value of `NormalizedHost` is the host of a target
    /// that has one.
    pub fn fields<'b>(&'b self, buf: &'b [u8]) -> impl ExactSizeIterator<Item = (&'b [u8], &'b [u8])> {
        self.fields.iter().map(|field| (field.name(buf), field.value.of(buf)))
    }

    /// The value of the first field of that name.
    pub fn value<'b>(&'b self, buf: &'b [u8], name: KnownField) -> Option<&'b [u8]> {
        if !self.has(name) {
            return None;
        }
        self.values(buf, name).next()
    }

    /// The values of all fields of that name, in order.
    pub fn values<'b>(&'b self, buf: &'b [u8], name: KnownField) -> impl Iterator<Item = &'b [u8]> {
        self.fields.iter().filter(move |field| field.known == name).map(|field| field.value.of(buf))
    }

    /// Whether there is a field of that name.
    pub fn has(&self, name: KnownField) -> bool {
        self.seen & name.bit() != 0
    }

    /// Whether there is a precondition or a range, so that `conditional` and `range` have work to do.
    pub fn is_conditional(&self) -> bool {
        self.seen & KnownField::CONDITIONAL != 0
    }

    /// How the body is framed.
    pub fn framing(&self) -> RequestFraming {
        self.framing.framing()
    }

    /// The value of `Content-Length`.
    pub fn content_length(&self) -> Option<u64> {
        self.framing.length
    }

    /// Whether the client wants the connection kept (RFC 9112 section 9.3).
    pub fn keep_alive(&self) -> bool {
        !self.connection.close && (self.version >= HttpVersion::Http11 || self.connection.keep_alive)
    }

    /// Whether the client waits for `100 Continue` before it sends the body.
    pub fn expects_continue(&self) -> bool {
        self.connection.expects_continue && self.version >= HttpVersion::Http11
    }

    /// Whether the client asks for the WebSocket protocol (`Connection: upgrade`, `Upgrade: websocket`), in whatever
    /// version of HTTP.
    pub fn wants_websocket(&self) -> bool {
        self.connection.upgrade && self.connection.websocket
    }
}

/// Where a head stands. A new head is begun in all phases but the two in the middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum HeadPhase {
    #[default]
    RequestLine,
    Fields,
    Complete,
    Failed,
}

/// A piece of the caller's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct BufferSpan {
    start: u32,
    len: u32,
}

impl BufferSpan {
    /// Offsets are below `MAX_OFFSET`, see `ParsedHead::advance`.
    fn new(start: usize, len: usize) -> BufferSpan {
        debug_assert!(start + len <= MAX_OFFSET);
        BufferSpan { start: start as u32, len: len as u32 }
    }

    /// Empty when the buffer is not the one that was parsed, rather than a panic.
    fn of(self, buf: &[u8]) -> &[u8] {
        let start = self.start as usize;
        buf.get(start..start + self.len as usize).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy)]
struct RequestField {
    name_start: u32,
    value: BufferSpan,
    name_len: u8,
    known: KnownField,
}

impl RequestField {
    /// The name as received. One that is not in the buffer has no length: a `NormalizedHost` that only the target has
    /// said.
    fn name<'b>(&self, buf: &'b [u8]) -> &'b [u8] {
        match self.name_len {
            0 => b"Host",
            len => BufferSpan { start: self.name_start, len: u32::from(len) }.of(buf),
        }
    }
}

/// Options of `Connection` and its kin, before the version is considered.
#[derive(Debug, Default, Clone)]
struct ConnectionOptions {
    close: bool,
    keep_alive: bool,
    upgrade: bool,
    websocket: bool,
    expects_continue: bool,
    n_options: usize,
}

impl ConnectionOptions {
    fn note(&mut self, value: &[u8]) -> Result<(), RequestHeadError> {
        for option in chars::list(value) {
            self.n_options += 1;
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
            self.upgrade |= option.eq_ignore_ascii_case(b"upgrade");
        }
        if self.n_options > MAX_OPTIONS { Err(RequestHeadError::TooManyOptions) } else { Ok(()) }
    }
}

/// Offsets are kept in 32 bits; no sensible limit comes near.
const MAX_OFFSET: usize = 1 << 30;

/// A head with more fields than this gives its memory back when it is cleared.
const MAX_KEPT_FIELDS: usize = 128;

#[cfg(test)]
mod tests;
