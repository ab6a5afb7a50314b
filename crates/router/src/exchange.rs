//! One request and its reply, whatever carries them: what answers reads the one and makes the other by this.
//!
//! An exchange does not know its carrier's protocol. Everything that the carrier offers is polled or tried; time limits
//! belong to the exchange. Handlers import the exchange, `dispatch` imports the handlers, and only connections import
//! `dispatch`. A handler pushes headers to the reply and opens it, the one way out: `response_headers` are applied, an
//! encoder is chosen, and the writer for the body keeps to the promised length. A reply that cannot be completed ends
//! with the connection.
//!
//! The request target has one representation: the path decoded and normalised, once, and the query as it came.
//! `rewrite` replaces these; what was a path is never parsed as a target again.

pub(crate) mod carrier;
pub(crate) mod client_presence;
mod cors;
mod encoded;
mod https_only;
mod limits;
mod maintenance;
pub(crate) mod opening;
mod pages;
mod reading;
mod routing;
mod validation;
pub(crate) mod writer;

use std::borrow::Cow;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Instant;

use corral_config::address::ListenAddress;
use corral_http::list;
use corral_http::request::{HttpVersion, KnownField};

use self::carrier::Carrier;
use crate::clock::deadline::Deadline;
use crate::generation::listener_settings::ListenerSettings;
use crate::generation::request_settings::RequestSettings;
use crate::observe::telemetry::Trace;
use crate::reply::Reply;
use crate::request::client::{Gone, RequestClient};
use crate::request::forwarded;
use crate::request::head::ReceivedRequest;
use crate::request::identity::AuthenticatedUser;
use crate::request::routing::route_progress::{FieldChange, RouteProgress};
use crate::services::LoopServices;
use crate::storage::buffered::HeldMemory;
use crate::storage::buffers::{self, Rest};
use crate::tls::TlsPeer;
use crate::variables::{CachedValues, ConnectionEnds, RequestVariables, VariableConnection};

/// A request while it is answered.
pub(crate) struct Exchange<'c> {
    pub(crate) carrier: &'c mut (dyn Carrier + 'c),
    /// Limits what is waited for.
    pub(crate) deadline: &'c Deadline,
    pub(crate) services: &'c LoopServices,
    pub(crate) settings: &'c ListenerSettings,
    pub(crate) request: ReceivedRequest<'c>,
    pub(crate) client: RequestClient,
    /// The path that a rewrite has put in the place of the request's.
    pub(crate) rewritten: Option<Vec<u8>>,
    /// The query that a rewrite has put in the place of the request's; empty where there is none any more.
    rewritten_query: Option<Vec<u8>>,
    memo: CachedValues,
    pub(crate) way: RouteProgress<'c>,
    /// The fields that `request_headers` has changed.
    pub(crate) field_changes: Vec<FieldChange<'c>>,
    pub(crate) reply: Reply,
    /// The beginning of the body that was read by others than the answer.
    peeked: Option<Box<(Rest, HeldMemory)>>,
    /// A send had to wait for room.
    pub(crate) has_waited: bool,
    /// The user that `authenticate` has let pass.
    pub(crate) identity: Option<Box<AuthenticatedUser>>,
    /// While there is telemetry.
    pub(crate) trace: Option<Box<Trace>>,
}

