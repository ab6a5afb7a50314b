//! Certificates of servers that requests and telemetry go to.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

use super::{TrustedAuthorities, is_for_by_common_name};

/// Verifies servers.
#[derive(Debug)]
pub(crate) struct ServerVerifier {
    /// Decides, as long as it does not refuse.
    pub(crate) usual: Arc<dyn ServerCertVerifier>,
    pub(crate) authorities: TrustedAuthorities,
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified =
            self.usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        verified.or_else(|error| {
            // The name is looked at last, so that nothing else can be wrong then.
            let is_vouched_for = is_about_name(&error) || self.authorities.vouch_for(end_entity, now);
            if is_vouched_for && is_for(end_entity, server_name) {
                Ok(ServerCertVerified::assertion())
            } else {
                Err(error)
            }
        })
    }

    by_usual_or_authorities!();
}

fn is_about_name(error: &Error) -> bool {
    use CertificateError::{NotValidForName, NotValidForNameContext};
    matches!(error, Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }))
}

fn is_for(certificate: &CertificateDer<'_>, host: &ServerName<'_>) -> bool {
    let parsed = ParsedCertificate::try_from(certificate);
    let by_alternative_name = parsed.is_ok_and(|parsed| verify_server_name(&parsed, host).is_ok());
    by_alternative_name || is_for_by_common_name(certificate, host)
}
