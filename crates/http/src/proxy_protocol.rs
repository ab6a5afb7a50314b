//! Headers of the PROXY protocol, versions 1 and 2, with which a proxy begins a connection to name the client that it
//! speaks for. Strict: anything not in the specification's form is refused, as the sender is trusted.

mod write;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub use self::write::{ProxiedConnection, ProxyVersion, append};

/// Longest header of version 1, its line end included.
const MAX_LINE: usize = 107;

/// First bytes of a header of version 2.
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";

/// Signature, command, family and length of version 2.
const FIXED: usize = 16;

/// Longest header of version 2: addresses, and what certificates and such a proxy may tell of.
pub const MAX_HEADER: usize = 4096;

/// The client that a proxy speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxiedClient {
    /// For itself, or it does not say: the connection's own address counts.
    Connection,
    /// For a client with this address.
    Address(SocketAddr),
    /// For a client of a Unix socket.
    Unix,
}

/// A complete header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyHeader {
    /// The client that the proxy speaks for.
    pub source: ProxiedClient,
    /// Bytes that the header takes.
    pub len: usize,
}

/// Why bytes are not a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProxyHeaderError {
    /// Neither of the two versions begins like this.
    #[error("the connection does not begin with a PROXY protocol header")]
    NoHeader,
    /// Version 1: longer than it may be.
    #[error("the PROXY protocol line has no end within {MAX_LINE} bytes")]
    LongLine,
    /// Version 1: not the words that are asked for.
    #[error("the PROXY protocol line is malformed")]
    Line,
    /// Version 2: a version or command that does not exist.
    #[error("the PROXY protocol header has the unknown version and command {0:#04x}")]
    Command(u8),
    /// Version 2: an address family or a transport that cannot be meant.
    #[error("the PROXY protocol header has the unsupported address family {0:#04x}")]
    Family(u8),
    /// Version 2: too short for its addresses, or longer than is accepted.
    #[error("the PROXY protocol header has the invalid length {0}")]
    Length(usize),
}

/// Reads the header that `input` begins with; `None` while it is not complete.
///
/// # Errors
///
/// As soon as it is clear that it will not be a header.
pub fn parse(input: &[u8]) -> Result<Option<ProxyHeader>, ProxyHeaderError> {
    const WORD: &[u8] = b"PROXY ";
    if begins_alike(input, WORD) {
        return parse_line(input);
    }
    if begins_alike(input, SIGNATURE) {
        return parse_binary(input);
    }
    Err(ProxyHeaderError::NoHeader)
}

/// Whether one is the beginning of the other.
fn begins_alike(input: &[u8], expected: &[u8]) -> bool {
    let len = input.len().min(expected.len());
    input[..len] == expected[..len]
}

fn parse_line(input: &[u8]) -> Result<Option<ProxyHeader>, ProxyHeaderError> {
    let window = &input[..input.len().min(MAX_LINE)];
    let Some(end) = window.windows(2).position(|pair| pair == b"\r\n") else {
        return if window.len() == MAX_LINE { Err(ProxyHeaderError::LongLine) } else { Ok(None) };
    };
    let line = std::str::from_utf8(&window[..end]).map_err(|_| ProxyHeaderError::Line)?;
    let source = read_line(line).ok_or(ProxyHeaderError::Line)?;
    Ok(Some(ProxyHeader { source, len: end + 2 }))
}

fn read_line(line: &str) -> Option<ProxiedClient> {
    let mut words = line.split(' ');
    if words.next() != Some("PROXY") {
        return None;
    }
    let family = words.next()?;
    if family == "UNKNOWN" {
        return Some(ProxiedClient::Connection);
    }
    let (source, _destination): (IpAddr, IpAddr) = match family {
        "TCP4" => (ipv4(words.next()?)?.into(), ipv4(words.next()?)?.into()),
        "TCP6" => (ipv6(words.next()?)?.into(), ipv6(words.next()?)?.into()),
        _ => return None,
    };
    let (port, _destination_port) = (port(words.next()?)?, port(words.next()?)?);
    words.next().is_none().then_some(ProxiedClient::Address(SocketAddr::new(source, port)))
}

fn ipv4(word: &str) -> Option<Ipv4Addr> {
    word.parse().ok()
}

fn ipv6(word: &str) -> Option<Ipv6Addr> {
    word.parse().ok()
}

/// Decimal digits without a sign or leading zeros.
fn port(word: &str) -> Option<u16> {
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit()) && (word == "0" || !word.starts_with('0'));
    word.parse().ok().filter(|_| is_number)
}

fn parse_binary(input: &[u8]) -> Result<Option<ProxyHeader>, ProxyHeaderError> {
    if let Some(&command) = input.get(12)
        && !matches!(command, 0x20 | 0x21)
    {
        return Err(ProxyHeaderError::Command(command));
    }
    let Some((fixed, rest)) = input.split_first_chunk::<FIXED>() else { return Ok(None) };
    let body_len = usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    let family = fixed[13];
    // What a proxy says about itself is of no interest, as long as it has an end.
    let is_local = fixed[12] == 0x20;
    let needed = if is_local { 0 } else { addresses_len(family).ok_or(ProxyHeaderError::Family(family))? };
    if body_len < needed || FIXED + body_len > MAX_HEADER {
        return Err(ProxyHeaderError::Length(body_len));
    }
    let Some(body) = rest.get(..body_len) else { return Ok(None) };
    let source = if is_local { ProxiedClient::Connection } else { binary_source(family, body) };
    Ok(Some(ProxyHeader { source, len: FIXED + body_len }))
}

/// Bytes that the addresses of a family take; those of datagrams cannot be meant.
fn addresses_len(family: u8) -> Option<usize> {
    Some(match family {
        0x00 => 0,
        0x11 => 12,
        0x21 => 36,
        0x31 => 216,
        _ => return None,
    })
}

/// `body` is as long as the family needs.
fn binary_source(family: u8, body: &[u8]) -> ProxiedClient {
    let port = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
    match (family, body.first_chunk::<4>(), body.first_chunk::<16>()) {
        (0x11, Some(ip), _) => ProxiedClient::Address(SocketAddr::new(Ipv4Addr::from(*ip).into(), port(8))),
        (0x21, _, Some(ip)) => ProxiedClient::Address(SocketAddr::new(Ipv6Addr::from(*ip).into(), port(32))),
        (0x31, _, _) => ProxiedClient::Unix,
        _ => ProxiedClient::Connection,
    }
}

#[cfg(test)]
mod tests;
