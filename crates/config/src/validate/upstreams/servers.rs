//! The members of `servers`: addresses, and what is particular to one server.

use std::num::NonZeroU32;

use super::super::context::Context;
use super::super::scalars::{INT_MAX, integer, is_true};
use super::super::schema::{self, BOOL, Field, INTEGER, Member, NUMBER, optional};
use super::super::{advice, bounds};
use crate::upstream::{Origin, Server, WEIGHT_ONE};

/// Reads all servers.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Vec<Server> {
    let mut servers = Vec::new();
    for (name, value) in field.value.as_object().into_iter().flatten() {
        cx.at(name, |cx| {
            let Some(members) = value.as_object() else {
                return schema::report_wrong_type(cx, &name.to_string_lossy(), schema::OBJECT, value);
            };
            let Some(origin) = Origin::parse_server(name) else {
                let meant = Origin::meant(name).map(|origin| origin.to_string());
                let detail = format!("The \"{name}\" is not valid server address.");
                return cx.problem_that_means(detail, advice::SERVER, meant);
            };
            let mut server = Server::new(origin);
            schema::read_object(cx, members, &[SERVER], &mut server);
            servers.push(server);
        });
    }
    servers
}

const SERVER: &[Member<Server>] = &[
    optional("weight", NUMBER)
        .default("1")
        .means("the server's share of the requests; 0 means that it is never chosen")
        .read(|cx, field, server| server.weight = weight(cx, field)),
    optional("down", BOOL)
        .default("`false`")
        .means("whether the server is out of use: it gets no requests, and those that it has go on")
        .read(|_, field, server| server.down = is_true(field)),
    optional("backup", BOOL)
        .default("`false`")
        .means("whether it gets requests only while none of the others can take one")
        .read(|_, field, server| server.backup = is_true(field)),
    optional("max_conns", INTEGER)
        .at_most(bounds::REQUESTS)
        .default("0")
        .means("requests that it has [at a time](#limits-of-servers), in all threads together; 0: no limit")
        .read(|cx, field, server| {
            let most = integer(cx, field, 0..=INT_MAX).and_then(|most| u32::try_from(most).ok());
            server.max_conns = most.and_then(NonZeroU32::new);
        }),
    optional("http2", BOOL)
        .default("the upstream's")
        .means("whether this one is spoken to over [HTTP/2](#http2-and-grpc)")
        .read(|_, field, server| server.http2 = Some(is_true(field))),
];

fn weight(cx: &mut Context<'_>, field: Field<'_>) -> u64 {
    let weight = field.value.as_number().map_or(0.0, |number| number.as_f64());
    if weight < 0.0 {
        cx.problem("The \"weight\" number must be positive.");
    } else if weight > MAX_WEIGHT {
        cx.problem("The \"weight\" number must not exceed 1,000,000");
    }
    // However small, it is more than never.
    let least = if weight > 0.0 { 1.0 } else { 0.0 };
    (weight.clamp(0.0, MAX_WEIGHT) * WEIGHT_ONE as f64).round().max(least) as u64
}

const MAX_WEIGHT: f64 = 1_000_000.0;
