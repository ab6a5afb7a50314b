//! Reasons why there is no certificate: in words with what to do, and the names that have to wait for that.

use std::time::SystemTime;

use instant_acme::{Error, Problem};

use crate::client::{self, AwayError};
use crate::dns::DnsError;
use crate::issued_certificate::CertificateError;

/// An order that failed, or was interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The reason, and what to do.
    pub(crate) words: String,
    pub(crate) blame: Blame,
    /// When the authority wants to be asked again.
    pub(crate) retry_at: Option<SystemTime>,
}

/// The side that a failure belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blame {
    /// The name's: others may do better. The order has come to nothing.
    Name,
    /// The name's, and the order goes on at the next try.
    Slowness,
    /// The authority's, or the account's: no name can get a certificate from it. The order goes on.
    Authority,
    /// The authority has given out enough for now.
    RateLimit,
    /// The authority does not know the account: another one is made.
    LostAccount,
    /// The authority does not take a certificate as replaced by the order: it is asked for without.
    Replacement,
}

/// The step at which a failure happened, because the same error means something else in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailedStep {
    /// Finding the account, or making one.
    Account,
    /// Making an order.
    NewOrder,
    /// Everything after that.
    Order,
}

impl Failure {
    /// One that is the name's own.
    pub(crate) fn of_name(words: impl Into<String>) -> Self {
        Self { words: words.into(), blame: Blame::Name, retry_at: None }
    }

    /// One after which the same order is taken up again.
    pub(crate) fn slow(words: impl Into<String>) -> Self {
        Self { words: words.into(), blame: Blame::Slowness, retry_at: None }
    }

    /// A record that could not be kept.
    pub(crate) fn not_stored(error: &str) -> Self {
        Self::slow(format!("the state directory cannot be written: {error}"))
    }

    /// An error of instant-acme, which is mostly an answer of the authority. Must be called in the task that has asked
    /// it.
    pub(crate) fn of_error(step: FailedStep, error: &Error) -> Self {
        match error {
            Error::Api(problem) => Self::of_problem(step, problem),
            Error::Timeout(_) => {
                Self::slow("the authority has not finished in time; the order is looked at again later")
            }
            Error::Other(other) => match other.downcast_ref::<AwayError>() {
                Some(away) => Self::away(away),
                None if step == FailedStep::NewOrder => {
                    Self { words: error.to_string(), blame: Blame::Replacement, retry_at: None }
                }
                None => Self::odd(error),
            },
            Error::Unsupported(_) if step == FailedStep::NewOrder => {
                Self { words: error.to_string(), blame: Blame::Replacement, retry_at: None }
            }
            error => Self::odd(error),
        }
    }

    /// No answer of an authority.
    pub(crate) fn away(error: &AwayError) -> Self {
        let advice = match error {
            AwayError::NotTrusted { .. } => {
                "; an authority of your own is named in \"ca\", and this machine's clock must be right"
            }
            AwayError::Unreachable { .. } | AwayError::Slow { .. } => {
                "; look at \"directory\", at this machine's DNS and firewall, and at the authority's status page"
            }
            AwayError::Status { .. } | AwayError::Body { .. } => {
                "; look at \"directory\" and at the authority's status page"
            }
            AwayError::NoRoots | AwayError::EmptyBundle(_) | AwayError::Tls(_) => "",
        };
        let words = match error {
            AwayError::Tls(cause) => format!("{error}: {cause}"),
            _ => format!("{error}{advice}"),
        };
        Self { words, blame: Blame::Authority, retry_at: client::retry_at() }
    }

    /// A problem document (RFC 8555 section 6.7).
    pub(crate) fn of_problem(step: FailedStep, problem: &Problem) -> Self {
        let kind = kind(problem);
        let is_fault_of_server = problem.status.is_some_and(|status| status >= 500);
        let blame = match (kind, step) {
            ("rateLimited", _) => Blame::RateLimit,
            ("accountDoesNotExist", _) | ("unauthorized", FailedStep::NewOrder) => Blame::LostAccount,
            ("alreadyReplaced", _) => Blame::Replacement,
            ("serverInternal" | "badNonce", _) | (_, FailedStep::Account) => Blame::Authority,
            _ if is_fault_of_server => Blame::Authority,
            _ => Blame::Name,
        };
        let words = match step {
            FailedStep::Account if !SAID_OF_ACCOUNTS.contains(&kind) => {
                let detail = detail(problem);
                let detail = detail.trim_end_matches('.');
                format!("the authority refuses the account: {detail}; look at \"eab\" and \"email\"")
            }
            _ => words(kind, problem),
        };
        Self { words, blame, retry_at: client::retry_at() }
    }

