//! `upstreams` (contract 13).

mod queue;
mod retry_on;
mod servers;
mod sticky;

use std::ops::RangeInclusive;
use std::time::Duration;

use super::bounds;
use super::context::Context;
use super::scalars::{INT_MAX, MAX_SECONDS, integer, seconds};
use super::schema::{self, ARRAY, Field, INTEGER, Member, OBJECT, Rows, STRING, optional, required};
use super::strings::{member_name, name, template};
use super::{local_address, proxy};
use crate::json::{Object, Value};
use crate::protocol::Protocol;
use crate::table::Table;
use crate::upstream::{
    Balance, HealthCheck, PassiveHealth, ProxyOptions, Queue, Retries, RetryOn, Server, Sticky, Upstream,
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
    let UpstreamDraft { gateway, is_raw, processes, .. } = draft;
    (options.gateway, options.is_raw, options.processes) = (gateway, is_raw, processes);
    report_what_is_for_http(cx, members, gateway);
    if is_raw {
        report_what_is_for_requests(cx, members);
    }
    queue::check(cx, members, &servers);
    let speaks_http2 = servers.iter().any(|server| server.http2.unwrap_or(options.http2));
    local_address::check(cx, &mut options, servers.iter().map(|server| &server.origin), speaks_http2);
    Some(Upstream {
        name,
        servers,
        balance: draft.balance,
        retries: draft.retries,
        retry_on: draft.retry_on,
        sticky: draft.sticky,
        queue: draft.queue,
        slow_start: draft.slow_start,
        passive: draft.passive,
        health: draft.health,
        options,
    })
}

#[derive(Default)]
struct UpstreamDraft {
    servers: Option<Vec<Server>>,
    balance: Balance,
    retries: Retries,
    retry_on: RetryOn,
    sticky: Option<Box<Sticky>>,
    queue: Queue,
    slow_start: Option<Duration>,
    passive: PassiveHealth,
    health: Option<HealthCheck>,
    gateway: Option<Protocol>,
    is_raw: bool,
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
    for name in ["http2", "forwarded_headers", "proxy_protocol"] {
        if members.contains_key(name.as_bytes()) {
            cx.at(name.as_bytes(), |cx| {
                cx.problem(format!(
                    "The \"{name}\" option is for servers of HTTP, and these speak {protocol}."
                ));
            });
        }
    }
}

/// Options that would be of no use for servers that get connections alone.
fn report_what_is_for_requests(cx: &mut Context<'_>, members: &Object) {
    let of_requests = [
        "http2",
        "forwarded_headers",
        "keepalive",
        "retry_on",
        "sticky",
        "rewrite_location",
        "rewrite_cookies",
    ];
    report_present(cx, members, &of_requests);
    if let Some(health) = members.get(b"health".as_slice()).and_then(Value::as_object) {
        cx.at(b"health", |cx| report_present(cx, health, &["path", "host", "expect"]));
    }
}

fn report_present(cx: &mut Context<'_>, members: &Object, names: &[&str]) {
    for name in names.iter().filter(|name| members.contains_key(name.as_bytes())) {
        cx.at(name.as_bytes(), |cx| {
            cx.problem(format!(
                "The \"{name}\" option is for servers that get requests, and the \"protocol\" of these is \"tcp\"."
            ));
        });
    }
}

