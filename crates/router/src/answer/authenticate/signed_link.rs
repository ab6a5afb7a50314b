//! `signed_link`: the link says until when it may be used, and a signature vouches for that.

use std::sync::Arc;

use corral_auth::links::{LinkSecrets, SignedLink};
use corral_config::authentication::SignedLinkRules;

use super::auth_scope::AuthScope;
use super::method_result::{MethodResult, RefusedCredentials};
use crate::authentication::watched_file::WatchedFile;
use crate::clock;
use crate::exchange::response::ResponseWriter;
use crate::request::client::Gone;
use crate::request::identity::AuthenticatedUser;
use crate::request::ip_text;

pub(super) async fn ask(
    scope: AuthScope<'_>,
    response: &mut ResponseWriter<'_, '_>,
    rules: &SignedLinkRules,
    file: &Arc<WatchedFile<LinkSecrets>>,
) -> Result<MethodResult<'static>, Gone> {
    let variables = response.variables();
    let Some(signature) = variables.arguments().last(b"signature").map(<[u8]>::to_vec) else {
        return Ok(MethodResult::Lacking(None));
    };
    let expires = variables.arguments().last(b"expires").unwrap_or_default().to_vec();
    let secrets = tokio::select! {
        biased;
        () = response.presence().left_waiting() => return Err(Gone),
        secrets = file.content() => secrets,
    };
    let secrets = match secrets {
        Ok(secrets) => secrets,
        Err(lack) => {
            scope.fail(response, &lack);
            return Ok(MethodResult::Unknown(lack.status()));
        }
    };
    let mut address = Vec::new();
    ip_text::append(response.request.client.address.map(|client| client.ip()), &mut address);
    let link = SignedLink {
        expires: &expires,
        address: rules.address.then_some(&*address),
        path: response.request.path(),
    };
    // Only a link that is signed is told when it was good.
    let (status, reason) = match time(&expires) {
        Some(_) if !secrets.verify(&link, &signature) => (403, "the signature of the link is wrong"),
        None => (403, "the link says no time"),
        Some(time) if time < clock::now() => (410, "the link has expired"),
        Some(_) if !matches!(response.request.method(), b"GET" | b"HEAD") => {
            (403, "links are for GET and HEAD alone")
        }
        Some(_) => return Ok(MethodResult::known(AuthenticatedUser::default())),
    };
    Ok(MethodResult::Refused(RefusedCredentials { status, challenge: None, reason: reason.to_owned() }))
}

/// Seconds since 1970 in decimal digits.
fn time(text: &[u8]) -> Option<u64> {
    let digits =
        std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_are_digits() {
        assert_eq!(time(b"1700000000"), Some(1_700_000_000));
        assert_eq!(time(b"18446744073709551615"), Some(u64::MAX));
        for text in [&b""[..], b"+1", b"-1", b" 1", b"1.5", b"1e9", b"18446744073709551616", b"\xff", b"1\0"]
        {
            assert_eq!(time(text), None, "{text:?}");
        }
    }
}
