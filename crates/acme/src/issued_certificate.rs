//! Reads certificates: the name, the issuer, and the validity.

use std::time::SystemTime;

use instant_acme::CertificateIdentifier;
use rcgen::{KeyPair, PublicKeyData as _};
use rustls_pki_types::Der;
use rustls_pki_types::pem::{PemObject as _, SectionKind};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::FromDer as _;
use x509_parser::time::ASN1Time;

use crate::record::CertificateRecord;
use crate::time;

/// A certificate that is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IssuedCertificate {
    pub(crate) not_before: SystemTime,
    pub(crate) not_after: SystemTime,
    /// Common name of its issuer.
    pub(crate) issuer: String,
    /// The authority's name for it (RFC 9773 section 4.1), if it has the fields that make one.
    pub(crate) id: Option<CertificateIdentifier<'static>>,
    /// The directory that it comes from.
    pub(crate) directory: String,
    /// True if it was ordered because a client asked for it.
    pub(crate) on_demand: bool,
}

/// Why a certificate is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CertificateError {
    /// No PEM, or nothing that a certificate is made of.
    #[error("the authority sent a certificate that cannot be read")]
    Unreadable,
    /// More than a chain of certificates, or more than a handshake holds.
    #[error("the authority sent a chain that cannot be served: {0}")]
    Unservable(&'static str),
    /// A certificate for another name.
    #[error("the authority sent a certificate for another name")]
    OtherName,
    /// A certificate for another key.
    #[error("the authority sent a certificate for another key")]
    OtherKey,
}

impl IssuedCertificate {
    /// Reads the certificate of `record`, which is to be one for `name`.
    pub(crate) fn read(name: &str, record: &CertificateRecord) -> Result<Self, CertificateError> {
        let chain = chain(&record.chain)?;
        let leaf = chain.first().ok_or(CertificateError::Unreadable)?;
        let (_, leaf) = X509Certificate::from_der(leaf).map_err(|_| CertificateError::Unreadable)?;
        if !is_for(name, &leaf) {
            return Err(CertificateError::OtherName);
        }
        let key = KeyPair::from_pem(&record.key).map_err(|_| CertificateError::OtherKey)?;
        if key.subject_public_key_info() != leaf.public_key().raw {
            return Err(CertificateError::OtherKey);
        }
        let validity = leaf.validity();
        Ok(Self {
            not_before: of_asn1(validity.not_before),
            not_after: of_asn1(validity.not_after),
            issuer: issuer(&leaf),
            id: identifier(&leaf),
            directory: record.directory.clone(),
            on_demand: record.on_demand,
        })
    }
}

/// The certificates of a chain in DER, each of which can be read: clients of the router get all of them.
fn chain(pem: &str) -> Result<Vec<Vec<u8>>, CertificateError> {
    let mut chain = Vec::new();
    for block in <(SectionKind, Vec<u8>)>::pem_slice_iter(pem.as_bytes()) {
        let (kind, der) = block.map_err(|_| CertificateError::Unreadable)?;
        if kind != SectionKind::Certificate {
            return Err(CertificateError::Unservable("it holds something other than certificates"));
        }
        X509Certificate::from_der(&der).map_err(|_| CertificateError::Unreadable)?;
        chain.push(der);
    }
    if chain.iter().map(Vec::len).sum::<usize>() > LONGEST_CHAIN {
        return Err(CertificateError::Unservable(
            "it is longer than 60 KiB, more than clients take in a handshake",
        ));
    }
    Ok(chain)
}

/// Bytes of all certificates: a message of a handshake that is longer than 64 KiB is refused by clients, this daemon's
/// own TLS among them.
const LONGEST_CHAIN: usize = 60 * 1024;

fn is_for(name: &str, leaf: &X509Certificate<'_>) -> bool {
    let Ok(Some(names)) = leaf.subject_alternative_name() else { return false };
    names.value.general_names.iter().any(|other| match other {
        GeneralName::DNSName(other) => other.eq_ignore_ascii_case(name),
        _ => false,
    })
}

/// The common name of the issuer, or all that is known of it.
fn issuer(leaf: &X509Certificate<'_>) -> String {
    let common = leaf.issuer().iter_common_name().find_map(|name| name.as_str().ok());
    common.map_or_else(|| leaf.issuer().to_string(), str::to_owned)
}

fn identifier(leaf: &X509Certificate<'_>) -> Option<CertificateIdentifier<'static>> {
    let key = leaf.extensions().iter().find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::AuthorityKeyIdentifier(authority) => authority.key_identifier.as_ref(),
        _ => None,
    })?;
    let serial = Der::from_slice(leaf.tbs_certificate.raw_serial());
    Some(CertificateIdentifier::new(Der::from_slice(key.0), serial).into_owned())
}

fn of_asn1(time: ASN1Time) -> SystemTime {
    time::of_seconds(u64::try_from(time.timestamp()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sample::record;

    #[test]
    fn a_certificate_says_who_made_it_and_until_when() {
        let held = IssuedCertificate::read("a.example", &record("a.example")).unwrap();
        assert_eq!(held.issuer, "Test CA");
        assert_eq!(
            held.not_after.duration_since(held.not_before).ok(),
            Some(Duration::from_secs(365 * 86_400))
        );
        assert!(held.id.unwrap().to_string().ends_with(".AMr-"));
    }

    #[test]
    fn certificates_for_something_else_are_refused() {
        let [one, other] = ["*.a.example", "b.example"].map(record);
        assert!(IssuedCertificate::read("*.a.example", &one).is_ok());
        assert_eq!(IssuedCertificate::read("a.example", &one), Err(CertificateError::OtherName));
        let mixed = CertificateRecord { key: other.key, ..one.clone() };
        assert_eq!(IssuedCertificate::read("*.a.example", &mixed), Err(CertificateError::OtherKey));
        let broken = CertificateRecord { chain: "-----BEGIN".to_owned(), ..one };
        assert_eq!(IssuedCertificate::read("*.a.example", &broken), Err(CertificateError::Unreadable));
    }

    /// Checks whether a chain with `more` behind a good certificate is taken.
    #[track_caller]
    fn check_chain(more: &str, is_good: bool) {
        let good = record("a.example");
        let chain = format!("{}{more}", good.chain);
        let read = IssuedCertificate::read("a.example", &CertificateRecord { chain, ..good });
        assert_eq!(read.is_ok(), is_good, "{read:?}");
    }

    #[test]
    fn a_chain_that_cannot_be_served_is_refused_when_it_comes() {
        let other = record("b.example");
        check_chain(&other.chain, true);
        check_chain("Some words between the blocks.\n", true);
        check_chain(&other.key, false);
        check_chain(&other.chain.repeat(600), false);
        check_chain("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", false);
        check_chain("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n", false);
        let key_first = CertificateRecord { chain: format!("{}{}", other.key, other.chain), ..other };
        assert!(matches!(
            IssuedCertificate::read("b.example", &key_first),
            Err(CertificateError::Unservable(_))
        ));
    }
}
