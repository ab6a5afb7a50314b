//! Addresses that can be listened on (contract 6.1 names the forms).

use std::ffi::OsStr;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where a listener accepts connections.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ListenAddress {
    /// An IPv4 or IPv6 address and port; IPv6 sockets never accept IPv4.
    Inet(SocketAddr),
    /// A socket file.
    Unix(PathBuf),
    /// A name in Linux's abstract socket namespace, without the leading NUL.
    Abstract(Vec<u8>),
    /// An IPv4 or IPv6 address and port of UDP, where datagrams arrive.
    Udp(SocketAddr),
}

impl ListenAddress {
    /// Reads `A.B.C.D:PORT`, `*:PORT`, `[v6]:PORT`, `unix:PATH` or `unix:@NAME`. `None` for anything
    /// else, host names and port 0 among it.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        if let Some(path) = text.strip_prefix(b"unix:") {
            return parse_unix(path);
        }
        let (host, port) = std::str::from_utf8(text).ok()?.rsplit_once(':')?;
        let address = match host.strip_prefix('[') {
            Some(rest) => IpAddr::V6(rest.strip_suffix(']')?.parse().ok()?),
            None if host == "*" => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            None => IpAddr::V4(host.parse().ok()?),
        };
        Some(Self::Inet(SocketAddr::new(address, parse_port(port)?)))
    }

    /// Reads the name of a listener: an address, which `/udp` behind it makes one of datagrams.
    #[must_use]
    pub fn parse_listener(text: &[u8]) -> Option<Self> {
        match text.strip_suffix(b"/udp") {
            Some(address) if !text.starts_with(b"unix:") => Self::parse(address)?.for_datagrams(),
            _ => Self::parse(text),
        }
    }

    /// The same place for datagrams; none for a Unix socket.
    #[must_use]
    pub fn for_datagrams(&self) -> Option<Self> {
        match self {
            Self::Inet(address) | Self::Udp(address) => Some(Self::Udp(*address)),
            Self::Unix(_) | Self::Abstract(_) => None,
        }
    }

    /// The address that was probably meant by a text that is none.
    #[must_use]
    pub fn meant(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?.trim();
        let text = text.strip_prefix("http://").or(text.strip_prefix("https://")).unwrap_or(text);
        let text = text.trim_end_matches('/');
        if text.starts_with("unix:") {
            return None;
        }
        let candidates = [
            text.to_owned(),
            text.replacen("localhost", "127.0.0.1", 1),
            format!("*:{text}"),
            format!("*{text}"),
            format!("{text}:80"),
            format!("{}:80", text.replacen("localhost", "127.0.0.1", 1)),
            format!("[{text}]:80"),
        ];
        let by_port = candidates.iter().find_map(|candidate| Self::parse(candidate.as_bytes()));
        by_port.or_else(|| text.starts_with('/').then(|| Self::parse(format!("unix:{text}").as_bytes()))?)
    }
}

fn parse_unix(path: &[u8]) -> Option<ListenAddress> {
    if path.is_empty() || path.len() > MAX_UNIX_PATH || path.contains(&0) {
        return None;
    }
    match path.strip_prefix(b"@") {
        Some([]) => None,
        Some(name) => Some(ListenAddress::Abstract(name.to_vec())),
        None => Some(ListenAddress::Unix(OsStr::from_bytes(path).into())),
    }
}

/// Decimal digits only; no sign, which `parse` would accept.
fn parse_port(text: &str) -> Option<u16> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|&port: &u16| is_number && port != 0)
}

impl fmt::Display for ListenAddress {
    /// In the form of the configuration; `*` stands for any IPv4 address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inet(address) => write_inet(f, address),
            Self::Udp(address) => {
                write_inet(f, address)?;
                f.write_str("/udp")
            }
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Abstract(name) => write!(f, "unix:@{}", String::from_utf8_lossy(name)),
        }
    }
}