    /// An answer that is none of RFC 8555.
    fn odd(error: &Error) -> Self {
        let words = format!("the authority sent an unexpected answer: {error}; look at \"directory\"");
        Self { words, blame: Blame::Authority, retry_at: client::retry_at() }
    }
}

impl From<DnsError> for Failure {
    fn from(error: DnsError) -> Self {
        Self::of_name(error.words())
    }
}

impl From<CertificateError> for Failure {
    fn from(error: CertificateError) -> Self {
        Self::of_name(error.to_string())
    }
}

/// Whether the request may simply be sent again: a nonce that the authority does not take says nothing about it.
pub(crate) fn is_bad_nonce(error: &Error) -> bool {
    matches!(error, Error::Api(problem) if kind(problem) == "badNonce")
}

/// Whether the authority does not know an order any more, or not as one of this account's.
pub(crate) fn is_lost_order(error: &Error) -> bool {
    let Error::Api(problem) = error else { return false };
    let is_gone = problem.status.is_some_and(|status| matches!(status, 400 | 403 | 404 | 410));
    is_gone && !matches!(kind(problem), "accountDoesNotExist" | "badNonce" | "rateLimited")
}

/// The last part of the problem's type.
fn kind(problem: &Problem) -> &str {
    let kind = problem.r#type.as_deref().unwrap_or_default();
    kind.rsplit(':').next().unwrap_or_default()
}

/// The kind of the problem, the authority's own words, and what to do.
fn words(kind: &str, problem: &Problem) -> String {
    let detail = detail(problem);
    let detail = detail.trim_end_matches('.');
    match PROBLEMS.iter().find(|(known, ..)| *known == kind) {
        Some((_, what, "")) => format!("{what}: {detail}"),
        Some((_, what, advice)) => format!("{what}: {detail}; {advice}"),
        None if kind.is_empty() => format!("the authority refuses: {detail}"),
        None => format!("the authority refuses ({kind}): {detail}"),
    }
}

/// Bounded: it comes from elsewhere, and goes into the log and the status.
fn detail(problem: &Problem) -> String {
    let mut details: Vec<_> = problem.detail.iter().map(String::as_str).collect();
    details.extend(problem.subproblems.iter().filter_map(|sub| sub.detail.as_deref()));
    let all = details.join("; ");
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = all.chars().map(printable).take(LONGEST_DETAIL).collect();
    if text.is_empty() { "no reason is given".to_owned() } else { text }
}

/// Problems whose words fit where an account is made, too.
const SAID_OF_ACCOUNTS: &[&str] = &[
    "externalAccountRequired",
    "userActionRequired",
    "invalidContact",
    "unsupportedContact",
    "accountDoesNotExist",
    "rateLimited",
    "serverInternal",
    "badNonce",
];

const LONGEST_DETAIL: usize = 500;

