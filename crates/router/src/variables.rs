//! The values of template variables for one request (contract 14.1).

pub(crate) mod encoded;
mod place;
pub(crate) mod script;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use corral_config::Config;
use corral_config::address::ListenAddress;
use corral_config::plan::AppSpec;
use corral_config::query::{self, Arguments};
use corral_config::route::{Confinement, Facts, FileKind, Route, Scheme};
use corral_config::table::Key;
use corral_config::template::{Captured, Exception, MapName, MapValue, Script, Variable, Variables};
use corral_http::cookies;
use corral_http::request::{HTTP_2, HttpVersion, KnownField};
use corral_http::response::{self, ConnectionField, ReplyFraming, Trailer};
use corral_script::Engine;
use smallvec::SmallVec;

use crate::clock;
use crate::files::{self, ConfinedPath};
use crate::reply::Reply;
use crate::request::client::RequestClient;
use crate::request::head::ReceivedRequest;
use crate::request::identity::AuthenticatedUser;
use crate::request::ip_text;
use crate::storage::buffers;
use crate::tls::TlsPeer;

/// The text that a request is known by: 32 hexadecimal digits, or what it came with.
type RequestIdText = SmallVec<[u8; 32]>;

/// Values that are worked out once for a request.
#[derive(Debug, Default, Clone)]
pub(crate) struct CachedValues {
    id: OnceCell<RequestIdText>,
    /// Since 1970.
    time: OnceCell<Duration>,
    elapsed: OnceCell<Duration>,
    query: OnceCell<Vec<u8>>,
    arguments: OnceCell<Arguments>,
    local: OnceCell<Option<SocketAddr>>,
}

impl CachedValues {
    /// Works out what has to be the same in copies.
    pub(crate) fn fix(&self, started: Instant) {
        self.id(started);
        self.time();
        self.elapsed(started);
    }

    /// Forgets what was read of a query that another one takes the place of.
    pub(crate) fn forget_query(&mut self) {
        self.query = OnceCell::new();
        self.arguments = OnceCell::new();
    }

    /// Has the request known by a text that it came with, unless it has a name already.
    pub(crate) fn set_id(&self, id: &[u8]) {
        self.id.get_or_init(|| RequestIdText::from_slice(id));
    }

    pub(crate) fn id(&self, started: Instant) -> &[u8] {
        self.id.get_or_init(|| {
            // Two differently keyed hashes: unpredictable enough to tell requests apart, which is all it is for.
            let number = (u128::from(random(started)) << 64) | u128::from(random(started));
            let mut digits = [0; 32];
            write!(&mut digits[..], "{number:032x}").expect("128 bits have 32 digits");
            RequestIdText::from_buf(digits)
        })
    }

    fn time(&self) -> Duration {
        *self.time.get_or_init(clock::since_epoch)
    }

    /// The time since then, measured once.
    pub(crate) fn elapsed(&self, started: Instant) -> Duration {
        *self.elapsed.get_or_init(|| started.elapsed())
    }
}

/// A number that cannot be foreseen.
pub(crate) fn random(started: Instant) -> u64 {
    RandomState::new().hash_one(started)
}

/// Seconds with their thousandths.
fn append_seconds(time: Duration, out: &mut Vec<u8>) {
    write!(out, "{}.{:03}", time.as_secs(), time.subsec_millis()).expect("writing to memory cannot fail");
}

/// The connection that variables tell of, as long as there is one.
pub(crate) trait ConnectionEnds {
    /// The client, if it speaks TLS.
    fn tls_peer(&self) -> Option<Cow<'_, TlsPeer<'_>>>;

    /// The address that the client connected to; none for a Unix socket. Costs a system call.
    fn destination(&self) -> Option<SocketAddr>;

    /// Which request of its connection it is, from 1.
    fn n_requests(&self) -> u32;
}

/// The facts about the connection that variables go by.
#[derive(Clone, Copy)]
pub(crate) enum VariableConnection<'t> {
    Open(&'t (dyn ConnectionEnds + 't)),
    /// A copy of what was known, inside of a script.
    Noted {
        peer: Option<&'t TlsPeer<'static>>,
        n_requests: u32,
    },
}

