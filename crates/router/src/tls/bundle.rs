//! Certificate bundles: a chain, its key, and the host names that it is good for.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

/// The contents of a bundle.
pub(super) struct Bundle {
    /// The leaf, then those that vouch for it.
    pub(super) chain: Vec<CertificateDer<'static>>,
    /// None in a bundle that is nothing but authorities.
    key: Option<PrivateKeyDer<'static>>,
}

impl Bundle {
    /// Reads PEM.
    pub(super) fn parse(pem: &[u8]) -> anyhow::Result<Self> {
        let chain: Vec<_> =
            CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().context("read its PEM text")?;
        if chain.is_empty() {
            bail!("it contains no certificate");
        }
        let key = match PrivateKeyDer::from_pem_slice(pem) {
            Ok(key) => Some(key),
            Err(rustls_pki_types::pem::Error::NoItemsFound) => None,
            Err(error) => return Err(error).context("read its private key"),
        };
        Ok(Self { chain, key })
    }

    /// What is shown to clients, and the host names that it is for.
    pub(super) fn certify(
        self,
        provider: &CryptoProvider,
    ) -> anyhow::Result<(Arc<CertifiedKey>, Vec<String>)> {
        let Self { chain, key } = self;
        let key = key.context("it contains no private key")?;
        let key = provider.key_provider.load_private_key(key).context("its private key cannot be used")?;
        let host_names = host_names(&chain[0])?;
        let certified = CertifiedKey::new(chain, key);
        certified.keys_match().context("its private key does not belong to its first certificate")?;
        Ok((Arc::new(certified), host_names))
    }
}

/// The DNS names of the certificate, in lower case; its common name if it has no alternative names at all.
fn host_names(leaf: &CertificateDer<'_>) -> anyhow::Result<Vec<String>> {
    let (_, leaf) = X509Certificate::from_der(leaf).context("its first certificate is malformed")?;
    let alternative = leaf.subject_alternative_name().context("its alternative names are malformed")?;
    let names = match alternative {
        Some(extension) => extension.value.general_names.iter().filter_map(dns_name).collect(),
        None => leaf.subject().iter_common_name().filter_map(|name| name.as_str().ok()).collect::<Vec<_>>(),
    };
    Ok(names.into_iter().map(str::to_ascii_lowercase).collect())
}

fn dns_name<'n>(name: &GeneralName<'n>) -> Option<&'n str> {
    match name {
        GeneralName::DNSName(name) => Some(name),
        _ => None,
    }
}
