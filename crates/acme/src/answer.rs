//! The answer that proves a name: put where the authority looks for it, and taken back afterwards.

use corral_config::tls::DnsChallenge;
use corral_ipc::message::{Provision, ProvisionKind};
use instant_acme::{ChallengeType, KeyAuthorization};
use rcgen::{CertificateParams, CustomExtension, DistinguishedName, KeyPair};

use crate::dns::{self, Record};
use crate::failure::Failure;
use crate::host::Host;
use crate::issue::Way;

/// One answer.
pub(crate) enum Answer {
    /// An answer that every router gives.
    Router(Provision),
    /// A record of the DNS.
    Dns(DnsChallenge, Record),
}

impl Answer {
    /// The answer for `name` by `way`, to the challenge with `token`.
    pub(crate) fn new(name: &str, way: &Way, token: &str, key: &KeyAuthorization) -> Result<Self, Failure> {
        let router = |kind, name: &str, bytes| {
            Self::Router(Provision { kind, name: name.to_owned(), bytes: Some(bytes) })
        };
        Ok(match way {
            Way::Http => router(ProvisionKind::HttpToken, token, key.as_str().as_bytes().to_vec()),
            Way::TlsAlpn => {
                let pem = alpn_certificate(name, key.digest().as_ref());
                let pem = pem.map_err(|error| {
                    Failure::of_name(format!("make the certificate of the answer: {error}"))
                })?;
                router(ProvisionKind::TlsAlpn, name, pem.into_bytes())
            }
            Way::Dns(how) => {
                let domain = name.strip_prefix("*.").unwrap_or(name);
                let record = Record { name: format!("_acme-challenge.{domain}"), value: key.dns_value() };
                Self::Dns(how.clone(), record)
            }
        })
    }

    /// Returns when the authority can find it.
    pub(crate) async fn present(&self, host: &impl Host) -> Result<(), Failure> {
        match self {
            Self::Router(provision) => host.provide(vec![provision.clone()]).await.map_err(|error| {
                Failure::slow(format!("the router has not taken the answer for the authority: {error}"))
            }),
            Self::Dns(how, record) => Ok(dns::present(how, record).await?),
        }
    }

    /// An answer that stays does no harm.
    pub(crate) async fn withdraw(self, host: &impl Host) {
        let result = match self {
            Self::Router(provision) => host.provide(vec![Provision { bytes: None, ..provision }]).await,
            Self::Dns(how, record) => dns::remove(&how, &record).await.map_err(|error| error.words()),
        };
        if let Err(error) = result {
            tracing::warn!("take the answer for an authority back: {error}");
        }
    }
}

/// The challenge of a way.
pub(crate) fn challenge(way: &Way) -> ChallengeType {
    match way {
        Way::Http => ChallengeType::Http01,
        Way::TlsAlpn => ChallengeType::TlsAlpn01,
        Way::Dns(_) => ChallengeType::Dns01,
    }
}

/// A certificate with its key (RFC 8737 section 3).
fn alpn_certificate(name: &str, digest: &[u8]) -> Result<String, rcgen::Error> {
    let mut params = CertificateParams::new([name.to_owned()])?;
    params.distinguished_name = DistinguishedName::new();
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok(format!("{}{}", certificate.pem(), key.serialize_pem()))
}
