//! `fastcgi`, `scgi` and `uwsgi`: where the servers are, and how they are spoken to. What they are told is `entry`'s.

use std::time::Duration;

use super::actions::options;
use super::advice;
use super::bounds;
use super::context::Context;
use super::destination::named_upstream;
use super::entry::{EntryDraft, EntryTable, HasEntry, Php};
use super::proxy::number;
use super::scalars::{MAX_SECONDS, seconds};
use super::schema::{self, Field, INTEGER, Member, OBJECT, STRING, optional};
use crate::destination::UpstreamProtocol;
use crate::gateway::{Gateway, Servers};
use crate::json::{Bytes, Object};
use crate::protocol::Protocol;
use crate::route::{ActionKind, ActionOptions};
use crate::table::Key;
use crate::template::Template;
use crate::upstream::{Origin, ProxyOptions, Upstream};

pub(super) fn read_fastcgi(
    cx: &mut Context<'_>,
    members: &Object,
    options: &mut ActionOptions,
) -> Option<ActionKind> {
    read(cx, members, options, Protocol::FastCgi, FASTCGI)
}

pub(super) fn read_scgi(
    cx: &mut Context<'_>,
    members: &Object,
    options: &mut ActionOptions,
) -> Option<ActionKind> {
    read(cx, members, options, Protocol::Scgi, SCGI)
}

pub(super) fn read_uwsgi(
    cx: &mut Context<'_>,
    members: &Object,
    options: &mut ActionOptions,
) -> Option<ActionKind> {
    read(cx, members, options, Protocol::Uwsgi, UWSGI)
}

fn read(
    cx: &mut Context<'_>,
    members: &Object,
    common: &mut ActionOptions,
    protocol: Protocol,
    server: &[Member<GatewayDraft>],
) -> Option<ActionKind> {
    let mut draft = GatewayDraft::default();
    draft.options.gateway = Some(protocol);
    let timeouts = &mut draft.options.timeouts;
    (timeouts.send, timeouts.response, timeouts.read) = (TIMEOUT, TIMEOUT, TIMEOUT);
    let tables: &[&[Member<GatewayDraft>]] = match protocol {
        Protocol::FastCgi => &[server, EntryTable::<GatewayDraft>::ENTRY, OPTIONS, KEEPS],
        // Their connections end with each request.
        Protocol::Scgi | Protocol::Uwsgi => &[server, EntryTable::<GatewayDraft>::ENTRY, OPTIONS],
    };
    options::read_kind(cx, members, tables, &mut draft, common);
    let entry = draft.entry.finish(cx, members);
    let servers = match draft.servers? {
        NamedServers::Upstream(idx) => {
            report_options_of_upstream(cx, members);
            Servers::Upstream(idx)
        }
        NamedServers::Origin(origin) => {
            let name = origin.url(Some(protocol));
            Servers::Proxy(cx.proxy(Upstream::single(name, origin, draft.options)))
        }
    };
    Some(ActionKind::Gateway(Gateway { servers, entry }))
}

/// As long as nginx waits.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Default)]
struct GatewayDraft {
    servers: Option<NamedServers>,
    entry: EntryDraft<Php>,
    options: ProxyOptions,
}

impl HasEntry for GatewayDraft {
    type Kind = Php;

    fn entry(&mut self) -> &mut EntryDraft<Php> {
        &mut self.entry
    }
}

/// The servers as an action names them.
enum NamedServers {
    Upstream(Key<Upstream>),
    Origin(Origin),
}

const FASTCGI: &[Member<GatewayDraft>] = &[optional("fastcgi", STRING)
    .default("required")
    .means(
        "a server of FastCGI, `unix:PATH` or `HOST:PORT`, or `upstreams/NAME`: servers whose `protocol` is \
         `\"fastcgi\"`",
    )
    .read(|cx, field, draft| draft.servers = servers(cx, field, Protocol::FastCgi))];

const SCGI: &[Member<GatewayDraft>] = &[optional("scgi", STRING)
    .default("required")
    .means("in its place: the same for servers of SCGI")
    .read(|cx, field, draft| draft.servers = servers(cx, field, Protocol::Scgi))];

