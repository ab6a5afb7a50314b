//! `forward`: another server, or an application, is asked about each request. What it permits goes on, with fields of
//! its answer; what it does not gets its answer.

use std::time::Instant;

use corral_config::address::ListenAddress;
use corral_config::authentication::{AuthRequest, Forward};
use corral_http::request::KnownField;

use super::auth_scope::AuthScope;
use super::method_result::MethodResult;
use crate::answer::proxy::subrequest::{self, SubrequestError, SubrequestResponse};
use crate::authentication::permissions::{Permission, Permissions};
use crate::counters::inner::{ForwardResult, note_forward};
use crate::error_chain::Chain;
use crate::exchange::request::RoutedRequest;
use crate::exchange::response::ResponseWriter;
use crate::request::client::Gone;
use crate::request::identity::AuthenticatedUser;
use crate::request::routing::PermittedRequest;
use crate::request::routing::route_progress::FieldChange;

pub(super) async fn ask<'c>(
    scope: AuthScope<'c>,
    response: &mut ResponseWriter<'_, '_>,
    forward: &'c Forward,
    permissions: &Permissions,
) -> Result<MethodResult<'c>, Gone> {
    // Two could be read differently by the server that is asked and by the one that answers.
    if response
        .request
        .received
        .head
        .values(response.request.received.bytes, KnownField::Authorization)
        .count()
        > 1
    {
        note_forward(ForwardResult::Refused);
        scope.warn(response, &"it has more than one Authorization");
        return Ok(MethodResult::Unknown(400));
    }
    let digest = forward.cache.and_then(|lifetime| {
        let key = key(response.request, forward)?;
        Some((permissions.digest(key.iter().map(Vec::as_slice)), lifetime))
    });
    let known = digest.and_then(|(digest, _)| permissions.find(&digest, response.now()));
    if let Some(permission) = known {
        note_forward(ForwardResult::Remembered);
        return Ok(go_on(forward, permission));
    }
    let reply = match tokio::time::timeout(forward.timeout, answer(response, forward)).await {
        Ok(reply) => reply?,
        Err(_) => {
            note_forward(ForwardResult::Failed);
            let title = title(response.request, forward);
            scope.fail(response, &format!("{title}: no answer within {:?}", forward.timeout));
            return Ok(MethodResult::Unknown(504));
        }
    };
    let reply = match reply {
        Ok(reply) => reply,
        Err(failure) => {
            note_forward(ForwardResult::Failed);
            let title = title(response.request, forward);
            scope.fail(response, &format!("{title}: {}", Chain(&failure)));
            return Ok(MethodResult::Unknown(failure.status()));
        }
    };
    match reply.status() {
        200..300 => {
            let Some(permission) = permission(&reply, forward) else {
                note_forward(ForwardResult::Failed);
                scope.fail(response, &"the name of the user has control characters");
                return Ok(MethodResult::Unknown(502));
            };
            reply.finish(response);
            note_forward(ForwardResult::Passed);
            if let Some((digest, lifetime)) = digest {
                permissions.remember(digest, &permission, Instant::now() + lifetime);
            }
            Ok(go_on(forward, permission))
        }
        400..500 | 300..=303 | 307 | 308 => {
            let status = reply.status();
            note_forward(ForwardResult::Refused);
            // A redirection to a page of its own is not worth a warning.
            if status >= 400 {
                let what = format!("{} has answered with status {status}", title(response.request, forward));
                scope.warn(response, &what);
            }
            reply.relay(response).await?;
            Ok(MethodResult::Answered)
        }
        status => {
            note_forward(ForwardResult::Failed);
            let what = format!("{} has answered with status {status}", title(response.request, forward));
            scope.fail(response, &what);
            Ok(MethodResult::Unknown(if status == 503 { 503 } else { 502 }))
        }
    }
}

async fn answer(
    response: &mut ResponseWriter<'_, '_>,
    forward: &Forward,
) -> Result<Result<SubrequestResponse, SubrequestError>, Gone> {
    let generation = &response.request.settings.generation;
    match forward.asked {
        AuthRequest::Servers(servers) => {
            subrequest::ask(response, generation.servers.group(servers), &forward.uri).await
        }
        AuthRequest::Application(listener) => {
            subrequest::ask_application(response, listener, &forward.uri).await
        }
    }
}

/// The name of the one that is asked, for the log.
fn title(request: &RoutedRequest<'_>, forward: &Forward) -> String {
    let generation = &request.settings.generation;
    match forward.asked {
        AuthRequest::Servers(servers) => generation.servers.group(servers).shared.title(None),
        AuthRequest::Application(listener) => {
            match &generation.config.tables.inner_listeners[listener].address {
                ListenAddress::Abstract(name) => String::from_utf8_lossy(name).into_owned(),
                address => address.to_string(),
            }
        }
    }
}

/// The values that a permission is remembered for; none if the request has none of the fields, as any client may send
/// it.
fn key(request: &RoutedRequest<'_>, forward: &Forward) -> Option<Vec<Vec<u8>>> {
    let values = |wanted: &String| {
        let fields = request.received.head.fields(request.received.bytes);
        let fields = fields.filter(|(name, _)| name.eq_ignore_ascii_case(wanted.as_bytes()));
        joined(fields.map(|(_, value)| value))
    };
    let values: Vec<_> = forward.cache_key.iter().map(values).collect();
    let is_somebody = values.iter().any(|value| value.as_ref().is_some_and(|value| !value.is_empty()));
    is_somebody.then(|| values.into_iter().map(Option::unwrap_or_default).collect())
}

fn permission(reply: &SubrequestResponse, forward: &Forward) -> Option<Permission> {
    let value = |wanted: &String| {
        let fields = reply.fields().filter(|(name, _)| name.eq_ignore_ascii_case(wanted.as_bytes()));
        joined(fields.map(|(_, value)| value))
    };
    let user = forward.user_field.as_ref().and_then(value).unwrap_or_default();
    let identity = AuthenticatedUser::new(user, b"Forward")?;
    Some(Permission { identity, fields: forward.copy_fields.iter().map(value).collect() })
}

/// One value of several fields of a name; none without any (RFC 9110 section 5.2).
fn joined<'v>(values: impl Iterator<Item = &'v [u8]>) -> Option<Vec<u8>> {
    let values: Vec<_> = values.collect();
    (!values.is_empty()).then(|| values.join(&b", "[..]))
}

fn go_on(forward: &Forward, permission: Permission) -> MethodResult<'_> {
    let changes = forward.copy_fields.iter().zip(permission.fields);
    let changes = changes.map(|(name, value)| FieldChange { name: name.as_bytes(), value }).collect();
    MethodResult::Passed(PermittedRequest { user: permission.identity, changes })
}