fn write_inet(f: &mut fmt::Formatter<'_>, address: &SocketAddr) -> fmt::Result {
    if address.ip() == Ipv4Addr::UNSPECIFIED {
        write!(f, "*:{}", address.port())
    } else {
        write!(f, "{address}")
    }
}

/// The longest path that fits a `sockaddr_un` with its closing NUL, in bytes.
const MAX_UNIX_PATH: usize = 107;

#[cfg(test)]
mod tests {
    use super::ListenAddress;

    /// `expect` is the address as it is printed, or nothing when the text is not an address.
    #[track_caller]
    fn check(text: &str, expect: Option<&str>) {
        let address = ListenAddress::parse(text.as_bytes());
        assert_eq!(address.map(|address| address.to_string()).as_deref(), expect, "{text}");
    }

    #[test]
    fn every_form_is_read() {
        check("127.0.0.1:80", Some("127.0.0.1:80"));
        check("*:8080", Some("*:8080"));
        check("0.0.0.0:8080", Some("*:8080"));
        check("[::1]:65535", Some("[::1]:65535"));
        check("[::]:1", Some("[::]:1"));
        check("[::ffff:127.0.0.1]:1", Some("[::ffff:127.0.0.1]:1"));
        check("unix:/run/app.sock", Some("unix:/run/app.sock"));
        check("unix:app.sock", Some("unix:app.sock"));
        check("unix:@app", Some("unix:@app"));
        check(&format!("unix:/{}", "x".repeat(106)), Some(&format!("unix:/{}", "x".repeat(106))));
    }

    #[test]
    fn names_of_listeners_may_be_of_udp() {
        let read =
            |text: &str| ListenAddress::parse_listener(text.as_bytes()).map(|address| address.to_string());
        for text in ["*:53/udp", "127.0.0.1:53/udp", "[::1]:53/udp", "*:53", "unix:/run/udp", "unix:@a/udp"] {
            assert_eq!(read(text).as_deref(), Some(text));
        }
        assert_eq!(read("0.0.0.0:53/udp").as_deref(), Some("*:53/udp"));
        for text in ["/udp", "*:53/tcp", "*:53/udp/udp", "*:/udp", "*:53/UDP"] {
            assert_eq!(read(text), None, "{text}");
        }
        check("*:53/udp", None);
    }

    #[track_caller]
    fn check_meant(text: &str, expect: Option<&str>) {
        let address = ListenAddress::meant(text.as_bytes());
        assert_eq!(address.map(|address| address.to_string()).as_deref(), expect, "{text}");
    }

    #[test]
    fn near_addresses_are_found() {
        check_meant("localhost:80", Some("127.0.0.1:80"));
        check_meant("80", Some("*:80"));
        check_meant(":80", Some("*:80"));
        check_meant("*", Some("*:80"));
        check_meant("127.0.0.1", Some("127.0.0.1:80"));
        check_meant("localhost", Some("127.0.0.1:80"));
        check_meant("::1", Some("[::1]:80"));
        check_meant("http://127.0.0.1:8080/", Some("127.0.0.1:8080"));
        check_meant("/run/site.sock", Some("unix:/run/site.sock"));
        check_meant(" *:80 ", Some("*:80"));
        for text in ["", "example.org:80", "*:99999", "*:0", "unix:", "site.sock"] {
            check_meant(text, None);
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "*",
            "80",
            ":80",
            "*:",
            "*:0",
            "*:65536",
            "*:+80",
            "*:-1",
            "*:80 ",
            " *:80",
            "localhost:80",
            "1.2.3:80",
            "1.2.3.4.5:80",
            "256.0.0.1:80",
            "1.2.3.4",
            "::1:80",
            "[::1]",
            "[::1]80",
            "[::1:80",
            "[]:80",
            "[1.2.3.4]:80",
            "[fe80::1%eth0]:80",
            "unix:",
            "unix:@",
            "unix:/a\0b",
            "tcp:1.2.3.4:80",
        ] {
            check(text, None);
        }
        check(&format!("unix:/{}", "x".repeat(107)), None);
    }
}
