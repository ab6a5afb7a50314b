//! One request to the control API.

use std::sync::Arc;

use corral_http::encoding::Accepted;
use hyper::Method;
use tokio::sync::Notify;

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
    /// The codings of replies that the client takes.
    pub(crate) codings: Accepted,
    pub(crate) body: &'a [u8],
    pub(crate) caller: Caller,
    pub(crate) grant: &'a Grant,
    /// Ends the connection.
    pub(crate) abort: &'a Arc<Notify>,
}

impl ApiRequest<'_> {
    /// The user of the process that asks, unless that passes on what a browser sends.
    pub(crate) fn uid(&self) -> Option<u32> {
        self.caller.uid().filter(|_| !self.grant.is_passed_on)
    }

    /// Words for the side that asks, for the history and the log.
    pub(crate) async fn author(&self) -> String {
        let name = self.caller.name().await;
        match (&self.grant.credential, self.caller) {
            (Credential::Session(session), _) => format!("{}, by the dashboard", session.owner),
            (_, Caller::Socket { .. }) => format!("{name}, by the control socket"),
            (Credential::Open, Caller::Port(_)) => format!("from {name}, by the control port"),
            (Credential::Token | Credential::ReadToken, Caller::Port(_)) => {
                format!("by the control token from {name}")
            }
        }
    }

    /// Words for the owner of a session that this request is for.
    pub(crate) async fn owner(&self) -> String {
        match &self.grant.credential {
            Credential::Open => self.caller.name().await,
            Credential::Session(session) => session.owner.to_string(),
            Credential::Token | Credential::ReadToken => self.owner_with_token().await,
        }
    }

    /// The same of one that has shown a control token.
    pub(crate) async fn owner_with_token(&self) -> String {
        let name = self.caller.name().await;
        match self.caller {
            Caller::Socket { .. } => name,
            Caller::Port(_) => format!("the control token from {name}"),
        }
    }
}
