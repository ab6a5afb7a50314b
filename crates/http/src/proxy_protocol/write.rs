//! Headers of the PROXY protocol for servers that are to learn of the client.

use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use super::SIGNATURE;

/// The version of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProxyVersion {
    /// A line of text.
    One,
    /// Bytes.
    Two,
}

/// A client and the address that it has connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxiedConnection {
    /// The client.
    pub source: SocketAddr,
    /// The address that it has connected to.
    pub destination: SocketAddr,
}

/// Appends a header. Without addresses it says that the proxy speaks for itself, or for a client of a Unix socket.
pub fn append(version: ProxyVersion, connection: Option<&ProxiedConnection>, out: &mut Vec<u8>) {
    let addresses = connection.map(ProxiedConnection::of_one_family);
    match version {
        ProxyVersion::One => append_line(addresses, out),
        ProxyVersion::Two => append_binary(addresses, out),
    }
}

impl ProxiedConnection {
    /// Both addresses in one family: an IPv4 address beside one of IPv6 is mapped.
    fn of_one_family(&self) -> (SocketAddr, SocketAddr) {
        let canonical = |address: &SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        let (source, destination) = (canonical(&self.source), canonical(&self.destination));
        if source.is_ipv4() == destination.is_ipv4() {
            return (source, destination);
        }
        let mapped = |address: SocketAddr| SocketAddr::new(ipv6(address.ip()).into(), address.port());
        (mapped(source), mapped(destination))
    }
}

fn ipv6(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}

fn append_line(addresses: Option<(SocketAddr, SocketAddr)>, out: &mut Vec<u8>) {
    let Some((source, destination)) = addresses else { return out.extend_from_slice(b"PROXY UNKNOWN\r\n") };
    let family = if source.is_ipv4() { "TCP4" } else { "TCP6" };
    let (from, to) = (source.ip(), destination.ip());
    write!(out, "PROXY {family} {from} {to} {} {}\r\n", source.port(), destination.port())
        .expect("writing to memory cannot fail");
}

fn append_binary(addresses: Option<(SocketAddr, SocketAddr)>, out: &mut Vec<u8>) {
    out.extend_from_slice(SIGNATURE);
    let Some((source, destination)) = addresses else { return out.extend_from_slice(&[0x20, 0, 0, 0]) };
    out.push(0x21);
    match (source.ip(), destination.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            out.extend_from_slice(&[0x11, 0, 12]);
            out.extend_from_slice(&from.octets());
            out.extend_from_slice(&to.octets());
        }
        (from, to) => {
            out.extend_from_slice(&[0x21, 0, 36]);
            out.extend_from_slice(&ipv6(from).octets());
            out.extend_from_slice(&ipv6(to).octets());
        }
    }
    out.extend_from_slice(&source.port().to_be_bytes());
    out.extend_from_slice(&destination.port().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::super::{ProxiedClient, parse};
    use super::*;

    /// The header of version 1, and the client that readers of both versions see.
    #[track_caller]
    fn check(source: &str, destination: &str, line: &str, expect: &str) {
        let address = |text: &str| text.parse().expect("an address");
        let connection = ProxiedConnection { source: address(source), destination: address(destination) };
        for version in [ProxyVersion::One, ProxyVersion::Two] {
            let mut header = Vec::new();
            append(version, Some(&connection), &mut header);
            let read = parse(&header).expect("a header").expect("a whole one");
            assert_eq!((read.source, read.len), (ProxiedClient::Address(address(expect)), header.len()));
            if version == ProxyVersion::One {
                assert_eq!(String::from_utf8_lossy(&header), line);
            }
        }
    }

    #[test]
    fn headers_are_read_as_they_were_meant() {
        check("1.2.3.4:5", "6.7.8.9:10", "PROXY TCP4 1.2.3.4 6.7.8.9 5 10\r\n", "1.2.3.4:5");
        check("[2001:db8::1]:0", "[::1]:80", "PROXY TCP6 2001:db8::1 ::1 0 80\r\n", "[2001:db8::1]:0");
        check("[::ffff:1.2.3.4]:5", "6.7.8.9:10", "PROXY TCP4 1.2.3.4 6.7.8.9 5 10\r\n", "1.2.3.4:5");
        let line = "PROXY TCP6 ::ffff:1.2.3.4 2001:db8::1 5 10\r\n";
        check("1.2.3.4:5", "[2001:db8::1]:10", line, "[::ffff:1.2.3.4]:5");
    }

    #[test]
    fn a_proxy_may_speak_for_itself() {
        for version in [ProxyVersion::One, ProxyVersion::Two] {
            let mut header = Vec::new();
            append(version, None, &mut header);
            let read = parse(&header).expect("a header").expect("a whole one");
            assert_eq!((read.source, read.len), (ProxiedClient::Connection, header.len()), "{version:?}");
        }
    }
}
