//! Options of all actions about the responses that they lead to (beyond Unit).

mod content;
mod expires;
mod substitute;

use super::context::Context;
use super::scalars::{integer, is_true};
use super::schema::{self, ARRAY, BOOL, Field, INTEGER, Member, OBJECT, STRING, optional, required};
use super::strings::{name, patterns};
use crate::json::Value;
use crate::pattern::Flavor;
use crate::responses::{Charset, RateLimit, ResponseOptions};
use crate::route::ActionOptions;

pub(super) use self::content::content_rules;

pub(super) const RESPONSES: &[Member<ActionOptions>] = &[
    optional("expires", STRING.or(INTEGER).or(OBJECT))
        .means(
            "[how long](responses.md#expires) browsers and caches may keep a response that does not say so itself, or \
             times by path and type: `{ \"image/*\": \"30d\", \"/assets/*\": \"1y immutable\" }` (beyond Unit)",
        )
        .read(|cx, field, options| own(options).expires = expires::read(cx, field)),
    optional("charset", STRING)
        .default("none")
        .means(
            "[the character set](responses.md#character-sets) that is added to the `Content-Type` of texts (`text/*` \
             and JavaScript) that do not say theirs, such as `\"utf-8\"`; nothing is converted. `\"off\"` ends what an \
             outer action says (beyond Unit)",
        )
        .read(|cx, field, options| own(options).charset = charset(cx, field)),
    optional("limit_rate", INTEGER.or(OBJECT))
        .default("none")
        .means(
            "bytes in a second at which a response body is sent, or [an object](responses.md#limit-rate); 0 for no \
             limit (beyond Unit)",
        )
        .read(|cx, field, options| own(options).limit_rate = limit_rate(cx, field)),
    optional("substitute", ARRAY)
        .default("none")
        .means(
            "[texts of bodies](responses.md#text-substitution) that are replaced: \
             `[{ \"from\": \"http://old\", \"to\": \"https://$host\" }]`; an empty list ends what an outer action says \
             (beyond Unit)",
        )
        .read(|cx, field, options| own(options).substitute = substitute::read(cx, field)),
    optional("substitute_types", STRING.or(ARRAY))
        .default("`\"text/html\"`")
        .means("the MIME types of bodies in which `substitute` replaces texts, as patterns (beyond Unit)")
        .read(|cx, field, options| {
            own(options).substitute_types = patterns(cx, field, Flavor::CaseInsensitive);
        }),
    optional("gunzip", BOOL)
        .default("`false`")
        .means(
            "`true`: bodies that an application or a server sends in gzip are [unpacked](responses.md#gunzip) for \
             clients that do not take it (beyond Unit)",
        )
        .read(|_, field, options| own(options).gunzip = Some(is_true(field))),
];

fn own(options: &mut ActionOptions) -> &mut ResponseOptions {
    options.responses.get_or_insert_default()
}

/// The name of a character set (RFC 2978 section 2.3), or `off`.
fn charset(cx: &mut Context<'_>, field: Field<'_>) -> Option<Charset> {
    let name = name(cx, field)?;
    let is_name =
        name.len() <= 40 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:+".contains(&byte));
    if !is_name {
        let advice = "It is the name of a character set, such as \"utf-8\" or \"iso-8859-1\", or \"off\".";
        cx.problem_with_advice(format!("The \"charset\" value \"{name}\" is not a name."), advice);
        return None;
    }
    Some(if name.eq_ignore_ascii_case("off") { Charset::Off } else { Charset::Named(name) })
}

/// A number, or an object with it.
fn limit_rate(cx: &mut Context<'_>, field: Field<'_>) -> Option<RateLimit> {
    let mut limit = RateLimit { rate: 0, burst: 0 };
    match field.value {
        Value::Object(_) => schema::read_nested(cx, field, &[RATE], &mut limit),
        _ => limit.rate = bytes(cx, field),
    }
    Some(limit)
}

const RATE: &[Member<RateLimit>] = &[
    required("rate", INTEGER)
        .means("bytes in a second; 0 for no limit")
        .read(|cx, field, limit| limit.rate = bytes(cx, field)),
    optional("burst", INTEGER)
        .default("0")
        .means("bytes that are sent at once: at the beginning, and again after as long a pause as they take")
        .read(|cx, field, limit| limit.burst = bytes(cx, field)),
];

fn bytes(cx: &mut Context<'_>, field: Field<'_>) -> u64 {
    integer(cx, field, 0..=MAX_BYTES).and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default()
}

/// More than any network carries in a second.
const MAX_BYTES: i64 = 1 << 40;
