//! `limit_requests` and `limit_connections` of listeners, actions and applications, and `limit_zones` that these name
//! (beyond Unit).

use std::num::NonZeroU32;
use std::time::Duration;

use super::advice;
use super::context::Context;
use super::label::Label;
use super::scalars::{count, integer, is_true, size};
use super::schema::{self, ARRAY, BOOL, Field, INTEGER, Member, OBJECT, STRING, optional, required};
use super::strings::{address_patterns, template, text};
use crate::json::{Bytes, Value};
use crate::pattern::address::AddressPatternSet;
use crate::table::Key;
use crate::throttle::{RequestRate, Throttle, ThrottleBound, ThrottleKey};

/// The row of `limit_requests`, wherever it is.
pub(super) const REQUESTS: Label = optional("limit_requests", OBJECT.or(STRING).or(ARRAY)).means(
    "[how many requests](limits.md) of one client are answered in a time; further ones get 429. An object, the name of \
     one in `limit_zones`, or several of them (beyond Unit)",
);

/// The row of `limit_connections`, wherever it is.
pub(super) const CONNECTIONS: Label = optional("limit_connections", OBJECT.or(STRING).or(ARRAY)).means(
    "[how many requests](limits.md) of one client are answered at the same time; further ones get 503. An object, the \
     name of one in `limit_zones`, or several of them (beyond Unit)",
);

/// Reads `limit_requests`, and adds its limits to those of a place.
pub(super) fn requests(cx: &mut Context<'_>, field: Field<'_>, limits: &mut Vec<Key<Throttle>>) {
    one_or_several(cx, field, rate, is_rate, limits);
}

/// Reads `limit_connections`, and adds its limits to those of a place.
pub(super) fn connections(cx: &mut Context<'_>, field: Field<'_>, limits: &mut Vec<Key<Throttle>>) {
    one_or_several(cx, field, concurrency, |bound| !is_rate(bound), limits);
}

/// Reads `limit_zones`, for the places that name them.
pub(super) fn read_zones(cx: &mut Context<'_>, field: Field<'_>) {
    for (name, value) in field.value.as_object().into_iter().flatten() {
        let limit = cx.at(name, |cx| zone(cx, Field { value, ..field }));
        cx.zones.extend(limit.map(|key| (name.clone(), key)));
    }
}

fn zone(cx: &mut Context<'_>, field: Field<'_>) -> Option<Key<Throttle>> {
    let Some(members) = field.value.as_object() else {
        schema::report_wrong_type(cx, "limit_zones", OBJECT, field.value);
        return None;
    };
    if members.contains_key(b"rate".as_slice()) {
        return rate(cx, field);
    }
    if members.contains_key(b"connections".as_slice()) {
        return concurrency(cx, field);
    }
    cx.problem_with_advice(
        "A limit needs either \"rate\" or \"connections\".",
        "Write \"rate\" as \"10/s\" to bound requests in a time, \"connections\" as a number to bound those at once.",
    );
    None
}

fn is_rate(bound: &ThrottleBound) -> bool {
    matches!(bound, ThrottleBound::Rate(_))
}

/// A reader of one limit.
type ReadLimit = fn(&mut Context<'_>, Field<'_>) -> Option<Key<Throttle>>;

/// Reads a limit, the name of one, or a list of both.
fn one_or_several(
    cx: &mut Context<'_>,
    field: Field<'_>,
    read: ReadLimit,
    is_kind: fn(&ThrottleBound) -> bool,
    limits: &mut Vec<Key<Throttle>>,
) {
    let mut one = |cx: &mut Context<'_>, value| {
        let field = Field { value, ..field };
        limits.extend(match value {
            Value::Object(_) => read(cx, field),
            Value::String(name) => named(cx, field, name, is_kind),
            _ => {
                schema::report_wrong_type(cx, field.name, OBJECT.or(STRING), value);
                None
            }
        });
    };
    match field.value {
        Value::Array(elements) => {
            for (idx, value) in elements.iter().enumerate() {
                cx.at_index(idx, |cx| one(cx, value));
            }
        }
        value => one(cx, value),
    }
}

