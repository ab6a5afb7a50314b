//! Caddyfiles: a text with placeholders in, directives with their lines out. What they mean is for others to know.

mod directives;
mod placeholders;
mod tokens;

/// A file's content, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caddyfile {
    /// In their order; the global options are one without words.
    pub directives: Vec<Directive>,
    /// Placeholders that stood for nothing, with their lines.
    pub unset: Vec<(usize, String)>,
}

/// A line, and the block that it opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    /// In the file, counted from 1.
    pub line: usize,
    /// The directive's name, and the words behind it.
    pub words: Vec<String>,
    /// The lines between `{` and `}`.
    pub block: Option<Vec<Directive>>,
}

/// A mistake and its line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {message}")]
pub struct CaddyfileError {
    /// In the file, counted from 1.
    pub line: usize,
    /// One sentence, without the place.
    pub message: String,
}

/// Reads a text in which placeholders such as `{$NAME}` stand for what `variable` gives.
///
/// # Errors
/// When quotes or blocks do not end, or braces are not where they belong.
pub fn read(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Caddyfile, CaddyfileError> {
    let expanded = placeholders::expand(text, variable);
    let tokens = tokens::split(&expanded)?;
    Ok(Caddyfile { directives: directives::nest(tokens)?, unset: expanded.unset })
}

fn error<T>(line: usize, message: impl Into<String>) -> Result<T, CaddyfileError> {
    Err(CaddyfileError { line, message: message.into() })
}

#[cfg(test)]
mod tests;
