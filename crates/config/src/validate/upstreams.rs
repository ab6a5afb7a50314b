//! `upstreams` (contract 13).

use std::ops::RangeInclusive;

use super::bounds;
use super::context::Context;
use super::scalars::{INT_MAX, MAX_SECONDS, integer, seconds};
use super::schema::{
    self, ARRAY, BOOL, Field, INTEGER, Member, NUMBER, OBJECT, Rows, STRING, optional, required,
};
use super::strings::{member_name, name, template};
use super::{advice, proxy};
use crate::json::{Object, Value};
use crate::protocol::Protocol;
use crate::table::Table;
use crate::upstream::{
    Balance, HealthCheck, Origin, PassiveHealth, ProxyOptions, Retries, Server, Upstream, WEIGHT_ONE,
};

/// Reads all upstreams.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Table<Upstream> {
    let mut upstreams = Table::default();
    for (name, value) in field.value.as_object().into_iter().flatten() {
        cx.at(name, |cx| {
            let Some(text) = member_name(cx, name) else { return };
            match value.as_object() {
                Some(members) => upstreams.extend(read_one(cx, text, members)),
                None => schema::report_wrong_type(cx, &text, OBJECT, value),
            }
        });
    }
    upstreams
}

fn read_one(cx: &mut Context<'_>, name: String, members: &Object) -> Option<Upstream> {
    let mut draft = UpstreamDraft::default();
    let mut options = ProxyOptions::default();
    let mut group = Rows { tables: &[UPSTREAM], draft: &mut draft };
    let mut requests = Rows { tables: &[proxy::OPTIONS], draft: &mut options };
    schema::read_parts(cx, members, &mut [&mut group, &mut requests]);
    let Some(servers) = draft.servers else {
        if !members.contains_key(b"servers".as_slice()) {
            cx.problem(format!("The \"{name}\" upstream must contain \"servers\" object value."));
        }
        return None;
    };
    let UpstreamDraft { balance, retries, passive, health, gateway, processes, .. } = draft;
    (options.gateway, options.processes) = (gateway, processes);
    report_what_is_for_http(cx, members, gateway);
    Some(Upstream { name, servers, balance, retries, passive, health, options })
}

#[derive(Default)]
struct UpstreamDraft {
    servers: Option<Vec<Server>>,
    balance: Balance,
    retries: Retries,
    passive: PassiveHealth,
    health: Option<HealthCheck>,
    gateway: Option<Protocol>,
    processes: u32,
}

/// Options that would be of no use for servers of another protocol.
fn report_what_is_for_http(cx: &mut Context<'_>, members: &Object, gateway: Option<Protocol>) {
    if gateway != Some(Protocol::FastCgi) && members.contains_key(b"processes".as_slice()) {
        cx.at(b"processes", |cx| {
            cx.problem("The \"processes\" option is for servers whose \"protocol\" is \"fastcgi\".");
        });
    }
    let Some(protocol) = gateway else { return };
    for name in ["http2", "forwarded_headers"] {
        if members.contains_key(name.as_bytes()) {
            cx.at(name.as_bytes(), |cx| {
                cx.problem(format!(
                    "The \"{name}\" option is for servers of HTTP, and these speak {protocol}."
                ));
            });
        }
    }
}

