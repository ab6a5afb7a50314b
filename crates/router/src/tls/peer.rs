//! What the variables tell about a TLS connection and the client's certificate.

use std::io::Write;

use aws_lc_rs::digest;
use corral_config::template::TlsVariable;
use corral_config::tls::CipherSuite;
use rustls::ProtocolVersion;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::Session;

/// Appends the value of a variable; nothing where there is none.
pub(crate) fn append_variable(session: &Session, variable: TlsVariable, out: &mut Vec<u8>) {
    let connection = session.connection();
    let certificate = connection.peer_certificates().and_then(|chain| chain.first());
    match variable {
        TlsVariable::Protocol => out.extend_from_slice(match connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => b"TLSv1.2",
            Some(ProtocolVersion::TLSv1_3) => b"TLSv1.3",
            _ => b"",
        }),
        TlsVariable::Cipher => {
            let suite = connection.negotiated_cipher_suite();
            let name = suite.and_then(|suite| CipherSuite::name_of(suite.suite().into()));
            out.extend_from_slice(name.unwrap_or_default().as_bytes());
        }
        TlsVariable::ClientVerify => {
            out.extend_from_slice(if certificate.is_some() { b"SUCCESS" } else { b"NONE" });
        }
        TlsVariable::ClientSubject => {
            if let Some(certificate) = certificate {
                append_subject(certificate, out);
            }
        }
        TlsVariable::ClientFingerprint => {
            if let Some(certificate) = certificate {
                append_fingerprint(certificate, out);
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
