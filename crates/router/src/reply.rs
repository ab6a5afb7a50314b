//! What has become of a reply so far, and the fields that it gets.

use corral_http::response::Framing;
use smallvec::SmallVec;

use crate::buffers;

/// A reply on its way out; what is in it stays until the request is logged.
#[derive(Debug, Default, Clone)]
pub(crate) struct Reply {
    /// None until it is decided.
    pub(crate) status: Option<u16>,
    /// How the body is framed, once that is decided.
    pub(crate) framing: Option<Framing>,
    /// Bytes sent after the head.
    pub(crate) n_body_bytes: u64,
    /// The connection ends with this reply.
    pub(crate) close: bool,
    /// The client is likely to send on, though nobody reads it.
    pub(crate) linger: bool,
    /// The content coding is decided: the reply is not compressed on its way out.
    pub(crate) coding_is_settled: bool,
    /// All fields but those that the server adds.
    pub(crate) fields: Fields,
}

/// Fields in their order, in one buffer.
#[derive(Debug, Default, Clone)]
pub(crate) struct Fields {
    text: Vec<u8>,
    spans: SmallVec<[Span; 12]>,
}

/// Where a field is in the text: its name, and right behind it its value.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: u32,
    name_len: u32,
    value_len: u32,
}

impl Fields {
    pub(crate) fn push(&mut self, name: &[u8], value: &[u8]) {
        let span = self.write(name, value);
        self.spans.push(span);
    }

    /// Replaces the value of the first field of this name, or adds one.
    pub(crate) fn set(&mut self, name: &[u8], value: &[u8]) {
        let position = self.position(name);
        let span = self.write(name, value);
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

    /// The value of the first field of this name, in any case.
    pub(crate) fn get(&self, name: &[u8]) -> Option<&[u8]> {
        let position = self.position(name)?;
        Some(self.field(self.spans[position]).1)
    }

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

    fn field(&self, span: Span) -> (&[u8], &[u8]) {
        let text = &self.text[span.start as usize..];
        let (name, rest) = text.split_at(span.name_len as usize);
        (name, &rest[..span.value_len as usize])
    }

    fn write(&mut self, name: &[u8], value: &[u8]) -> Span {
        if self.text.capacity() == 0 {
            self.text = buffers::take();
        }
        let span = Span { start: len_of(&self.text), name_len: len_of(name), value_len: len_of(value) };
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(value);
        span
    }
}

/// Heads are limited to far less than 4 GiB on every way in.
fn len_of(text: &[u8]) -> u32 {
    u32::try_from(text.len()).expect("a reply's head is shorter than 4 GiB")
}

impl Drop for Fields {
    fn drop(&mut self) {
        buffers::give(std::mem::take(&mut self.text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(fields: &Fields) -> String {
        fields.iter().map(|(name, value)| format!("{}={};", show(name), show(value))).collect()
    }

    fn show(text: &[u8]) -> &str {
        std::str::from_utf8(text).unwrap()
    }

    #[test]
    fn fields_keep_their_order_and_are_found_in_any_case() {
        let mut fields = Fields::default();
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
        fields.clear();
        assert_eq!(shown(&fields), "");
    }
}
