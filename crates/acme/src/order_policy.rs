//! Certificates that are wanted, and how each of them is ordered.

use std::collections::BTreeMap;
use std::sync::Arc;

use corral_config::tls::{AcmeIssuer, DnsChallenge, OnDemand};

/// Everything that a configuration wants certificates for.
#[derive(Debug, Default)]
pub struct WantedCertificates {
    /// By host name; `*.example.com` stands for one label.
    pub names: BTreeMap<String, Arc<OrderPolicy>>,
    /// Rules for names that are not there, and how such certificates are ordered.
    pub on_demand: Vec<(OnDemand, Arc<OrderPolicy>)>,
}

/// How a certificate is ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderPolicy {
    /// The authority and the account.
    pub issuer: AcmeIssuer,
    /// The bundle that `issuer.ca` names, in PEM.
    pub ca: Option<Vec<u8>>,
    /// The ways to prove a name, the best first; after a failure it is the next one's turn. At least one.
    pub methods: Vec<ChallengeMethod>,
}

/// One way to prove that a name leads here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChallengeMethod {
    /// `http-01` (RFC 8555 section 8.3).
    Http,
    /// `tls-alpn-01` (RFC 8737).
    TlsAlpn,
    /// `dns-01` (RFC 8555 section 8.4).
    Dns(DnsChallenge),
}

impl ChallengeMethod {
    /// The name of the challenge in ACME.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Http => "http-01",
            Self::TlsAlpn => "tls-alpn-01",
            Self::Dns(_) => "dns-01",
        }
    }
}
