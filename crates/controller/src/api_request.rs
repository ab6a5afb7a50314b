//! One request to the control API.

use hyper::Method;

use crate::access::{Credential, Grant};
use crate::caller::Caller;
use crate::conditions::Conditions;

/// One request, as the server has read it.
#[derive(Debug)]
pub(crate) struct ApiRequest<'a> {
    pub(crate) method: &'a Method,
    /// Path and query as they stand in the request line.
    pub(crate) target: &'a str,
    pub(crate) conditions: Conditions,
    /// The values of `Accept`, with commas between them.
    pub(crate) accept: &'a str,
    pub(crate) body: &'a [u8],
    pub(crate) caller: Caller,
    pub(crate) grant: &'a Grant,
}

impl ApiRequest<'_> {
    /// Words for the side that asks, for the history and the log.
    pub(crate) async fn author(&self) -> String {
        let name = self.caller.name().await;
        match (&self.grant.credential, self.caller) {
            (_, Caller::Socket { .. }) => format!("{name}, by the control socket"),
            (Credential::Open, Caller::Port(_)) => format!("from {name}, by the control port"),
            (Credential::Token | Credential::ReadToken, Caller::Port(_)) => {
                format!("by the control token from {name}")
            }
        }
    }
}
