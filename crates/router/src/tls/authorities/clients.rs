//! Certificates of clients.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
};
use webpki::{EndEntityCert, KeyUsage, VerifiedPath};

use super::TrustedAuthorities;

/// Verifies clients.
#[derive(Debug)]
pub(crate) struct ClientVerifier {
    /// Decides, as long as it does not refuse.
    pub(crate) usual: Arc<dyn ClientCertVerifier>,
    pub(crate) depth: Option<DepthLimit>,
    pub(crate) authorities: TrustedAuthorities,
}

/// The bound on how long a chain may be, which rustls has none for.
#[derive(Debug)]
pub(crate) struct DepthLimit {
    /// Most certificates between the client's and an authority's.
    pub(crate) most: usize,
    pub(crate) roots: Arc<RootCertStore>,
    pub(crate) algorithms: WebPkiSupportedAlgorithms,
}

impl DepthLimit {
    /// Refuses a certificate for which there is no chain that is short enough.
    fn check(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        let certificate = EndEntityCert::try_from(end_entity).map_err(|_| CertificateError::BadEncoding)?;
        let is_short = |path: &VerifiedPath<'_>| match path.intermediate_certificates().count() {
            n if n <= self.most => Ok(()),
            _ => Err(webpki::Error::MaximumPathDepthExceeded),
        };
        let usage = KeyUsage::client_auth();
        let (algorithms, roots) = (self.algorithms.all, &self.roots.roots);
        let path =
            certificate.verify_for_usage(algorithms, roots, intermediates, now, usage, None, Some(&is_short));
        path.map(drop).map_err(|_| Error::General(format!("its chain is longer than {}", self.most)))
    }
}

/// Whether a certificate was refused for what a list of revoked ones says, or because there is none.
fn is_about_revocation(error: &Error) -> bool {
    use CertificateError::{
        ExpiredRevocationList, ExpiredRevocationListContext, Revoked, UnknownRevocationStatus,
    };
    matches!(
        error,
        Error::InvalidCertificate(
            Revoked | UnknownRevocationStatus | ExpiredRevocationList | ExpiredRevocationListContext { .. }
        ) | Error::InvalidCertRevocationList(_)
    )
}

impl ClientCertVerifier for ClientVerifier {
    fn offer_client_auth(&self) -> bool {
        self.usual.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.usual.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.usual.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        match self.usual.verify_client_cert(end_entity, intermediates, now) {
            Ok(verified) => {
                let depth = self.depth.as_ref();
                depth.map_or(Ok(()), |depth| depth.check(end_entity, intermediates, now))?;
                Ok(verified)
            }
            Err(error) if !is_about_revocation(&error) && self.authorities.vouch_for(end_entity, now) => {
                Ok(ClientCertVerified::assertion())
            }
            Err(error) => Err(error),
        }
    }

    by_usual_or_authorities!();
}
