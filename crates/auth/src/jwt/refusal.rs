//! Why a token is refused, in words that its bearer may see (`error_description`, RFC 6750 section 3).

use jsonwebtoken::errors::{Error, ErrorKind};

/// Why a token is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefusal {
    /// Something other than two parts of JSON and a signature.
    #[error("the token is malformed")]
    Malformed,
    /// No key has the `kid` that it names; another set of keys may.
    #[error("the token is signed by an unknown key")]
    UnknownKey,
    /// No key is for its algorithm, the configuration does not permit it, or its header asks for what is not
    /// understood.
    #[error("the algorithm of the token is not accepted")]
    Algorithm,
    /// The token was changed, or signed with another key.
    #[error("the signature of the token is wrong")]
    Signature,
    /// `exp`.
    #[error("the token has expired")]
    Expired,
    /// `nbf`.
    #[error("the token is not valid yet")]
    Early,
    /// `iss`.
    #[error("the token is from another issuer")]
    Issuer,
    /// `aud`.
    #[error("the token is for another audience")]
    Audience,
    /// A claim that it must have.
    #[error("the token lacks the claim {0}")]
    Lacking(String),
    /// A claim that means nothing.
    #[error("a claim of the token is malformed")]
    Claim,
}

impl From<Error> for TokenRefusal {
    fn from(error: Error) -> Self {
        match error.into_kind() {
            ErrorKind::InvalidSignature => Self::Signature,
            ErrorKind::ExpiredSignature => Self::Expired,
            ErrorKind::ImmatureSignature => Self::Early,
            ErrorKind::InvalidIssuer => Self::Issuer,
            ErrorKind::InvalidAudience => Self::Audience,
            ErrorKind::MissingRequiredClaim(name) => Self::Lacking(name),
            ErrorKind::InvalidClaimFormat(_) | ErrorKind::InvalidSubject => Self::Claim,
            ErrorKind::InvalidAlgorithm
            | ErrorKind::InvalidAlgorithmName
            | ErrorKind::UnsupportedAlgorithm
            | ErrorKind::MissingAlgorithm => Self::Algorithm,
            _ => Self::Malformed,
        }
    }
}
