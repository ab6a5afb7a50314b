//! `basic`: a user and a password (RFC 7617).

use std::sync::Arc;

use corral_auth::credentials;
use corral_config::authentication::Basic;

use super::auth_scope::AuthScope;
use super::method_result::{MethodResult, RefusedCredentials, authorization};
use crate::authentication::passwords::{HashQueueFull, PasswordCheckError, PasswordFile};
use crate::exchange::response::ResponseWriter;
use crate::request::client::Gone;
use crate::request::identity::AuthenticatedUser;

pub(super) async fn ask(
    scope: AuthScope<'_>,
    response: &mut ResponseWriter<'_, '_>,
    basic: &Basic,
    file: &Arc<PasswordFile>,
) -> Result<MethodResult<'static>, Gone> {
    let challenge = || Some(format!("Basic realm=\"{}\", charset=\"UTF-8\"", basic.realm));
    let Some(sent) = authorization(response.request).and_then(credentials::basic) else {
        return Ok(MethodResult::Lacking(challenge()));
    };
    let user = sent.user.clone();
    let is_right = if file.remembers(&sent) {
        Ok(true)
    } else {
        let client = response.request.client.address.map(|client| client.ip().to_canonical());
        tokio::select! {
            biased;
            () = response.presence().left_waiting() => return Err(Gone),
            checked = file.check(client, sent) => checked,
        }
    };
    Ok(match is_right {
        Ok(true) => {
            AuthenticatedUser::new(user, b"Basic").map_or(MethodResult::Unknown(500), MethodResult::known)
        }
        Ok(false) => {
            let reason = format!("wrong user or password for \"{}\"", user.escape_ascii());
            MethodResult::Refused(RefusedCredentials { status: 401, challenge: challenge(), reason })
        }
        Err(error) => {
            let status = match &error {
                PasswordCheckError::File(fault) => {
                    let fault = fault.in_full();
                    let fault = format!("the file \"{}\" cannot be used: {fault}", file.path().display());
                    scope.fail(response, &fault);
                    return Ok(MethodResult::Unknown(500));
                }
                PasswordCheckError::Full(HashQueueFull::Greedy) => 429,
                PasswordCheckError::Full(HashQueueFull::Crowded) | PasswordCheckError::Thread => 503,
            };
            scope.warn(response, &error);
            response.reply.retry_after = Some(RETRY_AFTER);
            MethodResult::Unknown(status)
        }
    })
}

/// Seconds after which a client may try again whose password could not be checked.
const RETRY_AFTER: u32 = 1;
