//! Listeners that pass connections on: `protocol`, and the options beside it (beyond Unit).

use std::time::Duration;

use super::context::Context;
use super::scalars::{MAX_SECONDS, seconds};
use super::schema::{Field, INTEGER, Member, STRING, optional};
use crate::json::Object;
use crate::layer4::{Layer4, ListenerProtocol};
use crate::route::Destination;
use crate::table::Key;
use crate::throttle::{Throttle, ThrottleKey};

/// The options that are not those of HTTP.
#[derive(Default)]
pub(super) struct Layer4Draft {
    protocol: ListenerProtocol,
    idle_timeout: Option<Duration>,
    drain_timeout: Option<Duration>,
}

/// How connections are passed on, if the listener does that.
pub(super) fn finish(
    cx: &mut Context<'_>,
    draft: Layer4Draft,
    pass: &Destination,
    limits: &[Key<Throttle>],
) -> Option<Box<Layer4>> {
    let Layer4Draft { protocol, idle_timeout, drain_timeout } = draft;
    if protocol == ListenerProtocol::Http {
        return None;
    }
    report_keys(cx, limits);
    let Destination::Upstream(pass) = *pass else {
        cx.at(b"pass", |cx| {
            cx.problem_with_advice(
                format!("A listener whose \"protocol\" is \"{protocol}\" passes to servers alone."),
                "The form is \"upstreams/NAME\", without variables: no request is there that could choose.",
            );
        });
        return None;
    };
    let idle_timeout = idle_timeout.unwrap_or(IDLE_TIMEOUT);
    let drain_timeout = drain_timeout.unwrap_or(DRAIN_TIMEOUT);
    Some(Box::new(Layer4 { pass, idle_timeout, drain_timeout }))
}

/// The protocols that an option is for.
fn protocols(name: &[u8]) -> &'static [ListenerProtocol] {
    use ListenerProtocol::{Http, Tcp};
    match name {
        b"pass" | b"protocol" | b"backlog" | b"tls" | b"proxy_protocol" | b"limit_connections" => {
            &[Http, Tcp]
        }
        b"idle_timeout" | b"drain_timeout" => &[Tcp],
        _ => &[Http],
    }
}

/// Reports options, known ones, that are for listeners of another protocol.
pub(super) fn report_what_is_for_others(
    cx: &mut Context<'_>,
    members: &Object,
    draft: &Layer4Draft,
    is_known: impl Fn(&[u8]) -> bool,
) {
    let protocol = draft.protocol;
    for name in members.keys().filter(|name| is_known(name)) {
        let protocols = protocols(name);
        if !protocols.contains(&protocol) {
            let names: Vec<_> = protocols.iter().map(|protocol| format!("\"{protocol}\"")).collect();
            let names = names.join(" or ");
            cx.at(name, |cx| {
                cx.problem(format!(
                    "The \"{name}\" option is for listeners whose \"protocol\" is {names}, and that of this one is \
                     \"{protocol}\"."
                ));
            });
        }
    }
}

/// A connection has no other key than its client.
fn report_keys(cx: &mut Context<'_>, limits: &[Key<Throttle>]) {
    let is_text = |key: &&Key<Throttle>| matches!(cx.tables.throttles[**key].key, ThrottleKey::Text(_));
    if limits.iter().any(|key| is_text(&key)) {
        cx.at(b"limit_connections", |cx| {
            cx.at(b"key", |cx| {
                cx.problem_with_advice(
                    "Connections that are passed on are counted by their client's address alone.",
                    "Leave \"key\" out.",
                );
            });
        });
    }
}

/// nginx's for `proxy_timeout`.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);

/// As long as connections go on after an upgrade.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3600);

pub(super) const OPTIONS: &[Member<Layer4Draft>] = &[
    optional("protocol", STRING)
        .default("`\"http\"`")
        .means("what is spoken: `\"http\"`, or `\"tcp\"` for [anything else](tcp.md), which goes to servers as it is \
            (beyond Unit)")
        .read(|cx, field, draft| draft.protocol = protocol(cx, field)),
    optional("idle_timeout", INTEGER)
        .default("600")
        .means("seconds without a byte in either direction, after which a connection is closed (beyond Unit)")
        .read(|cx, field, draft| draft.idle_timeout = seconds(cx, field, 1..=MAX_SECONDS)),
    optional("drain_timeout", INTEGER)
        .default("3600")
        .means("seconds for which connections go on that are open when the listener is removed; 0: they are closed at \
            once (beyond Unit)")
        .read(|cx, field, draft| draft.drain_timeout = seconds(cx, field, 0..=MAX_SECONDS)),
];

fn protocol(cx: &mut Context<'_>, field: Field<'_>) -> ListenerProtocol {
    let text = field.value.as_bytes().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    let names = || ListenerProtocol::ALL.into_iter().map(ListenerProtocol::name);
    let known = ListenerProtocol::ALL.into_iter().find(|protocol| protocol.name() == text);
    known.unwrap_or_else(|| {
        cx.problem_with_suggestion("The \"protocol\" value must be \"http\" or \"tcp\".", &text, names());
        ListenerProtocol::Http
    })
}
