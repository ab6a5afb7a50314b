//! `limit_requests` and `limit_connections` of listeners, actions and applications (beyond Unit).

use std::num::NonZeroU32;
use std::time::Duration;

use super::advice;
use super::context::Context;
use super::label::Label;
use super::scalars::{count, integer, is_true, size};
use super::schema::{self, ARRAY, BOOL, Field, INTEGER, Member, OBJECT, STRING, optional, required};
use super::strings::{address_patterns, template, text};
use crate::pattern::address::AddressPatternSet;
use crate::table::Key;
use crate::throttle::{RequestRate, Throttle, ThrottleBound, ThrottleKey};

/// The row of `limit_requests`, wherever it is.
pub(super) const REQUESTS: Label = optional("limit_requests", OBJECT).means(
    "[how many requests](limits.md) of one client are answered in a time; further ones get 429 (beyond Unit)",
);

/// The row of `limit_connections`, wherever it is.
pub(super) const CONNECTIONS: Label = optional("limit_connections", OBJECT).means(
    "[how many requests](limits.md) of one client are answered at the same time; further ones get 503 (beyond Unit)",
);

/// Reads `limit_requests`, and adds it to the limits of a place.
pub(super) fn requests(cx: &mut Context<'_>, field: Field<'_>, limits: &mut Vec<Key<Throttle>>) {
    let mut draft = RateDraft::default();
    let mut whose = Whose { status: 429, ..Whose::default() };
    read(cx, field, RATE, &mut draft, &mut whose);
    let RateDraft { interval, burst, delay, headers, entries } = draft;
    let Some(interval) = interval else { return };
    let rate = RequestRate { interval, burst, delay, headers, entries: entries.unwrap_or(ENTRIES) };
    if delay && interval.saturating_mul(burst) > LONGEST_DELAY {
        let longest = LONGEST_DELAY.as_secs();
        cx.at(b"burst", |cx| {
            cx.problem_with_advice(
                format!("With \"delay\", the last request of the burst would wait for more than {longest} seconds."),
                "Lower \"burst\", or leave \"delay\" out: then requests of the burst are answered at once.",
            );
        });
    }
    limits.push(whose.limit(cx, ThrottleBound::Rate(rate)));
}

/// Reads `limit_connections`, and adds it to the limits of a place.
pub(super) fn connections(cx: &mut Context<'_>, field: Field<'_>, limits: &mut Vec<Key<Throttle>>) {
    let mut most = None;
    let mut whose = Whose { status: 503, ..Whose::default() };
    read(cx, field, CONCURRENCY, &mut most, &mut whose);
    if let Some(most) = most {
        limits.push(whose.limit(cx, ThrottleBound::Concurrency(most)));
    }
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
    delay: bool,
    headers: bool,
    entries: Option<usize>,
}

const RATE: &[Member<RateDraft>] = &[
    required("rate", STRING)
        .means("requests in a second, a minute or an hour: `\"10/s\"`, `\"100/m\"`, `\"1000/h\"`")
        .read(|cx, field, draft| draft.interval = rate(cx, field)),
    optional("burst", INTEGER)
        .default("0")
        .means("requests that may come ahead of that pace, as after a pause")
        .read(|cx, field, draft| {
            let burst = integer(cx, field, 0..=MOST_BURST).and_then(|burst| u32::try_from(burst).ok());
            draft.burst = burst.unwrap_or_default();
        }),
    optional("delay", BOOL)
        .default("`false`")
        .means("requests that come ahead of the pace wait until it has caught up, instead of being answered at once")
        .read(|_, field, draft| draft.delay = is_true(field)),
    optional("headers", BOOL)
        .default("`false`")
        .means("whether all replies tell how much is left, not only refusals")
        .read(|_, field, draft| draft.headers = is_true(field)),
    optional("entries", INTEGER)
        .default("100000")
        .means("about how many clients are remembered, at 16 bytes each; those with the least use are forgotten first")
        .read(|cx, field, draft| draft.entries = size(cx, field, LEAST_ENTRIES..=MOST_ENTRIES)),
];

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

fn rate(cx: &mut Context<'_>, field: Field<'_>) -> Option<Duration> {
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
