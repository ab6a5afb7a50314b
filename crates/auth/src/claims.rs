//! The claims of a token, as conditions and variables see them (RFC 7519 section 4).

use serde_json::{Map, Value};

/// The claims of a verified token.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Claims(pub(crate) Map<String, Value>);

impl Claims {
    /// The claim of this name. Where there is none, a dot leads into an object: `realm_access.roles`.
    fn find(&self, name: &str) -> Option<&Value> {
        find(&self.0, name)
    }

    /// Appends a claim as one text: the elements of an array with commas between them, an object as JSON.
    pub fn append(&self, name: &str, out: &mut Vec<u8>) {
        for (idx, value) in self.values(name).iter().enumerate() {
            if idx > 0 {
                out.push(b',');
            }
            out.extend_from_slice(value);
        }
    }

    /// The values of a claim: the elements of an array, else the only one; none without the claim.
    #[must_use]
    pub fn values(&self, name: &str) -> Vec<Vec<u8>> {
        match self.find(name) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(elements)) => elements.iter().map(text).collect(),
            Some(value) => vec![text(value)],
        }
    }
}

fn find<'v>(object: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    object.get(name).or_else(|| {
        name.match_indices('.')
            .find_map(|(dot, _)| find(object.get(&name[..dot])?.as_object()?, &name[dot + 1..]))
    })
}

fn text(value: &Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.clone().into_bytes(),
        other => other.to_string().into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, values: &[&str], text: &str) {
        let claims = r#"{"sub": "alice", "roles": ["admin", "dev", 3], "n": 1.5, "ok": true, "nil": null,
            "realm_access": {"roles": ["a"]}, "https://x.example/role": "b", "a.b": "literal", "a": {"b": "nested"}}"#;
        let claims = Claims(serde_json::from_str(claims).unwrap());
        let found: Vec<_> =
            claims.values(name).into_iter().map(|value| String::from_utf8(value).unwrap()).collect();
        assert_eq!(found, values, "{name}");
        let mut out = Vec::new();
        claims.append(name, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), text, "{name}");
    }

    #[test]
    fn claims_are_texts_and_arrays_of_them() {
        check("sub", &["alice"], "alice");
        check("roles", &["admin", "dev", "3"], "admin,dev,3");
        check("n", &["1.5"], "1.5");
        check("ok", &["true"], "true");
        check("nil", &[], "");
        check("none", &[], "");
        check("realm_access", &[r#"{"roles":["a"]}"#], r#"{"roles":["a"]}"#);
    }

    #[test]
    fn dots_lead_into_objects() {
        check("realm_access.roles", &["a"], "a");
        check("https://x.example/role", &["b"], "b");
        check("a.b", &["literal"], "literal");
        for name in ["realm_access.none", "sub.x", ".", "realm_access.", ".roles"] {
            check(name, &[], "");
        }
    }
}
