//! `authenticate`: the clients that may go on, as the router checks them (beyond Unit).

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::gateway::Servers;
use crate::pattern::PatternSet;
use crate::table::{InnerListener, Key};
use crate::upstream::UpstreamTls;

/// The methods at one place of the document; one of them has to be satisfied.
#[derive(Debug, Clone)]
pub struct Authentication {
    /// JSON pointer of the object. Names it in the log.
    pub place: String,
    /// In the order of the document; at least one.
    pub methods: Vec<Method>,
}

/// One way to establish a client's identity.
#[derive(Debug, Clone)]
pub enum Method {
    /// A user and a password (RFC 7617).
    Basic(Basic),
    /// A signed token (RFC 6750, RFC 7519).
    Jwt(Box<Jwt>),
    /// Another server, or an application, is asked.
    Forward(Box<Forward>),
    /// The certificate that the client has shown in the TLS handshake.
    Certificate(Certificate),
    /// A signature in the link itself.
    SignedLink(SignedLinkRules),
}

/// `signed_link`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedLinkRules {
    /// The file of the secrets that links are signed with.
    pub secrets: PathBuf,
    /// A link is for one client alone.
    pub address: bool,
}

/// `basic`.
#[derive(Debug, Clone)]
pub struct Basic {
    /// Users and hashes of their passwords.
    pub file: PathBuf,
    /// The name that browsers show, without quotes and backslashes.
    pub realm: String,
}

/// `jwt`.
#[derive(Debug, Clone)]
pub struct Jwt {
    /// By what signatures are verified.
    pub keys: KeySource,
    /// As for `Basic`.
    pub realm: String,
    /// Names of algorithms that are accepted of those that fit the key; empty for all of these.
    pub algorithms: Vec<String>,
    /// By how much clocks may differ.
    pub leeway: Duration,
    /// Values of `iss`; empty for any.
    pub issuers: Vec<String>,
    /// Values of `aud`; empty for any.
    pub audiences: Vec<String>,
    /// Claims that the token must have, with these values.
    pub claims: Vec<(String, PatternSet)>,
    /// The claim that `$remote_user` is.
    pub user_claim: String,
    /// A cookie that has the token when there is no `Authorization`.
    pub cookie: Option<Vec<u8>>,
    /// A parameter of the query that has it when there is no cookie either.
    pub argument: Option<Vec<u8>>,
    /// The least time between two fetches of keys.
    pub refetch_interval: Duration,
}

/// Where the keys of tokens are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeySource {
    /// The file of a secret.
    Secret(PathBuf),
    /// A file of public keys in PEM.
    Pem(PathBuf),
    /// The file of a set of keys in JSON (JWKS).
    Set(PathBuf),
    /// A server that has such a set.
    Url {
        /// `http://` or `https://`.
        url: String,
        /// The proof of identity that the server has to give.
        tls: UpstreamTls,
    },
}

/// `forward`.
#[derive(Debug, Clone)]
pub struct Forward {
    /// The one that is asked.
    pub asked: AuthRequest,
    /// The target of the request to them.
    pub uri: String,
    /// For the whole answer.
    pub timeout: Duration,
    /// Fields of the answer that the request goes on with, in the place of the client's.
    pub copy_fields: Vec<String>,
    /// The field of the answer that is `$remote_user`.
    pub user_field: Option<String>,
    /// How long a permission is remembered; none for not at all.
    pub cache: Option<Duration>,
    /// Request fields that a permission is remembered for.
    pub cache_key: Vec<String>,
}

/// The one that `forward` asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthRequest {
    /// Servers.
    Servers(Servers),
    /// The application behind a listener within the router.
    Application(Key<InnerListener>),
}

/// `client_certificate`: every set that is there must match.
#[derive(Debug, Clone, Default)]
pub struct Certificate {
    /// On the subject, as `$tls_client_subject` has it.
    pub subject: Option<PatternSet>,
    /// On the common name.
    pub common_name: Option<PatternSet>,
    /// On the alternative names; one of them must match.
    pub alternative_name: Option<PatternSet>,
}

impl Method {
    /// The file that clients are checked by, if there is one, and the option that names it.
    #[must_use]
    pub fn file(&self) -> Option<(&'static str, &Path)> {
        match self {
            Self::Basic(basic) => Some(("basic/file", &basic.file)),
            Self::Jwt(jwt) => match &jwt.keys {
                KeySource::Secret(path) => Some(("jwt/secret", path)),
                KeySource::Pem(path) => Some(("jwt/key", path)),
                KeySource::Set(path) => Some(("jwt/jwks", path)),
                KeySource::Url { .. } => None,
            },
            Self::SignedLink(rules) => Some(("signed_link/secrets", &rules.secrets)),
            Self::Forward(_) | Self::Certificate(_) => None,
        }
    }
}

/// Names of the algorithms that tokens may be signed with (RFC 7518 section 3.1, RFC 8037).
pub const ALGORITHMS: [&str; 12] = [
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA", "HS256", "HS384",
    "HS512",
];
