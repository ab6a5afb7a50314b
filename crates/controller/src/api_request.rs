//! One request to the control API.

use hyper::Method;

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
    /// Fields are there that browsers send, on a socket that browsers reach.
    pub(crate) is_from_browser: bool,
    pub(crate) caller: Caller,
    /// Whether the control token was shown.
    pub(crate) has_token: bool,
}

impl ApiRequest<'_> {
    /// Words for the side that asks, for the history and the log.
    pub(crate) async fn author(&self) -> String {
        let name = self.caller.name().await;
        match self.caller {
            Caller::Socket { .. } => format!("{name}, by the control socket"),
            Caller::Port(_) if self.has_token => format!("by the control token from {name}"),
            Caller::Port(_) => format!("from {name}, by the control port"),
        }
    }
}
