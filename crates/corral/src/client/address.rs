//! Where a control API is: a socket of this machine, a port of another one, or a socket behind ssh.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

use anyhow::Context;
use corral_config::address::ListenAddress;
use corral_controller::uid_behind;

use super::remote::{Remote, docker, ssh};

/// The place of a control API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// As daemons name it.
    Socket(ListenAddress),
    /// `http://HOST:PORT`.
    Http {
        host: String,
        port: u16,
    },
    Remote(Remote),
}

impl Address {
    /// `unix:PATH`, a plain path, `unix:@NAME`, `ADDRESS:PORT`, `http://HOST:PORT` or
    /// `ssh://[USER@]HOST[:PORT]/PATH`, or `docker://CONTAINER[/PATH]`.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        if let Some(rest) = text.strip_prefix("http://") {
            return http(rest).with_context(|| format!("\"{text}\" is not of the form http://HOST:PORT"));
        }
        if let Some(rest) = text.strip_prefix("ssh://") {
            return ssh(rest)
                .map(Self::Remote)
                .with_context(|| format!("\"{text}\" is not of the form ssh://USER@HOST:PORT/PATH"));
        }
        if let Some(rest) = text.strip_prefix("docker://") {
            return docker(rest)
                .map(Self::Remote)
                .with_context(|| format!("\"{text}\" is not of the form docker://CONTAINER/PATH"));
        }
        let full = if text.starts_with(['/', '.']) { format!("unix:{text}") } else { text.to_owned() };
        let address = ListenAddress::parse(full.as_bytes()).with_context(|| {
            format!("\"{text}\" is not a control socket: use unix:PATH, unix:@NAME or ADDRESS:PORT")
        })?;
        Ok(Self::Socket(address))
    }

    pub(super) fn connect(&self) -> io::Result<Box<dyn Connection>> {
        Ok(match self {
            Self::Socket(ListenAddress::Unix(path)) => Box::new(UnixStream::connect(path)?),
            Self::Socket(ListenAddress::Abstract(name)) => {
                Box::new(UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)?)
            }
            Self::Socket(ListenAddress::Inet(address)) => Box::new(TcpStream::connect(address)?),
            Self::Http { host, port } => Box::new(TcpStream::connect((host.as_str(), *port))?),
            Self::Socket(ListenAddress::Udp(_)) | Self::Remote(_) => {
                return Err(io::ErrorKind::Unsupported.into());
            }
        })
    }
}

pub(super) trait Connection: Read + Write {
    /// The user of the process that listens, where the kernel says that.
    fn uid(&self) -> Option<u32>;
}

impl Connection for UnixStream {
    fn uid(&self) -> Option<u32> {
        uid_behind(self).ok()
    }
}

impl Connection for TcpStream {
    fn uid(&self) -> Option<u32> {
        None
    }
}

fn http(rest: &str) -> Option<Address> {
    let authority = rest.split('/').next()?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (authority, 80),
    };
    let host = host.trim_matches(['[', ']']).to_owned();
    (!host.is_empty()).then_some(Address::Http { host, port })
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(address) => address.fmt(f),
            Self::Http { host, port } => write!(f, "http://{host}:{port}"),
            Self::Remote(remote) => remote.fmt(f),
        }
    }
}

/// Percent-encodes what may not stand in a request line. A `%` stays: `a%2Fb` names the member `a/b`.
pub(crate) fn encode(path: &str) -> String {
    let byte = |byte: u8| match byte {
        b'#' | b'?' | b'"' | b'<' | b'>' => format!("%{byte:02X}"),
        b'!'..=b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    path.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(Address::parse(text).ok().map(|address| address.to_string()).as_deref(), expected);
    }

    #[test]
    fn places() {
        check("unix:/run/c.sock", Some("unix:/run/c.sock"));
        check("/run/c.sock", Some("unix:/run/c.sock"));
        check("http://example.org:8080", Some("http://example.org:8080"));
        check("http://[::1]:80/config", Some("http://::1:80"));
        check("http://example.org", Some("http://example.org:80"));
        check("http://", None);
        check("http://a:b", None);
        check("ssh://me@example.org:22/run/c.sock", Some("ssh://me@example.org:22/run/c.sock"));
        check("ssh://example.org/run/c.sock", Some("ssh://example.org/run/c.sock"));
        check("ssh://example.org", None);
        check("ssh://-oProxyCommand=x/run/c.sock", None);
        check("ssh://a/x;rm", None);
        check("docker://web/run/c.sock", Some("docker://web/run/c.sock"));
        check("docker://web", Some("docker://web/var/run/control.unit.sock"));
        check("docker://", None);
        check("docker://--privileged/x", None);
        check("localhost", None);
    }
}
