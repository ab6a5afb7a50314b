//! Problems of a configuration, in words for the person who wrote it.

use std::fmt;

/// One thing that is wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where, as a JSON pointer (RFC 6901); empty for the whole document.
    pub pointer: String,
    /// The problem, as a full sentence; in Unit's words where Unit has any.
    pub detail: String,
    /// The advice how it would be right, in full sentences; empty where that cannot be known.
    pub advice: String,
    /// The name that was probably meant, when one is near.
    pub suggestion: Option<String>,
    /// When Unit would have noticed.
    pub stage: Stage,
}

/// When Unit notices a problem; clients see it by the status and the title of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// While the document is validated: 400 `Invalid configuration.`
    Validation,
    /// Only when it is put in force: 500 `Failed to apply new configuration.`
    Application,
}

impl Problem {
    /// The detail with the advice behind it.
    #[must_use]
    pub fn explanation(&self) -> String {
        match (self.advice.as_str(), self.detail.ends_with(['.', '!'])) {
            ("", _) => self.detail.clone(),
            (advice, true) => format!("{} {advice}", self.detail),
            (advice, false) => format!("{}. {advice}", self.detail),
        }
    }
}

impl fmt::Display for Problem {
    /// One line: `/listeners: detail (did you mean "x"?)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "/" } else { &self.pointer };
        write!(f, "{place}: {}", self.explanation())?;
        match &self.suggestion {
            Some(name) => write!(f, " Did you mean \"{name}\"?"),
            None => Ok(()),
        }
    }
}
