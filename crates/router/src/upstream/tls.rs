//! TLS towards servers: the authorities to trust, and the sessions.

pub(super) mod session;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use corral_config::address::ListenAddress;
use corral_config::plan::Assets;
use corral_config::upstream::{Origin, ProxyOptions, UpstreamHost, UpstreamTls};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::tls::authorities::TrustedAuthorities;
use crate::tls::authorities::servers::ServerVerifier;
use crate::tls::certified_key;

/// How a server is spoken to, and the name that its certificate must have.
pub(crate) struct TlsTarget {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) name: ServerName<'static>,
}

/// The name of a protocol in ALPN.
type AlpnProtocol = &'static [u8];

pub(crate) const HTTP1: AlpnProtocol = b"http/1.1";
pub(crate) const HTTP2: AlpnProtocol = b"h2";

/// Nothing is said about what is spoken.
const UNKNOWN: AlpnProtocol = b"";

/// Makes targets for the servers of one configuration; those with the same trust share their sessions.
pub(crate) struct TlsTrust<'a> {
    assets: &'a Assets,
    made: HashMap<TrustKey, Arc<ClientConfig>>,
}

/// Whether servers are verified, by which bundle, the bundle that they are shown, and what is spoken.
type TrustKey = (bool, Option<String>, Option<String>, AlpnProtocol);

/// Why a server cannot be spoken to over TLS.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error("a Unix socket has no name to verify: set \"server_name\"")]
    Nameless,
    #[error("\"{0}\" cannot be the name of a server")]
    BadName(String),
    #[error("the certificate bundle \"{0}\" was not handed over")]
    NoBundle(String),
    #[error("the certificate bundle \"{0}\" has no certificate that could be trusted")]
    EmptyBundle(String),
    #[error("the certificate bundle \"{bundle}\" cannot be shown to servers")]
    NoKey {
        bundle: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the system has no certificate authorities: name a bundle in \"ca\"")]
    NoRoots,
    #[error(transparent)]
    Protocol(#[from] rustls::Error),
    #[error(transparent)]
    Verifier(#[from] VerifierBuilderError),
}

impl<'a> TlsTrust<'a> {
    pub(crate) fn new(assets: &'a Assets) -> Self {
        Self { assets, made: HashMap::new() }
    }

    /// How this server is spoken to.
    pub(crate) fn target(&mut self, origin: &Origin, options: &ProxyOptions) -> Result<TlsTarget, TlsError> {
        let protocol = match (options.is_raw, options.http2) {
            (true, _) => UNKNOWN,
            (false, true) => HTTP2,
            (false, false) => HTTP1,
        };
        Ok(TlsTarget {
            name: server_name(origin, &options.tls)?,
            config: self.config(&options.tls, protocol)?,
        })
    }

    /// The settings for servers with these authorities and this protocol.
    pub(crate) fn config(
        &mut self,
        tls: &UpstreamTls,
        protocol: AlpnProtocol,
    ) -> Result<Arc<ClientConfig>, TlsError> {
        let key = (tls.verify, tls.ca.clone(), tls.certificate.clone(), protocol);
        if let Some(config) = self.made.get(&key) {
            return Ok(Arc::clone(config));
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions()?;
        let builder = match (tls.verify, &tls.ca) {
            (false, _) => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            }
            (true, None) => builder.with_root_certificates(system_roots()?),
            (true, Some(bundle)) => {
                builder.dangerous().with_custom_certificate_verifier(self.verifier(bundle, provider)?)
            }
        };
        let mut config = match &tls.certificate {
            None => builder.with_no_client_auth(),
            Some(bundle) => builder.with_client_cert_resolver(self.certificate(bundle)?),
        };
        config.alpn_protocols = Some(protocol.to_vec()).filter(|name| !name.is_empty()).into_iter().collect();
        let config = Arc::new(config);
        self.made.insert(key, Arc::clone(&config));
        Ok(config)
    }

    /// The certificate of a bundle, to be shown to servers.
    fn certificate(&self, name: &str) -> Result<Arc<SingleCertAndKey>, TlsError> {
        let asset = self.assets.certificate(name).ok_or_else(|| TlsError::NoBundle(name.to_owned()))?;
        let certified = certified_key(&asset.bytes)
            .map_err(|source| TlsError::NoKey { bundle: name.to_owned(), source: source.into() })?;
        Ok(Arc::new(SingleCertAndKey::from(certified)))
    }

    /// Believes what the certificates of a bundle vouch for.
    fn verifier(&self, name: &str, provider: Arc<CryptoProvider>) -> Result<Arc<ServerVerifier>, TlsError> {
        let asset = self.assets.certificate(name).ok_or_else(|| TlsError::NoBundle(name.to_owned()))?;
        let trusted: Vec<_> = CertificateDer::pem_slice_iter(&asset.bytes).flatten().collect();
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(trusted.iter().cloned());
        if roots.is_empty() {
            return Err(TlsError::EmptyBundle(name.to_owned()));
        }
        let authorities = TrustedAuthorities::new(trusted, provider.signature_verification_algorithms);
        let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
        Ok(Arc::new(ServerVerifier { usual, authorities }))
    }
}

pub(super) fn server_name(origin: &Origin, tls: &UpstreamTls) -> Result<ServerName<'static>, TlsError> {
    let text = match (&tls.server_name, &origin.host) {
        (Some(name), _) => name.clone(),
        (None, UpstreamHost::Named { name, .. }) => name.clone(),
        (None, UpstreamHost::Address(ListenAddress::Inet(address))) => address.ip().to_string(),
        // The name is not looked at.
        (None, _) if !tls.verify => "localhost".to_owned(),
        (None, _) => return Err(TlsError::Nameless),
    };
    ServerName::try_from(text.clone()).map_err(|_| TlsError::BadName(text))
}

/// The system's certificate authorities, read once.
fn system_roots() -> Result<Arc<RootCertStore>, TlsError> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let roots = ROOTS.get_or_init(|| {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!("read the system's certificate authorities: {error}");
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(found.certs);
        Arc::new(roots)
    });
    if roots.is_empty() { Err(TlsError::NoRoots) } else { Ok(Arc::clone(roots)) }
}

/// Accepts any certificate, as `"verify": false` wants it; only the signatures have to be those of the certificate.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
