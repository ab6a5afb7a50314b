//! Sessions of browsers, and the tokens that begin one: each works once, and soon. They live in this process only.
//!
//! Pure: time and secrets come in.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::access_level::AccessLevel;
use crate::secrets::Secret;

/// How long a session lasts, however busy it is.
pub(crate) const LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);

/// How long a token can begin a session.
pub(crate) const TOKEN_LIFETIME: Duration = Duration::from_secs(60);

/// Most sessions at a time.
const MOST_SESSIONS: usize = 100;

/// Most tokens that wait to be used.
const MOST_TOKENS: usize = 100;

/// All that there are.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    /// Oldest first.
    sessions: Vec<BrowserSession>,
    /// Oldest first.
    tokens: Vec<OneTimeToken>,
    last_key: u64,
}

#[derive(Debug)]
struct BrowserSession {
    secret: Secret,
    shown: SessionHandle,
    /// Dropped with the session.
    _life: Arc<()>,
}

#[derive(Debug)]
struct OneTimeToken {
    secret: Secret,
    level: AccessLevel,
    owner: Arc<str>,
    ends: Instant,
}

/// A session as a request knows it.
#[derive(Debug, Clone)]
pub(crate) struct SessionHandle {
    key: u64,
    pub(crate) level: AccessLevel,
    /// Words for the side that has begun it.
    pub(crate) owner: Arc<str>,
    ends: Instant,
    life: Weak<()>,
}

impl SessionHandle {
    /// Whether the session is still there.
    pub(crate) fn is_alive(&self, now: Instant) -> bool {
        now < self.ends && self.life.strong_count() > 0
    }
}

impl Sessions {
    /// Adds a session with a new secret. Where there are too many, the oldest one ends, first of those for reading: a
    /// token for reading must not end a session that may do more. False if it could only end such a one.
    pub(crate) fn begin(
        &mut self,
        secret: Secret,
        level: AccessLevel,
        owner: Arc<str>,
        now: Instant,
    ) -> bool {
        self.forget_old(now);
        if self.sessions.len() == MOST_SESSIONS {
            let least = self.sessions.iter().map(|session| session.shown.level).min();
            let place = self.sessions.iter().position(|session| Some(session.shown.level) == least);
            let Some(place) = place.filter(|_| least <= Some(level)) else { return false };
            self.sessions.remove(place);
        }
        self.last_key += 1;
        let life = Arc::new(());
        let shown = SessionHandle {
            key: self.last_key,
            level,
            owner,
            ends: now + LIFETIME,
            life: Arc::downgrade(&life),
        };
        self.sessions.push(BrowserSession { secret, shown, _life: life });
        true
    }

    /// The session with this secret. All are compared, so that time does not tell which is nearest.
    pub(crate) fn find(&mut self, shown: &[u8], now: Instant) -> Option<SessionHandle> {
        self.forget_old(now);
        let found: Vec<_> = self.sessions.iter().filter(|session| session.secret.is(shown)).collect();
        found.last().map(|session| session.shown.clone())
    }

    pub(crate) fn end(&mut self, session: &SessionHandle) {
        self.sessions.retain(|other| other.shown.key != session.key);
    }

    /// Adds a token, in the place of the oldest one where there are too many.
    pub(crate) fn issue(&mut self, secret: Secret, level: AccessLevel, owner: Arc<str>, now: Instant) {
        self.forget_old(now);
        if self.tokens.len() == MOST_TOKENS {
            self.tokens.remove(0);
        }
        self.tokens.push(OneTimeToken { secret, level, owner, ends: now + TOKEN_LIFETIME });
    }

    /// Takes the token with this secret out: its level and its owner.
    pub(crate) fn redeem(&mut self, shown: &[u8], now: Instant) -> Option<(AccessLevel, Arc<str>)> {
        self.forget_old(now);
        let matching: Vec<_> = self.tokens.iter().map(|token| token.secret.is(shown)).collect();
        let place = matching.iter().position(|matches| *matches)?;
        let OneTimeToken { level, owner, .. } = self.tokens.remove(place);
        Some((level, owner))
    }

