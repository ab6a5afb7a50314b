//! `jwt`: a signed token (RFC 6750, RFC 7519).

use corral_auth::claims::Claims;
use corral_auth::credentials;
use corral_auth::jwt::{self, Rules};
use corral_config::authentication::Jwt;
use corral_config::route::Facts;

use super::auth_scope::AuthScope;
use super::method_result::{MethodResult, RefusedCredentials, authorization};
use crate::authentication::keys::{KeyStore, NoKeys};
use crate::exchange::response::ResponseWriter;
use crate::request::client::Gone;
use crate::request::identity::AuthenticatedUser;
use crate::variables::script;

pub(super) async fn ask(
    scope: AuthScope<'_>,
    response: &mut ResponseWriter<'_, '_>,
    jwt: &Jwt,
    keys: &KeyStore,
    rules: &Rules,
) -> Result<MethodResult<'static>, Gone> {
    let Some(token) = find(response, jwt) else {
        return Ok(MethodResult::Lacking(Some(challenge(jwt, ""))));
    };
    let verified = tokio::select! {
        biased;
        () = response.presence().left_waiting() => return Err(Gone),
        verified = verify(&token, keys, rules) => verified,
    };
    let claims = match verified {
        Err(lack) => {
            scope.fail(response, &lack);
            return Ok(MethodResult::Unknown(lack.status()));
        }
        Ok(Err(refusal)) => return Ok(refused(jwt, 401, "invalid_token", &refusal.to_string())),
        Ok(Ok(claims)) => claims,
    };
    for (name, set) in &jwt.claims {
        match set.matches_some(&claims.values(name)) {
            Ok(true) => {}
            Ok(false) => {
                let description = format!("the claim {name} is not accepted");
                return Ok(refused(jwt, 403, "insufficient_scope", &description));
            }
            Err(given_up) => {
                script::report(&given_up);
                return Ok(MethodResult::Unknown(500));
            }
        }
    }
    let mut user = Vec::new();
    claims.append(&jwt.user_claim, &mut user);
    let Some(identity) = AuthenticatedUser::new(user, b"Bearer") else {
        let description = format!("the claim {} has control characters", jwt.user_claim);
        return Ok(refused(jwt, 401, "invalid_token", &description));
    };
    Ok(MethodResult::known(identity.with_claims(claims)))
}

/// The token where the configuration has it looked for; none if there is none, or other credentials are there.
fn find(response: &ResponseWriter<'_, '_>, jwt: &Jwt) -> Option<Vec<u8>> {
    if let Some(value) = authorization(response.request) {
        return credentials::bearer(value).map(<[u8]>::to_vec);
    }
    let variables = response.variables();
    let cookie = jwt.cookie.as_ref().and_then(|wanted| {
        Facts::cookies(&variables).find(|(name, _)| name == wanted).map(|(_, value)| value.to_vec())
    });
    let argument = || variables.arguments().last(jwt.argument.as_ref()?).map(<[u8]>::to_vec);
    cookie.or_else(argument).filter(|token| !token.is_empty())
}

/// The claims of the token. A key that is not known has the keys fetched again.
async fn verify(
    token: &[u8],
    store: &KeyStore,
    rules: &Rules,
) -> Result<Result<Claims, jwt::TokenRefusal>, NoKeys> {
    let keys = store.keys().await?;
    let verified = jwt::verify(token, &keys, rules);
    if !matches!(verified, Err(jwt::TokenRefusal::UnknownKey)) {
        return Ok(verified);
    }
    Ok(match store.newer(&keys).await {
        Some(newer) => jwt::verify(token, &newer, rules),
        None => verified,
    })
}

/// RFC 6750 section 3.1. What a client has written is not in the description, but for names of claims.
fn refused(jwt: &Jwt, status: u16, error: &str, description: &str) -> MethodResult<'static> {
    let shown: String = description.chars().map(|c| if is_quotable(c) { c } else { '?' }).collect();
    let challenge = challenge(jwt, &format!(", error=\"{error}\", error_description=\"{shown}\""));
    MethodResult::Refused(RefusedCredentials { status, challenge: Some(challenge), reason: shown })
}

fn challenge(jwt: &Jwt, parameters: &str) -> String {
    format!("Bearer realm=\"{}\"{parameters}", jwt.realm)
}

/// Whether `error_description` may have it (RFC 6750 section 3).
fn is_quotable(c: char) -> bool {
    matches!(c, ' '..='~') && !matches!(c, '"' | '\\')
}
