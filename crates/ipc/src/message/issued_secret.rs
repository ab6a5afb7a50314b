//! Secrets that a router gets between two configurations: certificates that were ordered, and answers for the
//! authorities that issue them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One thing that a router answers with from now on, or no longer. Main keeps what is in force for the next router, and
/// interprets none of it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuedSecret {
    /// Which kind.
    pub kind: IssuedSecretKind,
    /// A host name in lower case (`*.example.com` as it is), or the token of `HttpToken`. One of a kind and name takes
    /// the place of the one before.
    pub name: String,
    /// The content; `None` takes it back.
    pub bytes: Option<Vec<u8>>,
}

/// The use of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum IssuedSecretKind {
    /// A certificate chain with its private key, in PEM, for clients that ask for the name.
    Certificate,
    /// The key authorization for `/.well-known/acme-challenge/TOKEN` (RFC 8555 section 8.3).
    HttpToken,
    /// A certificate with its private key, in PEM, for the protocol `acme-tls/1` (RFC 8737 section 3).
    TlsAlpn,
}

/// Without the content, which may be a private key.
impl fmt::Debug for IssuedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, bytes } = self;
        f.debug_struct("IssuedSecret")
            .field("kind", kind)
            .field("name", name)
            .field("is", &bytes.is_some())
            .finish()
    }
}