    fn forget_old(&mut self, now: Instant) {
        self.sessions.retain(|session| now < session.shown.ends);
        self.tokens.retain(|token| now < token.ends);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn secret(text: &str) -> Secret {
        Secret::new(text.to_owned())
    }

    fn begin(sessions: &mut Sessions, text: &str, level: AccessLevel, now: Instant) -> bool {
        sessions.begin(secret(text), level, "root".into(), now)
    }

    #[test]
    fn a_session_is_found_until_it_ends() {
        let (mut sessions, now) = (Sessions::default(), Instant::now());
        assert!(begin(&mut sessions, "one", AccessLevel::Full, now));
        assert!(begin(&mut sessions, "two", AccessLevel::Read, now));
        let one = sessions.find(b"one", now).unwrap();
        assert_eq!((one.level, &*one.owner), (AccessLevel::Full, "root"));
        assert_eq!(sessions.find(b"two", now).unwrap().level, AccessLevel::Read);
        for wrong in [&b"on"[..], b"", b"ones", b"One"] {
            assert!(sessions.find(wrong, now).is_none());
        }
        assert!(one.is_alive(now));
        sessions.end(&one);
        assert!(sessions.find(b"one", now).is_none() && !one.is_alive(now));
        let two = sessions.find(b"two", now + LIFETIME - SECOND).unwrap();
        assert!(sessions.find(b"two", now + LIFETIME).is_none() && !two.is_alive(now));
    }

    #[test]
    fn a_token_works_once_and_soon() {
        let (mut sessions, now) = (Sessions::default(), Instant::now());
        for text in ["one", "two", "three"] {
            sessions.issue(secret(text), AccessLevel::Read, text.into(), now);
        }
        assert!(sessions.redeem(b"on", now).is_none());
        assert_eq!(sessions.redeem(b"one", now), Some((AccessLevel::Read, "one".into())));
        assert_eq!(sessions.redeem(b"one", now), None, "replayed");
        assert!(sessions.find(b"two", now).is_none(), "a token is not a session");
        assert!(sessions.redeem(b"two", now + TOKEN_LIFETIME - SECOND).is_some());
        assert!(sessions.redeem(b"three", now + TOKEN_LIFETIME).is_none());
    }

    #[test]
    fn there_are_a_hundred_of_each_at_most() {
        let (mut sessions, now) = (Sessions::default(), Instant::now());
        for n in 0..250 {
            sessions.issue(secret(&format!("{n}")), AccessLevel::Full, "root".into(), now);
        }
        assert_eq!(sessions.tokens.len(), MOST_TOKENS);
        assert!(sessions.redeem(b"149", now).is_none() && sessions.redeem(b"150", now).is_some());
        for n in 0..150 {
            assert!(begin(&mut sessions, &format!("{n}"), AccessLevel::Full, now));
        }
        assert_eq!(sessions.sessions.len(), MOST_SESSIONS);
        assert!(sessions.find(b"49", now).is_none() && sessions.find(b"50", now).is_some());
    }

    #[test]
    fn readers_do_not_end_sessions_that_may_do_more() {
        let (mut sessions, now) = (Sessions::default(), Instant::now());
        for n in 0..MOST_SESSIONS - 1 {
            begin(&mut sessions, &format!("{n}"), AccessLevel::Full, now);
        }
        for n in 0..10 {
            assert!(begin(&mut sessions, &format!("reader {n}"), AccessLevel::Read, now));
        }
        assert!(sessions.find(b"0", now).is_some() && sessions.find(b"reader 8", now).is_none());
        assert!(begin(&mut sessions, "more", AccessLevel::Full, now));
        assert!(sessions.find(b"reader 9", now).is_none() && sessions.find(b"0", now).is_some());
        assert!(!begin(&mut sessions, "reader", AccessLevel::Read, now));
        assert!(begin(&mut sessions, "reader", AccessLevel::Read, now + LIFETIME));
    }

    #[test]
    fn no_secret_is_printed() {
        let mut sessions = Sessions::default();
        begin(&mut sessions, "s3cret", AccessLevel::Full, Instant::now());
        sessions.issue(secret("s3cret"), AccessLevel::Full, "root".into(), Instant::now());
        assert!(!format!("{sessions:?}").contains("s3cret"));
    }
}
