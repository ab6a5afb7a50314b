//! Where proxied requests go: `proxy` and `upstreams` (contract 13), with every default filled in.

mod allowed;
mod retry_on;
mod rewrites;
mod sticky;

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use corral_syntax::is_host_name;

pub use self::allowed::AllowedServers;
pub use self::retry_on::{RetryFailures, RetryOn};
pub use self::rewrites::{AttributeRewrite, CookieRewrite, LocationRewrite, ResponseRewrites};
pub use self::sticky::{SameSite, Sticky};
use crate::address::ListenAddress;
use crate::protocol::Protocol;
use crate::template::Template;

/// The kind of groups that actions with a server of their own stand for, for their keys.
#[derive(Debug, Clone, Copy)]
pub enum Proxy {}

/// A group of servers that share the requests of a `pass`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// The upstream's name in the document; for a `proxy`, its value.
    pub name: String,
    /// In the order of the document; may be empty.
    pub servers: Vec<Server>,
    /// How one of them is chosen.
    pub balance: Balance,
    /// How far a request is given to further servers after one has failed.
    pub retries: Retries,
    /// Answers and failures that a request is tried again after.
    pub retry_on: RetryOn,
    /// The cookie by which clients stay with a server.
    pub sticky: Option<Box<Sticky>>,
    /// Requests that wait while all servers have as many as they may.
    pub queue: Queue,
    /// The time in which a server that comes back gets its full weight again, if that takes any.
    pub slow_start: Option<Duration>,
    /// When a server is passed over because requests to it failed.
    pub passive: PassiveHealth,
    /// Checks made without requests, if any.
    pub health: Option<HealthCheck>,
    /// How requests are sent.
    pub options: ProxyOptions,
}

/// How far a request that one server has failed is given to others: where nearly all of many are down, a client does
/// not wait until each of them has been asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// How many others.
    pub most: u32,
    /// Since the first was asked; `None` means for as long as that takes.
    pub timeout: Option<Duration>,
}

impl Default for Retries {
    fn default() -> Self {
        Self { most: 9, timeout: Some(Duration::from_secs(10)) }
    }
}

/// Requests that wait until a server with [`Server::max_conns`] has room for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// The number of requests that may wait; 0 means that none does.
    pub size: u32,
    /// How long each may wait.
    pub timeout: Duration,
}

impl Default for Queue {
    fn default() -> Self {
        Self { size: 0, timeout: Duration::from_secs(60) }
    }
}

/// One server of an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Where it is.
    pub origin: Origin,
    /// The server's share, in millionths; 0 means that it is never chosen.
    pub weight: u64,
    /// Whether it is spoken to over HTTP/2; `None` means as the options of the upstream say.
    pub http2: Option<bool>,
    /// Whether it is out of use: it is never chosen.
    pub down: bool,
    /// Whether it is chosen only while none of the others can take a request.
    pub backup: bool,
    /// Requests that it may have at a time; `None` means any number.
    pub max_conns: Option<NonZeroU32>,
}

impl Server {
    /// A server with the defaults of a member of `servers`.
    #[must_use]
    pub fn new(origin: Origin) -> Self {
        Self { origin, weight: WEIGHT_ONE, http2: None, down: false, backup: false, max_conns: None }
    }

    /// The weight with which it is chosen.
    #[must_use]
    pub fn share(&self) -> u64 {
        if self.down { 0 } else { self.weight }
    }
}

/// Weight 1, in the unit of [`Server::weight`].
pub const WEIGHT_ONE: u64 = 1_000_000;

/// A server's address and whether it is spoken to over TLS.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// `https://`.
    pub tls: bool,
    /// The host to connect to.
    pub host: UpstreamHost,
}

/// A host to connect to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum UpstreamHost {
    /// An address that needs no look-up.
    Address(ListenAddress),
    /// A name that is looked up and looked up again.
    Named {
        /// In lower case, without a final dot.
        name: String,
        /// 1 to 65535.
        port: u16,
    },
}

