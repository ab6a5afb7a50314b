//! `https_only` of a listener (beyond Unit).

use super::context::Context;
use super::scalars::{INT_MAX, integer, is_true};
use super::schema::{self, BOOL, Field, INTEGER, Member, optional};
use crate::json::Value;
use crate::listener::HttpsOnly;

/// Reads `https_only`.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<HttpsOnly> {
    let mut draft = HttpsOnly { max_age: YEAR, include_subdomains: false, preload: false, port: 443 };
    match field.value {
        Value::Object(_) => schema::read_nested(cx, field, &[HTTPS_ONLY], &mut draft),
        _ if !is_true(field) => return None,
        _ => {}
    }
    if draft.preload && !(draft.include_subdomains && draft.max_age >= YEAR) {
        cx.problem_with_advice(
            "The option \"preload\" needs \"include_subdomains\" and a \"max_age\" of a year.",
            "Makers of browsers take no other hosts into their lists.",
        );
    }
    Some(draft)
}

/// Seconds of a year.
const YEAR: u32 = 31_536_000;

const HTTPS_ONLY: &[Member<HttpsOnly>] = &[
    optional("max_age", INTEGER)
        .default("31536000")
        .means("seconds for which browsers use nothing but TLS for the host (`Strict-Transport-Security`); 0: they \
            forget it")
        .read(|cx, field, draft| {
            let seconds = integer(cx, field, 0..=INT_MAX).and_then(|seconds| u32::try_from(seconds).ok());
            draft.max_age = seconds.unwrap_or(draft.max_age);
        }),
    optional("include_subdomains", BOOL)
        .default("`false`")
        .means("all names below the host, too")
        .read(|_, field, draft| draft.include_subdomains = is_true(field)),
    optional("preload", BOOL)
        .default("`false`")
        .means("makers of browsers may put the host on the list that they deliver")
        .read(|_, field, draft| draft.preload = is_true(field)),
    optional("port", INTEGER)
        .default("443")
        .means("the port that requests without TLS are redirected to")
        .read(|cx, field, draft| {
            let port = integer(cx, field, 1..=65_535).and_then(|port| u16::try_from(port).ok());
            draft.port = port.unwrap_or(draft.port);
        }),
];
