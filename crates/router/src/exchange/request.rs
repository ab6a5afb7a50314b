//! The request as the configuration has made it on its way: its target after rewrites, its client as far as that is
//! trusted, its user, and its headers. Routing and authentication change it; answers only read it.

use std::time::Duration;

use corral_cgi::variables::is_one_variable;
use corral_config::plan::AppSpec;
use corral_config::route::{Route, RouteStep};
use corral_config::table::Key;
use corral_config::template::Captured;
use corral_http::request::{HttpVersion, KnownField};
use corral_http::{list, trim};

use crate::generation::listener_settings::ListenerSettings;
use crate::generation::request_settings::RequestSettings;
use crate::observe::telemetry::Trace;
use crate::reply::Reply;
use crate::reply::preference::{PROBLEM, prefers_json};
use crate::request::client::RequestClient;
use crate::request::head::ReceivedRequest;
use crate::request::identity::AuthenticatedUser;
use crate::request::routing::route_progress::FieldChange;
use crate::storage::buffers;
use crate::variables::{CachedValues, ConnectionEnds, RequestVariables, VariableConnection};

/// A request on its way through the configuration.
pub(crate) struct RoutedRequest<'c> {
    pub(crate) received: ReceivedRequest<'c>,
    pub(crate) settings: &'c ListenerSettings,
    pub(crate) client: RequestClient,
    /// The path that a rewrite has put in the place of the request's.
    rewritten_path: Option<Vec<u8>>,
    /// The path before its prefix was changed, as long as no more of it was.
    path_with_prefix: Option<Vec<u8>>,
    /// The query that a rewrite has put in the place of the request's; empty where there is none any more.
    rewritten_query: Option<Vec<u8>>,
    /// The texts that groups of steps have matched, for their actions.
    captured: Vec<Captured>,
    /// The fields that the configuration has changed, or the server that was asked whether the request may go on.
    field_changes: Vec<FieldChange<'c>>,
    /// The last route on the way.
    pub(crate) route: Option<Key<Route>>,
    /// The last step on the way.
    pub(crate) step: Option<Key<RouteStep>>,
    /// The application that was asked last.
    pub(crate) application: Option<Key<AppSpec>>,
    /// The user that `authenticate` has let pass.
    pub(crate) user: Option<Box<AuthenticatedUser>>,
    memo: CachedValues,
    /// While there is telemetry.
    pub(crate) trace: Option<Box<Trace>>,
}

impl<'c> RoutedRequest<'c> {
    pub(super) fn new(
        received: ReceivedRequest<'c>,
        settings: &'c ListenerSettings,
        client: RequestClient,
    ) -> Self {
        let telemetry = settings.generation.shared.telemetry.as_ref();
        Self {
            received,
            settings,
            client,
            rewritten_path: None,
            path_with_prefix: None,
            rewritten_query: None,
            captured: Vec::new(),
            field_changes: Vec::new(),
            route: None,
            step: None,
            application: None,
            user: None,
            memo: CachedValues::default(),
            trace: telemetry.map(|telemetry| telemetry.trace(received)),
        }
    }

    /// Gives back what others can use, when nothing more is done with it.
    pub(super) fn end(&mut self) {
        let texts = [&mut self.rewritten_path, &mut self.path_with_prefix, &mut self.rewritten_query];
        texts.into_iter().filter_map(Option::take).for_each(buffers::give);
    }

