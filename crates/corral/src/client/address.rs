//! Where a control API is: a socket of this machine, a port of another one, or a socket behind ssh.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use corral_config::address::ListenAddress;

use super::Ask;

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
    Ssh(Ssh),
}

/// A socket file of another machine, asked by `curl` over `ssh`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ssh {
    /// `HOST` or `USER@HOST`.
    destination: String,
    port: Option<u16>,
    socket: String,
}

impl Address {
    /// `unix:PATH`, a plain path, `unix:@NAME`, `ADDRESS:PORT`, `http://HOST:PORT` or
    /// `ssh://[USER@]HOST[:PORT]/PATH`.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        if let Some(rest) = text.strip_prefix("http://") {
            return http(rest).with_context(|| format!("\"{text}\" is not of the form http://HOST:PORT"));
        }
        if let Some(rest) = text.strip_prefix("ssh://") {
            return ssh(rest)
                .map(Self::Ssh)
                .with_context(|| format!("\"{text}\" is not of the form ssh://USER@HOST:PORT/PATH"));
        }
        let full = if text.starts_with(['/', '.']) { format!("unix:{text}") } else { text.to_owned() };
        let address = ListenAddress::parse(full.as_bytes()).with_context(|| {
            format!("\"{text}\" is no control socket: use unix:PATH, unix:@NAME or ADDRESS:PORT")
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
            Self::Ssh(_) => return Err(io::ErrorKind::Unsupported.into()),
        })
    }
}

pub(super) trait Connection: Read + Write {}

impl<T: Read + Write> Connection for T {}

fn http(rest: &str) -> Option<Address> {
    let authority = rest.split('/').next()?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (authority, 80),
    };
    let host = host.trim_matches(['[', ']']).to_owned();
    (!host.is_empty()).then_some(Address::Http { host, port })
}

fn ssh(rest: &str) -> Option<Ssh> {
    let (authority, path) = rest.split_once('/')?;
    let (destination, port) = match authority.rsplit_once(':') {
        Some((destination, port)) => (destination, Some(port.parse().ok()?)),
        None => (authority, None),
    };
    // Nothing that ssh or a shell could take for something else than a name.
    let is_plain = |text: &str| {
        !text.is_empty()
            && !text.starts_with('-')
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"@._-/".contains(&byte))
    };
    (is_plain(destination) && is_plain(path)).then(|| Ssh {
        destination: destination.to_owned(),
        port,
        socket: format!("/{path}"),
    })
}

impl Ssh {
    /// Has the other machine's `curl` send the request; the answer comes with its head.
    pub(super) fn exchange(&self, ask: Ask<'_>) -> anyhow::Result<Vec<u8>> {
        let Ask { method, path, body, if_match } = ask;
        let mut ssh = Command::new("ssh");
        if let Some(port) = self.port {
            ssh.arg("-p").arg(port.to_string());
        }
        ssh.arg(&self.destination).arg("--");
        ssh.args(["curl", "--silent", "--show-error", "--include", "--globoff", "--header", "Expect:"]);
        ssh.args(["--unix-socket", &self.socket, "--request", method]);
        if let Some(version) = if_match {
            ssh.args(["--header", &quoted(&format!("If-Match: {version}"))]);
        }
        if body.is_some() {
            ssh.args(["--data-binary", "@-"]);
        }
        ssh.arg(quoted(&format!("http://localhost{path}")));
        let mut child = ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("start ssh")?;
        let mut stdin = child.stdin.take().expect("it was asked for");
        stdin.write_all(body.unwrap_or_default()).context("send the request through ssh")?;
        drop(stdin);
        let output = child.wait_with_output().context("wait for ssh")?;
        if !output.status.success() {
            bail!("ssh to {} ended with {}", self.destination, output.status);
        }
        Ok(output.stdout)
    }
}

/// For the shell of the other machine.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(address) => address.fmt(f),
            Self::Http { host, port } => write!(f, "http://{host}:{port}"),
            Self::Ssh(Ssh { destination, port: Some(port), socket }) => {
                write!(f, "ssh://{destination}:{port}{socket}")
            }
            Self::Ssh(Ssh { destination, port: None, socket }) => write!(f, "ssh://{destination}{socket}"),
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
        check("localhost", None);
    }
}