impl<'t> VariableConnection<'t> {
    /// The client, if it speaks TLS.
    pub(crate) fn peer(self) -> Option<Cow<'t, TlsPeer<'t>>> {
        match self {
            Self::Open(ends) => ends.tls_peer(),
            Self::Noted { peer, .. } => peer.map(Cow::Borrowed),
        }
    }

    fn local_address(self) -> Option<SocketAddr> {
        match self {
            Self::Open(ends) => ends.destination(),
            Self::Noted { .. } => None,
        }
    }

    pub(crate) fn n_requests(self) -> u32 {
        match self {
            Self::Open(ends) => ends.n_requests(),
            Self::Noted { n_requests, .. } => n_requests,
        }
    }
}

/// A request's variables; those of the reply are empty until it is known.
#[derive(Clone, Copy)]
pub(crate) struct RequestVariables<'t> {
    pub(crate) link: VariableConnection<'t>,
    pub(crate) request: ReceivedRequest<'t>,
    pub(crate) client: RequestClient,
    /// The path as it is after rewrites.
    pub(crate) path: &'t [u8],
    /// The query as it is after rewrites.
    pub(crate) query: &'t [u8],
    /// The texts that groups of steps have matched.
    pub(crate) captured: &'t [Captured],
    /// The user that `authenticate` has let pass.
    pub(crate) identity: Option<&'t AuthenticatedUser>,
    pub(crate) reply: &'t Reply,
    /// The server's name in replies.
    pub(crate) server: &'static str,
    pub(crate) memo: &'t CachedValues,
    /// The maps are there.
    pub(crate) config: &'t Arc<Config>,
    pub(crate) listener: &'t ListenAddress,
    /// The last route on the way.
    pub(crate) route: Option<Key<Route>>,
    /// The application that was asked last.
    pub(crate) application: Option<Key<AppSpec>>,
    /// `None` inside of a script.
    pub(crate) scripts: Option<&'t Engine>,
}

impl RequestVariables<'_> {
    /// A number that cannot be foreseen.
    pub(crate) fn random(&self) -> u64 {
        random(self.request.started)
    }

    fn append_field(&self, wanted: &[u8], out: &mut Vec<u8>) {
        let ReceivedRequest { head, bytes, .. } = self.request;
        let value = head.fields(bytes).find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        out.extend_from_slice(value.map_or(&b""[..], |(_, value)| value));
    }

    fn append_argument(&self, wanted: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(self.arguments().last(wanted).unwrap_or_default());
    }

    fn append_cookie(&self, wanted: &[u8], out: &mut Vec<u8>) {
        let value = Facts::cookies(self).find(|(name, _)| *name == wanted);
        out.extend_from_slice(value.map_or(&b""[..], |(_, value)| value));
    }

    pub(crate) fn arguments(&self) -> &Arguments {
        self.memo.arguments.get_or_init(|| Arguments::parse(self.query))
    }

    /// A field of the reply, or what the server itself says about the connection, the body and itself.
    fn append_reply_field(&self, name: &[u8], out: &mut Vec<u8>) {
        let written = match (name, self.reply.framing) {
            (b"connection", Some(_)) => out.write_all(self.connection_field()),
            (b"content-length", Some(ReplyFraming::Length(length))) => write!(out, "{length}"),
            (b"transfer-encoding", Some(ReplyFraming::Chunked)) => write!(out, "chunked"),
            _ => match (self.reply.fields.get(name), name) {
                (Some(value), _) => out.write_all(value),
                (None, b"server") if self.reply.framing.is_some() => out.write_all(self.server.as_bytes()),
                (None, b"date") if self.reply.framing.is_some() => {
                    clock::with_date(|date| out.write_all(date))
                }
                (None, _) => Ok(()),
            },
        };
        written.expect("writing to memory cannot fail");
    }

    /// The version of HTTP; nothing for what is not a request.
    fn protocol(&self) -> &'static [u8] {
        match self.request.head.version() {
            _ if self.request.method().is_empty() => b"",
            HttpVersion::Http10 => b"HTTP/1.0",
            HttpVersion::Http11 => b"HTTP/1.1",
            HttpVersion::Http2 => HTTP_2,
        }
    }

    fn connection_field(&self) -> &'static [u8] {
        if self.reply.status == Some(101) {
            return b"Upgrade";
        }
        match ConnectionField::choose(self.request.head.version(), !self.reply.close) {
            ConnectionField::Close => b"close",
            ConnectionField::KeepAlive => b"keep-alive",
            ConnectionField::Upgrade | ConnectionField::Unsaid => b"",
        }
    }

    /// Bytes of the reply with its head in the form of HTTP/1.
    fn n_bytes_sent(&self) -> u64 {
        let (Some(status), Some(framing)) = (self.reply.status, self.reply.framing) else {
            return self.reply.n_body_bytes;
        };
        let fields = &self.reply.fields;
        let connection = match self.connection_field() {
            b"Upgrade" => ConnectionField::Upgrade,
            _ => ConnectionField::choose(self.request.head.version(), !self.reply.close),
        };
        let mut head = buffers::take();
        response::append_status_line(&mut head, status);
        clock::with_date(|date| {
            let server = fields.get(b"Server").is_none().then_some(self.server.as_bytes());
            let date = fields.get(b"Date").is_none().then_some(date);
            response::append_trailer(&mut head, &Trailer { server, date, framing, connection });
        });
        let n_head = head.len() + fields.len();
        buffers::give(head);
        self.reply.n_body_bytes.saturating_add(n_head as u64)
    }

    fn append_reply(&self, variable: &Variable, out: &mut Vec<u8>) {
        let written = match variable {
            Variable::Status => self.reply.status.map_or(Ok(()), |status| write!(out, "{status:03}")),
            Variable::BodyBytesSent => write!(out, "{}", self.reply.n_body_bytes),
            Variable::BytesSent => write!(out, "{}", self.n_bytes_sent()),
            Variable::RequestCompletion if self.reply.is_complete => out.write_all(b"OK"),
            Variable::RequestTime => {
                append_seconds(self.memo.elapsed(self.request.started), out);
                Ok(())
            }
            Variable::Upstream(variable) => {
                if let Some(log) = &self.reply.upstreams {
                    log.append(*variable, out);
                }
                Ok(())
            }
            _ => Ok(()),
        };
        written.expect("writing to memory cannot fail");
    }
}

