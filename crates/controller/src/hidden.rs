//! Tokens of the configuration, which clients that may only look are not shown: one of them would permit more.

use std::borrow::Cow;

use corral_config::json::edit;
use corral_config::json::{Bytes, Value};

use crate::access_level::AccessLevel;

/// The places of tokens in a configuration.
const TOKENS: [[&str; 3]; 3] = [
    ["settings", "dashboard", "token"],
    ["settings", "dashboard", "read_token"],
    ["settings", "metrics", "token"],
];

/// The text that stands for a token. As a token it would be refused.
const HIDDEN: &str = "(hidden)";

/// A configuration as clients of this level see it.
pub(crate) fn configuration_for(level: AccessLevel, configuration: &Value) -> Cow<'_, Value> {
    if level == AccessLevel::Full {
        return Cow::Borrowed(configuration);
    }
    let mut seen = configuration.clone();
    for place in TOKENS {
        let path = place.map(Bytes::from);
        if edit::get(&seen, &path).is_ok() {
            // The path is there, so that it can be replaced.
            let _ = edit::put(&mut seen, &path, Value::from(HIDDEN));
        }
    }
    Cow::Owned(seen)
}

#[cfg(test)]
mod tests {
    use corral_config::json;

    use super::*;

    #[track_caller]
    fn check(level: AccessLevel, configuration: &str, expect: &str) {
        let configuration = json::parse(configuration.as_bytes()).unwrap();
        let seen = configuration_for(level, &configuration);
        assert_eq!(String::from_utf8(seen.compact()).unwrap(), expect);
    }

    #[test]
    fn tokens_are_hidden_from_those_that_may_only_look() {
        let all = r#"{"settings":{"dashboard":{"listen":"a","token":"b","read_token":"c"},"metrics":{"token":"d"}}}"#;
        let hidden = r#"{"settings":{"dashboard":{"listen":"a","token":"(hidden)","read_token":"(hidden)"},"metrics":{"token":"(hidden)"}}}"#;
        check(AccessLevel::Full, all, all);
        check(AccessLevel::Read, all, hidden);
        check(AccessLevel::None, all, hidden);
        check(AccessLevel::Read, "{}", "{}");
        check(AccessLevel::Read, r#"{"settings":{"dashboard":[]}}"#, r#"{"settings":{"dashboard":[]}}"#);
    }
}