const UPSTREAM: &[Member<UpstreamDraft>] = &[
    optional("servers", OBJECT)
        .default("required")
        .means(
            "an object: the servers by their addresses, each with [options of its own](#servers)",
        )
        .read(|cx, field, draft| draft.servers = Some(servers::read(cx, field))),
    optional("protocol", STRING)
        .default("`http`")
        .means("what the servers speak; with `fastcgi`, `scgi` or `uwsgi` an [action](fastcgi.md) of that name leads \
            to them; with `tcp` a listener of [TCP](tcp.md#checks), and checks only connect")
        .read(|cx, field, draft| {
            draft.is_raw = field.value.as_bytes().is_some_and(|text| **text == *RAW);
            draft.gateway = protocol(cx, field);
        }),
    optional("processes", INTEGER).at_most(bounds::KEPT_CONNECTIONS)
        .default("0")
        .means("how many processes each server of FastCGI has, see [kept connections](fastcgi.md#kept-connections)")
        .read(|cx, field, draft| draft.processes = number(cx, field, 0).unwrap_or_default()),
    optional("balance", STRING.or(OBJECT))
        .default("`\"round_robin\"`")
        .means(
            "in turn, smoothly; `least_connections`: the least busy for its weight; `least_time`: [likely the \
             first to answer](#least-time); `random_two`: the less busy of two that are drawn; \
             `{\"hash\": TEMPLATE}`: the same text to the same server",
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
    optional("retry_on", INTEGER.or(STRING).or(ARRAY))
        .default("none")
        .means(
            "[further reasons](#retries) to give it to another one: statuses like `503` or `\"500-599\"`, \
             `timeout`, `invalid_response`, and `non_idempotent` to do so with every method; or an array of such",
        )
        .read(|cx, field, draft| draft.retry_on = retry_on::read(cx, field)),
    optional("sticky", OBJECT).read(|cx, field, draft| draft.sticky = sticky::read(cx, field)),
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
    optional("slow_start", INTEGER)
        .default("0")
        .means("seconds in which the weight of a server that comes back grows to its full value; 0: at once")
        .read(|cx, field, draft| {
            draft.slow_start = seconds(cx, field, 0..=LONGEST_START).filter(|time| !time.is_zero());
        }),
    optional("queue", INTEGER.or(OBJECT))
        .at_most(bounds::REQUESTS)
        .read(|cx, field, draft| draft.queue = queue::read(cx, field)),
    optional("health", OBJECT).read(|cx, field, draft| {
        let mut check = HealthCheck::default();
        schema::read_nested(cx, field, &[HEALTH], &mut check);
        draft.health = Some(check);
    }),
];

/// Seconds.
const LONGEST_START: i64 = 86_400;

fn protocol(cx: &mut Context<'_>, field: Field<'_>) -> Option<Protocol> {
    let text = field.value.as_bytes()?;
    let protocol = Protocol::named(text);
    if protocol.is_none() && **text != *b"http" && **text != *RAW {
        cx.problem_with_suggestion(
            "The \"protocol\" value must be \"http\", \"fastcgi\", \"scgi\", \"uwsgi\", or \"tcp\".",
            &text.to_string_lossy(),
            ["http", "fastcgi", "scgi", "uwsgi", "tcp"].into_iter(),
        );
    }
    protocol
}

/// The protocol of servers that get connections alone.
pub(super) const RAW: &[u8] = b"tcp";

fn balance(cx: &mut Context<'_>, field: Field<'_>) -> Option<Balance> {
    let Some(text) = field.value.as_bytes() else {
        let mut draft = None;
        schema::read_nested(cx, field, &[BALANCE], &mut draft);
        return draft;
    };
    match &**text {
        b"round_robin" => Some(Balance::RoundRobin),
        b"least_connections" => Some(Balance::LeastConnections),
        b"least_time" => Some(Balance::LeastTime),
        b"random_two" => Some(Balance::RandomTwo),
        _ => {
            cx.problem_with_suggestion(
                "The \"balance\" value must be \"round_robin\", \"least_connections\", \"least_time\", \"random_two\", \
                 or an object with \"hash\".",
                &text.to_string_lossy(),
                ["round_robin", "least_connections", "least_time", "random_two"].into_iter(),
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
        return expected_range(cx, field.value).into_iter().collect();
    };
    if elements.is_empty() {
        cx.problem("The \"expect\" array must contain at least one element.");
    }
    let mut ranges = Vec::new();
    for (idx, element) in elements.iter().enumerate() {
        cx.at_index(idx, |cx| ranges.extend(expected_range(cx, element)));
    }
    ranges
}

/// Reports a value that is not a status or a range of them.
fn expected_range(cx: &mut Context<'_>, value: &Value) -> Option<RangeInclusive<u16>> {
    let range = status_range(value);
    if range.is_none() {
        cx.problem("The \"expect\" value must be statuses like 200 or \"200-399\".");
    }
    range
}

fn status_range(value: &Value) -> Option<RangeInclusive<u16>> {
    let range = match (value.as_number(), value.as_bytes()) {
        (Some(number), _) => u16::try_from(number.as_i64()).ok().map(|status| status..=status),
        (_, Some(text)) => text.to_str().and_then(|text| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            Some(first.parse().ok()?..=last.parse().ok()?)
        }),
        _ => None,
    };
    range.filter(|range| *range.start() >= 100 && *range.end() <= 999 && !range.is_empty())
}

fn number(cx: &mut Context<'_>, field: Field<'_>, least: i64) -> Option<u32> {
    integer(cx, field, least..=INT_MAX).and_then(|number| u32::try_from(number).ok())
}
