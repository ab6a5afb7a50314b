//! `cors`, on a request's way and in its reply.

use corral_config::cors::Cors;

use crate::exchange::Exchange;
use crate::reply::cors::{self, Preflight};
use crate::request::routing::Target;

impl<'c> Exchange<'c> {
    /// Notes which sites may read the reply; `Err` answers a preflight request at once. The first action that has an opinion
    /// counts, for both: what follows may refuse requests without credentials, which preflight requests never have.
    #[inline]
    pub(super) fn admit_origin(&mut self, cors: Option<&'c Cors>) -> Result<(), Target<'c>> {
        let Some(cors) = cors else { return Ok(()) };
        if self.way.cors.is_some() || self.answers_error() {
            return Ok(());
        }
        self.way.cors = Some(cors);
        if self.asks_first() { Err(Target::Preflight) } else { Ok(()) }
    }

    /// Whether a browser asks what a request of another site may be like, before it sends that.
    fn asks_first(&self) -> bool {
        self.method() == b"OPTIONS"
            && self.values(b"Origin").next().is_some()
            && self.values(b"Access-Control-Request-Method").next().is_some()
    }

    /// Tells browsers whose scripts may read the reply.
    pub(super) fn share_with_origin(&mut self) {
        let Some(cors) = self.way.cors else { return };
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