/// How a server is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Balance {
    /// In turn, smoothly, by weight.
    #[default]
    RoundRobin,
    /// The one with the fewest requests in progress for its weight.
    LeastConnections,
    /// The one that is likely to answer first, by its last answers and the requests that it has.
    LeastTime,
    /// The less busy one of two that are drawn by weight.
    RandomTwo,
    /// The same one for the same text, as far as servers stay.
    Hash(Template),
}

/// When a server is passed over because requests to it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassiveHealth {
    /// Failures within `fail_timeout` that make it unavailable; 0 switches this off.
    pub max_fails: u32,
    /// The time that failures are counted over, and that it is passed over for.
    pub fail_timeout: Duration,
}

/// A request that is made again and again to see whether a server is well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthCheck {
    /// The target of the request; begins with `/`.
    pub path: String,
    /// The Host field; `None` means the server's address.
    pub host: Option<String>,
    /// From one check to the next.
    pub interval: Duration,
    /// How long one may take.
    pub timeout: Duration,
    /// Statuses of a server that is well.
    pub expect: Vec<RangeInclusive<u16>>,
    /// Checks in a row that must succeed until it is used again.
    pub rises: u32,
    /// Checks in a row that must fail until it is not.
    pub falls: u32,
}

/// How requests are sent to a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProxyOptions {
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// Connections that are used again.
    pub keepalive: KeepAlive,
    /// How `https://` servers are spoken to.
    pub tls: UpstreamTls,
    /// Whether `X-Forwarded-For`, `-Proto`, `-UpstreamHost` and `-Port` are left alone.
    pub hide_client: bool,
    /// The address of this machine that connections come from; `None` leaves it to the system.
    pub bind: Option<IpAddr>,
    /// The header by which it learns of the client of each connection, which is for that one alone.
    pub proxy_protocol: Option<ProxyProtocol>,
    /// Changes of the headers of its responses.
    pub rewrites: Option<Arc<ResponseRewrites>>,
    /// Whether it is spoken to over HTTP/2.
    pub http2: bool,
    /// The server's protocol, if it is not HTTP.
    pub gateway: Option<Protocol>,
    /// Connections of such a protocol that are kept, in all event loops together: one for each process of the server.
    pub processes: u32,
    /// Nothing is known of what is spoken, so that no requests can be made.
    pub is_raw: bool,
}

/// A version of the PROXY protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyProtocol {
    /// A line of text.
    One,
    /// Bytes.
    Two,
}

/// How long to wait for a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Timeouts {
    /// For the connection, its TLS handshake included.
    pub connect: Duration,
    /// Between two writes of the request.
    pub send: Duration,
    /// From the end of the request to the end of the response's head.
    pub response: Duration,
    /// Between two reads of the response's body.
    pub read: Duration,
    /// Without a byte in either direction, once the connection was upgraded.
    pub tunnel: Duration,
}

/// Connections that are used again. The numbers are those of one event loop and one server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeepAlive {
    /// Idle ones that are kept; 0 means that each request has a connection of its own.
    pub connections: u32,
    /// How long an idle one is kept.
    pub idle_timeout: Duration,
    /// Requests after which one is closed; 0 means that there is no limit.
    pub requests: u32,
}

/// How `https://` servers are spoken to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UpstreamTls {
    /// Whether the server's certificate is verified.
    pub verify: bool,
    /// The bundle of `/certificates` whose certificates are trusted; `None` means those of the system.
    pub ca: Option<String>,
    /// The name that is asked for and proved; `None` means the host of the address.
    pub server_name: Option<String>,
    /// The bundle of `/certificates` that this side shows, with its key.
    pub certificate: Option<String>,
}

/// A `proxy` whose server depends on the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DynamicProxy {
    /// The value of `proxy`, for messages.
    pub name: String,
    /// The server's URL.
    pub url: Template,
    /// The servers that it may lead to.
    pub allow: Arc<AllowedServers>,
    /// How requests are sent.
    pub options: ProxyOptions,
}

