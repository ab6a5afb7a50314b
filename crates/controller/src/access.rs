//! Access to the control API: what a request may do, by the token or session that it shows and the socket that it came
//! by; nothing for web pages of others.
//!
//! A browser shows its session's cookie by itself, whatever page has it do so. So the rules of `browsers` hold for each
//! request with the cookie, and one that is not GET or HEAD has to say that a page of the API's own origin sent it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use corral_config::control_service::shown_token;
use corral_config::json::edit;
use corral_ipc::message::ControlToken;
use hyper::header::{AUTHORIZATION, HeaderName};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::access_level::AccessLevel;
use crate::browsers::{self, BrowserGuard};
use crate::dashboard::session_cookie::SessionCookie;
use crate::dashboard::sessions::{SessionHandle, Sessions};
use crate::endpoints::{Endpoint, Need};
use crate::permission::{Permission, TokenLife};
use crate::reply::ApiReply;
use crate::secrets::{self, Secret};

/// A field that says that a browser is behind the process that asks, on a Unix socket: `corral dashboard` adds it to
/// all that it passes on.
const PASSED_ON: HeaderName = HeaderName::from_static("corral-dashboard");

/// The credentials that requests have to show. Clones share them.
#[derive(Clone)]
pub(crate) struct ControlAccess {
    shared: Arc<AccessState>,
}

struct AccessState {
    token: Option<Secret>,
    read_token: Option<Secret>,
    life: TokenLife,
    /// The API listens on a port: browsers reach it, which no Unix socket has to fear.
    is_port: bool,
    /// Nothing else is answered.
    metrics_alone: bool,
    sessions: Mutex<Sessions>,
    /// Places for clients that have shown a wrong token.
    guesses: Semaphore,
}

/// The reason why a request may do something.
#[derive(Debug, Clone)]
pub(crate) enum Credential {
    /// The socket asks for nothing, or nothing was shown.
    Open,
    Token,
    ReadToken,
    Session(SessionHandle),
}

/// The decision about one request.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) level: AccessLevel,
    pub(crate) credential: Credential,
    /// For how long.
    pub(crate) permission: Permission,
    /// The cookie that a session of this client has.
    pub(crate) cookie: SessionCookie,
    /// Fields are there that browsers send, on a socket that browsers reach.
    pub(crate) is_from_browser: bool,
    /// The process that asks has passed on what a browser sends.
    pub(crate) is_passed_on: bool,
    /// A page has sent it over TLS.
    pub(crate) is_over_tls: bool,
}

impl AccessState {
    /// The state of a Unix socket with these tokens.
    fn of_tokens(token: Option<ControlToken>, read_token: Option<ControlToken>) -> Self {
        let secret = |token: Option<ControlToken>| token.map(|ControlToken(text)| Secret::new(text));
        Self {
            token: secret(token),
            read_token: secret(read_token),
            life: TokenLife::default(),
            is_port: false,
            metrics_alone: false,
            sessions: Mutex::default(),
            guesses: Semaphore::new(MOST_GUESSES),
        }
    }
}

impl ControlAccess {
    pub(crate) fn new(token: Option<ControlToken>, read_token: Option<ControlToken>, is_port: bool) -> Self {
        Self::with(AccessState { is_port, ..AccessState::of_tokens(token, read_token) })
    }

    /// For collectors whose requests a router has passed on. What guards metrics there has let them pass.
    pub(crate) fn for_metrics() -> Self {
        Self::with(AccessState { metrics_alone: true, ..AccessState::of_tokens(None, None) })
    }

    fn with(state: AccessState) -> Self {
        Self { shared: Arc::new(state) }
    }

    /// Ends all that was permitted here. Nothing more is.
    pub(crate) fn revoke(&self) {
        self.shared.life.revoke();
    }

    /// The decision about a request, or the answer to one that may not be made.
    pub(crate) fn admit(&self, head: &Parts, now: Instant) -> Result<Grant, Box<ApiReply>> {
        if self.shared.metrics_alone && head.uri.path() != "/metrics" {
            return Err(Box::new(ApiReply::missing()));
        }
        if self.shared.life.is_revoked() {
            return Err(Box::new(ApiReply::too_late()));
        }
        let is_port = self.shared.is_port;
        let is_passed_on = !is_port && head.headers.contains_key(PASSED_ON);
        let is_browsed = is_port || is_passed_on;
        let cookie = SessionCookie::of(&head.headers);
        let session = cookie.shown(&head.headers);
        if (is_browsed || session.is_some())
            && let Some(refusal) = browsers::refusal(head, self.guard(is_passed_on))
        {
            return Err(Box::new(refusal));
        }
        let (level, credential) = self.level(&head.headers, session.flatten(), is_passed_on, now);
        let need = need(head);
        if need != Need::Nothing {
            permit(head, need, level, &credential)?;
        }
        let session = match &credential {
            Credential::Session(session) => Some(session.clone()),
            _ => None,
        };
        Ok(Grant {
            level,
            permission: Permission::new(session, self.shared.life.clone()),
            credential,
            cookie,
            is_from_browser: is_browsed && browsers::is_from_browser(&head.headers),
            is_passed_on,
            is_over_tls: browsers::is_over_tls(&head.headers),
        })
    }

