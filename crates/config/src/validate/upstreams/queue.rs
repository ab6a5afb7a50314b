//! `queue` of an upstream: requests that wait while all servers have as many as they may.

use super::super::bounds;
use super::super::context::Context;
use super::super::scalars::{INT_MAX, MAX_SECONDS, integer, seconds};
use super::super::schema::{self, Field, INTEGER, Member, optional, required};
use crate::json::{Object, Value};
use crate::upstream::{Queue, Server};

/// Reads it: a number is the `size`.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Queue {
    let mut queue = Queue::default();
    match field.value {
        Value::Object(members) => schema::read_object(cx, members, &[QUEUE], &mut queue),
        _ => queue.size = size(cx, field),
    }
    queue
}

/// Reports a queue in which no request would ever wait.
pub(super) fn check(cx: &mut Context<'_>, members: &Object, servers: &[Server]) {
    if members.contains_key(b"queue".as_slice()) && servers.iter().all(|server| server.max_conns.is_none()) {
        cx.at(b"queue", |cx| {
            cx.problem_with_advice(
                "The \"queue\" option is for upstreams whose servers have \"max_conns\".",
                "Give at least one server the number of requests that it may have at a time.",
            );
        });
    }
}

const QUEUE: &[Member<Queue>] = &[
    required("size", INTEGER)
        .at_most(bounds::REQUESTS)
        .means(
            "requests that may [wait](#limits-of-servers) while all servers have as many as `max_conns` says",
        )
        .read(|cx, field, queue| queue.size = size(cx, field)),
    optional("timeout", INTEGER)
        .default("60")
        .means("seconds that a request may wait; then it gets 503")
        .read(|cx, field, queue| {
            queue.timeout = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(queue.timeout);
        }),
];

fn size(cx: &mut Context<'_>, field: Field<'_>) -> u32 {
    integer(cx, field, 0..=INT_MAX).and_then(|size| u32::try_from(size).ok()).unwrap_or_default()
}
