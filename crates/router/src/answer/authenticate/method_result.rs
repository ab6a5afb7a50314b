//! The word of one method on a request, and the credentials that it goes by.

use crate::exchange::request::RoutedRequest;
use crate::request::head::ReceivedRequest;
use crate::request::identity::AuthenticatedUser;
use crate::request::routing::PermittedRequest;

/// The word of one method.
pub(super) enum MethodResult<'c> {
    Passed(PermittedRequest<'c>),
    /// The request has nothing that this method could go by. The field asks for it, where there is one to ask by.
    Lacking(Option<String>),
    /// The request has something, but it is not enough.
    Refused(RefusedCredentials),
    /// The method failed: neither this request nor others can be let pass by any method.
    Unknown(u16),
    /// The client has its answer.
    Answered,
}

impl MethodResult<'_> {
    /// The client is this user.
    pub(super) fn known(user: AuthenticatedUser) -> Self {
        Self::Passed(PermittedRequest { user, changes: Vec::new() })
    }
}

/// Credentials that are not enough.
pub(super) struct RefusedCredentials {
    /// 401 where others may do, 403 where the client is known.
    pub(super) status: u16,
    /// `WWW-Authenticate`.
    pub(super) challenge: Option<String>,
    /// For the log, without the credentials.
    pub(super) reason: String,
}

/// The value of `Authorization`, if there is one, and just one.
pub(super) fn authorization<'t>(request: &RoutedRequest<'t>) -> Option<&'t [u8]> {
    let ReceivedRequest { head, bytes, .. } = request.received;
    let mut fields = head.fields(bytes);
    let mut values = std::iter::from_fn(|| {
        fields.find(|(name, _)| name.eq_ignore_ascii_case(b"authorization")).map(|(_, value)| value)
    });
    let value = values.next()?;
    values.next().is_none().then_some(value)
}