impl Upstream {
    /// A group of one server, for a `proxy`.
    #[must_use]
    pub fn single(name: String, origin: Origin, options: ProxyOptions) -> Self {
        Self {
            name,
            servers: vec![Server::new(origin)],
            balance: Balance::RoundRobin,
            retries: Retries::default(),
            retry_on: RetryOn::default(),
            sticky: None,
            queue: Queue::default(),
            slow_start: None,
            passive: PassiveHealth::default(),
            health: None,
            options,
        }
    }

    /// How requests are sent to one of the servers.
    #[must_use]
    pub fn options_for(&self, server: &Server) -> ProxyOptions {
        ProxyOptions { http2: server.http2.unwrap_or(self.options.http2), ..self.options.clone() }
    }
}

impl Origin {
    /// Reads `http://ADDRESS` or `https://ADDRESS`, where nothing follows the address.
    #[must_use]
    pub fn parse_url(text: &[u8]) -> Option<Self> {
        let (tls, rest) = match text.strip_prefix(b"http://") {
            Some(rest) => (false, rest),
            None => (true, text.strip_prefix(b"https://")?),
        };
        UpstreamHost::parse(rest).map(|host| Self { tls, host })
    }

    /// Reads the name of a member of `servers`: an address, or a URL as for `parse_url`.
    #[must_use]
    pub fn parse_server(text: &[u8]) -> Option<Self> {
        Self::parse_url(text).or_else(|| Self::parse_bare(text))
    }

    /// Reads an address alone.
    #[must_use]
    pub fn parse_bare(text: &[u8]) -> Option<Self> {
        UpstreamHost::parse(text).map(|host| Self { tls: false, host })
    }

    /// As a URL, of HTTP unless another protocol is spoken.
    #[must_use]
    pub fn url(&self, protocol: Option<Protocol>) -> String {
        protocol.map_or_else(|| self.to_string(), |protocol| format!("{protocol}://{}", self.host))
    }

    /// The server that was probably meant by a text that is none: with a scheme, with a port, without a path.
    #[must_use]
    pub fn meant(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?.trim();
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let (scheme, port) = match scheme {
            "https" | "wss" => ("https", 443),
            "http" | "ws" => ("http", 80),
            _ => return None,
        };
        let place = match rest.strip_prefix("unix:") {
            Some(_) => rest,
            None => rest.split(['/', '?']).next().unwrap_or_default(),
        };
        let with_port = format!("{scheme}://{place}:{port}");
        let candidates = [format!("{scheme}://{place}"), with_port];
        candidates.iter().find_map(|candidate| Self::parse_url(candidate.as_bytes()))
    }
}

impl UpstreamHost {
    fn parse(text: &[u8]) -> Option<Self> {
        if let Some(address) = ListenAddress::parse(text) {
            return Some(Self::Address(address));
        }
        let (name, port) = std::str::from_utf8(text).ok()?.rsplit_once(':')?;
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|&port: &u16| is_number && port != 0)?;
        is_host_name(&name).then_some(Self::Named { name, port })
    }
}

impl fmt::Display for Origin {
    /// As a URL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.tls { "https" } else { "http" }, self.host)
    }
}

impl fmt::Display for UpstreamHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Named { name, port } => write!(f, "{name}:{port}"),
        }
    }
}

impl Default for PassiveHealth {
    fn default() -> Self {
        Self { max_fails: 1, fail_timeout: Duration::from_secs(10) }
    }
}

impl Default for HealthCheck {
    fn default() -> Self {
        Self {
            path: "/".to_owned(),
            host: None,
            interval: Duration::from_secs(5),
            timeout: Duration::from_secs(3),
            expect: vec![200..=399],
            rises: 2,
            falls: 3,
        }
    }
}

impl Default for Timeouts {
    /// Unit's timeouts, where it has them.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(60),
            send: Duration::from_secs(30),
            response: Duration::from_secs(60),
            read: Duration::from_secs(30),
            tunnel: Duration::from_secs(3600),
        }
    }
}

impl Default for KeepAlive {
    fn default() -> Self {
        Self { connections: 128, idle_timeout: Duration::from_secs(60), requests: 0 }
    }
}

impl Default for UpstreamTls {
    fn default() -> Self {
        Self { verify: true, ca: None, server_name: None, certificate: None }
    }
}

#[cfg(test)]
mod tests;
