//! Reads a head line by line, going on where it stopped.
//!
//! Lines are found with `memchr` and checked by class tables rather than by the `httparse` crate: that
//! one starts again with each call, needs an array that bounds the number of fields, and cannot say
//! which rule a bad field breaks. `benches/head.rs` has both.

use super::error::RequestHeadError;
use super::name::KnownField;
use super::{
    BufferSpan, HeadPhase, HeadProgress, HeadRules, HttpVersion, MAX_OFFSET, ParsedHead, RequestField, host,
    line,
};
use crate::chars::{self, trim};
use crate::path;

/// Reads a request head from the start of `buf`.
///
/// After `Partial` the next call, with the same bytes and more behind them, goes on where this one
/// stopped; each byte is read once however the bytes arrive. After `Complete`, an error or `ParsedHead::clear`
/// it starts with a new head. A buffer of `max_head` bytes without a whole head is `RequestHeadError::TooLarge`.
///
/// The result does not depend on how the bytes were split into calls.
pub fn parse_head(
    head: &mut ParsedHead,
    buf: &[u8],
    rules: &HeadRules,
) -> Result<HeadProgress, RequestHeadError> {
    if !matches!(head.phase, HeadPhase::RequestLine | HeadPhase::Fields) {
        head.clear();
    }
    let result = head.advance(buf, rules);
    if result.is_err() {
        head.phase = HeadPhase::Failed;
    }
    result
}

impl ParsedHead {
    fn advance(&mut self, buf: &[u8], rules: &HeadRules) -> Result<HeadProgress, RequestHeadError> {
        let buf = &buf[..buf.len().min(rules.max_head).min(MAX_OFFSET)];
        let full = buf.len() >= rules.max_head.min(MAX_OFFSET);
        loop {
            let Some(end) = self.find_line_end(buf) else {
                self.check_unfinished_line(&buf[self.next.min(buf.len())..], rules)?;
                return if full { Err(RequestHeadError::TooLarge) } else { Ok(HeadProgress::Partial) };
            };
            let start = self.next;
            self.next = end + 1;
            self.searched = self.next;
            let raw = &buf[start..end];
            let line = raw.strip_suffix(b"\r").unwrap_or(raw);
            match (self.phase, line.is_empty()) {
                (HeadPhase::RequestLine, true) => {}
                (HeadPhase::RequestLine, false) => self.take_request_line(start, raw.len(), line, rules)?,
                (_, false) => self.take_field(start, raw.len(), line, rules)?,
                (_, true) => {
                    self.finish(rules)?;
                    self.phase = HeadPhase::Complete;
                    return Ok(HeadProgress::Complete { len: self.next });
                }
            }
        }
    }

    /// Where the line at `next` ends (its line feed), if that was received.
    fn find_line_end(&mut self, buf: &[u8]) -> Option<usize> {
        let unread = buf.get(self.searched..)?;
        let found = memchr::memchr(b'\n', unread).map(|at| self.searched + at);
        self.searched = buf.len();
        found
    }

    /// Refuses early what cannot become a request: TLS records and the like need no time-out.
    fn check_unfinished_line(&self, raw: &[u8], rules: &HeadRules) -> Result<(), RequestHeadError> {
        if self.phase != HeadPhase::RequestLine {
            return check_length(raw.len(), longest_field(rules));
        }
        let line = raw.strip_suffix(b"\r").unwrap_or(raw);
        line::check_method(&line[..line.len().min(rules.max_line)])?;
        check_length(raw.len(), rules.max_line)
    }

    fn take_request_line(
        &mut self,
        start: usize,
        raw_len: usize,
        line: &[u8],
        rules: &HeadRules,
    ) -> Result<(), RequestHeadError> {
        line::check_method(&line[..line.len().min(rules.max_line)])?;
        check_length(raw_len, rules.max_line)?;
        let parts = line::parse(line, rules.is_stream);
        if !matches!(parts, Err(RequestHeadError::BadRequestLine)) {
            self.request_line = BufferSpan::new(start, line.len());
        }
        let parts = parts?;
        self.method = BufferSpan::new(start, parts.method.len());
        self.version = parts.version;
        if let Some((at, authority)) = parts.target.authority() {
            let span =
                BufferSpan::new(start + parts.target_start + at - parts.target.path_at(), authority.len());
            self.host.set(authority, span)?;
            self.authority = Some(span);
        }
        self.is_for_server = parts.target.is_server();
        self.take_path(start + parts.target_start, parts.target.path_and_query)?;
        self.phase = HeadPhase::Fields;
        Ok(())
    }

