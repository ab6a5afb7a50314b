//! Access by the listener of `settings.dashboard`, as the configuration in force wants it. Sessions last until a token
//! changes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use corral_config::json::Value;
use corral_ipc::message::ControlToken;

use crate::access::ControlAccess;

/// The access of now, if there is such a listener.
#[derive(Default)]
pub(crate) struct ListenerAccess {
    current: Mutex<Option<(DashboardTokens, ControlAccess)>>,
}

/// The tokens of a configuration.
#[derive(Clone, PartialEq, Eq)]
struct DashboardTokens {
    full: ControlToken,
    read: Option<ControlToken>,
}

impl ListenerAccess {
    /// Obeys a configuration from now on. Other tokens end all that those before have permitted.
    pub(crate) fn obey(&self, document: &Value) {
        let wanted = DashboardTokens::of(document);
        let mut current = self.lock();
        if current.as_ref().map(|(tokens, _)| tokens) == wanted.as_ref() {
            return;
        }
        if let Some((_, access)) = current.take() {
            access.revoke();
        }
        *current = wanted.map(|tokens| {
            let DashboardTokens { full, read } = tokens.clone();
            (tokens, ControlAccess::new(Some(full), read, true))
        });
    }

    pub(crate) fn current(&self) -> Option<ControlAccess> {
        self.lock().as_ref().map(|(_, access)| access.clone())
    }

    /// Nothing can panic while the lock is held.
    fn lock(&self) -> MutexGuard<'_, Option<(DashboardTokens, ControlAccess)>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DashboardTokens {
    fn of(document: &Value) -> Option<Self> {
        let dashboard = document.member("settings")?.member("dashboard")?;
        let token = |name| {
            let text = dashboard.member(name)?.as_bytes()?.to_str()?;
            Some(ControlToken(text.to_owned()))
        };
        Some(Self { full: token("token")?, read: token("read_token") })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use corral_config::json;
    use hyper::Request;
    use hyper::http::request::Parts;

    use super::*;
    use crate::access_level::AccessLevel;

    const FIRST: &str = r#"{"token": "a", "read_token": "r"}"#;

    fn obey(listener: &ListenerAccess, dashboard: &str) {
        let document = format!(r#"{{"settings": {{"dashboard": {dashboard}}}}}"#);
        listener.obey(&json::parse(document.as_bytes()).unwrap());
    }

    fn showing(name: &str, value: &str) -> Parts {
        let request = Request::builder().uri("/events").header("Host", "a:80").header(name, value);
        request.body(()).unwrap().into_parts().0
    }

    /// Whether a token permits to look.
    fn admits(listener: &ListenerAccess, token: &str) -> bool {
        let head = showing("Authorization", &format!("Bearer {token}"));
        listener.current().is_some_and(|access| access.admit(&head, Instant::now()).is_ok())
    }

    #[test]
    fn tokens_are_those_of_the_configuration() {
        let listener = ListenerAccess::default();
        assert!(listener.current().is_none());
        obey(&listener, r#"{"token": "a", "read_token": "b"}"#);
        assert!(admits(&listener, "a") && admits(&listener, "b") && !admits(&listener, "c"));
        obey(&listener, r#"{"token": "a"}"#);
        assert!(admits(&listener, "a") && !admits(&listener, "b"));
        for none in ["{}", "[]", r#"{"token": 1}"#] {
            obey(&listener, none);
            assert!(listener.current().is_none(), "{none}");
        }
    }

    /// The changes of a configuration with the token `a`, and whether what that has permitted goes on.
    #[track_caller]
    fn check(changes: &[&str], goes_on: bool) {
        let (listener, now) = (ListenerAccess::default(), Instant::now());
        obey(&listener, FIRST);
        let access = listener.current().unwrap();
        let session = access.begin_session(AccessLevel::Full, "me".into(), now).unwrap();
        let cookie = showing("Cookie", &format!("corral_session_80={session}"));
        let shown = [showing("Authorization", "Bearer a"), showing("Authorization", "Bearer r"), cookie];
        let streams = shown.clone().map(|head| access.admit(&head, now).unwrap().permission);
        changes.iter().for_each(|dashboard| obey(&listener, dashboard));
        assert!(streams.iter().all(|stream| stream.is_alive(now) == goes_on), "{changes:?}");
        for head in &shown {
            assert_eq!(access.admit(head, now).is_ok(), goes_on, "{changes:?}");
        }
        let found = listener.current().is_some_and(|access| access.admit(&shown[2], now).is_ok());
        assert_eq!(found, goes_on, "{changes:?}");
    }

    #[test]
    fn other_tokens_end_what_was_permitted() {
        check(&[r#"{"read_token": "r", "listen": "*:1", "token": "a"}"#, FIRST], true);
        check(&[r#"{"token": "b", "read_token": "r"}"#], false);
        check(&[r#"{"token": "a", "read_token": "s"}"#], false);
        check(&[r#"{"token": "a"}"#], false);
        check(&["{}"], false);
        // There and back, without a request between.
        check(&[r#"{"token": "b"}"#, FIRST], false);
        check(&["{}", FIRST], false);
    }
}
