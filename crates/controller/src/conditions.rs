//! `If-Match` and `If-None-Match` (RFC 9110, section 13): changes that depend on what was read before.
//! The tag is that of the whole configuration, whatever part of it was read.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use hyper::HeaderMap;
use hyper::header::{HeaderName, IF_MATCH, IF_NONE_MATCH};

/// The tag of a document: equal for equal text, over restarts as well.
pub(crate) fn tag(document: &[u8]) -> String {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, document).hash(&mut hasher);
        hasher.finish()
    };
    format!("\"{:016x}{:016x}\"", half(0), half(1))
}

/// The conditions of one request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Conditions {
    match_any_of: Option<Tags>,
    match_none_of: Option<Tags>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Tags {
    /// `*`: whatever is there.
    Any,
    /// As written.
    List(String),
}

impl Conditions {
    pub(crate) fn from_fields(fields: &HeaderMap) -> Self {
        Self { match_any_of: tags(fields, &IF_MATCH), match_none_of: tags(fields, &IF_NONE_MATCH) }
    }

    /// Whether a change may be made to a configuration with this tag; `exists` says whether it has
    /// something at the path of the request.
    pub(crate) fn allow_change(&self, tag: &str, exists: bool) -> bool {
        let is_matched = match &self.match_any_of {
            None => true,
            Some(Tags::Any) => exists,
            Some(Tags::List(list)) => exact(list).any(|other| other == tag),
        };
        is_matched && !self.names_none(tag, exists)
    }

    /// Whether the reader has what there is.
    pub(crate) fn is_unchanged(&self, tag: &str) -> bool {
        self.names_none(tag, true)
    }

    fn names_none(&self, tag: &str, exists: bool) -> bool {
        match &self.match_none_of {
            None => false,
            Some(Tags::Any) => exists,
            Some(Tags::List(list)) => exact(list).any(|other| other.trim_start_matches("W/") == tag),
        }
    }
}

/// Tags hold no commas here, so a list can be cut at them.
fn exact(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim)
}

fn tags(fields: &HeaderMap, name: &HeaderName) -> Option<Tags> {
    let values: Vec<_> =
        fields.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    if values.is_empty() {
        return None;
    }
    let list = values.join(",");
    Some(if list.trim() == "*" { Tags::Any } else { Tags::List(list) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The configuration has the tag `"a"`.
    #[track_caller]
    fn check(fields: &[(HeaderName, &str)], exists: bool, allowed: bool) {
        let fields = fields.iter().map(|(name, value)| (name.clone(), value.parse().unwrap()));
        let mut map = HeaderMap::new();
        map.extend(fields);
        assert_eq!(Conditions::from_fields(&map).allow_change("\"a\"", exists), allowed, "{map:?}");
    }

    #[test]
    fn changes_depend_on_tags() {
        check(&[], true, true);
        check(&[(IF_MATCH, "\"a\"")], true, true);
        check(&[(IF_MATCH, "\"b\", \"a\"")], true, true);
        check(&[(IF_MATCH, "\"b\"")], true, false);
        check(&[(IF_MATCH, "W/\"a\"")], true, false);
        check(&[(IF_MATCH, "a")], true, false);
        check(&[(IF_MATCH, "*")], true, true);
        check(&[(IF_MATCH, "*")], false, false);
        check(&[(IF_NONE_MATCH, "*")], true, false);
        check(&[(IF_NONE_MATCH, "*")], false, true);
        check(&[(IF_NONE_MATCH, "\"b\"")], true, true);
        check(&[(IF_NONE_MATCH, "W/\"a\"")], true, false);
        check(&[(IF_MATCH, "\"a\""), (IF_NONE_MATCH, "\"a\"")], true, false);
    }

    #[test]
    fn tags_follow_the_text() {
        assert_eq!(tag(b"{}"), tag(b"{}"));
        assert_ne!(tag(b"{}"), tag(b"{ }"));
        assert_eq!(tag(b"").len(), 34);
    }
}
