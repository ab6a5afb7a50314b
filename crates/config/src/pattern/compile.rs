//! Pattern text to `Test`.

use pcre2::bytes::{Regex, RegexBuilder};

use super::Test;
use super::wildcard::Wildcard;
use crate::percent;

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

/// Whether the pattern is negated, and what it tests.
pub(super) fn compile(text: &[u8], flavor: Flavor) -> Result<(bool, Test), PatternError> {
    let body = text.strip_prefix(b"!").unwrap_or(text);
    let negated = body.len() < text.len();
    let test = match body.strip_prefix(b"~") {
        Some(regex) => Test::Regex(Box::new(compile_regex(regex, flavor)?)),
        None => Test::Wildcard(compile_wildcard(body, flavor)?),
    };
    Ok((negated, test))
}

fn compile_wildcard(text: &[u8], flavor: Flavor) -> Result<Wildcard, PatternError> {
    if memchr::memmem::find(text, b"**").is_some() {
        return Err(PatternError::DoubleStar);
    }
    let literals = text.split(|&byte| byte == b'*').map(|literal| read_literal(literal, flavor));
    Ok(Wildcard::new(literals.collect::<Result<_, _>>()?, flavor == Flavor::CaseInsensitive))
}

fn read_literal(text: &[u8], flavor: Flavor) -> Result<Vec<u8>, PatternError> {
    match flavor {
        Flavor::Plain | Flavor::CaseInsensitive => Ok(text.to_vec()),
        Flavor::UpperCased => Ok(text.to_ascii_uppercase()),
        Flavor::PercentEncoded => {
            percent::decode(text).map(std::borrow::Cow::into_owned).ok_or(PatternError::Encoding)
        }
    }
}

fn compile_regex(text: &[u8], flavor: Flavor) -> Result<Regex, PatternError> {
    if flavor == Flavor::PercentEncoded && percent::decode(text).is_none() {
        return Err(PatternError::Encoding);
    }
    // The expression works on bytes, but the library's interface wants its source in UTF-8.
    let source = std::str::from_utf8(text)
        .map_err(|_| PatternError::Regex("the expression is not valid UTF-8".to_owned()))?;
    RegexBuilder::new()
        .jit_if_available(true)
        .build(source)
        .map_err(|error| PatternError::Regex(describe(&error, source.len())))
}

/// `MSG at offset N`, or only `MSG` when the fault is at the end of the expression.
fn describe(error: &pcre2::Error, source_len: usize) -> String {
    let text = error.to_string();
    let message = text.splitn(3, ": ").nth(2).unwrap_or(&text);
    match error.offset() {
        Some(offset) if offset < source_len => format!("{message} at offset {offset}"),
        _ => message.to_owned(),
    }
}
