//! `listeners.{addr}.tls` (contract 7): what the document says, in the form in which it is obeyed.

mod acme;
mod base64;
mod cipher_string;
mod commands;
mod suite;
mod ticket_key;

use std::time::Duration;

pub use self::acme::{
    AcmeIssuer, AcmeSettings, AllowRule, Challenge, DnsAlgorithm, DnsChallenge, DnsKey, DnsServer, DnsUpdate,
    ExternalAccount, OnDemand,
};
pub use self::commands::CommandError;
pub use self::suite::{CipherSuite, Group};
pub use self::ticket_key::{TicketKey, TicketKeyError};

/// TLS on one listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// Names of certificate bundles; at least one, or `acme` is there. The first answers clients that name no known
    /// host.
    pub certificates: Vec<String>,
    /// Certificates that the daemon orders by itself, for clients that ask for none of the others.
    pub acme: Option<AcmeSettings>,
    /// Clients that name no host of a certificate are refused, instead of getting the first one.
    pub reject_unknown: bool,
    /// Protocol versions, cipher suites and groups.
    pub policy: Policy,
    /// How sessions are resumed.
    pub session: SessionSettings,
    /// Whether clients show certificates, and the authorities that vouch for them.
    pub client: Option<ClientAuth>,
}

/// `session`: how a client gets around a full handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSettings {
    /// Sessions that the server remembers; 0 for none.
    pub cache_size: usize,
    /// How long a session can be resumed.
    pub timeout: Duration,
    /// Sessions that the client keeps, encrypted.
    pub tickets: Tickets,
}

impl ClientAuth {
    /// Names of all bundles that clients are verified by: those of `ca`, then those of `crl`.
    pub fn bundles(&self) -> impl Iterator<Item = &String> {
        self.ca.iter().chain(&self.crl)
    }
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self { cache_size: 0, timeout: Duration::from_secs(300), tickets: Tickets::Off }
    }
}

/// `session.tickets`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tickets {
    /// No tickets are given out.
    Off,
    /// Encrypted with a key that ends with the router.
    Random,
    /// At least one; the last one encrypts, all decrypt.
    Keys(Vec<TicketKey>),
}

/// `client`: certificates of clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientAuth {
    /// Names of bundles whose certificates are the authorities; at least one.
    pub ca: Vec<String>,
    /// Names of bundles with lists of revoked certificates. With one, each certificate below an authority needs a list
    /// of its issuer.
    pub crl: Vec<String>,
    /// Most certificates between a client's and an authority's.
    pub depth: Option<usize>,
    /// The treatment of a client without a certificate.
    pub verify: Verify,
}

/// Whether a client must show a certificate. One that it shows must be good in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verify {
    /// Without one there is no connection.
    #[default]
    Required,
    /// A client may connect without a certificate.
    Optional,
}

/// The protocol versions, cipher suites and groups that `conf_commands` leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// TLS 1.2 may be spoken.
    pub tls12: bool,
    /// TLS 1.3 may be spoken.
    pub tls13: bool,
    /// In the order of preference, those of both versions.
    pub suites: Vec<CipherSuite>,
    /// For the key exchange, in the order of preference.
    pub groups: Vec<Group>,
    /// The server's order of suites counts, not the client's.
    pub server_preference: bool,
    /// Tickets are given out if `session.tickets` says so.
    pub tickets: bool,
    /// Tickets that a client of TLS 1.3 gets.
    pub n_tickets: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            tls12: true,
            tls13: true,
            suites: CipherSuite::ALL.to_vec(),
            groups: Group::ALL.to_vec(),
            server_preference: true,
            tickets: true,
            n_tickets: 2,
        }
    }
}
