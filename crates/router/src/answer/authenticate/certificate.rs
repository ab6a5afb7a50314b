//! `client_certificate`: the certificate that the client has shown, which its listener has verified.

use corral_config::authentication::Certificate;
use corral_config::pattern::{GivenUp, PatternSet};

use super::method_result::{MethodResult, RefusedCredentials};
use crate::exchange::response::ResponseWriter;
use crate::request::identity::AuthenticatedUser;
use crate::tls::CertificateNames;
use crate::variables::script;

pub(super) fn ask(response: &ResponseWriter<'_, '_>, certificate: &Certificate) -> MethodResult<'static> {
    let peer = response.client.carrier.tls_peer();
    let Some(names) = peer.as_ref().and_then(|peer| peer.certificate_names()) else {
        return refused("no client certificate".to_owned());
    };
    match is_meant(certificate, &names) {
        Ok(true) => {}
        Ok(false) => {
            let subject = names.subject.escape_debug();
            return refused(format!("the client certificate of \"{subject}\" is not accepted"));
        }
        Err(given_up) => {
            script::report(&given_up);
            return MethodResult::Unknown(500);
        }
    }
    match AuthenticatedUser::new(names.common_name.into_bytes(), b"Certificate") {
        Some(identity) => MethodResult::known(identity),
        None => refused("the common name of the client certificate has control characters".to_owned()),
    }
}

fn is_meant(wanted: &Certificate, names: &CertificateNames) -> Result<bool, GivenUp> {
    let holds = |set: &Option<PatternSet>, value: &str| {
        set.as_ref().map_or(Ok(true), |set| set.matches(value.as_bytes()))
    };
    let alternatives = |set: &PatternSet| {
        let names: Vec<_> = names.alternatives.iter().map(|name| name.clone().into_bytes()).collect();
        set.matches_some(&names)
    };
    Ok(holds(&wanted.subject, &names.subject)?
        && holds(&wanted.common_name, &names.common_name)?
        && wanted.alternative_name.as_ref().map_or(Ok(true), alternatives)?)
}

/// No field asks for a certificate.
fn refused(reason: String) -> MethodResult<'static> {
    MethodResult::Refused(RefusedCredentials { status: 403, challenge: None, reason })
}
