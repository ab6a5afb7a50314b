//! `abandoned`: what becomes of requests whose clients leave while they wait.

/// The requests of an application that are run although their clients have left before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Abandoned {
    /// Requests whose method is not safe (RFC 9110 section 9.2.1). Their senders often want no answer: the effect is
    /// the point.
    #[default]
    ByMethod,
    /// All.
    Run,
    /// No request.
    Drop,
}

impl Abandoned {
    /// Whether a request with this method is run.
    #[must_use]
    pub fn runs(self, method: &[u8]) -> bool {
        match self {
            Self::ByMethod => !matches!(method, b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE"),
            Self::Run => true,
            Self::Drop => false,
        }
    }
}