/// The limit of `limit_zones` with this name.
fn named(
    cx: &mut Context<'_>,
    field: Field<'_>,
    name: &Bytes,
    is_kind: fn(&ThrottleBound) -> bool,
) -> Option<Key<Throttle>> {
    let Some(&key) = cx.zones.get(name) else {
        let detail =
            format!("The \"{}\" value \"{name}\" is not the name of a limit in \"limit_zones\".", field.name);
        let known: Vec<_> = cx.zones.keys().map(|name| name.to_string_lossy().into_owned()).collect();
        cx.problem_with_suggestion(detail, &name.to_string_lossy(), known.into_iter());
        return None;
    };
    if !is_kind(&cx.tables.throttles[key].bound) {
        let other =
            if is_rate(&cx.tables.throttles[key].bound) { "limit_requests" } else { "limit_connections" };
        cx.problem_with_advice(
            format!("The limit \"{name}\" of \"limit_zones\" is not one for \"{}\".", field.name),
            format!("Name it in \"{other}\"."),
        );
        return None;
    }
    Some(key)
}

/// Reads one limit on requests in a time.
fn rate(cx: &mut Context<'_>, field: Field<'_>) -> Option<Key<Throttle>> {
    let mut draft = RateDraft::default();
    let mut whose = Whose { status: 429, ..Whose::default() };
    read(cx, field, RATE, &mut draft, &mut whose);
    let RateDraft { interval, burst, delay, headers, entries } = draft;
    let rate =
        RequestRate { interval: interval?, burst, delay, headers, entries: entries.unwrap_or(ENTRIES) };
    report_long_delay(cx, &rate);
    Some(whose.limit(cx, ThrottleBound::Rate(rate)))
}

fn report_long_delay(cx: &mut Context<'_>, rate: &RequestRate) {
    let Some(undelayed) = rate.delay else { return };
    let n_delayed = rate.burst.saturating_sub(undelayed);
    if rate.interval.saturating_mul(n_delayed) <= LONGEST_DELAY {
        return;
    }
    let longest = LONGEST_DELAY.as_secs();
    cx.at(b"burst", |cx| {
        cx.problem_with_advice(
            format!(
                "With \"delay\", the last request of the burst would wait for more than {longest} seconds."
            ),
            "Lower \"burst\", or leave \"delay\" out: then requests of the burst are answered at once.",
        );
    });
}

/// Reads one limit on requests at the same time.
fn concurrency(cx: &mut Context<'_>, field: Field<'_>) -> Option<Key<Throttle>> {
    let mut most = None;
    let mut whose = Whose { status: 503, ..Whose::default() };
    read(cx, field, CONCURRENCY, &mut most, &mut whose);
    Some(whose.limit(cx, ThrottleBound::Concurrency(most?)))
}

fn read<T>(cx: &mut Context<'_>, field: Field<'_>, table: &[Member<T>], draft: &mut T, whose: &mut Whose) {
    let Some(members) = field.value.as_object() else { return };
    let mut own = schema::Rows { tables: &[table], draft };
    let mut common = schema::Rows { tables: &[WHOSE], draft: whose };
    schema::read_parts(cx, members, &mut [&mut own, &mut common]);
}

#[derive(Default)]
struct RateDraft {
    interval: Option<Duration>,
    burst: u32,
    delay: Option<u32>,
    headers: bool,
    entries: Option<usize>,
}

const RATE: &[Member<RateDraft>] = &[
    required("rate", STRING)
        .means("requests in a second, a minute or an hour: `\"10/s\"`, `\"100/m\"`, `\"1000/h\"`")
        .read(|cx, field, draft| draft.interval = interval(cx, field)),
    optional("burst", INTEGER)
        .default("0")
        .means("requests that may come ahead of that pace, as after a pause")
        .read(|cx, field, draft| {
            let burst = integer(cx, field, 0..=MOST_BURST).and_then(|burst| u32::try_from(burst).ok());
            draft.burst = burst.unwrap_or_default();
        }),
    optional("delay", BOOL.or(INTEGER))
        .default("`false`")
        .means(
            "requests that come ahead of the pace wait until it has caught up, instead of being answered at once. A \
             number is how many of `burst` are answered at once; those behind them wait",
        )
        .read(|cx, field, draft| draft.delay = undelayed(cx, field)),
    optional("headers", BOOL)
        .default("`false`")
        .means("whether all replies tell how much is left, not only refusals")
        .read(|_, field, draft| draft.headers = is_true(field)),
    optional("entries", INTEGER)
        .default("100000")
        .means("about how many clients are remembered, at 16 bytes each; those with the least use are forgotten first")
        .read(|cx, field, draft| draft.entries = size(cx, field, LEAST_ENTRIES..=MOST_ENTRIES)),
];

