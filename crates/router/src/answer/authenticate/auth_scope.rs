//! A place of the configuration where clients authenticate, and its lines in the log.

use std::fmt::Display;

use corral_config::authentication::Authentication;

use crate::authentication::Authenticator;
use crate::clock::Millis;
use crate::exchange::response::ResponseWriter;

/// A place of the configuration where clients authenticate.
#[derive(Clone, Copy)]
pub(super) struct AuthScope<'c> {
    pub(super) authentication: &'c Authentication,
    pub(super) authenticator: &'c Authenticator,
}

impl AuthScope<'_> {
    /// Logs that a request was not let pass, once in a second.
    pub(super) fn warn(self, response: &ResponseWriter<'_, '_>, reason: &dyn Display) {
        if let Some(suppressed) = self.authenticator.refusals.admit(Millis::of(response.now())) {
            let place = &self.authentication.place;
            let mut client = Vec::new();
            crate::request::ip_text::append(
                response.request.client.address.map(|client| client.ip()),
                &mut client,
            );
            tracing::warn!("{place}: refused {}, {reason}{suppressed}", String::from_utf8_lossy(&client));
        }
    }

    /// Logs that no request can be let pass, once in a second.
    pub(super) fn fail(self, response: &ResponseWriter<'_, '_>, fault: &dyn Display) {
        if let Some(suppressed) = self.authenticator.failures.admit(Millis::of(response.now())) {
            tracing::error!(
                "{}: no client can be authenticated: {fault}{suppressed}",
                self.authentication.place
            );
        }
    }
}
