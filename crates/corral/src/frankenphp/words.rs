//! The words of a directive, and what is said of those that cannot be used.

use corral_manifest::caddyfile::{CaddyfileError, Directive};

/// The result of reading: blocks, or the mistake.
pub(super) type BlocksResult<T> = Result<T, CaddyfileError>;

/// The name of a directive; empty for a block without any.
pub(super) fn name(directive: &Directive) -> &str {
    directive.words.first().map_or("", |name| name)
}

/// The words behind the name.
pub(super) fn values(directive: &Directive) -> &[String] {
    directive.words.get(1..).unwrap_or_default()
}

/// The only value.
pub(super) fn value(directive: &Directive) -> BlocksResult<&str> {
    match values(directive) {
        [value] => Ok(value),
        [] => refuse(directive, format!("\"{}\" needs a value", name(directive))),
        _ => refuse(directive, format!("\"{}\" takes one value", name(directive))),
    }
}

/// Two values.
pub(super) fn pair(directive: &Directive) -> BlocksResult<(String, String)> {
    match values(directive) {
        [first, second] => Ok((first.clone(), second.clone())),
        _ => refuse(directive, format!("\"{}\" needs a name and a value", name(directive))),
    }
}

/// The lines of its block.
pub(super) fn block(directive: &Directive) -> &[Directive] {
    directive.block.as_deref().unwrap_or_default()
}

/// Says that this is not done here; `known` would be.
pub(super) fn unknown<T>(directive: &Directive, known: &[&str]) -> BlocksResult<T> {
    let known = known.join(", ");
    refuse(directive, format!("directive \"{}\" is not known here; known are {known}", name(directive)))
}

/// Says what is wrong with a directive.
pub(super) fn refuse<T>(directive: &Directive, message: impl Into<String>) -> BlocksResult<T> {
    Err(CaddyfileError { line: directive.line, message: message.into() })
}