    fn guard(&self, is_passed_on: bool) -> BrowserGuard {
        match &self.shared.token {
            _ if is_passed_on => BrowserGuard::Session,
            None if self.shared.is_port => BrowserGuard::Nothing,
            _ => BrowserGuard::Token,
        }
    }

    /// A token that is shown decides alone, right or wrong; then a session; then the socket.
    fn level(
        &self,
        fields: &HeaderMap,
        session: Option<&[u8]>,
        is_passed_on: bool,
        now: Instant,
    ) -> (AccessLevel, Credential) {
        let is_guarded = self.shared.token.is_some() || is_passed_on;
        if is_guarded && fields.contains_key(AUTHORIZATION) {
            return match bearer(fields).and_then(|shown| self.control_token(shown)) {
                Some(AccessLevel::Full) => (AccessLevel::Full, Credential::Token),
                Some(level) => (level, Credential::ReadToken),
                None => (AccessLevel::None, Credential::Open),
            };
        }
        if (is_guarded || self.shared.is_port)
            && let Some(session) = session.and_then(|shown| self.sessions().find(shown, now))
        {
            return (session.level, Credential::Session(session));
        }
        (if is_guarded { AccessLevel::None } else { AccessLevel::Full }, Credential::Open)
    }

    /// The level of the control token, or of that for reading.
    fn control_token(&self, shown: &[u8]) -> Option<AccessLevel> {
        let is = |secret: &Option<Secret>| secret.as_ref().is_some_and(|secret| secret.is(shown));
        match (is(&self.shared.token), is(&self.shared.read_token)) {
            (true, _) => Some(AccessLevel::Full),
            (false, true) => Some(AccessLevel::Read),
            (false, false) => None,
        }
    }

    /// The level of a token that begins a session, and its owner if it works once: it is used up then.
    pub(crate) fn redeem(&self, shown: &[u8], now: Instant) -> Option<(AccessLevel, Option<Arc<str>>)> {
        let once = self.sessions().redeem(shown, now).map(|(level, owner)| (level, Some(owner)));
        once.or_else(|| self.control_token(shown).map(|level| (level, None)))
    }

    /// Begins a session; its secret, unless there are too many.
    pub(crate) fn begin_session(&self, level: AccessLevel, owner: Arc<str>, now: Instant) -> Option<String> {
        let secret = secrets::random();
        self.sessions().begin(Secret::new(secret.clone()), level, owner, now).then_some(secret)
    }

    pub(crate) fn end_session(&self, session: &SessionHandle) {
        self.sessions().end(session);
    }

    /// A token that begins one session.
    pub(crate) fn issue(&self, level: AccessLevel, owner: Arc<str>, now: Instant) -> String {
        let secret = secrets::random();
        self.sessions().issue(Secret::new(secret.clone()), level, owner, now);
        secret
    }

    /// A place to find out whether a token is right; none while too many were wrong.
    pub(crate) fn place_for_guess(&self) -> Option<SemaphorePermit<'_>> {
        self.shared.guesses.try_acquire().ok()
    }

    /// Nothing can panic half-way through a change of them.
    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.shared.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Clients that may be waiting because their token was wrong.
const MOST_GUESSES: usize = 32;

/// Whether a request may be made that needs this.
fn permit(
    head: &Parts,
    need: Need,
    level: AccessLevel,
    credential: &Credential,
) -> Result<(), Box<ApiReply>> {
    let refuse = |status, title, detail| Err(Box::new(ApiReply::error_with_detail(status, title, detail)));
    let forbid = |detail| refuse(StatusCode::FORBIDDEN, "Forbidden.", detail);
    match (need, level) {
        (_, AccessLevel::None) => {
            let detail = "Send the control token: \"Authorization: Bearer TOKEN\". A browser begins a session with the \
                link that `corral dashboard` prints.";
            refuse(StatusCode::UNAUTHORIZED, "Unauthorized.", detail)
        }
        (Need::Full, AccessLevel::Read) => forbid(
            "The token or session is for reading: it may see everything and change nothing. Changes take the token of \
             \"--control-token-file\".",
        ),
        // A browser sends the cookie by itself: something has to say that a page of this origin wants it.
        _ if matches!(credential, Credential::Session(_))
            && !is_safe(head)
            && !browsers::is_of_own_page(&head.headers) =>
        {
            forbid(
                "With the cookie of a session, a change needs the header \"Origin\", or \"Sec-Fetch-Site: \
                 same-origin\", as browsers send them.",
            )
        }
        _ => Ok(()),
    }
}

fn is_safe(head: &Parts) -> bool {
    matches!(head.method, Method::GET | Method::HEAD)
}

/// The access that a request needs; a path that there is not is told to all that may read.
fn need(head: &Parts) -> Need {
    let target = head.uri.path_and_query().map_or("", |target| target.as_str());
    let segments = edit::segments(target.as_bytes()).unwrap_or_default();
    match Endpoint::find(&segments) {
        Some((endpoint, _)) => endpoint.need(&head.method),
        None if is_safe(head) => Need::Read,
        None => Need::Full,
    }
}

/// The token that the fields hold (RFC 6750, section 2.1); none where there are several.
fn bearer(fields: &HeaderMap) -> Option<&[u8]> {
    let mut values = fields.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    shown_token(value.as_bytes())
}

#[cfg(test)]
mod tests;
