//! The user of a request, as `authenticate` has found out.

use std::sync::Arc;

use corral_auth::claims::Claims;

/// The user of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct AuthenticatedUser {
    /// Without control characters; empty for a client that may go on without a name.
    user: Vec<u8>,
    /// How it was found out, as CGI has it in `AUTH_TYPE` (RFC 3875 section 4.1.1).
    pub(crate) scheme: &'static [u8],
    /// The claims of the token, if it was one.
    pub(crate) claims: Option<Arc<Claims>>,
}

impl AuthenticatedUser {
    /// The identity of a user; none if the name has control characters, which could break out of a line or a log.
    pub(crate) fn new(user: Vec<u8>, scheme: &'static [u8]) -> Option<Self> {
        let is_sound = !user.iter().any(u8::is_ascii_control);
        is_sound.then_some(Self { user, scheme, claims: None })
    }

    /// The same, known by the claims of a token.
    pub(crate) fn with_claims(self, claims: Claims) -> Self {
        Self { claims: Some(Arc::new(claims)), ..self }
    }

    /// The name of the user, if there is one.
    pub(crate) fn user(&self) -> Option<&[u8]> {
        Some(&*self.user).filter(|user| !user.is_empty())
    }
}
