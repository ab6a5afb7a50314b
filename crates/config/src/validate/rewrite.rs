//! `rewrite` of actions (contract 11.3), with what it has beyond Unit: the query.

use super::context::Context;
use super::forms;
use super::label::Label;
use super::schema::{self, BOOL, Field, Member, OBJECT, STRING, optional};
use super::strings::template;
use crate::json::Value;
use crate::template::{Rewrite, Template};

/// The row of `rewrite`.
pub(super) const REWRITE: Label = optional("rewrite", STRING).or_beyond_unit(OBJECT).means(
    "a text with variables that becomes the path, and where it has a `?` the query too, or an object that says both: \
    see [rewrites](#rewrites). `$request_uri` stays",
);

/// Reads a text, or an object that says of path and query one by one what becomes of them.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<Rewrite> {
    if let Value::String(text) = field.value {
        if is_of_another_server(text) {
            cx.problem_with_advice("The \"rewrite\" text is not a path.", forms::REWRITE);
            return None;
        }
        return template(cx, field).map(Rewrite::new);
    }
    let mut draft = Draft { path: None, query: None, keeps_query: true };
    schema::read_nested(cx, field, &[OPTIONS], &mut draft);
    let Draft { path, query, keeps_query } = draft;
    let rewrite = path.unwrap_or_default();
    Some(match query {
        Some(query) => rewrite.with_query(query, keeps_query),
        None if keeps_query => rewrite,
        None => rewrite.with_query(Template::default(), keeps_query),
    })
}

/// Whether a text has a pattern in front of the path, as nginx and Apache have it.
fn is_of_another_server(text: &[u8]) -> bool {
    text.starts_with(b"^") && text.contains(&b' ')
}

struct Draft {
    path: Option<Rewrite>,
    query: Option<Template>,
    keeps_query: bool,
}

const OPTIONS: &[Member<Draft>] = &[
    optional("path", STRING)
        .default("stays")
        .means("the path, as the text that `rewrite` may be")
        .read(|cx, field, draft| draft.path = template(cx, field).map(Rewrite::new)),
    optional("query", STRING)
        .default("stays")
        .means("the query without its `?`: values of variables are encoded, what a script gives is taken as it is")
        .read(|cx, field, draft| draft.query = template(cx, field)),
    optional("append_query", BOOL)
        .default("`true`")
        .means("the query that there is goes behind the new one, with `&`; `false` drops it")
        .read(|_, field, draft| draft.keeps_query = *field.value == Value::Bool(true)),
];
