//! The answer that proves a name: put where the authority looks for it, and taken back afterwards.

use corral_config::tls::DnsChallenge;
use corral_ipc::message::{IssuedSecret, IssuedSecretKind};
use instant_acme::{ChallengeType, KeyAuthorization};
use rcgen::{CertificateParams, CustomExtension, DistinguishedName, KeyPair};

use crate::dns::{self, Record};
use crate::failure::Failure;
use crate::host::EngineHost;
use crate::order_policy::ChallengeMethod;

/// One answer.
pub(crate) enum ChallengeResponse {
    /// An answer that every router gives.
    Router(IssuedSecret),
    /// A record of the DNS.
    Dns(DnsChallenge, Record),
}

impl ChallengeResponse {
    /// The answer for `name` by `method`, to the challenge with `token`.
    pub(crate) fn new(
        name: &str,
        method: &ChallengeMethod,
        token: &str,
        key: &KeyAuthorization,
    ) -> Result<Self, Failure> {
        let router = |kind, name: &str, bytes| {
            Self::Router(IssuedSecret { kind, name: name.to_owned(), bytes: Some(bytes) })
        };
        Ok(match method {
            ChallengeMethod::Http => {
                router(IssuedSecretKind::HttpToken, token, key.as_str().as_bytes().to_vec())
            }
            ChallengeMethod::TlsAlpn => {
                let pem = alpn_certificate(name, key.digest().as_ref());
                let pem = pem.map_err(|error| {
                    Failure::of_name(format!("make the certificate of the answer: {error}"))
                })?;
                router(IssuedSecretKind::TlsAlpn, name, pem.into_bytes())
            }
            ChallengeMethod::Dns(how) => {
                let domain = name.strip_prefix("*.").unwrap_or(name);
                let record = Record { name: format!("_acme-challenge.{domain}"), value: key.dns_value() };
                Self::Dns(how.clone(), record)
            }
        })
    }

    /// Returns when the authority can find it.
    pub(crate) async fn present(&self, host: &impl EngineHost) -> Result<(), Failure> {
        match self {
            Self::Router(secret) => host.provide(vec![secret.clone()]).await.map_err(|error| {
                Failure::slow(format!("the router has not taken the answer for the authority: {error}"))
            }),
            Self::Dns(how, record) => Ok(dns::present(how, record).await?),
        }
    }

    /// An answer that stays does no harm.
    pub(crate) async fn withdraw(self, host: &impl EngineHost) {
        let result = match self {
            Self::Router(secret) => host.provide(vec![IssuedSecret { bytes: None, ..secret }]).await,
            Self::Dns(how, record) => dns::remove(&how, &record).await.map_err(|error| error.words()),
        };
        if let Err(error) = result {
            tracing::warn!("take the answer for an authority back: {error}");
        }
    }
}

/// The challenge of a way.
pub(crate) fn challenge(method: &ChallengeMethod) -> ChallengeType {
    match method {
        ChallengeMethod::Http => ChallengeType::Http01,
        ChallengeMethod::TlsAlpn => ChallengeType::TlsAlpn01,
        ChallengeMethod::Dns(_) => ChallengeType::Dns01,
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
