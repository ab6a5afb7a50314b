//! `forward`: another server is asked about each request. What it permits goes on, with fields of its answer; what it does not
//! gets its answer.

use std::time::Instant;

use corral_config::authentication::{Asked, Forward};

use super::{Place, Word};
use crate::answer::proxy::question::{self, Reply};
use crate::authentication::permissions::{Permission, Permissions};
use crate::exchange::Exchange;
use crate::request::client::Gone;
use crate::request::identity::Identity;
use crate::request::routing::way::FieldChange;
use crate::upstream::LoopGroup;

pub(super) async fn ask<'c>(
    place: Place<'c>,
    exchange: &mut Exchange<'c>,
    forward: &'c Forward,
    permissions: &Permissions,
) -> Result<Word, Gone> {
    let digest = forward.cache.and_then(|lifetime| {
        let key = key(exchange, forward)?;
        Some((permissions.digest(key.iter().map(Vec::as_slice)), lifetime))
    });
    let known = digest.and_then(|(digest, _)| permissions.find(&digest, exchange.now()));
    if let Some(permission) = known {
        return Ok(go_on(exchange, forward, permission));
    }
    let generation = &exchange.settings.generation;
    let group: &LoopGroup = match forward.servers {
        Asked::Proxy(idx) => &generation.servers.proxies[idx],
        Asked::Upstream(idx) => &generation.servers.upstreams[idx],
    };
    let question = question::ask(exchange, group, &forward.uri);
    let reply = match tokio::time::timeout(forward.timeout, question).await {
        Ok(reply) => reply?,
        Err(_) => {
            place.fail(
                exchange,
                &format!("{}: no answer within {:?}", group.shared.title(None), forward.timeout),
            );
            return Ok(Word::Unknown(504));
        }
    };
    let reply = match reply {
        Ok(reply) => reply,
        Err(failure) => {
            let server = group.shared.title(None);
            place.fail(exchange, &format!("{server}: {failure}"));
            return Ok(Word::Unknown(failure.status()));
        }
    };
    match reply.status() {
        200..300 => {
            let Some(permission) = permission(&reply, forward) else {
                place.fail(exchange, &"the name of the user has control characters");
                return Ok(Word::Unknown(502));
            };
            reply.finish(exchange);
            if let Some((digest, lifetime)) = digest {
                permissions.remember(digest, &permission, Instant::now() + lifetime);
            }
            Ok(go_on(exchange, forward, permission))
        }
        401 | 403 | 300..=303 | 307 | 308 => {
            let status = reply.status();
            // A redirection to a page of its own is nothing to complain about.
            if status >= 400 {
                let what = format!("{} has answered with status {status}", group.shared.title(None));
                place.complain(exchange, &what);
            }
            reply.relay(exchange).await?;
            Ok(Word::Answered)
        }
        status => {
            let what = format!("{} has answered with status {status}", group.shared.title(None));
            place.fail(exchange, &what);
            Ok(Word::Unknown(if status == 503 { 503 } else { 502 }))
        }
    }
}

/// The values that a permission is remembered for; none if the request has none of the fields, and could be anybody's.
fn key(exchange: &Exchange<'_>, forward: &Forward) -> Option<Vec<Vec<u8>>> {
    let values = |wanted: &String| {
        let fields = exchange.request.head.fields(exchange.request.bytes);
        let fields = fields.filter(|(name, _)| name.eq_ignore_ascii_case(wanted.as_bytes()));
        joined(fields.map(|(_, value)| value))
    };
    let values: Vec<_> = forward.cache_key.iter().map(values).collect();
    let is_somebody = values.iter().any(|value| value.as_ref().is_some_and(|value| !value.is_empty()));
    is_somebody.then(|| values.into_iter().map(Option::unwrap_or_default).collect())
}

fn permission(reply: &Reply, forward: &Forward) -> Option<Permission> {
    let value = |wanted: &String| {
        let fields = reply.fields().filter(|(name, _)| name.eq_ignore_ascii_case(wanted.as_bytes()));
        joined(fields.map(|(_, value)| value))
    };
    let user = forward.user_field.as_ref().and_then(value).unwrap_or_default();
    let identity = Identity::new(user, b"Forward")?;
    Some(Permission { identity, fields: forward.copy_fields.iter().map(value).collect() })
}

/// One value of several fields of a name; none without any (RFC 9110 section 5.2).
fn joined<'v>(values: impl Iterator<Item = &'v [u8]>) -> Option<Vec<u8>> {
    let values: Vec<_> = values.collect();
    (!values.is_empty()).then(|| values.join(&b", "[..]))
}

fn go_on<'c>(exchange: &mut Exchange<'c>, forward: &'c Forward, permission: Permission) -> Word {
    for (name, value) in forward.copy_fields.iter().zip(permission.fields) {
        let name = name.as_bytes();
        exchange.field_changes.retain(|change| !change.name.eq_ignore_ascii_case(name));
        exchange.field_changes.push(FieldChange { name, value });
    }
    Word::Passed(permission.identity)
}