impl Variables for RequestVariables<'_> {
    fn append(&mut self, variable: &Variable, out: &mut Vec<u8>) {
        let ReceivedRequest { head, bytes, .. } = self.request;
        match variable {
            Variable::Method => out.extend_from_slice(head.method(bytes)),
            Variable::RequestLine => out.extend_from_slice(head.request_line(bytes)),
            Variable::Protocol => out.extend_from_slice(self.protocol()),
            Variable::RequestUri => out.extend_from_slice(head.sent_target(bytes)),
            Variable::ReceivedPath => out.extend_from_slice(head.path(bytes)),
            Variable::Uri => out.extend_from_slice(self.path),
            Variable::Host => out.extend_from_slice(head.host(bytes)),
            Variable::RemoteAddr => ip_text::append(self.client.address.map(|peer| peer.ip()), out),
            Variable::RemoteUser => out.extend_from_slice(Facts::user(self).unwrap_or_default()),
            Variable::Claim(name) => {
                if let Some(claims) = self.identity.and_then(|identity| identity.claims.as_ref()) {
                    claims.append(name, out);
                }
            }
            Variable::Tls(variable) => {
                if let Some(peer) = self.link.peer() {
                    peer.append(*variable, out);
                }
            }
            Variable::TimeLocal => clock::append_local_time(self.memo.time().as_secs(), out),
            Variable::TimeIso8601 => clock::append_iso_time(self.memo.time().as_secs(), out),
            Variable::Msec => append_seconds(self.memo.time(), out),
            Variable::RequestId => out.extend_from_slice(self.memo.id(self.request.started)),
            Variable::Header(name) => self.append_field(name, out),
            Variable::Argument(name) => self.append_argument(name, out),
            Variable::Cookie(name) => self.append_cookie(name, out),
            Variable::ResponseHeader(name) => self.append_reply_field(name, out),
            Variable::Status
            | Variable::BodyBytesSent
            | Variable::BytesSent
            | Variable::RequestCompletion
            | Variable::RequestTime
            | Variable::Upstream(_) => self.append_reply(variable, out),
            Variable::Scheme
            | Variable::Args
            | Variable::IsArgs
            | Variable::ReceivedArgs
            | Variable::RequestLength => self.append_target(variable, out),
            Variable::ServerName
            | Variable::ServerAddr
            | Variable::ServerPort
            | Variable::RemotePort
            | Variable::Hostname
            | Variable::Listener
            | Variable::Route
            | Variable::Application
            | Variable::Connection
            | Variable::ConnectionRequests => self.append_place(variable, out),
            // The last is that of connections that are passed on.
            Variable::Map(_) | Variable::ConnectionEnd => {}
            Variable::Group(group) => {
                let text = self.captured.iter().find_map(|captured| captured.text(*group));
                out.extend_from_slice(text.unwrap_or_default());
            }
        }
    }

    fn append_map(&mut self, map: MapName, out: &mut Vec<u8>) -> Result<MapValue, Exception> {
        let config = self.config;
        let Some(map) = config.tables.maps.get(map.key) else { return Ok(MapValue::Unset) };
        let mut key = buffers::take();
        let chosen = map.from.render(self, &mut key).and_then(|()| Ok(map.choose(&key)?));
        buffers::give(key);
        let Some(value) = chosen? else { return Ok(MapValue::Unset) };
        if let Some(text) = value.is_constant() {
            out.extend_from_slice(text);
            return Ok(MapValue::Literal);
        }
        value.render(self, out).map(|()| MapValue::Rendered)
    }

    fn is_set(&self, variable: &Variable) -> bool {
        let ReceivedRequest { head, bytes, .. } = self.request;
        match variable {
            Variable::Header(wanted) => head.fields(bytes).any(|(name, _)| name.eq_ignore_ascii_case(wanted)),
            Variable::Argument(name) => self.arguments().last(name).is_some(),
            Variable::Cookie(wanted) => Facts::cookies(self).any(|(name, _)| name == &wanted[..]),
            Variable::ResponseHeader(name) => self.reply.fields.get(name).is_some(),
            // They are written behind a path.
            Variable::IsArgs | Variable::Args | Variable::ReceivedArgs => true,
            _ => false,
        }
    }

    fn evaluate(&mut self, script: &Script, out: &mut Vec<u8>) -> Result<(), Exception> {
        match self.scripts {
            Some(engine) => script::evaluate(engine, script, *self, out),
            None => Err(Exception::Script("a script is evaluated inside of a script".to_owned())),
        }
    }
}

