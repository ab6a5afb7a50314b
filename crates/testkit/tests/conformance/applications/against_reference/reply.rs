//! A server's reply, read from the bytes that it sends, whatever they are.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long a server may say nothing before that is its reply.
const SILENCE: Duration = Duration::from_secs(10);

/// Fields that are the server's own affair, by their names in small letters.
const OWN: [&str; 7] =
    ["date", "server", "host", "connection", "keep-alive", "content-length", "transfer-encoding"];

/// Nothing of it is judged. What cannot be read as a response has the status 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    /// Statuses of what came before.
    pub(crate) interim: Vec<u16>,
    pub(crate) status: u16,
    /// Names in small letters, sorted; fields of one name are in their order.
    pub(crate) fields: Vec<(String, String)>,
    /// Without its framing. After an upgrade: all that came.
    pub(crate) body: Vec<u8>,
    pub(crate) end: End,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// As it should, by its framing or in order with the connection; whether that takes another request.
    Complete { goes_on: bool },
    /// With the connection, before all was there that was promised, or by a reset.
    Cut,
    /// Not at all.
    Silent,
}

/// How far a reply has come.
enum Body {
    IsThere,
    Wants,
    /// All that comes belongs to it.
    UntilClose,
}

impl Reply {
    /// Sends a request on a connection of its own.
    pub(crate) fn to(server: SocketAddr, request: &str, upgraded: &[u8]) -> Self {
        let mut wire = Wire::connect(server);
        wire.send(request.as_bytes());
        let is_head = request.starts_with("HEAD ");
        let mut is_upgraded = false;
        loop {
            let (mut reply, body) = Self::read(&wire.received, is_head);
            if reply.status == 101 && !std::mem::replace(&mut is_upgraded, true) {
                wire.send(upgraded);
            }
            if matches!(body, Body::IsThere) {
                // Behind an invalid response, the beginning of the next one is unknown.
                reply.end = End::Complete { goes_on: reply.status > 0 && wire.takes_another() };
                return reply;
            }
            if let Some(end) = wire.receive() {
                let is_all = matches!(body, Body::UntilClose);
                reply.end = if matches!(end, End::Complete { .. }) && !is_all { End::Cut } else { end };
                return reply;
            }
        }
    }

    /// Whether it is a response with all that belongs to it.
    pub(crate) fn is_whole(&self) -> bool {
        self.status > 0 && matches!(self.end, End::Complete { .. })
    }

    /// The part of the reply that the application has decided.
    pub(crate) fn content(&self) -> (&[u16], &[(String, String)], &[u8]) {
        (&self.interim, &self.fields, &self.body)
    }

    fn read(received: &[u8], is_head: bool) -> (Self, Body) {
        let (mut interim, mut rest) = (Vec::new(), received);
        loop {
            let Some((mut reply, length, body)) = Self::read_head(rest, &interim) else {
                let nothing =
                    Self { interim, status: 0, fields: Vec::new(), body: rest.to_vec(), end: End::Cut };
                return (nothing, Body::UntilClose);
            };
            if (100..200).contains(&reply.status) && reply.status != 101 {
                interim.push(reply.status);
                rest = body;
                continue;
            }
            let (bytes, state) = match length {
                Some(Length::Nonsense) => (body.to_vec(), Body::IsThere),
                _ if is_head || matches!(reply.status, 204 | 304) => (Vec::new(), Body::IsThere),
                Some(Length::Chunks) => join_chunks(body),
                Some(Length::Bytes(n)) if n <= body.len() => (body[..n].to_vec(), Body::IsThere),
                Some(Length::Bytes(_)) => (body.to_vec(), Body::Wants),
                None => (body.to_vec(), Body::UntilClose),
            };
            reply.body = bytes;
            return (reply, state);
        }
    }

