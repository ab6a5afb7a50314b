//! The state of each name as it is told.

use std::time::SystemTime;

use crate::time;

/// One name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameStatus {
    /// In lower case.
    pub name: String,
    /// Whether clients get a certificate, or why not.
    pub state: NameState,
    /// When the certificate expires, if there is one.
    pub expires: Option<SystemTime>,
    /// Common name of the certificate's issuer.
    pub issuer: Option<String>,
    /// When it is renewed if nothing fails.
    pub renews_at: Option<SystemTime>,
    /// When the next order begins, after a failure.
    pub next_try: Option<SystemTime>,
    /// In words, with what to do.
    pub last_error: Option<String>,
    /// How the name is proved the next time.
    pub challenge: Option<&'static str>,
}

impl NameStatus {
    /// A time in the form of RFC 3339.
    #[must_use]
    pub fn time(time: SystemTime) -> String {
        time::text(time)
    }
}

/// Where a name stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameState {
    /// Clients get a certificate.
    Valid,
    /// No certificate: one is being ordered.
    Ordering,
    /// No certificate: the order has not begun.
    Waiting,
    /// No certificate: the last order failed.
    Failed,
    /// The certificate has expired.
    Expired,
}

impl NameState {
    /// One word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Ordering => "ordering",
            Self::Waiting => "waiting",
            Self::Failed => "failed",
            Self::Expired => "expired",
        }
    }
}
