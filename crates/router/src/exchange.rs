//! One request and its reply, whatever carries them.
//!
//! An exchange does not know its carrier's protocol. Everything that the carrier offers is polled or tried; time limits
//! belong to the exchange. It has parts, and code gets those that it may touch: routing changes the request and how far
//! that has come, without a carrier; an answer reads the request and has a `ResponseWriter`. Answers import these,
//! `dispatch` imports the answers, and only connections import `dispatch`. An answer pushes headers to the reply, and
//! opens it, the one way out: `response_headers` are applied, an encoder is chosen, and the writer for the body keeps
//! to the promised length. A reply that cannot be completed ends with the connection.
//!
//! The request target has one representation: the path decoded and normalised, once, and the query as it came.
//! `rewrite` replaces these; what was a path is never parsed as a target again.

pub(crate) mod carrier;
pub(crate) mod client_presence;
mod cors;
pub(crate) mod downstream;
mod encoded;
mod filter;
pub(crate) mod https_only;
mod internal_redirect;
pub(crate) mod key_authorization;
mod maintenance;
pub(crate) mod opening;
mod pace;
mod pages;
pub(crate) mod request;
mod request_id;
pub(crate) mod response;
mod response_options;
pub(crate) mod routing;
mod stand_in;
mod timing;
pub(crate) mod writer;

use self::carrier::Carrier;
use self::downstream::Downstream;
use self::request::RoutedRequest;
use self::response::ResponseWriter;
use self::routing::Routing;
use crate::clock::deadline::Deadline;
use crate::generation::listener_settings::ListenerSettings;
use crate::observe::request_counts::RequestInProgress;
use crate::reply::Reply;
use crate::request::client::RequestClient;
use crate::request::forwarded;
use crate::request::head::ReceivedRequest;
use crate::request::routing::route_progress::RouteProgress;
use crate::services::LoopServices;
use crate::variables::RequestVariables;

/// A request while it is answered.
pub(crate) struct Exchange<'c> {
    pub(crate) request: RoutedRequest<'c>,
    pub(crate) client: Downstream<'c>,
    pub(crate) route: RouteProgress<'c>,
    pub(crate) reply: Reply,
    pub(crate) services: &'c LoopServices,
    _in_progress: RequestInProgress<'c>,
}

impl<'c> Exchange<'c> {
    pub(crate) fn new(
        carrier: &'c mut (dyn Carrier + 'c),
        (deadline, services): (&'c Deadline, &'c LoopServices),
        settings: &'c ListenerSettings,
        received: ReceivedRequest<'c>,
    ) -> Self {
        let connected = RequestClient { address: carrier.peer(), tls: carrier.speaks_tls() };
        let client = forwarded::client(&settings.listener().forwarded, connected, received);
        let mut request = RoutedRequest::new(received, settings, client);
        if let Some(rule) = &request.request_settings().request_id {
            let mut trusted = settings.listener().forwarded.iter();
            request_id::settle(
                &mut request,
                rule,
                trusted.any(|trust| trust.source.matches(connected.address)),
            );
        }
        let lane = services.lane.index();
        Self {
            _in_progress: RequestInProgress::begin(settings.counts().map(|counts| counts.of_loop(lane))),
            client: Downstream::new(carrier, deadline, request.request_settings()),
            request,
            route: RouteProgress::default(),
            reply: Reply::default(),
            services,
        }
    }

    /// Gives back what others can use, when nothing more is done with it.
    pub(crate) fn end(&mut self) {
        self.request.end();
    }

    /// The way through the configuration.
    pub(crate) fn routing(&mut self) -> Routing<'_, 'c> {
        let Self { request, client, route, reply, services, .. } = self;
        Routing { request, ends: client, route, reply, services }
    }

    /// The means to answer.
    pub(crate) fn response(&mut self) -> ResponseWriter<'_, 'c> {
        let Self { request, client, route, reply, services, .. } = self;
        ResponseWriter { request, client, route, reply, services }
    }

    /// The request's variables when the reply is on its way.
    pub(crate) fn variables(&self) -> RequestVariables<'_> {
        self.request.variables(&self.client, &self.reply)
    }
}
