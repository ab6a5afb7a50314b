//! `access_log` (contract 18): a path, an object with one, or several of these.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use super::advice;
use super::context::Context;
use super::label::Label;
use super::scalars::{seconds, size};
use super::schema::{self, ANY, ARRAY, BOOL, Field, INTEGER, Member, OBJECT, STRING, optional, required};
use super::strings::{condition, member_name, parse_template, path, template};
use crate::access_log::{AccessLog, AccessLogs, Buffer, Format};
use crate::condition::Condition;
use crate::json::Value;
use crate::table::Key;

/// Shorter ones save nothing, longer ones lose much.
const MIN_BUFFER: i64 = 512;
const MAX_BUFFER: i64 = 16 << 20;

/// How long an entry may be kept back when nothing is said about it.
const FLUSH: Duration = Duration::from_secs(5);

/// The row of an action's `access_log`.
pub(super) const OF_ACTION: Label = optional("access_log", BOOL.or(STRING).or(OBJECT).or(ARRAY)).means(
    "[logs](logs.md#access-log) in the place of those of the whole configuration, in the same forms; `false`: none, \
     `true`: those of the configuration again (beyond Unit)",
);

/// Reads an action's `access_log`.
pub(super) fn read_of_action(cx: &mut Context<'_>, field: Field<'_>) -> AccessLogs {
    match field.value {
        Value::Bool(true) => AccessLogs::Document,
        Value::Bool(false) => AccessLogs::Own(Vec::new()),
        _ => AccessLogs::Own(read(cx, field)),
    }
}

/// Reads any form.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Vec<Key<AccessLog>> {
    let logs = read_logs(cx, field);
    logs.into_iter().map(|log| cx.access_log(log)).collect()
}

fn read_logs(cx: &mut Context<'_>, field: Field<'_>) -> Vec<AccessLog> {
    let Some(elements) = field.value.as_array() else {
        return read_log(cx, field).into_iter().collect();
    };
    let mut logs = Vec::new();
    for (idx, element) in elements.iter().enumerate() {
        cx.at_index(idx, |cx| match element {
            Value::String(_) | Value::Object(_) => {
                logs.extend(read_log(cx, Field { value: element, ..field }));
            }
            _ => cx.problem("The \"access_log\" array must contain only string and object values."),
        });
    }
    logs
}

fn read_log(cx: &mut Context<'_>, field: Field<'_>) -> Option<AccessLog> {
    let Some(members) = field.value.as_object() else {
        return bare_path(cx, field).map(AccessLog::new);
    };
    let mut draft = AccessLogDraft::default();
    schema::read_object(cx, members, &[ACCESS_LOG], &mut draft);
    if draft.flush.is_some() && draft.buffer.is_none() {
        cx.problem("The \"flush\" option has no meaning without \"buffer\".");
    }
    let flush = draft.flush.unwrap_or(FLUSH);
    Some(AccessLog {
        path: draft.path?,
        format: draft.format.unwrap_or_default(),
        condition: draft.condition,
        buffer: draft.buffer.map(|size| Buffer { size, flush }),
    })
}

/// Unit takes an empty one for a path that it cannot open.
fn bare_path(cx: &mut Context<'_>, field: Field<'_>) -> Option<PathBuf> {
    if field.value.as_bytes().is_some_and(|text| text.is_empty()) {
        cx.late_problem(format!("The \"{}\" string must not be empty.", field.name));
        return None;
    }
    path(cx, field)
}

#[derive(Default)]
struct AccessLogDraft {
    path: Option<PathBuf>,
    format: Option<Format>,
    condition: Option<Condition>,
    buffer: Option<NonZeroUsize>,
    flush: Option<Duration>,
}

const ACCESS_LOG: &[Member<AccessLogDraft>] = &[
    required("path", STRING)
        .means("opened by the main process; `/dev/stdout` works; opened again on SIGUSR1")
        .read(|cx, field, draft| draft.path = path(cx, field)),
    optional("format", STRING.or(OBJECT))
        .default("the combined format")
        .means("a template, or an object of names and templates for one JSON object a line")
        .read(|cx, field, draft| draft.format = format(cx, field)),
    // Unit has words of its own for a value that is not a string.
    optional("if", ANY)
        .default("always")
        .means(
        "a [template](templates.md); no entry when it gives nothing, `0`, `false`, `null` or `undefined`; \
         a leading `!` negates",
    )
        .read(|cx, field, draft| match field.value {
        Value::String(_) => draft.condition = condition(cx, field),
        _ => cx.problem("The \"if\" must be a string"),
    }),
    optional("buffer", INTEGER)
        .means("bytes that each event loop gathers before it writes, 512 to 16777216")
        .read(|cx, field, draft| {
            draft.buffer = size(cx, field, MIN_BUFFER..=MAX_BUFFER).and_then(NonZeroUsize::new);
        }),
    optional("flush", INTEGER)
        .default("5")
        .means("seconds after which gathered entries are written")
        .read(|cx, field, draft| draft.flush = seconds(cx, field, 1..=3600)),
];

fn format(cx: &mut Context<'_>, field: Field<'_>) -> Option<Format> {
    let Some(members) = field.value.as_object() else {
        return template(cx, field).map(Format::Text);
    };
    let mut format = Vec::new();
    for (name, value) in members {
        cx.at(name, |cx| {
            if name.is_empty() {
                return cx.problem("In the access log format, the name must not be empty.");
            }
            let Value::String(text) = value else {
                let advice = advice::for_type(STRING, value);
                return cx
                    .problem_with_advice("In the access log format, the value must be a string.", advice);
            };
            let template = parse_template(cx, field.name, text);
            format.extend(member_name(cx, name).zip(template));
        });
    }
    Some(Format::Json(format))
}