const UPSTREAM: &[Member<UpstreamDraft>] = &[
    optional("servers", OBJECT)
        .default("required")
        .means(
            "an object: the servers by their addresses. `weight` is the share of one, 1 unless given; 0 \
             means never. `http2` is that of one server, in place of the upstream's",
        )
        .read(|cx, field, draft| draft.servers = Some(servers(cx, field))),
    optional("protocol", STRING)
        .default("`http`")
        .means("what the servers speak; with `fastcgi`, `scgi` or `uwsgi` an [action](fastcgi.md) of that name leads \
            to them")
        .read(|cx, field, draft| draft.gateway = protocol(cx, field)),
    optional("processes", INTEGER).at_most(bounds::KEPT_CONNECTIONS)
        .default("0")
        .means("how many processes each server of FastCGI has, see [kept connections](fastcgi.md#kept-connections)")
        .read(|cx, field, draft| draft.processes = number(cx, field, 0).unwrap_or_default()),
    optional("balance", STRING.or(OBJECT))
        .default("`\"round_robin\"`")
        .means(
            "in turn, smoothly; `least_connections`: the least busy for its weight; `random_two`: the less \
             busy of two that are drawn; `{\"hash\": TEMPLATE}`: the same text to the same server",
        )
        .read(|cx, field, draft| draft.balance = balance(cx, field).unwrap_or_default()),
    optional("retries", INTEGER).at_most(bounds::RETRIES)
        .default("9")
        .means("how many further servers a request is given to")
        .read(|cx, field, draft| draft.retries.most = number(cx, field, 0).unwrap_or_default()),
    optional("retry_timeout", INTEGER)
        .default("10")
        .means("seconds after which it is given to no further one; 0: no limit")
        .read(|cx, field, draft| {
            let limit = seconds(cx, field, 0..=MAX_SECONDS).unwrap_or_default();
            draft.retries.timeout = Some(limit).filter(|limit| !limit.is_zero());
        }),
    optional("max_fails", INTEGER).at_most(bounds::STREAK)
        .default("1")
        .means("failures within `fail_timeout` after which a server is avoided; 0 switches this off")
        .read(|cx, field, draft| draft.passive.max_fails = number(cx, field, 0).unwrap_or_default()),
    optional("fail_timeout", INTEGER)
        .default("10")
        .means("seconds within which failures count, and for which a server is avoided then")
        .read(|cx, field, draft| {
            draft.passive.fail_timeout = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or_default();
        }),
    optional("health", OBJECT).read(|cx, field, draft| {
        let mut check = HealthCheck::default();
        schema::read_nested(cx, field, &[HEALTH], &mut check);
        draft.health = Some(check);
    }),
];

fn servers(cx: &mut Context<'_>, field: Field<'_>) -> Vec<Server> {
    let mut servers = Vec::new();
    for (name, value) in field.value.as_object().into_iter().flatten() {
        cx.at(name, |cx| {
            let Some(members) = value.as_object() else {
                return schema::report_wrong_type(cx, &name.to_string_lossy(), OBJECT, value);
            };
            let Some(origin) = Origin::parse_server(name) else {
                let meant = Origin::meant(name).map(|origin| origin.to_string());
                let detail = format!("The \"{name}\" is not valid server address.");
                return cx.problem_that_means(detail, advice::SERVER, meant);
            };
            let mut server = Server { origin, weight: WEIGHT_ONE, http2: None };
            schema::read_object(cx, members, &[SERVER], &mut server);
            servers.push(server);
        });
    }
    servers
}

const SERVER: &[Member<Server>] = &[
    optional("weight", NUMBER).read(|cx, field, server| server.weight = weight(cx, field)),
    optional("http2", BOOL).read(|_, field, server| server.http2 = Some(*field.value == Value::Bool(true))),
];

fn protocol(cx: &mut Context<'_>, field: Field<'_>) -> Option<Protocol> {
    let text = field.value.as_bytes()?;
    let protocol = Protocol::named(text);
    if protocol.is_none() && **text != *b"http" {
        cx.problem_with_suggestion(
            "The \"protocol\" value must be \"http\", \"fastcgi\", \"scgi\", or \"uwsgi\".",
            &text.to_string_lossy(),
            ["http", "fastcgi", "scgi", "uwsgi"].into_iter(),
        );
    }
    protocol
}

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

