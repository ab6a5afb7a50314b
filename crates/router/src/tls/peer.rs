//! The values of variables about a TLS connection and the client's certificate.

use std::borrow::Cow;
use std::io::Write;

use aws_lc_rs::digest;
use corral_config::template::TlsVariable;
use corral_config::tls::CipherSuite;
use rustls::ProtocolVersion;
use rustls::server::UnbufferedServerConnection;
use rustls_pki_types::CertificateDer;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

/// The names of a certificate's owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CertificateNames {
    /// As `$tls_client_subject` has it.
    pub(crate) subject: String,
    /// The first one; empty without any.
    pub(crate) common_name: String,
    /// DNS names, mail addresses and URIs.
    pub(crate) alternatives: Vec<String>,
}

/// The facts about a client that speaks TLS.
#[derive(Debug, Clone)]
pub(crate) struct TlsPeer<'s> {
    protocol: Option<ProtocolVersion>,
    cipher: &'static str,
    server_name: Cow<'s, str>,
    certificate: Option<CertificateDer<'s>>,
}

impl<'s> TlsPeer<'s> {
    /// The client at the other end of a connection, which has asked for this host name, or for none.
    pub(crate) fn new(connection: &'s UnbufferedServerConnection, server_name: &'s str) -> Self {
        let suite = connection.negotiated_cipher_suite();
        let certificate = connection.peer_certificates().and_then(|chain| chain.first());
        Self {
            protocol: connection.protocol_version(),
            cipher: suite.and_then(|suite| CipherSuite::name_of(suite.suite().into())).unwrap_or_default(),
            server_name: server_name.into(),
            certificate: certificate.map(|certificate| CertificateDer::from(&certificate[..])),
        }
    }

    /// A copy that outlives the session.
    pub(crate) fn into_owned(self) -> TlsPeer<'static> {
        let Self { protocol, cipher, server_name, certificate } = self;
        TlsPeer {
            protocol,
            cipher,
            server_name: server_name.into_owned().into(),
            certificate: certificate.map(CertificateDer::into_owned),
        }
    }

    /// The names in the client's certificate, if it has shown one.
    pub(crate) fn certificate_names(&self) -> Option<CertificateNames> {
        let certificate = self.certificate.as_ref()?;
        let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
        let common_names = certificate.subject().iter_common_name();
        let common_name = common_names.filter_map(|name| name.as_str().ok()).next().unwrap_or_default();
        let alternatives = certificate.subject_alternative_name().ok().flatten();
        let alternatives = alternatives.into_iter().flat_map(|names| &names.value.general_names);
        let text = |name: &GeneralName<'_>| match name {
            GeneralName::DNSName(text) | GeneralName::RFC822Name(text) | GeneralName::URI(text) => {
                Some((*text).to_owned())
            }
            _ => None,
        };
        Some(CertificateNames {
            subject: certificate.subject().to_string(),
            common_name: common_name.to_owned(),
            alternatives: alternatives.filter_map(text).collect(),
        })
    }

    /// Appends the value of a variable; nothing where there is none.
    pub(crate) fn append(&self, variable: TlsVariable, out: &mut Vec<u8>) {
        match variable {
            TlsVariable::Protocol => out.extend_from_slice(match self.protocol {
                Some(ProtocolVersion::TLSv1_2) => b"TLSv1.2",
                Some(ProtocolVersion::TLSv1_3) => b"TLSv1.3",
                _ => b"",
            }),
            TlsVariable::Cipher => out.extend_from_slice(self.cipher.as_bytes()),
            TlsVariable::ServerName => out.extend_from_slice(self.server_name.as_bytes()),
            TlsVariable::ClientVerify => {
                out.extend_from_slice(if self.certificate.is_some() { b"SUCCESS" } else { b"NONE" });
            }
            TlsVariable::ClientSubject => {
                if let Some(certificate) = &self.certificate {
                    append_subject(certificate, out);
                }
            }
            TlsVariable::ClientFingerprint => {
                if let Some(certificate) = &self.certificate {
                    append_fingerprint(certificate, out);
                }
            }
        }
    }
}

/// The certificate's subject, as in `CN=Alice, O=Example`.
fn append_subject(certificate: &[u8], out: &mut Vec<u8>) {
    if let Ok((_, certificate)) = X509Certificate::from_der(certificate) {
        write!(out, "{}", certificate.subject()).expect("writing to memory cannot fail");
    }
}

/// The SHA-256 of the certificate in hexadecimal.
fn append_fingerprint(certificate: &[u8], out: &mut Vec<u8>) {
    for byte in digest::digest(&digest::SHA256, certificate).as_ref() {
        write!(out, "{byte:02x}").expect("writing to memory cannot fail");
    }
}