    /// A head, what it says about the length of the body, and what comes after it.
    fn read_head<'a>(bytes: &'a [u8], interim: &[u16]) -> Option<(Self, Option<Length>, &'a [u8])> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head: String = bytes[..end].iter().copied().map(char::from).collect();
        let mut lines = head.split("\r\n");
        let status = lines.next()?.get(9..12).and_then(|digits| digits.parse().ok());
        let mut fields: Vec<(String, String)> = lines
            .map(|line| line.split_once(':').unwrap_or((line, "(no colon)")))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let get =
            |name: &str| fields.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str());
        let length = if get("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            Some(Length::Chunks)
        } else {
            match get("content-length").map(str::parse) {
                None => None,
                Some(Ok(n)) => Some(Length::Bytes(n)),
                Some(Err(_)) => Some(Length::Nonsense),
            }
        };
        let length = if status.is_some() { length } else { Some(Length::Nonsense) };
        fields.retain(|(name, _)| !OWN.contains(&name.as_str()));
        // Protocols have no capitals.
        let upgrades = fields.iter_mut().filter(|(name, _)| name == "upgrade");
        upgrades.for_each(|(_, value)| value.make_ascii_lowercase());
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        let status = status.filter(|_| !matches!(length, Some(Length::Nonsense))).unwrap_or(0);
        let reply = Self { interim: interim.to_vec(), status, fields, body: Vec::new(), end: End::Cut };
        Some((reply, length, &bytes[end + 4..]))
    }
}

enum Length {
    Chunks,
    Bytes(usize),
    /// The end of this response is unknown.
    Nonsense,
}

/// The content of the chunks that are there.
fn join_chunks(mut bytes: &[u8]) -> (Vec<u8>, Body) {
    let mut body = Vec::new();
    loop {
        let size = bytes.windows(2).position(|window| window == b"\r\n").and_then(|at| {
            let digits = std::str::from_utf8(&bytes[..at]).ok()?.split(';').next()?.trim();
            Some((at + 2, usize::from_str_radix(digits, 16).ok()?))
        });
        let Some((start, size)) = size else { return (body, Body::Wants) };
        if size == 0 {
            let ends = bytes[start..].starts_with(b"\r\n") || bytes.ends_with(b"\r\n\r\n");
            return (body, if ends { Body::IsThere } else { Body::Wants });
        }
        let there = &bytes[start..];
        body.extend_from_slice(&there[..size.min(there.len())]);
        match there.get(size..size + 2) {
            Some(b"\r\n") => bytes = &there[size + 2..],
            _ => return (body, Body::Wants),
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interim, status, fields, body, end } = self;
        let (shown, more) = body.split_at(body.len().min(400));
        let more = if more.is_empty() { "" } else { "…" };
        write!(f, "{interim:?} {status} {fields:?} {:?}{more} {end:?}", String::from_utf8_lossy(shown))
    }
}

/// A connection, and all that came of it.
struct Wire {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Wire {
    fn connect(server: SocketAddr) -> Self {
        let stream = TcpStream::connect(server).expect("the server takes connections");
        stream.set_read_timeout(Some(SILENCE)).expect("a time-out");
        stream.set_nodelay(true).expect("no delay");
        Self { stream, received: Vec::new() }
    }

    /// A server that has ended the connection meanwhile is found out when its reply is read.
    fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Reads on; says how the connection ended if it did.
    fn receive(&mut self) -> Option<End> {
        let mut piece = [0; 65536];
        loop {
            return match self.stream.read(&mut piece) {
                Ok(0) => Some(End::Complete { goes_on: false }),
                Ok(n) => {
                    self.received.extend_from_slice(&piece[..n]);
                    None
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    Some(End::Silent)
                }
                Err(_) => Some(End::Cut),
            };
        }
    }

    /// Whether another request gets a reply. Some servers send a body to HEAD, which is none.
    fn takes_another(&mut self) -> bool {
        let n_before = self.received.len();
        self.send(b"HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        while self.receive().is_none() {}
        self.received[n_before..].windows(7).any(|window| window == b"HTTP/1.")
    }
}
