//! Pattern text to `PatternTest`.

use super::PatternTest;
use super::regex::Regex;
use super::wildcard::Wildcard;
use crate::{percent, query};

/// How the text of a pattern is read; it depends on what it is matched against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// As it is.
    Plain,
    /// The case of ASCII letters does not matter, except in a regular expression.
    CaseInsensitive,
    /// Upper-cased first, except a regular expression.
    UpperCased,
    /// Percent-decoded piece by piece, so that `%2A` is a star and not a wildcard.
    PercentEncoded,
    /// As `PercentEncoded`, and `+` stands for a space.
    FormEncoded,
}

impl Flavor {
    /// Whether a percent sign must start an escape.
    pub(crate) fn is_encoded(self) -> bool {
        matches!(self, Self::PercentEncoded | Self::FormEncoded)
    }

    /// Reads text that is not a pattern but belongs to one: a piece between stars, or a name.
    ///
    /// # Errors
    ///
    /// When a percent sign starts no escape and the flavor is an encoded one.
    pub(crate) fn read_literal(self, text: &[u8]) -> Result<Vec<u8>, PatternError> {
        match self {
            Self::Plain | Self::CaseInsensitive => Ok(text.to_vec()),
            Self::UpperCased => Ok(text.to_ascii_uppercase()),
            Self::PercentEncoded => Ok(percent::decode(text).ok_or(PatternError::Encoding)?.into_owned()),
            Self::FormEncoded => {
                percent::decode(text).ok_or(PatternError::Encoding)?;
                Ok(query::decode(text).into_owned())
            }
        }
    }
}

/// Why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Two stars side by side.
    #[error("The \"match\" pattern must not contain double \"*\" markers.")]
    DoubleStar,
    /// PCRE2 refuses it.
    #[error("Invalid regular expression: {0}")]
    Regex(String),
    /// A percent sign that starts no escape.
    #[error("The pattern is encoded but is invalid.")]
    Encoding,
}

impl PatternError {
    /// The message for the pattern of this condition.
    pub(crate) fn describe(&self, condition: &str) -> String {
        match self {
            Self::Encoding => format!("The \"match\" pattern for \"{condition}\" is encoded but is invalid."),
            _ => self.to_string(),
        }
    }
}

/// Whether the pattern is negated, and what it tests.
pub(super) fn compile(text: &[u8], flavor: Flavor) -> Result<(bool, PatternTest), PatternError> {
    let body = text.strip_prefix(b"!").unwrap_or(text);
    let negated = body.len() < text.len();
    let test = match body.strip_prefix(b"~") {
        Some(regex) => PatternTest::Regex(Box::new(compile_regex(regex, flavor)?)),
        None => PatternTest::Wildcard(compile_wildcard(body, flavor)?),
    };
    Ok((negated, test))
}

fn compile_wildcard(text: &[u8], flavor: Flavor) -> Result<Wildcard, PatternError> {
    if memchr::memmem::find(text, b"**").is_some() {
        return Err(PatternError::DoubleStar);
    }
    let literals = text.split(|&byte| byte == b'*').map(|literal| flavor.read_literal(literal));
    Ok(Wildcard::new(literals.collect::<Result<_, _>>()?, flavor == Flavor::CaseInsensitive))
}

fn compile_regex(text: &[u8], flavor: Flavor) -> Result<Regex, PatternError> {
    if flavor.is_encoded() && percent::decode(text).is_none() {
        return Err(PatternError::Encoding);
    }
    Regex::new(text)
}