const UWSGI: &[Member<GatewayDraft>] = &[optional("uwsgi", STRING)
    .default("required")
    .means("in its place: the same for servers of uwsgi, the protocol of uWSGI")
    .read(|cx, field, draft| draft.servers = servers(cx, field, Protocol::Uwsgi))];

const OPTIONS: &[Member<GatewayDraft>] = &[optional("timeout", INTEGER)
    .default("60")
    .means(
        "seconds without anything from the server, or without it taking anything, until it is given up (504)",
    )
    .read(|cx, field, draft| {
        let limit = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(TIMEOUT);
        let timeouts = &mut draft.options.timeouts;
        (timeouts.send, timeouts.response, timeouts.read) = (limit, limit, limit);
    })];

const KEEPS: &[Member<GatewayDraft>] = &[optional("keep_alive", OBJECT).read(|cx, field, draft| {
    schema::read_nested(cx, field, &[KEEP_ALIVE], &mut draft.options);
})];

const KEEP_ALIVE: &[Member<ProxyOptions>] = &[
    optional("processes", INTEGER)
        .at_most(bounds::KEPT_CONNECTIONS)
        .default("0")
        .means(
            "how many processes the server has. As many connections are kept at most, in all threads \
             together: each of them keeps a process for itself. 0: a new connection for each request",
        )
        .read(|cx, field, options| options.processes = number(cx, field).unwrap_or_default()),
    optional("idle_timeout", INTEGER).default("60").means("seconds that an unused connection is kept").read(
        |cx, field, options| {
            let keepalive = &mut options.keepalive;
            keepalive.idle_timeout = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(keepalive.idle_timeout);
        },
    ),
    optional("requests", INTEGER)
        .default("0")
        .means("requests on one connection; 0: no limit")
        .read(|cx, field, options| options.keepalive.requests = number(cx, field).unwrap_or_default()),
];

fn servers(cx: &mut Context<'_>, field: Field<'_>, protocol: Protocol) -> Option<NamedServers> {
    let text = field.value.as_bytes()?;
    if text.starts_with(b"upstreams/") && !Template::is_dynamic(text) {
        return upstream(cx, field, protocol);
    }
    let origin = Origin::parse_bare(text);
    if origin.is_none() {
        let meant = meant(text);
        let detail = format!("The \"{protocol}\" address is invalid \"{text}\"");
        cx.problem_that_means(detail, advice::GATEWAY, meant);
    }
    origin.map(NamedServers::Origin)
}

/// An upstream whose servers speak the protocol.
fn upstream(cx: &mut Context<'_>, field: Field<'_>, protocol: Protocol) -> Option<NamedServers> {
    let idx = named_upstream(cx, field, advice::GATEWAY)?;
    if cx.destinations.protocols.get(idx) != Some(&UpstreamProtocol::Gateway(protocol)) {
        cx.problem_with_advice(
            format!("The servers of this upstream do not speak {protocol}."),
            format!("The upstream says so: \"protocol\": \"{protocol}\"."),
        );
    }
    Some(NamedServers::Upstream(idx))
}

/// The address that was probably meant: with a scheme in front of it, or a path as nginx and Apache have it.
fn meant(text: &Bytes) -> Option<String> {
    let text = text.to_str()?.trim();
    let (_, rest) = text.split_once("://").unwrap_or(("", text));
    let candidates = [rest.to_owned(), format!("unix:{rest}"), rest.trim_end_matches(['/', ';']).to_owned()];
    candidates.into_iter().find(|candidate| Origin::parse_bare(candidate.as_bytes()).is_some())
}

/// Options of the servers themselves belong to a named upstream, or two actions could contradict each other.
fn report_options_of_upstream(cx: &mut Context<'_>, members: &Object) {
    for (name, there) in [("timeout", "\"timeouts\""), ("keep_alive", "\"processes\" and \"keepalive\"")] {
        if members.contains_key(name.as_bytes()) {
            cx.at(name.as_bytes(), |cx| {
                cx.problem(format!("The \"{name}\" of an upstream is its own: see {there} there."));
            });
        }
    }
}
