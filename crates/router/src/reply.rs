//! The state of a reply, and the fields that it gets.

pub(crate) mod charset;
pub(crate) mod compression;
pub(crate) mod cors;
pub(crate) mod explanation;
pub(crate) mod html;
pub(crate) mod interim;
pub(crate) mod preference;
pub(crate) mod secure;
pub(crate) mod substituting;
pub(crate) mod timings;
pub(crate) mod trailers;
pub(crate) mod unpacking;
pub(crate) mod upstreams;

use std::sync::Arc;

use corral_config::upstream::{Origin, ResponseRewrites};
use corral_http::response::{self, FIELD_OVERHEAD, ReplyFraming};
use corral_ipc::message::Refusal;
use smallvec::SmallVec;

use crate::limits::Quota;
use crate::reply::timings::Timings;
use crate::reply::upstreams::UpstreamLog;
use crate::storage::buffers;

/// A reply on its way out; what is in it stays until the request is logged.
#[derive(Debug, Default, Clone)]
pub(crate) struct Reply {
    /// `None` until it is decided.
    pub(crate) status: Option<u16>,
    /// How the body is framed, once that is decided.
    pub(crate) framing: Option<ReplyFraming>,
    /// Bytes sent after the head.
    pub(crate) n_body_bytes: u64,
    /// All of it was sent.
    pub(crate) is_complete: bool,
    /// Why the request was refused, if it was; the first reason if something else had to answer then.
    pub(crate) refusal: Option<Refusal>,
    /// The connection ends with this reply.
    pub(crate) close: bool,
    /// The client is likely to send on, though that is not read.
    pub(crate) linger: bool,
    /// The content coding is decided: the reply is not compressed on its way out.
    pub(crate) coding_is_settled: bool,
    /// `expires` has had its word on it.
    pub(crate) expiry_is_settled: bool,
    /// The server has too much to do: the client may try again in so many seconds, whatever is sent as an error page.
    pub(crate) retry_after: Option<u32>,
    /// How much a limit leaves to the client.
    pub(crate) quota: Option<Box<Quota>>,
    /// Questions to a client that is not let pass, one `WWW-Authenticate` each.
    pub(crate) challenges: Vec<String>,
    /// Where the time went.
    pub(crate) timings: Timings,
    /// The servers that were asked, if a template or a trace wants to know.
    pub(crate) upstreams: Option<Box<UpstreamLog>>,
    /// All fields but those that the server adds.
    pub(crate) fields: ReplyFields,
    /// Changes of the headers of a proxied server's response.
    pub(crate) from_server: Option<Box<ServerMarks>>,
    /// Some of the answer that the reply takes the place of.
    pub(crate) kept_fields: Option<Box<ReplyFields>>,
}

/// Changes of the headers of a response on its way from a proxied server.
#[derive(Debug, Clone)]
pub(crate) struct ServerMarks {
    /// A further `Set-Cookie`.
    pub(crate) cookie: Option<Vec<u8>>,
    /// Rules, and the server that they are about.
    pub(crate) rewrites: Option<(Arc<ResponseRewrites>, Origin)>,
}

/// Fields in their order, as the lines that are sent.
#[derive(Debug, Default, Clone)]
pub(crate) struct ReplyFields {
    text: Vec<u8>,
    spans: SmallVec<[FieldSpan; 12]>,
}

/// Where a field's line is in the text: its name, a colon and a blank, its value, and the end of the line.
#[derive(Debug, Clone, Copy)]
struct FieldSpan {
    start: u32,
    name_len: u32,
    value_len: u32,
}

impl Reply {
    /// Notes why the request is refused. One is counted once, whatever becomes of it.
    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        self.refusal.get_or_insert(refusal);
    }
}

impl ReplyFields {
    /// No field can break out of its line, see `response::append_field`.
    pub(crate) fn push(&mut self, name: &[u8], value: &[u8]) {
        let span = self.write(name, value);
        self.spans.extend(span);
    }

    /// As `push` for a field of a head that was parsed.
    pub(crate) fn push_checked(&mut self, name: &[u8], value: &[u8]) {
        let start = self.text().len();
        response::append_checked_field(self.text(), name, value);
        self.spans.push(FieldSpan {
            start: len_of(start),
            name_len: len_of(name.len()),
            value_len: len_of(value.len()),
        });
    }

    /// Replaces the value of the first field of this name, or adds one.
    pub(crate) fn set(&mut self, name: &[u8], value: &[u8]) {
        let position = self.position(name);
        let Some(span) = self.write(name, value) else { return };
        match position {
            Some(position) => self.spans[position] = span,
            None => self.spans.push(span),
        }
    }

