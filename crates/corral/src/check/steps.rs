//! Steps of routes that no request gets to, because one before them takes it.

use corral_config::json::{Bytes, Object, Value};

/// The index of each such step, with that of the one before.
pub(super) fn shadowed(steps: &[Value]) -> Vec<(usize, usize)> {
    let conditions: Vec<_> = steps.iter().map(Conditions::of).collect();
    let mut found = Vec::new();
    for (idx, step) in conditions.iter().enumerate() {
        let mut before = conditions[..idx].iter();
        if let Some(other) = before.position(|other| other.hold_wherever(step)) {
            found.push((idx, other));
        }
    }
    found
}

/// The conditions of a step; nothing of one whose conditions cannot be compared.
struct Conditions<'a>(Option<Vec<(&'a Bytes, &'a Value)>>);

impl<'a> Conditions<'a> {
    fn of(step: &'a Value) -> Self {
        let members = step.member("match").map(Value::as_object);
        match members {
            None => Self(Some(Vec::new())),
            Some(None) => Self(None),
            Some(Some(members)) => Self(Self::comparable(members)),
        }
    }

    /// A condition of JavaScript may say something else each time.
    fn comparable(members: &'a Object) -> Option<Vec<(&'a Bytes, &'a Value)>> {
        if members.contains_key(b"if".as_slice()) {
            return None;
        }
        Some(members.iter().filter(|(name, value)| !holds_always(name, value)).collect())
    }

    /// Whether they hold for every request that `other` holds for: all of them are among those.
    fn hold_wherever(&self, other: &Self) -> bool {
        let (Some(own), Some(others)) = (&self.0, &other.0) else {
            return self.0.as_ref().is_some_and(Vec::is_empty);
        };
        own.iter().all(|condition| others.contains(condition))
    }
}

/// Every path begins with a slash.
fn holds_always(name: &Bytes, value: &Value) -> bool {
    let is_everything =
        |value: &Value| value.as_bytes().is_some_and(|pattern| matches!(&**pattern, b"*" | b"/*"));
    let is_negated = |value: &Value| value.as_bytes().is_none_or(|pattern| pattern.starts_with(b"!"));
    **name == *b"uri"
        && match value {
            Value::Array(patterns) => patterns.iter().any(is_everything) && !patterns.iter().any(is_negated),
            pattern => is_everything(pattern),
        }
}

#[cfg(test)]
mod tests {
    use corral_config::json;

    use super::*;

    /// `steps` are the conditions of steps, `expected` what is found.
    #[track_caller]
    fn check(steps: &str, expected: &[(usize, usize)]) {
        let steps = json::parse(steps.as_bytes()).unwrap();
        assert_eq!(shadowed(steps.as_array().unwrap()), expected, "{steps:?}");
    }

    #[test]
    fn what_comes_behind_everything_is_never_reached() {
        check(r#"[{"match": {"uri": "/a"}}, {}, {"match": {"uri": "/b"}}, {}]"#, &[(2, 1), (3, 1)]);
        check(r#"[{"match": {}}, {"match": {"if": "$host"}}]"#, &[(1, 0)]);
        check(r#"[{"match": {"uri": "/*"}}, {"match": {"uri": "/a"}}]"#, &[(1, 0)]);
        check(r#"[{"match": {"uri": ["/a", "*"]}}, {}]"#, &[(1, 0)]);
        check(r#"[{"match": {"uri": "/a"}}, {"match": {"uri": "/b"}}, {}]"#, &[]);
    }

    #[test]
    fn narrower_conditions_behind_wider_ones_never_hold() {
        check(r#"[{"match": {"uri": "/a/*"}}, {"match": {"method": "GET", "uri": "/a/*"}}]"#, &[(1, 0)]);
        check(r#"[{"match": {"method": "GET", "uri": "/a/*"}}, {"match": {"uri": "/a/*"}}]"#, &[]);
        check(r#"[{"match": {"host": "a"}}, {"match": {"host": "a"}}]"#, &[(1, 0)]);
    }

    #[test]
    fn what_cannot_be_compared_is_left_alone() {
        check(r#"[{"match": {"if": "`${Math.random()}`"}}, {"match": {"if": "`${Math.random()}`"}}]"#, &[]);
        check(r#"[{"match": {"uri": ["*", "!/a"]}}, {"match": {"uri": "/a"}}]"#, &[]);
        check(r#"[{"match": {"uri": "!/*"}}, {}]"#, &[]);
        check("[1, {}]", &[(1, 0)]);
    }
}
