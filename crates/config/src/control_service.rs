//! Services of the control process that clients reach by way of the router.

use std::fmt;

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

/// A service of the control process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ControlService {
    /// `GET /metrics`, and nothing else.
    Metrics,
    /// The whole control API with its dashboard, for people who have signed in and programs that show a token.
    Dashboard,
}

/// How a request comes to such a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlDestination {
    /// By an action of a route, which guards it: the metrics, whatever the path is.
    Metrics,
    /// By the listener of `settings.metrics`: the metrics at `/metrics`, for clients that show the token.
    MetricsListener,
    /// By the listener of `settings.dashboard`.
    Dashboard,
}

impl ControlDestination {
    /// The service itself.
    #[must_use]
    pub fn service(self) -> ControlService {
        match self {
            Self::Metrics | Self::MetricsListener => ControlService::Metrics,
            Self::Dashboard => ControlService::Dashboard,
        }
    }
}

/// A secret that clients show as `Authorization: Bearer TOKEN` (RFC 6750, section 2.1). Never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken(String);

impl BearerToken {
    /// The fewest bytes that are taken for a secret.
    pub const LEAST: usize = 16;

    /// A token of printable ASCII without blanks, long enough not to be guessed.
    #[must_use]
    pub fn new(text: &[u8]) -> Option<Self> {
        let is_sound = text.len() >= Self::LEAST && text.iter().all(u8::is_ascii_graphic);
        is_sound.then(|| Self(String::from_utf8_lossy(text).into_owned()))
    }

    /// The text itself, for the process that checks it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether a value of `Authorization` shows it. Takes equally long for all values of one length, so that time does
    /// not tell how much is right.
    #[must_use]
    pub fn is_shown_by(&self, authorization: &[u8]) -> bool {
        shown_token(authorization).is_some_and(|shown| shown.ct_eq(self.0.as_bytes()).into())
    }
}

/// The token that a value of `Authorization` shows.
#[must_use]
pub fn shown_token(authorization: &[u8]) -> Option<&[u8]> {
    let (scheme, shown) = authorization.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then_some(shown.trim_ascii())
}

const SCHEME: &[u8] = b"Bearer ";

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &[u8] = b"0123456789abcdef";

    #[track_caller]
    fn check(authorization: &str, expect: bool) {
        let token = BearerToken::new(TOKEN).unwrap();
        assert_eq!(token.is_shown_by(authorization.as_bytes()), expect, "{authorization}");
    }

    #[test]
    fn only_the_token_is_shown() {
        check("Bearer 0123456789abcdef", true);
        check("bearer   0123456789abcdef ", true);
        check("Bearer 0123456789abcde", false);
        check("Bearer 0123456789abcdeff", false);
        check("Bearer 0123456789abcdeF", false);
        check("Basic  0123456789abcdef", false);
        check("0123456789abcdef", false);
        check("Bearer", false);
        check("Bearer ", false);
        check("", false);
    }

    #[test]
    fn a_token_is_long_and_plain() {
        let is_one = |text: &[u8]| BearerToken::new(text).is_some();
        assert!(is_one(TOKEN) && !is_one(&TOKEN[1..]) && !is_one(b""));
        assert!(!is_one(b"0123456789abcdef with blanks") && !is_one("0123456789abcdefß".as_bytes()));
        assert!(!format!("{:?}", BearerToken::new(TOKEN)).contains("0123"));
    }
}
