//! TLS of the generator: which servers it trusts, and what it offers.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

/// Options of TLS.
#[derive(Debug)]
pub(crate) struct TlsOptions {
    /// A file with authorities that are trusted in place of the system's.
    pub(crate) authorities: Option<PathBuf>,
    pub(crate) trusts_all: bool,
    pub(crate) resumes: bool,
    pub(crate) is_http2: bool,
}

impl TlsOptions {
    pub(crate) fn config(&self) -> Result<Arc<ClientConfig>> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().context("the versions of TLS")?;
        let mut config = if self.trusts_all {
            let verifier = Arc::new(TrustAll { provider });
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        } else {
            builder.with_root_certificates(self.roots()?).with_no_client_auth()
        };
        config.alpn_protocols = vec![if self.is_http2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
        if !self.resumes {
            config.resumption = Resumption::disabled();
        }
        Ok(Arc::new(config))
    }

    fn roots(&self) -> Result<RootCertStore> {
        let mut roots = RootCertStore::empty();
        let Some(path) = &self.authorities else {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            return Ok(roots);
        };
        let place = || format!("read {}", path.display());
        for certificate in CertificateDer::pem_file_iter(path).with_context(place)? {
            roots.add(certificate.with_context(place)?).with_context(place)?;
        }
        if roots.is_empty() {
            bail!("{} has no certificate", path.display());
        }
        Ok(roots)
    }
}

/// Accepts any certificate, for servers under test that have none of an authority.
#[derive(Debug)]
struct TrustAll {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for TrustAll {
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
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
