//! `settings.http.request_id`: the header that a request is known by.

/// The header, and what becomes of the one that a client sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestIdSettings {
    /// The header's name.
    pub header: String,
    /// The requests that keep the value they come with.
    pub keep: KeptIds,
    /// Clients are told the value.
    pub respond: bool,
}

/// The requests that keep the value they come with, if it is well formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptIds {
    /// No request.
    Never,
    /// Requests from peers that `forwarded` trusts.
    Trusted,
    /// All.
    Always,
}

impl Default for RequestIdSettings {
    fn default() -> Self {
        Self { header: "X-Request-Id".to_owned(), keep: KeptIds::Trusted, respond: true }
    }
}
