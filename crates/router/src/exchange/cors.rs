//! `cors`, on a request's way and in its reply.
//!
//! The headers of CORS are the last that a reply gets, so that every reply has them, error pages too, and none of the
//! application's remain.

use crate::exchange::Exchange;
use crate::reply::cors::{self, Preflight};
use crate::request::routing::RouteTarget;

impl<'c> Exchange<'c> {
    /// Whether it is a preflight request that is answered here. From the first action with `cors` on, nothing on the
    /// way refuses it: such requests never have credentials.
    #[inline]
    pub(super) fn is_preflight(&self) -> bool {
        self.asks_first() && !self.answers_in_place() && self.way.cors().is_some()
    }

    /// The target of a request, unless it only asks whether there may be one.
    pub(super) fn or_preflight(&self, target: RouteTarget<'c>) -> RouteTarget<'c> {
        if self.is_preflight() { RouteTarget::Preflight } else { target }
    }

    /// Whether a browser asks what a request of another site may be like, before it sends that.
    fn asks_first(&self) -> bool {
        self.method() == b"OPTIONS"
            && self.values(b"Origin").next().is_some()
            && self.values(b"Access-Control-Request-Method").next().is_some()
    }

    /// Tells browsers whose scripts may read the reply.
    pub(super) fn share_with_origin(&mut self) {
        let Some(cors) = self.way.cors() else { return };
        let mut origins = self.values(b"Origin");
        // No browser sends two.
        let origin = origins.next().filter(|_| origins.next().is_none());
        let preflight = self.asks_first().then(|| Preflight {
            method: self.values(b"Access-Control-Request-Method").next().unwrap_or_default(),
            headers: self.values(b"Access-Control-Request-Headers").next().unwrap_or_default(),
        });
        cors::apply(&mut self.reply.fields, cors, origin, preflight.as_ref());
    }
}
