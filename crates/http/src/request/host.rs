//! The `NormalizedHost` field: checked, and normalised for matching (lower case, no port, no trailing dot).

use std::net::{Ipv4Addr, Ipv6Addr};

use corral_syntax::{escaped_byte, is_ipv6_literal};

use super::BufferSpan;
use super::error::RequestHeadError;
use crate::chars;

/// The normalised host of one request.
#[derive(Debug, Default, Clone)]
pub(super) struct NormalizedHost {
    /// Where the host stands in the buffer.
    raw: BufferSpan,
    /// The host in lower case when it was not already; its memory is used again.
    lower: Vec<u8>,
}

impl NormalizedHost {
    pub(super) fn clear(&mut self) {
        self.raw = BufferSpan::default();
        self.lower.clear();
    }

    pub(super) fn of<'b>(&'b self, buf: &'b [u8]) -> &'b [u8] {
        if self.lower.is_empty() { self.raw.of(buf) } else { &self.lower }
    }

    /// Takes a host with an optional port, which stands at `at`.
    pub(super) fn set(&mut self, value: &[u8], at: BufferSpan) -> Result<(), RequestHeadError> {
        let host = checked(value)?;
        self.raw = BufferSpan { start: at.start, len: host.len() as u32 };
        if host.iter().any(u8::is_ascii_uppercase) {
            self.lower.extend_from_slice(host);
            self.lower.make_ascii_lowercase();
        }
        Ok(())
    }
}

/// The host of `uri-host [":" port]` without a trailing dot (RFC 9110 section 7.2, RFC 3986 section 3.2.2). It is never
/// empty and never `..`, as configurations make paths of it.
pub(super) fn checked(value: &[u8]) -> Result<&[u8], RequestHeadError> {
    let (host, port) = split(value)?;
    if !port.is_none_or(is_port) {
        return Err(RequestHeadError::BadHost);
    }
    if host.first() == Some(&b'[') {
        return if is_ipv6_literal(host) { Ok(host) } else { Err(RequestHeadError::BadHost) };
    }
    let host_name = host.strip_suffix(b".").unwrap_or(host);
    if host_name.is_empty() || !is_name(host) || host.windows(2).any(|pair| pair == b"..") {
        return Err(RequestHeadError::BadHost);
    }
    Ok(host_name)
}

/// The host and what follows the colon behind it. Brackets hold an IPv6 address with its colons.
fn split(value: &[u8]) -> Result<(&[u8], Option<&[u8]>), RequestHeadError> {
    let end = match value.first() {
        Some(b'[') => memchr::memchr(b']', value).ok_or(RequestHeadError::BadHost)? + 1,
        _ => memchr::memchr(b':', value).unwrap_or(value.len()),
    };
    match value[end..].split_first() {
        None => Ok((value, None)),
        Some((b':', port)) => Ok((&value[..end], Some(port))),
        Some(_) => Err(RequestHeadError::BadHost),
    }
}

/// Digits of a number that a port may have, or nothing (RFC 3986 section 3.2.3).
fn is_port(port: &[u8]) -> bool {
    port.is_empty() || chars::decimal(port).is_some_and(|port| port <= u64::from(u16::MAX))
}

/// `reg-name` of RFC 3986, in which each `%` begins an escape.
fn is_name(host: &[u8]) -> bool {
    chars::is_host(host) && memchr::memchr_iter(b'%', host).all(|at| escaped_byte(&host[at + 1..]).is_some())
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
