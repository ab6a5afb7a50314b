//! Listeners that pass connections on: `protocol`, and the options beside it (beyond Unit).

use std::time::Duration;

use corral_syntax::is_host_name;

use super::context::Context;
use super::destination::named_upstream;
use super::scalars::{MAX_SECONDS, seconds};
use super::schema::{self, Field, INTEGER, Member, OBJECT, STRING, optional};
use crate::json::Object;
use crate::layer4::{Layer4, ListenerProtocol, ServerNames};
use crate::route::Destination;
use crate::table::Key;
use crate::throttle::{Throttle, ThrottleKey};

/// The options that are not those of HTTP.
#[derive(Default)]
pub(super) struct Layer4Draft {
    protocol: ListenerProtocol,
    idle_timeout: Option<Duration>,
    drain_timeout: Option<Duration>,
    sni: ServerNames,
}

/// How connections are passed on, if the listener does that.
pub(super) fn finish(
    cx: &mut Context<'_>,
    draft: Layer4Draft,
    pass: Option<&Destination>,
    limits: &[Key<Throttle>],
) -> Option<Box<Layer4>> {
    let Layer4Draft { protocol, idle_timeout, drain_timeout, sni } = draft;
    if protocol == ListenerProtocol::Http {
        return None;
    }
    report_keys(cx, limits);
    let pass = match pass {
        Some(Destination::Upstream(key)) => Some(*key),
        None => None,
        Some(_) => {
            cx.at(b"pass", |cx| {
                cx.problem_with_advice(
                    format!("A listener whose \"protocol\" is \"{protocol}\" passes to servers alone."),
                    "The form is \"upstreams/NAME\", without variables: no request is there that could choose.",
                );
            });
            return None;
        }
    };
    let idle_timeout = idle_timeout.unwrap_or(IDLE_TIMEOUT);
    let drain_timeout = drain_timeout.unwrap_or(DRAIN_TIMEOUT);
    Some(Box::new(Layer4 { pass, sni, idle_timeout, drain_timeout }))
}

/// The protocols that an option is for.
fn protocols(name: &[u8]) -> &'static [ListenerProtocol] {
    use ListenerProtocol::{Http, Tcp};
    match name {
        b"pass" | b"protocol" | b"backlog" | b"tls" | b"proxy_protocol" | b"limit_connections" => {
            &[Http, Tcp]
        }
        b"idle_timeout" | b"drain_timeout" | b"sni" => &[Tcp],
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
    optional("sni", OBJECT)
        .means("[servers by the host name](#servers-by-name) that a client of TLS asks for: `{\"db.example.com\": \
            \"upstreams/db\", \"*.example.org\": \"upstreams/org\"}`; other clients get those of `pass` (beyond Unit)")
        .read(|cx, field, draft| draft.sni = sni(cx, field)),
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

/// Names, `*.` in front of those that stand for all below them, each with a group of servers.
fn sni(cx: &mut Context<'_>, field: Field<'_>) -> ServerNames {
    let mut names = ServerNames::default();
    for (name, value) in field.value.as_object().into_iter().flatten() {
        cx.at(name, |cx| {
            let text = name.to_string_lossy().to_ascii_lowercase();
            let host = text.strip_suffix('.').unwrap_or(&text);
            if !is_host_name(host.strip_prefix("*.").unwrap_or(host)) {
                cx.problem_with_advice(format!("The \"sni\" name \"{name}\" is not a host name."), SNI_NAME);
            }
            if value.as_bytes().is_none() {
                return schema::report_wrong_type(cx, &name.to_string_lossy(), STRING, value);
            }
            let upstream = named_upstream(cx, Field { name: field.name, value }, SNI_TARGET);
            if upstream.is_some_and(|upstream| !names.add(host, upstream)) {
                cx.problem(format!("The \"sni\" name \"{name}\" is there already."));
            }
        });
    }
    names
}

const SNI_NAME: &str = "A name is written as clients ask for it, without a port; \"*.\" in front stands for all names \
    below it, and an address is none.";

const SNI_TARGET: &str = "The form is \"upstreams/NAME\".";
