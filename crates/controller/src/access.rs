//! Access to the control API: for every client that can connect and shows the token, if there is one; never for web
//! pages.

use std::sync::Arc;

use corral_ipc::message::ControlToken;
use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode};

use crate::browsers::{self, BrowserGuard};
use crate::reply::ApiReply;

/// The credentials that requests have to show. Clones share them.
#[derive(Clone)]
pub(crate) struct ControlAccess {
    token: Option<Token>,
    /// The API listens on a port: browsers reach it, which no Unix socket has to fear.
    is_port: bool,
}

impl ControlAccess {
    pub(crate) fn new(token: Option<ControlToken>, is_port: bool) -> Self {
        Self { token: token.map(|ControlToken(text)| Token(text.into())), is_port }
    }

    /// The answer to a request that may not be made.
    pub(crate) fn refusal(&self, head: &Parts) -> Option<ApiReply> {
        let guard = if self.token.is_some() { BrowserGuard::Token } else { BrowserGuard::Nothing };
        if self.is_port
            && let Some(refusal) = browsers::refusal(head, guard)
        {
            return Some(refusal);
        }
        let admits = self.token.as_ref().is_none_or(|token| token.admits(&head.headers));
        (!admits).then(|| {
            let detail = "Send the control token: \"Authorization: Bearer TOKEN\".";
            ApiReply::error_with_detail(StatusCode::UNAUTHORIZED, "Unauthorized.", detail)
        })
    }

    /// Whether each request has to show the token.
    pub(crate) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether a browser seems to have sent this.
    pub(crate) fn is_from_browser(&self, head: &Parts) -> bool {
        self.is_port && browsers::is_from_browser(&head.headers)
    }
}

/// A secret, as text without blanks.
#[derive(Clone)]
struct Token(Arc<str>);

impl Token {
    /// Whether the fields hold the token (RFC 6750, section 2.1).
    fn admits(&self, fields: &HeaderMap) -> bool {
        let mut values = fields.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return false };
        let Some((scheme, shown)) = split_at_blank(value.as_bytes()) else { return false };
        scheme.eq_ignore_ascii_case(b"bearer") && is_same(shown, self.0.as_bytes())
    }
}

fn split_at_blank(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let place = text.iter().position(|&byte| byte == b' ')?;
    Some((&text[..place], text[place..].trim_ascii()))
}

/// Takes equally long for all texts of one length, so that time does not tell how much is right.
fn is_same(shown: &[u8], token: &[u8]) -> bool {
    let difference = shown.iter().zip(token).fold(0, |difference, (a, b)| difference | (a ^ b));
    std::hint::black_box(difference) == 0 && shown.len() == token.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[&str], admitted: bool) {
        let access = ControlAccess::new(Some(ControlToken("secret".to_owned())), false);
        let mut fields = HeaderMap::new();
        for value in values {
            fields.append(AUTHORIZATION, value.parse().unwrap());
        }
        assert_eq!(access.token.unwrap().admits(&fields), admitted, "{values:?}");
    }

    #[test]
    fn only_the_token_admits() {
        check(&["Bearer secret"], true);
        check(&["bearer  secret "], true);
        check(&[], false);
        check(&["secret"], false);
        check(&["Bearer"], false);
        check(&["Bearer "], false);
        check(&["Bearer secre"], false);
        check(&["Bearer secrets"], false);
        check(&["Bearer Secret"], false);
        check(&["Basic secret"], false);
        check(&["Bearer secret", "Bearer secret"], false);
    }
}
