//! Certificates that the daemon has ordered, and answers for the authorities that issue them, as main gives them to the
//! router: one store for all configurations and event loops. Which client gets which certificate belongs to `ordered`.

use std::sync::Arc;

use anyhow::Context as _;
use corral_ipc::message::{IssuedSecret, IssuedSecretKind};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::sign::CertifiedKey;

use super::bundle::CertificateBundle;
use super::challenge::Challenges;
use super::shared_map::SharedMap;

/// Everything that is in force.
pub(crate) struct IssuedSecrets {
    /// By host name in lower case; `*.example.com` as it is.
    pub(super) certificates: SharedMap<Arc<CertifiedKey>>,
    /// Answers to `tls-alpn-01`.
    pub(super) challenges: Arc<Challenges>,
    /// Answers to `http-01`: key authorizations by token.
    pub(crate) tokens: SharedMap<Arc<[u8]>>,
    provider: CryptoProvider,
}

impl IssuedSecrets {
    /// An empty store.
    ///
    /// # Errors
    /// When the cryptography that is built in does not know the usual versions of TLS.
    pub(crate) fn new() -> anyhow::Result<Arc<Self>> {
        let provider = aws_lc_rs::default_provider();
        let challenges = Challenges::new(provider.clone())?;
        Ok(Arc::new(Self {
            certificates: SharedMap::default(),
            challenges,
            tokens: SharedMap::default(),
            provider,
        }))
    }

    /// Obeys them in their order. One that cannot be used changes nothing, and what had its name before goes on.
    pub(crate) fn take(&self, secrets: Vec<IssuedSecret>) {
        for IssuedSecret { kind, name, bytes } in secrets {
            let Some(bytes) = bytes else {
                self.remove(kind, &name);
                continue;
            };
            if let Err(error) = self.put(kind, name.clone(), &bytes) {
                tracing::error!("{kind:?} for {name:?} cannot be used: {error:#}");
            }
        }
    }

    fn put(&self, kind: IssuedSecretKind, name: String, bytes: &[u8]) -> anyhow::Result<()> {
        match kind {
            IssuedSecretKind::HttpToken => self.tokens.put(name, bytes.into()),
            IssuedSecretKind::Certificate => self.certificates.put(name, self.certify(bytes)?),
            IssuedSecretKind::TlsAlpn => self.challenges.certificates.put(name, self.certify(bytes)?),
        }
        Ok(())
    }

    fn remove(&self, kind: IssuedSecretKind, name: &str) {
        match kind {
            IssuedSecretKind::HttpToken => self.tokens.remove(name),
            IssuedSecretKind::Certificate => self.certificates.remove(name),
            IssuedSecretKind::TlsAlpn => self.challenges.certificates.remove(name),
        }
    }

    fn certify(&self, pem: &[u8]) -> anyhow::Result<Arc<CertifiedKey>> {
        let bundle = CertificateBundle::parse(pem).context("read the certificate")?;
        let (certified, _) = bundle.certify(&self.provider).context("use the certificate")?;
        Ok(certified)
    }
}
