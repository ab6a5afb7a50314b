//! Handshakes of authorities that find out whether a name leads here (`tls-alpn-01`, RFC 8737): they speak a protocol
//! that ends with the handshake, and get a certificate that says nothing else than what they have asked for.

use std::sync::Arc;

use anyhow::Context as _;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::server::{Acceptor, ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::certificate_choice;
use super::no_certificate::NoCertificate;
use super::shared_map::SharedMap;

/// The protocol's name in handshakes (RFC 8737 section 6.2).
pub(crate) const ACME_TLS_1: &[u8] = b"acme-tls/1";

/// The settings of these handshakes, whichever listener they come to.
pub(crate) struct Challenges {
    /// By host name in lower case.
    pub(super) certificates: Arc<SharedMap<Arc<CertifiedKey>>>,
    /// No listener's own: authorities have no certificates to show, and no sessions are resumed.
    pub(super) config: Arc<ServerConfig>,
}

impl Challenges {
    pub(super) fn new(provider: CryptoProvider) -> anyhow::Result<Arc<Self>> {
        let certificates = Arc::<SharedMap<_>>::default();
        let resolver = ChallengeResolver(Arc::clone(&certificates));
        let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .context("choose the protocol versions")?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(resolver));
        config.alpn_protocols = vec![ACME_TLS_1.to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Arc::new(Self { certificates, config: Arc::new(config) }))
    }

    /// Whether the client that has sent these bytes wants a challenge's certificate. One that has not sent its whole
    /// first message in a record or two is not an authority.
    pub(super) fn are_wanted(&self, mut received: &[u8]) -> bool {
        if self.certificates.is_empty() {
            return false;
        }
        let mut acceptor = Acceptor::default();
        let read = acceptor.read_tls(&mut received);
        read.is_ok() && matches!(acceptor.accept(), Ok(Some(accepted)) if is_wanted(&accepted.client_hello()))
    }
}

/// Whether the protocol is the only one that the client speaks, as section 3 demands.
pub(super) fn is_wanted(hello: &ClientHello<'_>) -> bool {
    let Some(mut protocols) = hello.alpn() else { return false };
    protocols.next() == Some(ACME_TLS_1) && protocols.next().is_none()
}

/// Chooses among the challenges' certificates alone.
#[derive(Debug)]
struct ChallengeResolver(Arc<SharedMap<Arc<CertifiedKey>>>);

impl ResolvesServerCert for ChallengeResolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let found = hello.server_name().and_then(|host| self.0.get(host));
        certificate_choice::note(&hello, found.ok_or(NoCertificate::NoChallenge))
    }
}