/// Requests ahead of the pace that do not wait, if any do.
fn undelayed(cx: &mut Context<'_>, field: Field<'_>) -> Option<u32> {
    match field.value {
        Value::Bool(is_on) => is_on.then_some(0),
        _ => integer(cx, field, 0..=MOST_BURST).and_then(|number| u32::try_from(number).ok()),
    }
}

const CONCURRENCY: &[Member<Option<NonZeroU32>>] = &[required("connections", INTEGER)
    .means("requests at the same time, with those that wait and with upgraded connections (WebSocket)")
    .read(|cx, field, most| *most = count(cx, field))];

/// Options that both limits have.
#[derive(Default)]
struct Whose {
    key: Option<ThrottleKey>,
    exempt: AddressPatternSet,
    status: u16,
    dry_run: bool,
}

impl Whose {
    fn limit(self, cx: &mut Context<'_>, bound: ThrottleBound) -> Key<Throttle> {
        let Self { key, exempt, status, dry_run } = self;
        let place = cx.pointer().to_owned();
        cx.tables.throttles.push(Throttle {
            place,
            key: key.unwrap_or(ThrottleKey::Client),
            exempt,
            status,
            dry_run,
            bound,
        })
    }
}

const WHOSE: &[Member<Whose>] = &[
    optional("key", STRING)
        .default("`\"$remote_addr\"`")
        .means("a text with [variables](routes.md#variables): requests with the same text share the limit, those \
            with an empty one have none")
        .read(|cx, field, whose| whose.key = key(cx, field)),
    optional("status", INTEGER)
        .default("429; of `limit_connections` 503")
        .means("the status of a refusal, from 400 to 599")
        .read(|cx, field, whose| {
            let status = integer(cx, field, 400..=599).and_then(|status| u16::try_from(status).ok());
            whose.status = status.unwrap_or(whose.status);
        }),
    optional("exempt", STRING.or(ARRAY))
        .default("none")
        .means("clients without this limit, as in [`match.source`](routes.md#conditions)")
        .read(|cx, field, whose| whose.exempt = address_patterns(cx, field).unwrap_or_default()),
    optional("dry_run", BOOL)
        .default("`false`")
        .means("nothing is refused and nothing waits; the log and `/status` tell what would have")
        .read(|_, field, whose| whose.dry_run = is_true(field)),
];

fn interval(cx: &mut Context<'_>, field: Field<'_>) -> Option<Duration> {
    let text = text(cx, field)?;
    match RequestRate::parse_interval(&text) {
        Ok(interval) => Some(interval),
        Err(error) => {
            let detail = format!("The \"rate\" value \"{text}\" {error}.");
            cx.problem_that_means(detail, advice::RATE, RequestRate::meant(&text));
            None
        }
    }
}

fn key(cx: &mut Context<'_>, field: Field<'_>) -> Option<ThrottleKey> {
    let is_client = field.value.as_bytes().is_some_and(|text| CLIENT.contains(&&**text));
    if is_client { Some(ThrottleKey::Client) } else { template(cx, field).map(ThrottleKey::Text) }
}

/// The spellings of the client's address.
const CLIENT: &[&[u8]] = &[b"$remote_addr", b"${remote_addr}"];

const MOST_BURST: i64 = 1_000_000;

/// A client that waits for longer has most likely given up.
const LONGEST_DELAY: Duration = Duration::from_secs(60);

const ENTRIES: usize = 100_000;
const LEAST_ENTRIES: i64 = 1000;
const MOST_ENTRIES: i64 = 100_000_000;