    pub(crate) fn request_settings(&self) -> &'c RequestSettings {
        &self.settings.generation.shared.request_settings
    }

    pub(crate) fn method(&self) -> &'c [u8] {
        self.received.method()
    }

    pub(crate) fn is_head(&self) -> bool {
        self.method() == b"HEAD"
    }

    /// The path, decoded and normalised, as it is after rewrites.
    pub(crate) fn path(&self) -> &[u8] {
        self.rewritten_path.as_deref().unwrap_or_else(|| self.received.head.path(self.received.bytes))
    }

    /// The query, as it came or as it is after rewrites; encoded, without its `?`.
    pub(crate) fn query(&self) -> Option<&[u8]> {
        match &self.rewritten_query {
            Some(query) => Some(&**query).filter(|query| !query.is_empty()),
            None => self.received.head.query(self.received.bytes),
        }
    }

    /// The query that a rewrite has put in the place of the request's.
    pub(super) fn rewritten_query(&self) -> Option<&[u8]> {
        self.rewritten_query.as_deref()
    }

    /// The time since its first byte; the same for all that ask at its end.
    pub(crate) fn elapsed(&self) -> Duration {
        self.memo.elapsed(self.received.started)
    }

    /// Whether a rewrite has put something in the place of the request's path or query.
    pub(crate) fn is_rewritten(&self) -> bool {
        self.rewritten_path.is_some() || self.rewritten_query.is_some()
    }

    /// The path that a client asks for to get what this one has: with the prefix that was taken away.
    pub(crate) fn asked_path(&self) -> &[u8] {
        self.path_with_prefix.as_deref().unwrap_or_else(|| self.path())
    }

    /// Whether a slash behind the path asks for something else than the client has asked for.
    pub(crate) fn may_get_slash(&self) -> bool {
        let received = self.received.head.path(self.received.bytes);
        !self.path().ends_with(b"/") && received.strip_suffix(b"/") != Some(self.path())
    }

    /// Puts a path with another prefix in the place of the one that there is.
    pub(super) fn set_prefixed_path(&mut self, path: Vec<u8>) {
        let asked = self.path_with_prefix.take().unwrap_or_else(|| self.path().to_vec());
        self.set_path(path);
        self.path_with_prefix = Some(asked);
    }

    /// Puts a path, normalised, in the place of the one that there is.
    pub(super) fn set_path(&mut self, path: Vec<u8>) {
        self.path_with_prefix = None;
        if let Some(before) = self.rewritten_path.replace(path) {
            buffers::give(before);
        }
    }

    /// Puts a query in the place of the one that there is.
    pub(super) fn set_query(&mut self, query: Vec<u8>) {
        self.memo.forget_query();
        if let Some(before) = self.rewritten_query.replace(query) {
            buffers::give(before);
        }
    }

    /// Keeps what the groups of a step have matched, in the place of what they have matched before.
    pub(super) fn keep_captured(&mut self, captured: Captured) {
        self.captured.retain(|known| !known.is_of_same(&captured));
        self.captured.push(captured);
    }

    /// Values of the request's fields of this name, as they came.
    pub(crate) fn values(&self, name: &'c [u8]) -> impl Iterator<Item = &'c [u8]> + use<'c> {
        let ReceivedRequest { head, bytes, .. } = self.received;
        head.fields(bytes).filter(move |(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The request's fields with the changes of `request_headers`: a new value stands in the place of all fields of
    /// its name, behind the others.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let ReceivedRequest { head, bytes, .. } = self.received;
        let kept = head.fields(bytes).filter(|(name, _)| !self.changes_field(name));
        let changes = self.field_changes.iter();
        kept.chain(changes.filter_map(|change| Some((change.name, change.value.as_deref()?))))
    }

    /// Whether the configuration has its own word on the fields of this name, or of one that scripts cannot tell from
    /// it.
    pub(crate) fn changes_field(&self, name: &[u8]) -> bool {
        self.field_changes.iter().any(|change| is_one_variable(change.name, name))
    }

    /// Changes a field for whatever answers. A later change overrides an earlier one.
    pub(crate) fn change_field(&mut self, change: FieldChange<'c>) {
        self.field_changes.retain(|known| !known.name.eq_ignore_ascii_case(change.name));
        self.field_changes.push(change);
    }

    /// The text that the request is known by.
    pub(super) fn id(&self) -> &[u8] {
        self.memo.id(self.received.started)
    }

    /// The same, which is `sent` if it came with one.
    pub(super) fn settle_id(&self, sent: Option<&[u8]>) -> &[u8] {
        if let Some(sent) = sent {
            self.memo.set_id(sent);
        }
        self.id()
    }

    /// Whether the client has said that it understands fields behind a body (RFC 9110 sections 6.5.1 and 10.1.4).
    pub(crate) fn takes_trailers(&self) -> bool {
        let ReceivedRequest { head, bytes, .. } = self.received;
        let mut codings = head.values(bytes, KnownField::Te).flat_map(list);
        head.version() >= HttpVersion::Http11
            && codings.any(|coding| coding.eq_ignore_ascii_case(b"trailers"))
    }

    /// Whether the client prefers an error page for programs.
    pub(crate) fn wants_problem(&self) -> bool {
        prefers_json(self.values(b"Accept"), &[b"application/json", PROBLEM])
    }

    /// Whether the client names HTML as a type that it accepts, as browsers do where a page is to be shown.
    pub(crate) fn accepts_pages(&self) -> bool {
        let media_type =
            |range: &'c [u8]| range.split(|&byte| byte == b';').next().map(trim).unwrap_or_default();
        self.values(b"Accept")
            .flat_map(list)
            .any(|range| media_type(range).eq_ignore_ascii_case(b"text/html"))
    }

    /// The request's variables, with those of its connection and its reply.
    pub(super) fn variables<'t>(
        &'t self,
        ends: &'t dyn ConnectionEnds,
        reply: &'t Reply,
    ) -> RequestVariables<'t> {
        RequestVariables {
            link: VariableConnection::Open(ends),
            request: self.received,
            client: self.client,
            path: self.path(),
            query: self.query().unwrap_or_default(),
            identity: self.user.as_deref(),
            reply,
            server: self.request_settings().server,
            captured: &self.captured,
            memo: &self.memo,
            config: &self.settings.generation.config,
            listener: &self.settings.listener().address,
            route: self.route,
            application: self.application,
            scripts: Some(&self.settings.generation.scripts),
        }
    }
}
