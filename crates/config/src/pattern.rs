//! String patterns of `match` and `types` (contract 10.1 and 10.2), compiled once.
//!
//! Matching allocates nothing, and only a search by a regular expression can fail: it has bounds.

pub mod address;
mod compile;
mod regex;
mod wildcard;

pub use self::compile::{Flavor, PatternError};
pub(crate) use self::regex::{GroupTexts, Regex};
use self::wildcard::Wildcard;

/// Several patterns for one value.
#[derive(Debug, Clone, Default)]
pub struct PatternSet {
    /// At least one of these must match, unless there is none.
    positive: Vec<PatternTest>,
    /// A match of any of these excludes the value.
    negative: Vec<PatternTest>,
}

/// A text that a value must equal, begin or end with to match a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Anchor<'p> {
    Exact(&'p [u8]),
    Prefix(&'p [u8]),
    Suffix(&'p [u8]),
}

/// One pattern without its negation.
#[derive(Debug, Clone)]
enum PatternTest {
    Wildcard(Wildcard),
    Regex(Box<Regex>),
}

/// A search by a regular expression has exceeded its bounds, so that it is unknown whether the value matches.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("gave up the regular expression {0}")]
pub struct GivenUp(Box<str>);

impl PatternSet {
    /// Adds a pattern as it is written in the document.
    ///
    /// # Errors
    ///
    /// When the text is not a pattern; the set is unchanged.
    pub fn add(&mut self, text: &[u8], flavor: Flavor) -> Result<(), PatternError> {
        let (negated, test) = compile::compile(text, flavor)?;
        if negated { &mut self.negative } else { &mut self.positive }.push(test);
        Ok(())
    }

    /// Texts of which a value must have at least one to match; none when others can match too. Of a pattern
    /// that ignores case they are in lower case.
    pub(crate) fn anchors(&self) -> Vec<Anchor<'_>> {
        let anchors: Option<_> = self.positive.iter().map(PatternTest::anchor).collect();
        anchors.unwrap_or_default()
    }

    /// The regular expressions that are not negated.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Regex> {
        self.positive.iter().filter_map(|test| match test {
            PatternTest::Regex(regex) => Some(&**regex),
            PatternTest::Wildcard(_) => None,
        })
    }

    /// The expression that the value matches, if no pattern in front of it does, and the texts of its groups.
    pub(crate) fn capture<'v>(&self, value: &'v [u8]) -> Result<Option<(&Regex, GroupTexts<'v>)>, GivenUp> {
        for test in &self.positive {
            match test {
                PatternTest::Wildcard(wildcard) if wildcard.matches(value) => return Ok(None),
                PatternTest::Wildcard(_) => {}
                PatternTest::Regex(regex) => {
                    if let Some(texts) = regex.capture(value)? {
                        return Ok(Some((regex, texts)));
                    }
                }
            }
        }
        Ok(None)
    }

    /// The values that match because they are written there, in lower case where the case does not matter.
    pub(crate) fn plain(&self) -> impl Iterator<Item = &[u8]> {
        self.positive.iter().filter_map(|test| match test.anchor() {
            Some(Anchor::Exact(text)) => Some(text),
            _ => None,
        })
    }

    /// Whether no negated pattern excludes the value, and one of the others matches if there are
    /// any. A set without patterns matches everything.
    ///
    /// # Errors
    ///
    /// When a regular expression is given up before that is known.
    pub fn matches(&self, value: &[u8]) -> Result<bool, GivenUp> {
        Ok(!any_holds(&self.negative, value)?
            && (self.positive.is_empty() || any_holds(&self.positive, value)?))
    }

    /// The same for a thing that has several values: no negated pattern excludes any of them, and one of the others
    /// matches one of them. Without a value nothing matches.
    ///
    /// # Errors
    ///
    /// As for `matches`.
    pub fn matches_some(&self, values: &[Vec<u8>]) -> Result<bool, GivenUp> {
        let mut is_meant = false;
        for value in values {
            if any_holds(&self.negative, value)? {
                return Ok(false);
            }
            is_meant = is_meant || self.positive.is_empty() || any_holds(&self.positive, value)?;
        }
        Ok(is_meant)
    }
}

fn any_holds(tests: &[PatternTest], value: &[u8]) -> Result<bool, GivenUp> {
    for test in tests {
        if test.holds(value)? {
            return Ok(true);
        }
    }
    Ok(false)
}

impl PatternTest {
    fn anchor(&self) -> Option<Anchor<'_>> {
        match self {
            Self::Wildcard(wildcard) => wildcard.anchor(),
            Self::Regex(_) => None,
        }
    }

    fn holds(&self, value: &[u8]) -> Result<bool, GivenUp> {
        match self {
            Self::Wildcard(wildcard) => Ok(wildcard.matches(value)),
            Self::Regex(regex) => regex.is_match(value),
        }
    }
}

#[cfg(test)]
mod tests;
