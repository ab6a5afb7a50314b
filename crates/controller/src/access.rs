//! Access to the control API: what a request may do, by the token that it shows and the socket that it came by; nothing
//! for web pages of others.

use corral_config::json::edit;
use corral_ipc::message::ControlToken;
use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode};

use crate::browsers::{self, BrowserGuard};
use crate::endpoints::{Endpoint, Need};
use crate::reply::ApiReply;
use crate::secrets::Secret;

/// The credentials that requests have to show. Clones share them.
#[derive(Clone)]
pub(crate) struct ControlAccess {
    token: Option<Secret>,
    read_token: Option<Secret>,
    /// The API listens on a port: browsers reach it, which no Unix socket has to fear.
    is_port: bool,
}

/// How much a request may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AccessLevel {
    None,
    /// It may see everything and change nothing.
    Read,
    Full,
}

/// The reason why a request may do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credential {
    /// The socket asks for nothing.
    Open,
    Token,
    ReadToken,
}

/// The decision about one request.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) level: AccessLevel,
    pub(crate) credential: Credential,
    /// Fields are there that browsers send, on a socket that browsers reach.
    pub(crate) is_from_browser: bool,
}

impl ControlAccess {
    pub(crate) fn new(token: Option<ControlToken>, read_token: Option<ControlToken>, is_port: bool) -> Self {
        let secret = |token: Option<ControlToken>| token.map(|ControlToken(text)| Secret::new(text));
        Self { token: secret(token), read_token: secret(read_token), is_port }
    }

    /// What the request may do, or the answer to one that may not be made.
    pub(crate) fn admit(&self, head: &Parts) -> Result<Grant, ApiReply> {
        let guard = if self.token.is_some() { BrowserGuard::Token } else { BrowserGuard::Nothing };
        if self.is_port
            && let Some(refusal) = browsers::refusal(head, guard)
        {
            return Err(refusal);
        }
        let (level, credential) = self.level(&head.headers);
        match need(head) {
            Need::Read | Need::Full if level == AccessLevel::None => {
                let detail = "Send the control token: \"Authorization: Bearer TOKEN\".";
                Err(ApiReply::error_with_detail(StatusCode::UNAUTHORIZED, "Unauthorized.", detail))
            }
            Need::Full if level == AccessLevel::Read => {
                let detail = "The token is for reading: it may see everything and change nothing. Changes take the \
                    token of \"--control-token-file\".";
                Err(ApiReply::error_with_detail(StatusCode::FORBIDDEN, "Forbidden.", detail))
            }
            Need::Read | Need::Full => {
                let is_from_browser = self.is_port && browsers::is_from_browser(&head.headers);
                Ok(Grant { level, credential, is_from_browser })
            }
        }
    }

    fn level(&self, fields: &HeaderMap) -> (AccessLevel, Credential) {
        let Some(token) = &self.token else { return (AccessLevel::Full, Credential::Open) };
        let shown = bearer(fields);
        let is = |secret: &Secret| shown.is_some_and(|shown| secret.is(shown));
        if is(token) {
            (AccessLevel::Full, Credential::Token)
        } else if self.read_token.as_ref().is_some_and(is) {
            (AccessLevel::Read, Credential::ReadToken)
        } else {
            (AccessLevel::None, Credential::Open)
        }
    }
}

/// The access that a request needs; a path that there is not is told to all that may read.
fn need(head: &Parts) -> Need {
    let reads = matches!(head.method, Method::GET | Method::HEAD);
    let target = head.uri.path_and_query().map_or("", |target| target.as_str());
    let segments = edit::segments(target.as_bytes()).unwrap_or_default();
    match Endpoint::find(&segments) {
        Some((endpoint, _)) => endpoint.need(&head.method),
        None if reads => Need::Read,
        None => Need::Full,
    }
}

/// The token that the fields hold (RFC 6750, section 2.1); none where there are several.
fn bearer(fields: &HeaderMap) -> Option<&[u8]> {
    let mut values = fields.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (scheme, shown) = split_at_blank(value.as_bytes())?;
    scheme.eq_ignore_ascii_case(b"bearer").then_some(shown)
}

fn split_at_blank(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let place = text.iter().position(|&byte| byte == b' ')?;
    Some((&text[..place], text[place..].trim_ascii()))
}

#[cfg(test)]
mod tests;
