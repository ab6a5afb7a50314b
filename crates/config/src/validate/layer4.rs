//! Listeners that pass connections on: `protocol`, and the options beside it (beyond Unit).

use std::num::NonZeroU32;
use std::time::Duration;

use corral_syntax::is_host_name;

use super::bounds;
use super::context::Context;
use super::destination::{check_takes_requests, named_upstream};
use super::scalars::{INT_MAX, MAX_SECONDS, count, integer, seconds};
use super::schema::{self, Field, INTEGER, Member, OBJECT, STRING, optional};
use crate::address::ListenAddress;
use crate::json::Object;
use crate::layer4::{Layer4, ListenerProtocol, ServerNames, SessionLimits};
use crate::route::Destination;
use crate::table::Key;
use crate::throttle::{Throttle, ThrottleKey};

/// The options that are not those of HTTP.
#[derive(Default)]
pub(super) struct Layer4Draft {
    protocol: Option<ListenerProtocol>,
    idle_timeout: Option<Duration>,
    drain_timeout: Option<Duration>,
    sni: ServerNames,
    sessions: SessionLimits,
}

impl Layer4Draft {
    /// The protocol that is meant, which an address may have said.
    fn protocol(&self) -> ListenerProtocol {
        self.protocol.unwrap_or_default()
    }
}

/// The address of the listener, which is one of datagrams if it says so, or the protocol does.
pub(super) fn address(
    cx: &mut Context<'_>,
    address: ListenAddress,
    draft: &mut Layer4Draft,
) -> Option<ListenAddress> {
    let is_udp = matches!(address, ListenAddress::Udp(_));
    match draft.protocol {
        None if is_udp => draft.protocol = Some(ListenerProtocol::Udp),
        Some(protocol) if is_udp && protocol != ListenerProtocol::Udp => {
            cx.problem(format!(
                "The listener address ends in \"/udp\", and the \"protocol\" is \"{protocol}\": leave one of the \
                 two out."
            ));
        }
        Some(ListenerProtocol::Udp) => {
            let datagrams = address.for_datagrams();
            if datagrams.is_none() {
                cx.problem("A listener of UDP has an address with a port, and no Unix socket.");
            }
            return datagrams;
        }
        _ => {}
    }
    Some(address)
}

/// How connections are passed on, if the listener does that.
pub(super) fn finish(
    cx: &mut Context<'_>,
    draft: Layer4Draft,
    pass: Option<&Destination>,
    limits: &[Key<Throttle>],
) -> Option<Box<Layer4>> {
    let protocol = draft.protocol();
    let Layer4Draft { idle_timeout, drain_timeout, sni, sessions, .. } = draft;
    if protocol == ListenerProtocol::Http {
        if let Some(pass) = pass {
            cx.at(b"pass", |cx| check_takes_requests(cx, pass));
        }
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
    if protocol == ListenerProtocol::Udp {
        let all = pass.into_iter().chain(sni.upstreams());
        if all.into_iter().any(|upstream| cx.destinations.for_streams.get(upstream) == Some(&true)) {
            cx.at(b"pass", |cx| {
                cx.problem_with_advice(
                    "Some servers of this upstream cannot be sent datagrams.",
                    "Servers of UDP are HOST:PORT or IP:PORT, without \"https://\" and \"unix:\".",
                );
            });
        }
    }
    let usual = if protocol == ListenerProtocol::Udp { SESSION_TIMEOUT } else { IDLE_TIMEOUT };
    let idle_timeout = idle_timeout.unwrap_or(usual);
    let drain_timeout = drain_timeout.unwrap_or(DRAIN_TIMEOUT);
    Some(Box::new(Layer4 { pass, sni, idle_timeout, drain_timeout, sessions }))
}

/// The protocols that an option is for.
fn protocols(name: &[u8]) -> &'static [ListenerProtocol] {
    use ListenerProtocol::{Http, Tcp, Udp};
    match name {
        b"pass" | b"protocol" | b"limit_connections" => &[Http, Tcp, Udp],
        b"backlog" | b"tls" | b"proxy_protocol" => &[Http, Tcp],
        b"idle_timeout" => &[Tcp, Udp],
        b"drain_timeout" | b"sni" => &[Tcp],
        b"sessions" | b"responses" => &[Udp],
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
    let protocol = draft.protocol();
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

/// Long enough for a server that thinks, and short enough for many clients that ask once.
const SESSION_TIMEOUT: Duration = Duration::from_secs(30);

/// As long as connections go on after an upgrade.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3600);

pub(super) const OPTIONS: &[Member<Layer4Draft>] = &[
    optional("protocol", STRING)
        .default("`\"http\"`")
        .means(
            "what is spoken: `\"http\"`, or `\"tcp\"` or `\"udp\"` for [anything else](tcp.md), which goes to servers \
             as it is (beyond Unit)",
        )
        .read(|cx, field, draft| draft.protocol = protocol(cx, field)),
    optional("sni", OBJECT)
        .means("[servers by the host name](#servers-by-name) that a client of TLS asks for: `{\"db.example.com\": \
            \"upstreams/db\", \"*.example.org\": \"upstreams/org\"}`; other clients get those of `pass` (beyond Unit)")
        .read(|cx, field, draft| draft.sni = sni(cx, field)),
    optional("idle_timeout", INTEGER)
        .default("600; of UDP 30")
        .means(
            "seconds without a byte in either direction, after which a connection is closed, or the session of a \
             client of UDP forgotten (beyond Unit)",
        )
        .read(|cx, field, draft| draft.idle_timeout = seconds(cx, field, 1..=MAX_SECONDS)),
    optional("drain_timeout", INTEGER)
        .default("3600")
        .means(
            "seconds for which connections go on that are open when the listener is removed; 0: they are closed at \
             once (beyond Unit)",
        )
        .read(|cx, field, draft| draft.drain_timeout = seconds(cx, field, 0..=MAX_SECONDS)),
    optional("sessions", INTEGER)
        .at_most(bounds::SESSIONS)
        .default("10000")
        .means(
            "clients of UDP at the same time, by address and port; datagrams of further ones are dropped (beyond \
             Unit)",
        )
        .read(|cx, field, draft| {
            draft.sessions.most = count(cx, field).map_or(draft.sessions.most, NonZeroU32::get);
        }),
    optional("responses", INTEGER)
        .at_most(bounds::RESPONSES)
        .default("any number")
        .means(
            "datagrams that a server of UDP may send for each one of the client, and with the last of which the \
             session ends: 1 for DNS (beyond Unit)",
        )
        .read(|cx, field, draft| {
            let number = integer(cx, field, 0..=INT_MAX).and_then(|number| u32::try_from(number).ok());
            draft.sessions.responses = number;
        }),
];

fn protocol(cx: &mut Context<'_>, field: Field<'_>) -> Option<ListenerProtocol> {
    let text = field.value.as_bytes().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    let names = || ListenerProtocol::ALL.into_iter().map(ListenerProtocol::name);
    let known = ListenerProtocol::ALL.into_iter().find(|protocol| protocol.name() == text);
    if known.is_none() {
        let detail = "The \"protocol\" value must be \"http\", \"tcp\", or \"udp\".";
        cx.problem_with_suggestion(detail, &text, names());
    }
    known
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
