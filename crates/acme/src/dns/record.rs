//! A record that proves that a name is ours, and what is done with it.

use std::fmt;

/// A text of a name, which an authority looks for. A name may have several at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The name that has it, without the last dot: `_acme-challenge.example.org`.
    pub name: String,
    /// The text: a SHA-256 in base64url (RFC 8555 section 8.4).
    pub value: String,
}

/// The word that a program gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordAction {
    /// Add the record.
    Present,
    /// Remove it.
    Remove,
}

impl fmt::Display for RecordAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Present => "present",
            Self::Remove => "remove",
        })
    }
}
