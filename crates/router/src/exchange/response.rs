//! The means to answer a request: what answers gets the request, which it reads, and this, by which it makes the reply.

use std::mem;
use std::net::SocketAddr;
use std::time::Instant;

use corral_config::abandoned::Abandoned;
use corral_config::address::ListenAddress;
use corral_config::gateway::{EntryPoint, Param};
use corral_config::mirror::Mirror;
use corral_config::table::Key;
use corral_http::request::{HttpVersion, RequestFraming};
use smallvec::SmallVec;

use super::carrier::ClientSignal;
use super::client_presence::ClientPresence;
use super::downstream::Downstream;
use super::request::RoutedRequest;
use crate::reply::Reply;
use crate::request::client::Gone;
use crate::request::routing::route_progress::RouteProgress;
use crate::services::LoopServices;
use crate::variables::RequestVariables;

/// A reply on its way to the client of a request.
pub(crate) struct ResponseWriter<'r, 'c> {
    pub(crate) request: &'r RoutedRequest<'c>,
    pub(crate) client: &'r mut Downstream<'c>,
    pub(super) route: &'r mut RouteProgress<'c>,
    pub(crate) reply: &'r mut Reply,
    pub(crate) services: &'c LoopServices,
}

impl ResponseWriter<'_, '_> {
    /// When the event loop woke up for what is being done.
    pub(crate) fn now(&self) -> Instant {
        self.services.deadlines.now()
    }

    /// The server at this address gets the request.
    pub(crate) fn note_upstream(&mut self, address: &impl ToString) {
        if self.request.request_settings().wants_upstreams || self.is_traced() {
            let told = self.reply.timings.told();
            self.reply.upstreams.get_or_insert_default().begin(address.to_string(), told);
        }
    }

    /// The server that has the request has answered with this status.
    pub(crate) fn note_upstream_head(&mut self, status: u16) {
        if let Some(log) = &mut self.reply.upstreams {
            log.note_head(status);
        }
    }

    /// The server that had the request has failed. The words are for the trace alone.
    pub(crate) fn note_upstream_failure(&mut self, failure: &impl ToString) {
        if self.is_traced()
            && let Some(log) = &mut self.reply.upstreams
        {
            log.note_failure(failure.to_string());
        }
    }

    /// The server that had the request has nothing more to do with it.
    pub(crate) fn note_upstream_end(&mut self) {
        if let Some(log) = &mut self.reply.upstreams {
            log.end();
        }
    }

    pub(crate) fn variables(&self) -> RequestVariables<'_> {
        self.request.variables(&*self.client, self.reply)
    }

    /// Whether the peer's word on the client is believed.
    pub(crate) fn peer_is_trusted(&self) -> bool {
        let rules = &self.request.settings.listener().forwarded;
        rules.iter().any(|rule| rule.source.matches(self.client.carrier.peer()))
    }

    /// The address that the client connected to; none for a Unix socket. The kernel is asked only when the listener
    /// does not say.
    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        match &self.request.settings.listener().address {
            ListenAddress::Inet(address) if !address.ip().is_unspecified() => Some(*address),
            _ => self.client.carrier.local_address(),
        }
    }

    /// The variables of an entry point, and in their place those of the actions on the way: the innermost has the last
    /// word on each.
    pub(crate) fn params<'p>(&'p self, entry: Option<&'p EntryPoint>) -> SmallVec<[&'p Param; 8]> {
        let mut params: SmallVec<[&Param; 8]> = entry.iter().flat_map(|entry| &entry.params).collect();
        for param in self.route.params() {
            params.retain(|known| known.0 != param.0);
            params.push(param);
        }
        params
    }

    /// Has the request take what the actions on its way permit.
    pub(crate) fn take_bounds(&mut self) {
        let own = self.route.bounds(&self.request.request_settings().bounds);
        self.client.set_bounds(own);
    }

    /// Whether the body is announced to be larger than it may be. That of a request that is answered in the place of
    /// another is of no interest any more.
    pub(crate) fn is_body_too_large(&self) -> bool {
        let framing = self.request.received.head.framing();
        let most = self.client.bounds().max_body_size;
        matches!(framing, RequestFraming::Length(len) if len > most) && !self.answers_in_place()
    }

    /// Whether another answer came before: the request's method and body were meant for that.
    pub(crate) fn answers_in_place(&self) -> bool {
        self.route.answers_in_place()
    }

    /// The status of the reply, or the error that another action will answer.
    pub(crate) fn outcome(&self) -> Option<u16> {
        self.reply.status.or(self.route.error)
    }

    /// Whether an error is being answered: its page does not depend on method and conditions of the request.
    pub(crate) fn answers_error(&self) -> bool {
        self.route.answers_error()
    }

    /// The configuration says which status it is to be.
    pub(crate) fn forget_kept_status(&mut self) {
        self.route.kept_status = None;
    }

    /// Whether the request has to wait for its turn.
    pub(crate) fn is_delayed(&self) -> bool {
        !self.route.delay.is_zero()
    }

    /// Waits until a request that came ahead of its pace is due, or its client has left.
    pub(crate) async fn wait_for_turn(&mut self) -> Result<(), Gone> {
        let delay = mem::take(&mut self.route.delay);
        let waited = tokio::select! {
            biased;
            () = self.presence().left_waiting() => Err(Gone),
            () = tokio::time::sleep(delay) => Ok(()),
        };
        if waited.is_err() {
            let now = self.now();
            self.route.turns.drain(..).for_each(|turn| turn.give_back(now));
        }
        waited
    }

    /// Notes what an application wants of requests whose clients have left. `Err` if the client of this one has left,
    /// and the application does not want it.
    pub(crate) fn enter_application(&mut self, abandoned: Abandoned) -> Result<(), Gone> {
        self.route.abandoned = abandoned;
        let is_without = self.route.without_client.get().is_some();
        if is_without && !abandoned.runs(self.request.method()) { Err(Gone) } else { Ok(()) }
    }

    /// The mirror that is to get a copy of the request, once.
    pub(crate) fn take_mirror(&mut self) -> Option<Key<Mirror>> {
        self.route.mirror.take()
    }

    /// The sign that the client of a request that is under way has left.
    pub(crate) fn sign_of_departure(&self) -> ClientSignal {
        match (self.route.without_client.get(), self.reply.close) {
            (Some(_), _) => ClientSignal::None,
            (None, true) => ClientSignal::Lasting,
            (None, false) => ClientSignal::Finished,
        }
    }

    /// The client, for code that waits on its behalf.
    pub(crate) fn presence(&self) -> ClientPresence<'_> {
        ClientPresence {
            carrier: &*self.client.carrier,
            abandoned: self.route.abandoned,
            without_client: &self.route.without_client,
            services: self.services,
            method: self.request.method(),
            closes: self.reply.close,
        }
    }

    /// Sends heads of interim responses at once. HTTP/1.0 knows none.
    pub(crate) async fn send_interim(&mut self, heads: &[u8]) -> Result<(), Gone> {
        if self.request.received.head.version() == HttpVersion::Http10 {
            return Ok(());
        }
        self.client.carrier.hold_interim(heads);
        self.client.send(b"").await
    }
}
