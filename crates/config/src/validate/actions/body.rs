//! `body` and `content_type` beside `return` (beyond Unit).

use super::super::context::Context;
use super::super::schema::{Member, STRING, optional};
use super::super::strings::{name, template};
use crate::json::Object;
use crate::route::Return;

pub(super) const BODY: &[Member<Return>] = &[
    optional("body", STRING)
        .means(
            "beside `return`: the response body, as a text with variables, also in the place of an error page \
             (beyond Unit)",
        )
        .read(|cx, field, draft| draft.body = template(cx, field)),
    optional("content_type", STRING)
        .default("`text/plain; charset=utf-8`")
        .means("beside `body`: its MIME type (beyond Unit)")
        .read(|cx, field, draft| {
            draft.content_type = name(cx, field);
            if draft.content_type.as_ref().is_some_and(|text| text.chars().any(char::is_control)) {
                cx.problem("The \"content_type\" string must not contain control characters.");
            }
        }),
];

/// Reports what does not go together.
pub(super) fn check(cx: &mut Context<'_>, members: &Object, draft: &Return) {
    let has = |name: &str| members.contains_key(name.as_bytes());
    if has("content_type") && !has("body") {
        cx.at(b"content_type", |cx| {
            cx.problem("The \"content_type\" is that of a \"body\", which is missing.");
        });
    }
    if draft.body.is_some() && has_no_body(draft.status) {
        let status = draft.status;
        cx.at(b"body", |cx| cx.problem(format!("A response with the status {status} has no body.")));
    }
}

/// Reports what a connection that is closed cannot have.
pub(super) fn check_absent(cx: &mut Context<'_>, members: &Object) {
    for name in
        ["location", "body", "content_type"].into_iter().filter(|name| members.contains_key(name.as_bytes()))
    {
        cx.at(name.as_bytes(), |cx| {
            cx.problem(format!("The \"{name}\" option is of no use: \"return\": \"close\" sends no reply."));
        });
    }
}

/// Statuses whose responses end with their head (RFC 9110 section 6.4.1), and 205.
fn has_no_body(status: u16) -> bool {
    matches!(status, 100..=199 | 204 | 205 | 304)
}