    /// Takes the path and the query, which stand at `start`.
    fn take_path(&mut self, start: usize, target: &[u8]) -> Result<(), RequestHeadError> {
        self.target = BufferSpan::new(start, target.len());
        let path_len = memchr::memchr(b'?', target).unwrap_or(target.len());
        self.raw_path = BufferSpan::new(start, path_len);
        if let Some(query) = target.get(path_len + 1..) {
            self.query = Some(BufferSpan::new(start + path_len + 1, query.len()));
        }
        if path_len == 0 {
            // A URL may leave the path out.
            self.origin_form.push(b'/');
            self.origin_form.extend_from_slice(target);
        }
        let raw_path = &target[..path_len];
        if self.is_for_server {
            // It has none; this one does no harm if it is looked at all the same.
            self.path.push(b'/');
        } else if path::needs_normalising(raw_path) {
            path::normalise(raw_path, &mut self.path)?;
        }
        Ok(())
    }

    /// The end of the head: the rules that need all fields.
    fn finish(&mut self, rules: &HeadRules) -> Result<(), RequestHeadError> {
        self.framing.check(self.version, rules)?;
        if self.version >= HttpVersion::Http11 && !self.has(KnownField::Host) {
            return Err(RequestHeadError::MissingHost);
        }
        if let Some(authority) = self.authority {
            self.put_authority(authority);
        }
        Ok(())
    }

    /// The host of the target takes the place of the one in `Host` for everything behind (RFC 9112 section 3.2.2).
    fn put_authority(&mut self, authority: BufferSpan) {
        if let Some(host) = self.fields.iter_mut().find(|field| field.known == KnownField::Host) {
            host.value = authority;
            return;
        }
        self.seen |= KnownField::Host.bit();
        self.fields.push(RequestField {
            name_start: 0,
            value: authority,
            name_len: 0,
            known: KnownField::Host,
        });
    }

    fn take_field(
        &mut self,
        start: usize,
        raw_len: usize,
        line: &[u8],
        rules: &HeadRules,
    ) -> Result<(), RequestHeadError> {
        check_length(raw_len, longest_field(rules))?;
        let (name_len, class) = line::field_name(line)?;
        let after_colon = &line[name_len + 1..];
        check_length(after_colon.len(), rules.max_line)?;
        let value = trim(after_colon);
        if !chars::is_field_value(value) {
            return Err(RequestHeadError::ControlInValue);
        }
        if rules.discard_unsafe_fields && class & chars::SAFE_NAME == 0 {
            return Ok(());
        }
        let name = &line[..name_len];
        let known = KnownField::of(name);
        let lead = after_colon.len() - trim_start_len(after_colon);
        let value_at = BufferSpan::new(start + name_len + 1 + lead, value.len());
        self.note_known(known, value, value_at)?;
        self.seen |= known.bit();
        // The length fits: `line::field_name` refuses names of more than 255 bytes.
        self.fields.push(RequestField {
            name_start: start as u32,
            value: value_at,
            name_len: name_len as u8,
            known,
        });
        Ok(())
    }

    /// Looks into the fields that decide about framing, connection and host.
    fn note_known(
        &mut self,
        known: KnownField,
        value: &[u8],
        at: BufferSpan,
    ) -> Result<(), RequestHeadError> {
        match known {
            KnownField::Host if self.has(KnownField::Host) => return Err(RequestHeadError::DuplicateHost),
            // The target has said the host; this one has to be right nevertheless.
            KnownField::Host if self.authority.is_some() => drop(host::checked(value)?),
            KnownField::Host => self.host.set(value, at)?,
            _ if known.bit() & KnownField::SINGULAR & self.seen != 0 => {
                return Err(RequestHeadError::DuplicateField);
            }
            KnownField::ContentLength => self.framing.note_length(value)?,
            KnownField::TransferEncoding => self.framing.note_transfer_encoding(value)?,
            KnownField::Connection => self.connection.note(value)?,
            KnownField::Expect => {
                self.connection.expects_continue |= value.eq_ignore_ascii_case(b"100-continue");
            }
            KnownField::Upgrade => {
                self.connection.websocket |= chars::list(value).any(|p| p.eq_ignore_ascii_case(b"websocket"));
            }
            _ => {}
        }
        Ok(())
    }
}

fn check_length(len: usize, limit: usize) -> Result<(), RequestHeadError> {
    if len > limit { Err(RequestHeadError::LineTooLong) } else { Ok(()) }
}

/// Most bytes of a field: the longest name, its colon, the longest value with blanks and a carriage return.
fn longest_field(rules: &HeadRules) -> usize {
    rules.max_line.saturating_add(line::MAX_NAME + 2)
}

/// Bytes left when the blanks at the start are taken off.
fn trim_start_len(value: &[u8]) -> usize {
    value.iter().position(|&b| b != b' ' && b != b'\t').map_or(0, |lead| value.len() - lead)
}
