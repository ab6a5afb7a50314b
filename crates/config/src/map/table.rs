//! Values by names: whole ones first, then the longest that has a star, then regular expressions in their order.

use std::collections::HashMap;
use std::sync::Arc;

use crate::pattern::{GivenUp, PatternError, Regex};
use crate::template::Template;

/// Values by names.
#[derive(Debug, Clone, Default)]
pub(crate) struct ValueTable {
    names: Arc<Names>,
    /// Not shared: a regular expression has scratch memory.
    patterns: Vec<(Regex, Template)>,
}

#[derive(Debug, Default)]
struct Names {
    whole: HashMap<Vec<u8>, Template>,
    beginnings: Ends,
    ends: Ends,
}

/// One end of a name, for all lengths that there are.
#[derive(Debug, Default)]
struct Ends {
    values: HashMap<Vec<u8>, Template>,
    /// Descending.
    lengths: Vec<usize>,
}

/// A name of a table as it is written.
#[derive(Debug, Clone)]
pub(crate) enum TableName {
    /// All of a value.
    Whole(Vec<u8>),
    /// `TEXT*`.
    Beginning(Vec<u8>),
    /// `*TEXT`.
    End(Vec<u8>),
    /// `~EXPRESSION`.
    Pattern(Regex),
}

/// Why a text is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NameError {
    /// Not at one end, or with nothing beside it.
    #[error("The name \"{0}\" must have its \"*\" at the beginning or at the end, with text beside it.")]
    Star(String),
    /// An expression that PCRE2 refuses.
    #[error("{0}")]
    Pattern(PatternError),
}

impl TableName {
    /// Reads a name.
    ///
    /// # Errors
    ///
    /// When a star stands where none can be, or an expression is not one.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, NameError> {
        if let Some(expression) = text.strip_prefix(b"~") {
            return Regex::new(expression).map(Self::Pattern).map_err(NameError::Pattern);
        }
        let name = match (text.strip_prefix(b"*"), text.strip_suffix(b"*")) {
            (Some(end), _) => Self::End(end.to_vec()),
            (None, Some(beginning)) => Self::Beginning(beginning.to_vec()),
            (None, None) => Self::Whole(text.to_vec()),
        };
        let is_wrong = match &name {
            Self::End(rest) | Self::Beginning(rest) => rest.is_empty() || rest.contains(&b'*'),
            Self::Whole(_) | Self::Pattern(_) => text.contains(&b'*'),
        };
        if is_wrong { Err(NameError::Star(String::from_utf8_lossy(text).into_owned())) } else { Ok(name) }
    }

    /// In lower case, unless it is an expression.
    pub(crate) fn into_lower_case(self) -> Self {
        match self {
            Self::Whole(text) => Self::Whole(text.to_ascii_lowercase()),
            Self::Beginning(text) => Self::Beginning(text.to_ascii_lowercase()),
            Self::End(text) => Self::End(text.to_ascii_lowercase()),
            Self::Pattern(_) => self,
        }
    }

    /// The names that a host stands for: with a dot in front it is that of all below it, too.
    pub(crate) fn with_subdomains(self) -> Vec<Self> {
        match self {
            Self::Whole(text) if text.len() > 1 && text.starts_with(b".") => {
                vec![Self::Whole(text[1..].to_vec()), Self::End(text)]
            }
            _ => vec![self],
        }
    }
}

impl ValueTable {
    /// A table with these names.
    pub(crate) fn new(entries: impl IntoIterator<Item = (TableName, Template)>) -> Self {
        let mut names = Names::default();
        let mut patterns = Vec::new();
        for (name, value) in entries {
            match name {
                TableName::Whole(text) => _ = names.whole.insert(text, value),
                TableName::Beginning(text) => names.beginnings.insert(text, value),
                TableName::End(text) => names.ends.insert(text, value),
                TableName::Pattern(regex) => patterns.push((regex, value)),
            }
        }
        names.beginnings.sort();
        names.ends.sort();
        Self { names: Arc::new(names), patterns }
    }

