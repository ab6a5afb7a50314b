//! `tls.acme`: certificates that the daemon orders by itself (RFC 8555; beyond Unit).

use std::fmt;
use std::time::Duration;

/// The authority to ask for certificates, the names, and the proof that these are ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcmeSettings {
    /// Host names in lower case, each once and in the order in which they are found: those of `names`, then those of
    /// the routes. `*.example.com` stands for one label. Each gets a certificate of its own.
    pub names: Vec<String>,
    /// The authority that issues them.
    pub issuer: AcmeIssuer,
    /// How the issuer finds out that a name leads here.
    pub challenge: Challenge,
    /// Certificates for names that the configuration does not have.
    pub on_demand: Option<OnDemand>,
}

/// A certificate authority, and what it knows this server by. Listeners with equal ones share an account.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AcmeIssuer {
    /// The URL of its directory (RFC 8555 section 7.1.1), with `https`.
    pub directory: String,
    /// The uploaded bundle of the authority that the directory's own certificate is verified by; the system's if there
    /// is none.
    pub ca: Option<String>,
    /// Where it sends warnings to.
    pub email: Option<String>,
    /// Which of its kinds of certificates is ordered.
    pub profile: Option<String>,
    /// The account at the authority that the ACME account belongs to (RFC 8555 section 7.3.4).
    pub eab: Option<ExternalAccount>,
}

/// An account that was made in another way.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ExternalAccount {
    /// The account's identifier.
    pub kid: String,
    /// The account's key, decoded.
    pub key: Vec<u8>,
}

/// How a name is proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Challenge {
    /// By the ports that are listened on: `HttpToken` where there is port 80, else `TlsAlpn`; the other one when the
    /// first has failed.
    Automatic,
    /// A file at port 80 (`http-01`, RFC 8555 section 8.3).
    Http,
    /// A handshake at port 443 (`tls-alpn-01`, RFC 8737).
    TlsAlpn,
    /// A record of the name (`dns-01`, RFC 8555 section 8.4).
    Dns(DnsChallenge),
}

/// The way a record gets into the DNS, and how long that takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsChallenge {
    /// The program or server that does it.
    pub by: DnsUpdate,
    /// A DNS server that knows the zone and its servers, as name or address with a port; the system's if there is none.
    pub resolver: Option<String>,
    /// The longest time to wait until the zone's servers have the record, and for a program. If zero, the servers are
    /// not asked whether they have it.
    pub timeout: Duration,
    /// Time to wait beyond that, before the authority looks.
    pub delay: Duration,
}

/// The program or server that changes the DNS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DnsUpdate {
    /// A program with its arguments; it gets `present` or `remove`, the record's name and its value as three more.
    Program(Vec<String>),
    /// The zone's server, by a dynamic update (RFC 2136).
    Server(DnsServer),
}

/// A server that takes dynamic updates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsServer {
    /// The server's name or address, with a port.
    pub address: String,
    /// The zone, without the last dot; found by asking the server if it is not said.
    pub zone: Option<String>,
    /// The key that signs updates (TSIG, RFC 8945).
    pub key: Option<DnsKey>,
}

/// A key that a server of the DNS knows.
#[derive(Clone, PartialEq, Eq)]
pub struct DnsKey {
    /// The key's name.
    pub name: String,
    /// How it signs.
    pub algorithm: DnsAlgorithm,
    /// The key itself, decoded.
    pub secret: Vec<u8>,
}

/// `algorithm` of a key (RFC 8945 section 6).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DnsAlgorithm {
    /// HMAC with SHA-256.
    #[default]
    HmacSha256,
    /// HMAC with SHA-384.
    HmacSha384,
    /// HMAC with SHA-512.
    HmacSha512,
}

/// For which names a certificate is ordered when the first client asks for them. Others get none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnDemand {
    /// The rule that decides.
    pub allow: AllowRule,
    /// New names for one client's address in an hour.
    pub per_address: u32,
    /// New names below one registered domain in an hour.
    pub per_domain: u32,
}

/// A rule about host names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowRule {
    /// A URL that is asked with the parameter `domain`: status 200 allows.
    Url {
        /// With `http` or `https`.
        url: String,
        /// How long a yes counts.
        allowed_for: Duration,
        /// How long a no counts.
        refused_for: Duration,
    },
    /// Host names in lower case; `*.example.com` stands for one label.
    Names(Vec<String>),
}

/// Without the key.
impl fmt::Debug for ExternalAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalAccount").field("kid", &self.kid).finish_non_exhaustive()
    }
}

/// Without the secret.
impl fmt::Debug for DnsKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, algorithm, secret: _ } = self;
        f.debug_struct("DnsKey").field("name", name).field("algorithm", algorithm).finish_non_exhaustive()
    }
}