impl Facts for RequestVariables<'_> {
    fn method(&self) -> &[u8] {
        self.request.head.method(self.request.bytes)
    }

    fn host(&self) -> &[u8] {
        self.request.head.host(self.request.bytes)
    }

    fn path(&self) -> &[u8] {
        self.path
    }

    fn query(&self) -> &[u8] {
        self.memo.query.get_or_init(|| query::decode(self.query).into_owned())
    }

    fn arguments(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.arguments().iter()
    }

    fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.request.head.fields(self.request.bytes)
    }

    fn cookies(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let ReceivedRequest { head, bytes, .. } = self.request;
        head.values(bytes, KnownField::Cookie).flat_map(cookies::pairs)
    }

    fn user(&self) -> Option<&[u8]> {
        self.identity.and_then(AuthenticatedUser::user)
    }

    fn claim(&self, name: &[u8]) -> Vec<Vec<u8>> {
        let claims = self.identity.and_then(|identity| identity.claims.as_ref());
        let name = std::str::from_utf8(name).ok();
        claims.zip(name).map(|(claims, name)| claims.values(name)).unwrap_or_default()
    }

    fn scheme(&self) -> Scheme {
        if self.client.tls { Scheme::Https } else { Scheme::Http }
    }

    fn source(&self) -> Option<SocketAddr> {
        self.client.address
    }

    fn file_kind(&self, path: &[u8], chroot: Option<&[u8]>, confinement: &Confinement) -> FileKind {
        files::look(&ConfinedPath::new(path, chroot, confinement))
    }

    fn destination(&self) -> Option<SocketAddr> {
        *self.memo.local.get_or_init(|| self.link.local_address())
    }
}
