//! Certificates of clients.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use super::TrustedAuthorities;

/// Verifies clients.
#[derive(Debug)]
pub(crate) struct ClientVerifier {
    /// Decides, as long as it does not refuse.
    pub(crate) usual: Arc<dyn ClientCertVerifier>,
    pub(crate) authorities: TrustedAuthorities,
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
        self.usual.verify_client_cert(end_entity, intermediates, now).or_else(|error| {
            if self.authorities.vouch_for(end_entity, now) {
                Ok(ClientCertVerified::assertion())
            } else {
                Err(error)
            }
        })
    }

    by_usual_or_authorities!();
}
