//! `cors` of actions (beyond Unit).

use corral_syntax::is_token;

use super::advice;
use super::context::Context;
use super::label::Label;
use super::scalars::{MAX_SECONDS, integer, is_true};
use super::schema::{self, ARRAY, BOOL, Field, INTEGER, Member, OBJECT, STRING, optional};
use super::strings::{one_or_more, text};
use crate::cors::{Cors, CorsRule, OriginPattern, Origins, Permitted};
use crate::json::Value;

/// The row of `cors`.
pub(super) const CORS: Label = optional("cors", BOOL.or(OBJECT)).default("`false`").means(
    "[which other sites' scripts](cors.md) may read replies, or `true` for those of any site (beyond Unit)",
);

/// Reads `cors`.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> CorsRule {
    let mut draft = Cors::of_any_origin();
    if let Value::Bool(is_on) = field.value {
        return if *is_on { CorsRule::On(Box::new(draft)) } else { CorsRule::Off };
    }
    schema::read_nested(cx, field, &[OPTIONS], &mut draft);
    if draft.credentials && draft.origins == Origins::Any {
        cx.at(b"credentials", |cx| {
            cx.problem_with_advice(
                "With \"credentials\", any site could read what only its visitor may see.",
                "Name the sites that may: \"origins\": [\"https://app.example.org\"].",
            );
        });
    }
    CorsRule::On(Box::new(draft))
}

const OPTIONS: &[Member<Cors>] = &[
    optional("origins", STRING.or(ARRAY))
        .default("`\"*\"`")
        .means(
            "the sites: `https://app.example.org`, `https://*.example.org` for all names below, \
             `http://localhost:*` for all ports, `null` for pages without an origin; `*` for all of these",
        )
        .read(|cx, field, draft| draft.origins = origins(cx, field)),
    optional("methods", STRING.or(ARRAY))
        .default("`[\"GET\", \"HEAD\", \"POST\", \"PUT\", \"PATCH\", \"DELETE\"]`")
        .means("the methods of requests; `*` for any")
        .read(|cx, field, draft| draft.methods = permitted(cx, field, method)),
    optional("headers", STRING.or(ARRAY))
        .default("`\"*\"`")
        .means("the names of headers that requests may have; `*` for any")
        .read(|cx, field, draft| draft.headers = permitted(cx, field, token)),
    optional("expose", STRING.or(ARRAY))
        .default("none")
        .means("the names of response headers that scripts may read, beside those that every script may")
        .read(|cx, field, draft| {
            let names = one_or_more(cx, field, token);
            draft.expose = (!names.is_empty()).then(|| names.join(", "));
        }),
    optional("credentials", BOOL)
        .default("`false`")
        .means("whether requests may have cookies and other credentials; only with named `origins`")
        .read(|_, field, draft| draft.credentials = is_true(field)),
    optional("max_age", INTEGER)
        .default("5, the browsers' own")
        .means("seconds for which a browser does not ask again before further requests; 0: it always asks")
        .read(|cx, field, draft| {
            draft.max_age =
                integer(cx, field, 0..=MAX_SECONDS).and_then(|seconds| u32::try_from(seconds).ok());
        }),
];

fn origins(cx: &mut Context<'_>, field: Field<'_>) -> Origins {
    let mut has_star = false;
    let patterns = one_or_more(cx, field, |cx, field| {
        let text = text(cx, field)?;
        has_star |= text == ANY;
        if text == ANY {
            return None;
        }
        let pattern = OriginPattern::parse(&text);
        if let Err(error) = pattern {
            let detail = format!("The \"{}\" value \"{text}\" {error}.", field.name);
            cx.problem_that_means(detail, advice::ORIGIN, OriginPattern::meant(&text));
        }
        pattern.ok()
    });
    if has_star { Origins::Any } else { Origins::Listed(patterns) }
}

fn permitted(
    cx: &mut Context<'_>,
    field: Field<'_>,
    read: fn(&mut Context<'_>, Field<'_>) -> Option<String>,
) -> Permitted {
    let names = one_or_more(cx, field, read);
    if names.iter().any(|name| name == ANY) { Permitted::Asked } else { Permitted::Listed(names.join(", ")) }
}

/// A method; they are compared byte for byte (RFC 9110 section 9.1).
fn method(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    let name = token(cx, field)?;
    if name.bytes().all(|byte| byte.is_ascii_lowercase()) {
        let detail = format!("The \"{}\" value \"{name}\" is not a method of HTTP.", field.name);
        cx.problem_that_means(detail, "", Some(name.to_uppercase()));
    }
    Some(name)
}

fn token(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    let name = text(cx, field)?;
    if !is_token(name.as_bytes()) {
        cx.problem_with_advice(
            format!("The \"{}\" value \"{name}\" is not a name.", field.name),
            "Several names are an array of strings.",
        );
        return None;
    }
    Some(name)
}

/// The text that stands for everything.
const ANY: &str = "*";
