//! How much of a rate is left for a key, as replies tell it: `RateLimit`, `RateLimit-Policy` and `Retry-After`
//! (draft-ietf-httpapi-ratelimit-headers-10, RFC 9110 section 10.2.3).

/// How much of a rate is left for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quota {
    /// Requests that may come at once after a pause.
    pub(crate) most: u64,
    /// Seconds in which all of them are granted anew.
    pub(crate) window: u64,
    /// Requests that may come at once now.
    pub(crate) remaining: u64,
    /// Seconds until all of them may.
    pub(crate) reset: u64,
    /// Seconds until the next one may, after a refusal.
    pub(crate) retry_after: Option<u64>,
}

impl Quota {
    /// The fields of a reply, and their values.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'static [u8], String)> {
        let Self { most, window, remaining, reset, retry_after } = *self;
        let policy: (&[u8], _) = (b"RateLimit-Policy", format!("\"{NAME}\";q={most};w={window}"));
        let limit: (&[u8], _) = (b"RateLimit", format!("\"{NAME}\";r={remaining};t={reset}"));
        let retry: Option<(&[u8], _)> = retry_after.map(|seconds| (&b"Retry-After"[..], seconds.to_string()));
        [policy, limit].into_iter().chain(retry)
    }

    /// Whether a reply is to tell of this one rather than of another.
    pub(crate) fn is_tighter(&self, other: &Self) -> bool {
        self.retry_after.is_some() || self.remaining < other.remaining
    }
}

/// The name of the policy: a reply tells of one limit alone.
const NAME: &str = "requests";
