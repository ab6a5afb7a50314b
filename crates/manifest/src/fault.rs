//! Where something stands in a file, and what is wrong there.

use std::fmt;
use std::rc::Rc;

/// A position in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The name of the text.
    pub file: Rc<str>,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// One thing that is wrong with a text; shown as `file:line:column: message`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct Fault {
    /// Where.
    pub place: Position,
    /// The fault, as a full sentence.
    pub message: String,
}

impl Fault {
    pub(crate) fn new(place: &Position, message: impl Into<String>) -> Self {
        Self { place: place.clone(), message: message.into() }
    }
}
