//! Certificate bundles: a chain, its key, and the host names that it is good for.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

/// The contents of a bundle.
pub(super) struct CertificateBundle {
    /// The leaf, then those that vouch for it.
    pub(super) chain: Vec<CertificateDer<'static>>,
    /// `None` in a bundle that is nothing but authorities.
    key: Option<PrivateKeyDer<'static>>,
}

impl CertificateBundle {
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

    /// The certificate that is shown to clients, and the host names that it is for.
    pub(super) fn certify(
        self,
        provider: &CryptoProvider,
    ) -> anyhow::Result<(Arc<CertifiedKey>, Vec<String>)> {
        let Self { chain, key } = self;
        let key = key.context("it contains no private key")?;
        let key = provider.key_provider.load_private_key(key).context("its private key cannot be used")?;
        let (_, leaf) = X509Certificate::from_der(&chain[0]).context("its first certificate is malformed")?;
        // Compared here and not by rustls, which knows no certificates of version 1; clients take them.
        if key.public_key().is_some_and(|public| *public != *leaf.public_key().raw) {
            bail!("its private key does not belong to its first certificate");
        }
        let host_names = host_names(&leaf)?;
        Ok((Arc::new(CertifiedKey::new(chain, key)), host_names))
    }
}

/// The lists of revoked certificates in PEM; at least one.
pub(super) fn revocation_lists(pem: &[u8]) -> anyhow::Result<Vec<CertificateRevocationListDer<'static>>> {
    let lists = CertificateRevocationListDer::pem_slice_iter(pem);
    let lists: Vec<_> = lists.collect::<Result<_, _>>().context("read its PEM text")?;
    if lists.is_empty() {
        bail!("it contains no list of revoked certificates (X509 CRL)");
    }
    Ok(lists)
}

/// The DNS names of the certificate, in lower case; its common name if it has no alternative names at all.
fn host_names(leaf: &X509Certificate<'_>) -> anyhow::Result<Vec<String>> {
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

#[cfg(test)]
mod tests {
    use rustls::crypto::aws_lc_rs::default_provider;

    use super::*;

    /// `openssl x509 -req` makes such ones unless it is given extensions.
    const VERSION_1: &str = include_str!("testdata/version1.pem");

    #[test]
    fn certificates_of_version_1_are_served() {
        let bundle = CertificateBundle::parse(VERSION_1.as_bytes()).unwrap();
        let (_, names) = bundle.certify(&default_provider()).unwrap();
        assert_eq!(names, ["old.example"]);
    }

    #[test]
    fn the_key_must_be_that_of_the_certificate() {
        let other = include_str!("testdata/other_key.pem");
        let (certificate, _) = VERSION_1.split_once("-----BEGIN PRIVATE KEY").unwrap();
        let bundle = CertificateBundle::parse((certificate.to_owned() + other).as_bytes()).unwrap();
        let error = bundle.certify(&default_provider()).unwrap_err();
        assert_eq!(error.to_string(), "its private key does not belong to its first certificate");
    }
}
