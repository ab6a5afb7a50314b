//! The `Host` field: checked, and normalised for matching (lower case, no port, no trailing dot).

use std::net::{Ipv4Addr, Ipv6Addr};

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

/// Whether a normalised host is a loopback address, `localhost` or a name below it (RFC 6761 section 6.3).
///
/// No such name can be made to lead here by a foreign DNS server, so pages of other sites never have it.
#[must_use]
pub fn is_loopback(host: &[u8]) -> bool {
    let Ok(host) = str::from_utf8(host) else { return false };
    match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse().is_ok_and(|address: Ipv6Addr| address.is_loopback()),
        None => {
            host == "localhost"
                || host.ends_with(".localhost")
                || host.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn only_hosts_of_this_machine_are_loopback() {
        for host in ["localhost", "shop.localhost", "127.0.0.1", "127.9.8.7", "[::1]"] {
            assert!(is_loopback(host.as_bytes()), "{host}");
        }
        for host in [
            "",
            "example.org",
            "localhost.example.org",
            "notlocalhost",
            "127.0.0.1.nip.io",
            "10.0.0.1",
            "0.0.0.0",
        ] {
            assert!(!is_loopback(host.as_bytes()), "{host}");
        }
        for host in ["[::]", "[::1", "::1", "[localhost]", "2130706433"] {
            assert!(!is_loopback(host.as_bytes()), "{host}");
        }
        assert!(!is_loopback(b"\xff.localhost"));
    }
}
