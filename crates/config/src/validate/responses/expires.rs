//! `expires`: times by path and type.

use super::content::content_rules;
use crate::json::Value;
use crate::responses::{Expires, cache_control};
use crate::validate::context::Context;
use crate::validate::schema::{self, Field, INTEGER, STRING};

/// Reads one time, or times by pattern.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<Expires> {
    Some(Expires { rules: content_rules(cx, field, value) })
}

/// A text, or a number of seconds.
fn value(cx: &mut Context<'_>, field: Field<'_>) -> Option<Option<String>> {
    let text = match field.value {
        Value::String(text) => text.to_string_lossy().into_owned(),
        Value::Number(number) => number.as_i64().to_string(),
        other => {
            schema::report_wrong_type(cx, field.name, STRING.or(INTEGER), other);
            return None;
        }
    };
    match cache_control(&text) {
        Ok(value) => Some(value),
        Err(error) => {
            cx.problem_with_advice(error.to_string(), FORMS);
            None
        }
    }
}

const FORMS: &str = "A time is a number with \"s\", \"m\" (minutes), \"h\", \"d\", \"w\", \"M\" (months) or \"y\" \
    behind it, and words of Cache-Control may follow: \"30d\", \"1y immutable\", \"no-cache\"; \"off\" sends nothing.";
