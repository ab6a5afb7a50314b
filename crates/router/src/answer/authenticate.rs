//! `authenticate`: asks the methods of a place whether a request may go on, and answers those that may not.

mod auth_scope;
mod certificate;
mod forward;
mod method_result;
mod password;
mod signed_link;
mod token;

use corral_config::authentication::{Authentication, Method};
use corral_config::table::Key;

use self::auth_scope::AuthScope;
use self::method_result::MethodResult;
use crate::authentication::AuthMeans;
use crate::exchange::response::ResponseWriter;
use crate::request::client::Gone;
use crate::request::routing::PermittedRequest;

/// The outcome for a request.
pub(crate) enum AuthOutcome<'c> {
    /// The request goes on.
    Passed(PermittedRequest<'c>),
    /// An error with this status is to be sent.
    Refused(u16),
    /// The server that was asked has answered it.
    Answered,
}

/// Asks one method after the other until one lets the request pass. A server is asked last, as its refusal is an
/// answer.
pub(crate) async fn ask<'c>(
    response: &mut ResponseWriter<'_, 'c>,
    key: Key<Authentication>,
) -> Result<AuthOutcome<'c>, Gone> {
    let generation = &response.request.settings.generation;
    let authentications = &generation.config.tables.authentications;
    let found = authentications.get(key).zip(generation.shared.authenticators.get(key));
    let Some((authentication, authenticator)) = found else { return Ok(AuthOutcome::Refused(500)) };
    let scope = AuthScope { authentication, authenticator };
    let is_forward = |means: &AuthMeans| matches!(means, AuthMeans::Permissions(_));
    let methods = || authentication.methods.iter().zip(&authenticator.means);
    let own = methods().filter(|(_, means)| !is_forward(means));
    let mut refused = AuthRefusals::default();
    for (method, means) in own.chain(methods().filter(|(_, means)| is_forward(means))) {
        match ask_method(scope, response, method, means).await? {
            MethodResult::Passed(permitted) => return Ok(AuthOutcome::Passed(permitted)),
            MethodResult::Answered => return Ok(AuthOutcome::Answered),
            MethodResult::Unknown(status) => return Ok(AuthOutcome::Refused(status)),
            MethodResult::Lacking(challenge) => refused.challenges.extend(challenge),
            MethodResult::Refused(refusal) => {
                scope.warn(response, &refusal.reason);
                refused.is_known |= refusal.status == 403;
                refused.is_too_late |= refusal.status == 410;
                refused.challenges.extend(refusal.challenge);
            }
        }
    }
    let status = match refused.challenges.is_empty() {
        _ if refused.is_known => 403,
        true if refused.is_too_late => 410,
        true => 403,
        false => 401,
    };
    response.reply.challenges = refused.challenges;
    Ok(AuthOutcome::Refused(status))
}

/// The refusals of the methods so far.
#[derive(Default)]
struct AuthRefusals {
    challenges: Vec<String>,
    /// The client is known, and may not go on all the same.
    is_known: bool,
    /// The client came with what was good once.
    is_too_late: bool,
}

/// Asks one method.
async fn ask_method<'c>(
    scope: AuthScope<'c>,
    response: &mut ResponseWriter<'_, 'c>,
    method: &'c Method,
    means: &'c AuthMeans,
) -> Result<MethodResult<'c>, Gone> {
    match (method, means) {
        (Method::Basic(basic), AuthMeans::Passwords(file)) => {
            password::ask(scope, response, basic, file).await
        }
        (Method::Jwt(jwt), AuthMeans::Keys(keys, rules)) => {
            token::ask(scope, response, jwt, keys, rules).await
        }
        (Method::Forward(forward), AuthMeans::Permissions(permissions)) => {
            forward::ask(scope, response, forward, permissions).await
        }
        (Method::SignedLink(rules), AuthMeans::Secrets(file)) => {
            signed_link::ask(scope, response, rules, file).await
        }
        (Method::Certificate(certificate), _) => Ok(certificate::ask(response, certificate)),
        // The means are made of the methods.
        _ => Ok(MethodResult::Unknown(500)),
    }
}