/// Type (RFC 8555 section 6.7, RFC 9773 section 7.4, draft-ietf-acme-profiles), what it is, and what to do.
const PROBLEMS: &[(&str, &str, &str)] = &[
    (
        "dns",
        "the authority cannot look up the name",
        "give the name an A or AAAA record that leads to this server",
    ),
    (
        "connection",
        "the authority cannot connect to the name",
        "open port 80 for http-01 or port 443 for tls-alpn-01 in every firewall, and correct the name's A and AAAA \
        records",
    ),
    (
        "unauthorized",
        "the authority did not get the answer of this server",
        "the name's A and AAAA records must lead to this server alone; a proxy in front must pass on \
        /.well-known/acme-challenge/",
    ),
    (
        "incorrectResponse",
        "the authority got another answer than this server's",
        "the name's A and AAAA records must lead to this server alone",
    ),
    (
        "tls",
        "the authority could not speak TLS with the name",
        "nothing in front of this server may end TLS for tls-alpn-01; \"challenge\": \"http\" is the other way",
    ),
    (
        "caa",
        "a CAA record forbids this authority to issue for the name",
        "add the authority to the CAA records of the domain",
    ),
    ("rateLimited", "the authority has a limit that is reached", "it says when to try again"),
    (
        "rejectedIdentifier",
        "the authority does not issue for this name",
        "only public names get certificates",
    ),
    ("unsupportedIdentifier", "the authority does not issue for such names", ""),
    (
        "externalAccountRequired",
        "the authority wants an account that was made with it",
        "take \"kid\" and \"key\" from its site and write them into \"eab\"",
    ),
    (
        "userActionRequired",
        "the authority wants an action of yours",
        "follow the link, which mostly leads to new terms of service",
    ),
    ("invalidContact", "the authority does not take the address", "correct \"email\""),
    ("unsupportedContact", "the authority does not take such an address", "correct \"email\""),
    ("invalidProfile", "the authority does not have the profile", "correct \"profile\""),
    ("accountDoesNotExist", "the authority does not know the account", "another one is made"),
    ("alreadyReplaced", "the certificate has been replaced already", ""),
    ("badCSR", "the authority does not take the certificate request", ""),
    ("orderNotReady", "the authority is not ready for the request", ""),
    ("serverInternal", "the authority has an error of its own", "look at its status page"),
    ("badNonce", "the authority keeps refusing its own nonces", "look at its status page"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(kind: &str, status: u16) -> Problem {
        Problem {
            r#type: Some(format!("urn:ietf:params:acme:error:{kind}")),
            detail: Some("Something\nis so.".to_owned()),
            status: Some(status),
            subproblems: Vec::new(),
        }
    }

    #[track_caller]
    fn check(kind: &str, status: u16, step: FailedStep, blame: Blame, words: &str) {
        let failure = Failure::of_problem(step, &problem(kind, status));
        assert_eq!(failure.blame, blame);
        assert!(failure.words.contains(words), "{}", failure.words);
    }

    #[test]
    fn problems_are_somebodys_and_say_what_to_do() {
        check(
            "dns",
            400,
            FailedStep::Order,
            Blame::Name,
            "cannot look up the name: Something is so; give the name",
        );
        check("rateLimited", 429, FailedStep::NewOrder, Blame::RateLimit, "a limit that is reached");
        check("accountDoesNotExist", 400, FailedStep::NewOrder, Blame::LostAccount, "");
        check("unauthorized", 403, FailedStep::NewOrder, Blame::LostAccount, "");
        check("unauthorized", 403, FailedStep::Order, Blame::Name, "must lead to this server");
        check("externalAccountRequired", 403, FailedStep::Account, Blame::Authority, "\"eab\"");
        check(
            "malformed",
            400,
            FailedStep::Account,
            Blame::Authority,
            "refuses the account: Something is so; look",
        );
        check("serverInternal", 500, FailedStep::Order, Blame::Authority, "status page");
        check(
            "teapot",
            503,
            FailedStep::Order,
            Blame::Authority,
            "the authority refuses (teapot): Something",
        );
        check("teapot", 418, FailedStep::Order, Blame::Name, "");
    }

    #[test]
    fn a_refused_nonce_is_told_from_other_refusals() {
        assert!(is_bad_nonce(&Error::Api(problem("badNonce", 400))));
        assert!(!is_bad_nonce(&Error::Api(problem("malformed", 400))));
        assert!(is_lost_order(&Error::Api(problem("malformed", 404))));
        assert!(!is_lost_order(&Error::Api(problem("badNonce", 400))));
        assert!(!is_lost_order(&Error::Api(problem("serverInternal", 500))));
    }

    #[test]
    fn details_are_bounded() {
        let long = Problem { detail: Some("x".repeat(10_000)), ..problem("dns", 400) };
        assert!(words("dns", &long).len() < 1000);
        let mute = Problem { detail: None, ..problem("", 400) };
        assert_eq!(words("", &mute), "the authority refuses: no reason is given");
    }
}