fn balance(cx: &mut Context<'_>, field: Field<'_>) -> Option<Balance> {
    let Some(text) = field.value.as_bytes() else {
        let mut draft = None;
        schema::read_nested(cx, field, &[BALANCE], &mut draft);
        return draft;
    };
    match &**text {
        b"round_robin" => Some(Balance::RoundRobin),
        b"least_connections" => Some(Balance::LeastConnections),
        b"random_two" => Some(Balance::RandomTwo),
        _ => {
            cx.problem_with_suggestion(
                "The \"balance\" value must be \"round_robin\", \"least_connections\", \"random_two\", or an \
                 object with \"hash\".",
                &text.to_string_lossy(),
                ["round_robin", "least_connections", "random_two"].into_iter(),
            );
            None
        }
    }
}

const BALANCE: &[Member<Option<Balance>>] =
    &[required("hash", STRING).read(|cx, field, draft| *draft = template(cx, field).map(Balance::Hash))];

const HEALTH: &[Member<HealthCheck>] = &[
    optional("path", STRING)
        .default("`\"/\"`")
        .means("a GET on it is made again and again; without `health` servers are not checked")
        .read(|cx, field, check| {
            let path = name(cx, field).unwrap_or_default();
            if !path.starts_with('/') || !path.bytes().all(|byte| byte.is_ascii_graphic()) {
                cx.problem("The \"path\" string must begin with \"/\" and be encoded like a URI.");
            }
            check.path = path;
        }),
    optional("host", STRING).default("address").means("the `Host` of checks").read(|cx, field, check| {
        let host = name(cx, field);
        if host.as_ref().is_some_and(|host| !host.bytes().all(|byte| byte.is_ascii_graphic())) {
            cx.problem("The \"host\" string must be a host name, with a port if need be.");
        }
        check.host = host;
    }),
    optional("interval", INTEGER).default("5").means("seconds between two checks").read(
        |cx, field, check| check.interval = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(check.interval),
    ),
    optional("timeout", INTEGER).default("3").means("seconds that a server has to answer one").read(
        |cx, field, check| check.timeout = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(check.timeout),
    ),
    optional("expect", INTEGER.or(STRING).or(ARRAY))
        .default("`\"200-399\"`")
        .means("a status, a range, or an array of such")
        .read(|cx, field, check| check.expect = statuses(cx, field)),
    optional("rises", INTEGER)
        .at_most(bounds::STREAK)
        .default("2")
        .means("checks in a row that have to succeed before a server counts as up")
        .read(|cx, field, check| check.rises = number(cx, field, 1).unwrap_or(check.rises)),
    optional("falls", INTEGER)
        .at_most(bounds::STREAK)
        .default("3")
        .means("checks in a row that have to fail before it counts as down")
        .read(|cx, field, check| check.falls = number(cx, field, 1).unwrap_or(check.falls)),
];

/// Statuses: one, a range like `"200-299"`, or an array of such.
fn statuses(cx: &mut Context<'_>, field: Field<'_>) -> Vec<RangeInclusive<u16>> {
    let Some(elements) = field.value.as_array() else {
        return status_range(cx, field.value).into_iter().collect();
    };
    if elements.is_empty() {
        cx.problem("The \"expect\" array must contain at least one element.");
    }
    let mut ranges = Vec::new();
    for (idx, element) in elements.iter().enumerate() {
        cx.at_index(idx, |cx| ranges.extend(status_range(cx, element)));
    }
    ranges
}

fn status_range(cx: &mut Context<'_>, value: &Value) -> Option<RangeInclusive<u16>> {
    let range = match (value.as_number(), value.as_bytes()) {
        (Some(number), _) => u16::try_from(number.as_i64()).ok().map(|status| status..=status),
        (_, Some(text)) => text.to_str().and_then(|text| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            Some(first.parse().ok()?..=last.parse().ok()?)
        }),
        _ => None,
    };
    let range = range.filter(|range| *range.start() >= 100 && *range.end() <= 999 && !range.is_empty());
    if range.is_none() {
        cx.problem("The \"expect\" value must be statuses like 200 or \"200-399\".");
    }
    range
}

fn number(cx: &mut Context<'_>, field: Field<'_>, least: i64) -> Option<u32> {
    integer(cx, field, least..=INT_MAX).and_then(|number| u32::try_from(number).ok())
}
