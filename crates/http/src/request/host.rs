//! The `Host` field: checked, and normalised for matching (lower case, no port, no trailing dot).

use super::Span;
use super::error::HeadError;
use crate::chars;

/// The normalised host of one request.
#[derive(Debug, Default, Clone)]
pub(super) struct Host {
    /// Where the host stands in the buffer.
    raw: Span,
    /// The host in lower case when it was not already; its memory is used again.
    lower: Vec<u8>,
}

impl Host {
    pub(super) fn clear(&mut self) {
        self.raw = Span::default();
        self.lower.clear();
    }

    pub(super) fn of<'b>(&'b self, buf: &'b [u8]) -> &'b [u8] {
        if self.lower.is_empty() { self.raw.of(buf) } else { &self.lower }
    }

    /// Takes the field's value, which stands at `at`.
    pub(super) fn set(&mut self, value: &[u8], at: Span) -> Result<(), HeadError> {
        if !chars::is_host(value) || value.windows(2).any(|pair| pair == b"..") {
            return Err(HeadError::BadHost);
        }
        let host = without_port(value)?;
        let host = host.strip_suffix(b".").unwrap_or(host);
        self.raw = Span { start: at.start, len: host.len() as u32 };
        if host.iter().any(u8::is_ascii_uppercase) {
            self.lower.extend_from_slice(host);
            self.lower.make_ascii_lowercase();
        }
        Ok(())
    }
}

/// The port is cut off unchecked, as in Unit. Brackets hold an IPv6 address with its colons.
fn without_port(value: &[u8]) -> Result<&[u8], HeadError> {
    if value.first() != Some(&b'[') {
        return Ok(memchr::memchr(b':', value).map_or(value, |colon| &value[..colon]));
    }
    let close = memchr::memchr(b']', value).ok_or(HeadError::BadHost)?;
    match value.get(close + 1) {
        None | Some(b':') => Ok(&value[..=close]),
        Some(_) => Err(HeadError::BadHost),
    }
}
