//! Certificates that an operator has named as trusted, for what rustls does not take and OpenSSL does: a
//! certificate that is trusted itself, not for others that it has signed; one of X.509 version 1, which `openssl
//! x509` makes unless it is told otherwise; and a common name where there are no alternative names.
//!
//! rustls is asked first. Only what it refuses is looked at again here.

/// The methods about signatures, which the traits for certificates of clients and of servers both have.
macro_rules! by_usual_or_authorities {
    () => {
        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.usual.verify_tls12_signature(message, certificate, signed).or_else(|error| {
                let verified = self.authorities.verify_tls12(message, certificate, signed);
                verified.map(|()| HandshakeSignatureValid::assertion()).map_err(|_| error)
            })
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.usual.verify_tls13_signature(message, certificate, signed).or_else(|error| {
                let verified = self.authorities.verify_tls13(message, certificate, signed);
                verified.map(|()| HandshakeSignatureValid::assertion()).map_err(|_| error)
            })
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.usual.supported_verify_schemes()
        }
    };
}

pub(super) mod clients;
pub(crate) mod servers;

use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error};
use webpki::RawPublicKeyEntity;
use x509_parser::prelude::{ASN1Time, FromDer, X509Certificate, X509Version};

/// The certificates that verifiers go by.
#[derive(Debug)]
pub(crate) struct TrustedAuthorities {
    trusted: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl TrustedAuthorities {
    pub(crate) fn new(trusted: Vec<CertificateDer<'static>>, algorithms: WebPkiSupportedAlgorithms) -> Self {
        Self { trusted, algorithms }
    }

    /// Whether a certificate is trusted itself, or is of version 1 and signed by one that is trusted.
    fn vouch_for(&self, certificate: &CertificateDer<'_>, now: UnixTime) -> bool {
        let Ok((_, parsed)) = X509Certificate::from_der(certificate) else { return false };
        let now = i64::try_from(now.as_secs()).ok().and_then(|now| ASN1Time::from_timestamp(now).ok());
        if !now.is_some_and(|now| parsed.validity().is_valid_at(now)) {
            return false;
        }
        let is_trusted = self.trusted.iter().any(|trusted| **trusted == **certificate);
        is_trusted || (parsed.version() == X509Version::V1 && self.have_signed(&parsed))
    }

    fn have_signed(&self, certificate: &X509Certificate<'_>) -> bool {
        let content = certificate.tbs_certificate.as_ref();
        let signature = &certificate.signature_value.data;
        self.trusted.iter().filter_map(|trusted| X509Certificate::from_der(trusted).ok()).any(
            |(_, issuer)| {
                let key = SubjectPublicKeyInfoDer::from(issuer.public_key().raw);
                may_sign(&issuer)
                    && issuer.subject().as_raw() == certificate.issuer().as_raw()
                    && RawPublicKeyEntity::try_from(&key).is_ok_and(|key| {
                        let verify = |algorithm| key.verify_signature(algorithm, content, signature);
                        self.algorithms.all.iter().any(|algorithm| verify(*algorithm).is_ok())
                    })
            },
        )
    }

    /// As rustls verifies the signature of a TLS 1.2 handshake, by the key of a certificate of version 1.
    fn verify_tls12(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<(), Error> {
        let key = key_of_version_1(certificate)?;
        let key = RawPublicKeyEntity::try_from(&key).map_err(|_| CertificateError::BadEncoding)?;
        let scheme = self.algorithms.mapping.iter().find(|(scheme, _)| *scheme == signed.scheme);
        let mut algorithms = scheme.into_iter().flat_map(|(_, algorithms)| *algorithms);
        let verify = |algorithm| key.verify_signature(algorithm, message, signed.signature());
        if algorithms.any(|algorithm| verify(*algorithm).is_ok()) {
            return Ok(());
        }
        Err(CertificateError::BadSignature.into())
    }

    /// The same for TLS 1.3.
    fn verify_tls13(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<(), Error> {
        let key = key_of_version_1(certificate)?;
        rustls::crypto::verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms).map(drop)
    }
}

/// Whether a certificate is one of an authority. Those of version 1 cannot say what they are for.
fn may_sign(certificate: &X509Certificate<'_>) -> bool {
    let is_authority = match certificate.basic_constraints() {
        Ok(Some(constraints)) => constraints.value.ca,
        Ok(None) => certificate.version() == X509Version::V1,
        Err(_) => false,
    };
    let may_sign = match certificate.key_usage() {
        Ok(usage) => usage.is_none_or(|usage| usage.value.key_cert_sign()),
        Err(_) => false,
    };
    is_authority && may_sign
}

/// The key of a certificate of version 1; all others are for rustls alone.
fn key_of_version_1(certificate: &CertificateDer<'_>) -> Result<SubjectPublicKeyInfoDer<'static>, Error> {
    match X509Certificate::from_der(certificate) {
        Ok((_, parsed)) if parsed.version() == X509Version::V1 => {
            Ok(SubjectPublicKeyInfoDer::from(parsed.public_key().raw).into_owned())
        }
        _ => Err(CertificateError::BadSignature.into()),
    }
}

/// Whether a certificate without alternative names is for this host by its common name.
fn is_for_by_common_name(certificate: &CertificateDer<'_>, host: &ServerName<'_>) -> bool {
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else { return false };
    if !matches!(parsed.subject_alternative_name(), Ok(None)) {
        return false;
    }
    let host = host.to_str();
    let mut names = parsed.subject().iter_common_name().filter_map(|name| name.as_str().ok());
    names.any(|name| name.eq_ignore_ascii_case(&host))
}
