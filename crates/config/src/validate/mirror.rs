//! `mirror` of actions (beyond Unit).

use std::time::Duration;

use super::advice;
use super::context::Context;
use super::destination::named_upstream;
use super::label::Label;
use super::scalars::{MAX_SECONDS, is_true, seconds};
use super::schema::{self, ARRAY, BOOL, Field, INTEGER, Member, NUMBER, OBJECT, STRING, optional, required};
use super::strings::one_or_more;
use crate::gateway::Servers;
use crate::json::Value;
use crate::mirror::{Mirror, SAMPLE_ALL};
use crate::table::Key;
use crate::upstream::{Origin, ProxyOptions, Upstream};

/// The row of `mirror`.
pub(super) const MIRROR: Label = optional("mirror", STRING.or(ARRAY).or(OBJECT)).means(
    "[other servers that get a copy](mirror.md) of each request, whose responses are thrown away; that of the last \
     action that has it counts (beyond Unit)",
);

/// Reads `mirror`.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<Key<Mirror>> {
    let place = cx.pointer().to_owned();
    let mut draft = Mirror { place, to: Vec::new(), body: true, sample: SAMPLE_ALL, timeout: TIMEOUT };
    match field.value {
        Value::Object(_) => schema::read_nested(cx, field, &[OPTIONS], &mut draft),
        _ => draft.to = one_or_more(cx, field, servers),
    }
    (!draft.to.is_empty()).then(|| cx.tables.mirrors.push(draft))
}

const OPTIONS: &[Member<Mirror>] = &[
    required("to", STRING.or(ARRAY))
        .means(
            "the server, `http://HOST:PORT`, `https://HOST:PORT` or `http://unix:PATH`, or `upstreams/NAME`, or \
             several of these, each of which gets a copy",
        )
        .read(|cx, field, draft| draft.to = one_or_more(cx, field, servers)),
    optional("body", BOOL)
        .default("`true`")
        .means("whether copies have the request body; those with more than 1 MiB are not sent")
        .read(|_, field, draft| draft.body = is_true(field)),
    optional("sample", NUMBER)
        .default("1")
        .means("the share of requests that are copied, from 0 to 1")
        .read(|cx, field, draft| draft.sample = sample(cx, field)),
    optional("timeout", INTEGER)
        .default("10")
        .means("seconds for a copy, from the connection to the end of the response")
        .read(|cx, field, draft| draft.timeout = seconds(cx, field, 1..=MAX_SECONDS).unwrap_or(TIMEOUT)),
];

const TIMEOUT: Duration = Duration::from_secs(10);

fn servers(cx: &mut Context<'_>, field: Field<'_>) -> Option<Servers> {
    let text = field.value.as_bytes()?;
    if text.starts_with(b"upstreams/") {
        let idx = named_upstream(cx, field, advice::MIRROR)?;
        if !cx.destinations.speak_http1(idx) {
            cx.problem_with_advice(
                "The servers of this upstream do not speak HTTP/1, which copies are sent in.",
                "Name an upstream without \"protocol\" and \"http2\".",
            );
        }
        return Some(Servers::Upstream(idx));
    }
    let Some(origin) = Origin::parse_url(text) else {
        let meant = Origin::meant(text).map(|origin| origin.to_string());
        cx.problem_that_means(
            format!("The \"mirror\" address is invalid \"{text}\"."),
            advice::MIRROR,
            meant,
        );
        return None;
    };
    let group = Upstream::single(origin.to_string(), origin, ProxyOptions::default());
    Some(Servers::Proxy(cx.proxy(group)))
}

fn sample(cx: &mut Context<'_>, field: Field<'_>) -> u32 {
    let share = field.value.as_number().map_or(-1.0, |number| number.as_f64());
    if !(0.0..=1.0).contains(&share) {
        cx.problem("The \"sample\" number must be between 0 and 1.");
        return 0;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between 0 and 1000000"
    )]
    let millionths = (share * f64::from(SAMPLE_ALL)).round() as u32;
    millionths
}