    /// Removes the first field of this name.
    pub(crate) fn remove(&mut self, name: &[u8]) {
        if let Some(position) = self.position(name) {
            self.spans.remove(position);
        }
    }

    /// Removes all fields of this name.
    pub(crate) fn remove_all(&mut self, name: &[u8]) {
        while let Some(position) = self.position(name) {
            self.spans.remove(position);
        }
    }

    /// The value of the first field of this name, in any case.
    pub(crate) fn get(&self, name: &[u8]) -> Option<&[u8]> {
        let position = self.position(name)?;
        Some(self.field(self.spans[position]).1)
    }

    /// How many bytes of a head they are.
    pub(crate) fn len(&self) -> usize {
        self.spans.iter().map(FieldSpan::len).sum()
    }

    /// Appends all of them to a head.
    pub(crate) fn append_to(&self, head: &mut Vec<u8>) {
        for span in &self.spans {
            head.extend_from_slice(&self.text[span.start as usize..][..span.len()]);
        }
    }

    /// Names and values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.spans.iter().map(|span| self.field(*span))
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.spans.clear();
    }

    fn position(&self, name: &[u8]) -> Option<usize> {
        self.iter().position(|(known, _)| known.eq_ignore_ascii_case(name))
    }

    fn field(&self, span: FieldSpan) -> (&[u8], &[u8]) {
        let text = &self.text[span.start as usize..];
        let (name, rest) = text.split_at(span.name_len as usize);
        (name, &rest[SEPARATOR.len()..][..span.value_len as usize])
    }

    /// Appends a field; `None` for text that is not a field.
    fn write(&mut self, name: &[u8], value: &[u8]) -> Option<FieldSpan> {
        let start = self.text().len();
        response::append_field(self.text(), name, value);
        let span =
            FieldSpan { start: len_of(start), name_len: len_of(name.len()), value_len: len_of(value.len()) };
        (self.text.len() > start).then_some(span)
    }

    fn text(&mut self) -> &mut Vec<u8> {
        if self.text.capacity() == 0 {
            self.text = buffers::take_line();
        }
        &mut self.text
    }
}

impl FieldSpan {
    fn len(&self) -> usize {
        self.name_len as usize + self.value_len as usize + FIELD_OVERHEAD
    }
}

/// Heads are limited to far less than 4 GiB on every way in.
fn len_of(len: usize) -> u32 {
    u32::try_from(len).expect("a reply's head is shorter than 4 GiB")
}

/// A variable may hold what would end a field's line.
pub(crate) fn disarm(value: &mut [u8]) {
    for byte in value.iter_mut().filter(|byte| byte.is_ascii_control() && **byte != b'\t') {
        *byte = b' ';
    }
}

/// The text between name and value.
const SEPARATOR: &[u8] = b": ";

impl Drop for ReplyFields {
    fn drop(&mut self) {
        buffers::give(std::mem::take(&mut self.text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(fields: &ReplyFields) -> String {
        fields.iter().map(|(name, value)| format!("{}={};", show(name), show(value))).collect()
    }

    fn show(text: &[u8]) -> &str {
        std::str::from_utf8(text).unwrap()
    }

    #[test]
    fn fields_are_sent_as_lines_that_they_cannot_break_out_of() {
        let mut fields = ReplyFields::default();
        fields.push_checked(b"A", b"1");
        fields.push(b"B", b"2\r\nC: 3");
        fields.push(b"D:", b"4");
        fields.push(b"E", b"");
        fields.set(b"a", b"5\n");
        let mut head = Vec::new();
        fields.append_to(&mut head);
        assert_eq!(show(&head), "a: 5 \r\nB: 2  C: 3\r\nE: \r\n");
    }

    #[test]
    fn fields_keep_their_order_and_are_found_in_any_case() {
        let mut fields = ReplyFields::default();
        fields.push(b"A", b"1");
        fields.push(b"Set-Cookie", b"x");
        fields.push(b"Set-Cookie", b"y");
        assert_eq!(fields.get(b"set-cookie"), Some(&b"x"[..]));
        assert_eq!(fields.get(b"b"), None);
        fields.set(b"a", b"longer than before");
        fields.set(b"B", b"");
        assert_eq!(shown(&fields), "a=longer than before;Set-Cookie=x;Set-Cookie=y;B=;");
        fields.remove(b"SET-COOKIE");
        fields.remove(b"absent");
        assert_eq!(shown(&fields), "a=longer than before;Set-Cookie=y;B=;");
        fields.push(b"b", b"2");
        fields.remove_all(b"B");
        assert_eq!(shown(&fields), "a=longer than before;Set-Cookie=y;");
        fields.clear();
        assert_eq!(shown(&fields), "");
    }
}
