//! `~EXPRESSION`: PCRE2 with a bound on the work of one search.

use pcre2::bytes::RegexBuilder;

use super::{GivenUp, PatternError};

/// The text of each group by its number; none where a group has not matched.
pub(crate) type GroupTexts<'v> = Vec<Option<&'v [u8]>>;

/// A compiled expression. It works on bytes.
#[derive(Debug, Clone)]
pub(crate) struct Regex(pcre2::bytes::Regex);

impl Regex {
    /// Compiles an expression, to machine code where PCRE2 can.
    pub(crate) fn new(text: &[u8]) -> Result<Self, PatternError> {
        // The library's interface wants its source in UTF-8.
        let source = std::str::from_utf8(text)
            .map_err(|_| PatternError::Regex("the expression is not valid UTF-8".to_owned()))?;
        let code = RegexBuilder::new()
            .jit_if_available(true)
            .build(&format!("{LIMIT}{source}"))
            .map_err(|error| PatternError::Regex(describe(&error, source.len())))?;
        Ok(Self(code))
    }

    /// Whether it occurs anywhere in `value`, unless the search exceeds its bounds.
    pub(crate) fn is_match(&self, value: &[u8]) -> Result<bool, GivenUp> {
        self.0.is_match(value).map_err(|error| self.given_up(&error))
    }

    /// The names of its groups, by their numbers; the first one is all that matches, and has none.
    pub(crate) fn group_names(&self) -> &[Option<String>] {
        self.0.capture_names()
    }

    /// The texts of the groups of the first match, unless there is none or the search exceeds its bounds.
    pub(crate) fn capture<'v>(&self, value: &'v [u8]) -> Result<Option<GroupTexts<'v>>, GivenUp> {
        let mut places = self.0.capture_locations();
        let found = self.0.captures_read(&mut places, value).map_err(|error| self.given_up(&error))?;
        let text = |number| places.get(number).and_then(|(start, end)| value.get(start..end));
        Ok(found.map(|_| (0..places.len()).map(text).collect()))
    }

    /// The expression as it is written.
    pub(crate) fn source(&self) -> &str {
        self.0.as_str().strip_prefix(LIMIT).unwrap_or_default()
    }

    #[cold]
    fn given_up(&self, error: &pcre2::Error) -> GivenUp {
        GivenUp(format!("\"{}\": {error}", self.source()).into())
    }
}

/// `MSG at offset N`, or only `MSG` when the fault is at the end of the expression.
fn describe(error: &pcre2::Error, source_len: usize) -> String {
    let text = error.to_string();
    let message = text.splitn(3, ": ").nth(2).unwrap_or(&text);
    match error.offset().map(|offset| offset.saturating_sub(LIMIT.len())) {
        Some(offset) if offset < source_len => format!("{message} at offset {offset}"),
        _ => message.to_owned(),
    }
}

/// Bounds the backtracking from each place where a match may begin, so that no expression holds an
/// event loop. An expression can only lower it.
const LIMIT: &str = "(*LIMIT_MATCH=20000)";

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Regex;

    #[test]
    fn catastrophic_expressions_are_given_up() {
        let value = [&b"a".repeat(8000)[..], b"!"].concat();
        for expression in ["^(a+)+$", "(a|aa)+$", "(a*)*b", "(x+x+)+y|^(a|a)*$"] {
            let regex = Regex::new(expression.as_bytes()).unwrap();
            let started = Instant::now();
            assert_ne!(regex.is_match(&value), Ok(true), "{expression}");
            assert!(started.elapsed() < Duration::from_secs(1), "{expression}: {:?}", started.elapsed());
        }
    }

    #[test]
    fn what_is_given_up_is_neither_a_match_nor_none() {
        let error = Regex::new(b"^(a+)+$").unwrap().is_match(&[&b"a".repeat(64)[..], b"!"].concat());
        let error = error.expect_err("it takes too long").to_string();
        assert!(error.contains("\"^(a+)+$\"") && error.contains("match limit"), "{error}");
    }

    #[test]
    fn long_values_are_within_the_bounds() {
        let value = b"/segment-1".repeat(800);
        for expression in ["^/.*/segment-1$", "^(/[^/]+)+$", "t-1$", "^/[a-z/0-9-]+$"] {
            assert!(Regex::new(expression.as_bytes()).unwrap().is_match(&value).unwrap(), "{expression}");
        }
    }

    #[test]
    fn an_expression_cannot_raise_the_bound() {
        let regex = Regex::new(b"(*LIMIT_MATCH=4000000000)^(a+)+$").unwrap();
        let started = Instant::now();
        assert!(regex.is_match(&[&b"a".repeat(64)[..], b"!"].concat()).is_err());
        assert!(started.elapsed() < Duration::from_secs(1));
    }
}
