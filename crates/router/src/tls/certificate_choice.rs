//! Which certificate a client gets: an uploaded one that has the host name that it asks for, else one that was ordered
//! for it, else the first one that was uploaded.

use std::cell::Cell;
use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{CipherSuite, SignatureAlgorithm};

use super::challenge;
use super::names::ServerNames;
use super::no_certificate::NoCertificate;
use super::ordered::OrderedCertificates;

/// The certificates of one listener.
#[derive(Debug)]
pub(super) struct CertificateChoice {
    pub(super) uploaded: ServerNames,
    pub(super) ordered: Option<OrderedCertificates>,
    /// Clients that name no host of a certificate get none.
    pub(super) rejects_unknown: bool,
}

impl CertificateChoice {
    fn choose(&self, hello: &ClientHello<'_>) -> Result<Arc<CertifiedKey>, NoCertificate> {
        let host = hello.server_name();
        let suits = |certificate: &Arc<CertifiedKey>| can_verify(hello, certificate);
        let first = || if self.rejects_unknown { None } else { self.uploaded.first(suits) };
        let found = self.uploaded.find(host, suits);
        let Some(ordered) = &self.ordered else {
            return found
                .or_else(first)
                .ok_or(host.map_or(NoCertificate::Nameless, |_| NoCertificate::Unknown));
        };
        // Challenges are answered with other settings, if there are any.
        if challenge::is_wanted(hello) {
            return Err(NoCertificate::NoChallenge);
        }
        found.or_else(|| ordered.find(host)).or_else(first).ok_or_else(|| ordered.reason(host))
    }
}

/// Whether the client knows a signature that the certificate's key can make, and the cipher suites that go with it.
fn can_verify(hello: &ClientHello<'_>, certificate: &CertifiedKey) -> bool {
    let key = &certificate.key;
    let suites_of_tls12 = match key.algorithm() {
        SignatureAlgorithm::RSA => "TLS_ECDHE_RSA_",
        _ => "TLS_ECDHE_ECDSA_",
    };
    // From TLS 1.3 on a suite says nothing of keys.
    let goes_with_key = |suite: &CipherSuite| {
        suite.as_str().is_some_and(|name| name.starts_with("TLS13_") || name.starts_with(suites_of_tls12))
    };
    key.choose_scheme(hello.signature_schemes()).is_some() && hello.cipher_suites().iter().any(goes_with_key)
}

impl ResolvesServerCert for CertificateChoice {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        note(&hello, self.choose(&hello))
    }
}

thread_local! {
    /// The host name that the last client has asked for: sessions without buffers of their own do not tell it
    /// otherwise.
    static WANTED: Cell<Option<Box<str>>> = const { Cell::new(None) };

    /// Why it got no certificate.
    static NO_CERTIFICATE: Cell<Option<NoCertificate>> = const { Cell::new(None) };
}

/// Notes the outcome of a client's wish, for the session that processes its message.
pub(super) fn note(
    hello: &ClientHello<'_>,
    chosen: Result<Arc<CertifiedKey>, NoCertificate>,
) -> Option<Arc<CertifiedKey>> {
    WANTED.set(hello.server_name().map(Box::from));
    NO_CERTIFICATE.set(chosen.as_ref().err().copied());
    chosen.ok()
}

/// The host name that the client has asked for whose message was processed just now, if it was one that names one.
pub(crate) fn take_wanted() -> Option<Box<str>> {
    WANTED.take()
}

/// Why the client whose message was processed just now gets no certificate, if that is what came of it.
pub(crate) fn take_no_certificate() -> Option<NoCertificate> {
    NO_CERTIFICATE.take()
}
