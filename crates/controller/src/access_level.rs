//! How much a request may do.

/// The levels, each with all of those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AccessLevel {
    None,
    /// Everything may be seen and nothing changed.
    Read,
    Full,
}

impl AccessLevel {
    /// The word of the API.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Full => "full",
        }
    }
}
