//! The values of variables about a TLS connection and the client's certificate.

use std::borrow::Cow;
use std::io::Write;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use corral_config::template::TlsVariable;
use corral_config::tls::CipherSuite;
use corral_http::path::append_encoded_value;
use jiff::Timestamp;
use rustls::server::UnbufferedServerConnection;
use rustls::{HandshakeKind, NamedGroup, ProtocolVersion};
use rustls_pki_types::CertificateDer;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{ASN1Time, FromDer, X509Certificate};

use crate::clock;

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
    /// The group of the key exchange.
    group: Option<NamedGroup>,
    alpn: Alpn,
    is_resumed: bool,
}

/// The protocol that was agreed on by ALPN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alpn {
    None,
    Http1,
    Http2,
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
            group: connection.negotiated_key_exchange_group().map(|group| group.name()),
            alpn: match connection.alpn_protocol() {
                Some(b"h2") => Alpn::Http2,
                Some(b"http/1.1") => Alpn::Http1,
                _ => Alpn::None,
            },
            is_resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
        }
    }

    /// A copy that outlives the session.
    pub(crate) fn into_owned(self) -> TlsPeer<'static> {
        TlsPeer {
            protocol: self.protocol,
            cipher: self.cipher,
            server_name: self.server_name.into_owned().into(),
            certificate: self.certificate.map(CertificateDer::into_owned),
            group: self.group,
            alpn: self.alpn,
            is_resumed: self.is_resumed,
        }
    }

    /// The version that was agreed on, among `TLS_VERSIONS`; none before the handshake is done.
    pub(crate) fn version(&self) -> Option<usize> {
        match self.protocol? {
            ProtocolVersion::TLSv1_2 => Some(0),
            ProtocolVersion::TLSv1_3 => Some(1),
            _ => None,
        }
    }

    /// Whether a session of before goes on.
    pub(crate) fn is_resumed(&self) -> bool {
        self.is_resumed
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
            TlsVariable::Group => out.extend_from_slice(
                self.group.and_then(|group| group.as_str()).unwrap_or_default().as_bytes(),
            ),
            TlsVariable::Alpn => out.extend_from_slice(match self.alpn {
                Alpn::None => b"",
                Alpn::Http1 => b"http/1.1",
                Alpn::Http2 => b"h2",
            }),
            TlsVariable::SessionReused => out.push(if self.is_resumed { b'r' } else { b'.' }),
            TlsVariable::ClientFingerprint
            | TlsVariable::ClientCertificate
            | TlsVariable::ClientSubject
            | TlsVariable::ClientIssuer
            | TlsVariable::ClientSerial
            | TlsVariable::ClientNotBefore
            | TlsVariable::ClientNotAfter
            | TlsVariable::ClientDaysLeft => {
                if let Some(certificate) = &self.certificate {
                    append_of_certificate(variable, certificate, out);
                }
            }
        }
    }
}

fn append_of_certificate(variable: TlsVariable, certificate: &[u8], out: &mut Vec<u8>) {
    match variable {
        TlsVariable::ClientFingerprint => append_fingerprint(certificate, out),
        TlsVariable::ClientCertificate => append_pem(certificate, out),
        _ => {
            if let Ok((_, certificate)) = X509Certificate::from_der(certificate) {
                append_content(variable, &certificate, out);
            }
        }
    }
}

/// Something that stands in the certificate. Names are as in `CN=Alice, O=Example`.
fn append_content(variable: TlsVariable, certificate: &X509Certificate<'_>, out: &mut Vec<u8>) {
    let validity = certificate.validity();
    let written = match variable {
        TlsVariable::ClientSubject => write!(out, "{}", certificate.subject()),
        TlsVariable::ClientIssuer => write!(out, "{}", certificate.issuer()),
        TlsVariable::ClientSerial => {
            let serial = certificate.raw_serial();
            // A zero in front only says that the number is not negative.
            let serial = serial.strip_prefix(&[0]).filter(|rest| !rest.is_empty()).unwrap_or(serial);
            serial.iter().try_for_each(|byte| write!(out, "{byte:02X}"))
        }
        TlsVariable::ClientNotBefore => append_time(validity.not_before, out),
        TlsVariable::ClientNotAfter => append_time(validity.not_after, out),
        TlsVariable::ClientDaysLeft => {
            let left = validity.not_after.timestamp().saturating_sub(clock::now().cast_signed());
            write!(out, "{}", left.max(0) / 86_400)
        }
        _ => Ok(()),
    };
    written.expect("writing to memory cannot fail");
}

/// As in `2026-01-31T09:00:00Z`.
fn append_time(time: ASN1Time, out: &mut Vec<u8>) -> std::io::Result<()> {
    match Timestamp::from_second(time.timestamp()) {
        Ok(time) => write!(out, "{time}"),
        Err(_) => Ok(()),
    }
}

/// The certificate in PEM, percent-encoded: a header has no room for line ends.
fn append_pem(certificate: &[u8], out: &mut Vec<u8>) {
    let text = BASE64_STANDARD.encode(certificate);
    let lines = text.as_bytes().chunks(64).flat_map(|line| line.iter().copied().chain([b'\n']));
    let begin = b"-----BEGIN CERTIFICATE-----\n".iter().copied();
    let pem: Vec<u8> = begin.chain(lines).chain(*b"-----END CERTIFICATE-----\n").collect();
    append_encoded_value(&pem, out);
}

/// The SHA-256 of the certificate in hexadecimal.
fn append_fingerprint(certificate: &[u8], out: &mut Vec<u8>) {
    for byte in digest::digest(&digest::SHA256, certificate).as_ref() {
        write!(out, "{byte:02x}").expect("writing to memory cannot fail");
    }
}