impl<'c> Exchange<'c> {
    pub(crate) fn new(
        carrier: &'c mut (dyn Carrier + 'c),
        (deadline, services): (&'c Deadline, &'c LoopServices),
        settings: &'c ListenerSettings,
        request: ReceivedRequest<'c>,
    ) -> Self {
        let connected = RequestClient { address: carrier.peer(), tls: carrier.speaks_tls() };
        let client = forwarded::client(&settings.listener().forwarded, connected, request);
        let trace = settings.generation.shared.telemetry.as_ref().map(|telemetry| telemetry.trace(request));
        Self {
            carrier,
            deadline,
            services,
            settings,
            request,
            client,
            rewritten: None,
            rewritten_query: None,
            memo: CachedValues::default(),
            way: RouteProgress::default(),
            field_changes: Vec::new(),
            reply: Reply::default(),
            peeked: None,
            has_waited: false,
            identity: None,
            trace,
        }
    }

    /// Gives back what others can use, when nothing more is done with it.
    pub(crate) fn end(&mut self) {
        for text in self.rewritten.take().into_iter().chain(self.rewritten_query.take()) {
            buffers::give(text);
        }
    }

    pub(crate) fn request_settings(&self) -> &'c RequestSettings {
        &self.settings.generation.shared.request_settings
    }

    /// When the event loop woke up for what is being done.
    pub(crate) fn now(&self) -> Instant {
        self.services.deadlines.now()
    }

    /// The path, decoded and normalised, as it is after rewrites.
    pub(crate) fn path(&self) -> &[u8] {
        self.rewritten.as_deref().unwrap_or_else(|| self.request.head.path(self.request.bytes))
    }

    /// The query, as it came or as it is after rewrites; encoded, without its `?`.
    pub(crate) fn query(&self) -> Option<&[u8]> {
        match &self.rewritten_query {
            Some(query) => Some(&**query).filter(|query| !query.is_empty()),
            None => self.request.head.query(self.request.bytes),
        }
    }

    /// Whether a rewrite has put something in the place of the request's path or query.
    pub(crate) fn is_rewritten(&self) -> bool {
        self.rewritten.is_some() || self.rewritten_query.is_some()
    }

    /// Whether the peer's word on the client is believed.
    pub(crate) fn peer_is_trusted(&self) -> bool {
        let rules = &self.settings.listener().forwarded;
        rules.iter().any(|rule| rule.source.matches(self.carrier.peer()))
    }

    /// The address that the client connected to; none for a Unix socket. The kernel is asked only when the listener
    /// does not say.
    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        match &self.settings.listener().address {
            ListenAddress::Inet(address) if !address.ip().is_unspecified() => Some(*address),
            _ => self.carrier.local_address(),
        }
    }

    pub(crate) fn method(&self) -> &'c [u8] {
        self.request.method()
    }

    pub(crate) fn is_head(&self) -> bool {
        self.method() == b"HEAD"
    }

    /// Values of the request's fields of this name.
    fn values(&self, name: &'static [u8]) -> impl Iterator<Item = &'c [u8]> + use<'c> {
        let request = self.request;
        let fields = request.head.fields(request.bytes);
        fields.filter(move |(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Whether the client has said that it understands fields behind a body (RFC 9110 sections 6.5.1 and 10.1.4).
    pub(crate) fn takes_trailers(&self) -> bool {
        let ReceivedRequest { head, bytes, .. } = self.request;
        let mut codings = head.values(bytes, KnownField::Te).flat_map(list);
        head.version() >= HttpVersion::Http11
            && codings.any(|coding| coding.eq_ignore_ascii_case(b"trailers"))
    }

    pub(crate) fn variables(&self) -> RequestVariables<'_> {
        RequestVariables {
            link: VariableConnection::Open(self),
            request: self.request,
            client: self.client,
            path: self.path(),
            query: self.query().unwrap_or_default(),
            identity: self.identity.as_deref(),
            reply: &self.reply,
            server: self.request_settings().server,
            memo: &self.memo,
            scripts: Some(&self.settings.generation.scripts),
        }
    }

    /// Sends what the carrier holds, and a piece of the body.
    pub(crate) async fn send(&mut self, piece: &[u8]) -> Result<(), Gone> {
        let mut n_sent = 0;
        while let Err(error) = self.carrier.try_send(piece, &mut n_sent) {
            self.wait_if_full(&error).await?;
        }
        Ok(())
    }

    /// Sends heads of interim responses at once. HTTP/1.0 knows none.
    pub(crate) async fn send_interim(&mut self, heads: &[u8]) -> Result<(), Gone> {
        if self.request.head.version() == HttpVersion::Http10 {
            return Ok(());
        }
        self.carrier.hold_interim(heads);
        self.send(b"").await
    }

    /// Waits for room to send if that is what was missing, for as long as a client may take to make some.
    pub(crate) async fn wait_if_full(&mut self, error: &io::Error) -> Result<(), Gone> {
        if error.kind() != io::ErrorKind::WouldBlock {
            return Err(Gone);
        }
        self.has_waited = true;
        let limit = self.request_settings().send_timeout;
        let Self { carrier, deadline, .. } = self;
        let writable = poll_fn(|context| carrier.poll_writable(context));
        match deadline.limit(limit, pin!(writable)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Gone),
        }
    }
}

impl ConnectionEnds for Exchange<'_> {
    fn tls_peer(&self) -> Option<Cow<'_, TlsPeer<'_>>> {
        self.carrier.tls_peer()
    }

    fn destination(&self) -> Option<SocketAddr> {
        self.carrier.local_address()
    }
}