    /// The value of this name.
    pub(super) fn find(&self, name: &[u8]) -> Result<Option<&Template>, GivenUp> {
        if let Some(value) = self.names.find(name) {
            return Ok(Some(value));
        }
        for (regex, value) in &self.patterns {
            if regex.is_match(name)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Template> {
        let Names { whole, beginnings, ends } = &*self.names;
        let named = whole.values().chain(beginnings.values.values()).chain(ends.values.values());
        named.chain(self.patterns.iter().map(|(_, value)| value))
    }
}

impl Names {
    fn find(&self, name: &[u8]) -> Option<&Template> {
        if let Some(value) = self.whole.get(name) {
            return Some(value);
        }
        let beginning = self.beginnings.longest(|len| name.get(..len));
        let end = self.ends.longest(|len| name.get(name.len().checked_sub(len)?..));
        match (beginning, end) {
            (Some((beginning, value)), Some((end, _))) if beginning > end => Some(value),
            (_, Some((_, value))) | (Some((_, value)), None) => Some(value),
            (None, None) => None,
        }
    }
}

impl Ends {
    fn insert(&mut self, text: Vec<u8>, value: Template) {
        self.lengths.push(text.len());
        self.values.insert(text, value);
    }

    /// Each length once, the longest first.
    fn sort(&mut self) {
        self.lengths.sort_unstable_by(|one, other| other.cmp(one));
        self.lengths.dedup();
    }

    /// The longest text of the table that is an end of a name, which `end` gives by its length; and that length.
    fn longest<'n>(&self, end: impl Fn(usize) -> Option<&'n [u8]>) -> Option<(usize, &Template)> {
        self.lengths.iter().find_map(|&len| Some((len, self.values.get(end(len)?)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table in which each name has itself as its value.
    fn table(names: &[&str]) -> ValueTable {
        let entries = names.iter().map(|name| {
            (TableName::parse(name.as_bytes()).unwrap(), Template::parse(name.as_bytes()).unwrap())
        });
        ValueTable::new(entries)
    }

    #[track_caller]
    fn check(names: &[&str], cases: &[(&str, Option<&str>)]) {
        let table = table(names);
        for (name, expect) in cases {
            let found = table.find(name.as_bytes()).unwrap().map(|value| value.is_constant().unwrap());
            assert_eq!(found, expect.map(str::as_bytes), "{name} in {names:?}");
        }
    }

    #[test]
    fn whole_names_come_first_then_the_longest_with_a_star_then_patterns() {
        let names = ["~^a", "*.example.org", "*.b.example.org", "a.b.example.org", "www.*", "~.", "", "*g"];
        check(
            &names,
            &[
                ("a.b.example.org", Some("a.b.example.org")),
                ("c.b.example.org", Some("*.b.example.org")),
                ("www.example.org", Some("*.example.org")),
                ("www.x", Some("www.*")),
                ("xg", Some("*g")),
                ("g", Some("*g")),
                ("abc", Some("~^a")),
                ("bc", Some("~.")),
                ("", Some("")),
                ("A.B.example.org", Some("*.example.org")),
            ],
        );
        check(&["a", "b*"], &[("", None), ("A", None), ("b", Some("b*")), ("ab", None)]);
        check(&["ab*", "*bc"], &[("abc", Some("*bc"))]);
        check(&["ab*", "*c"], &[("abc", Some("ab*"))]);
    }

    #[test]
    fn stars_stand_at_an_end() {
        for text in ["*", "**", "*a*", "a**", "**a", "*a*b", "a*b"] {
            assert!(matches!(TableName::parse(text.as_bytes()), Err(NameError::Star(_))), "{text}");
        }
        assert!(matches!(TableName::parse(b"~("), Err(NameError::Pattern(_))));
    }

    #[test]
    fn a_search_without_an_end_is_given_up() {
        let long = "a".repeat(64) + "!";
        let name = TableName::parse(b"~^(a+)+$").unwrap();
        assert!(ValueTable::new([(name, Template::default())]).find(long.as_bytes()).is_err());
    }
}
