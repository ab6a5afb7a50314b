//! `retry_on` of an upstream: what a request is tried again after.

use super::super::context::Context;
use super::super::schema::Field;
use super::status_range;
use crate::json::Value;
use crate::upstream::RetryOn;

/// Reads one value, or an array of such.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> RetryOn {
    let mut rules = RetryOn::default();
    match field.value.as_array() {
        None => read_one(cx, field.value, &mut rules),
        Some(elements) => {
            for (idx, element) in elements.iter().enumerate() {
                cx.at_index(idx, |cx| read_one(cx, element, &mut rules));
            }
        }
    }
    rules
}

fn read_one(cx: &mut Context<'_>, value: &Value, rules: &mut RetryOn) {
    let text = value.as_bytes();
    match text.map(|text| &**text) {
        Some(b"timeout") => rules.failures.timeout = true,
        Some(b"invalid_response") => rules.failures.invalid_response = true,
        Some(b"non_idempotent") => rules.failures.non_idempotent = true,
        _ => match status_range(value).filter(|range| *range.start() >= 300) {
            Some(range) => rules.statuses.push(range),
            None => cx.problem_with_suggestion(
                "The \"retry_on\" values must be statuses from 300 to 999 like 503 or \"500-599\", \"timeout\", \
                 \"invalid_response\", or \"non_idempotent\".",
                &text.map_or_else(String::new, |text| text.to_string_lossy().into_owned()),
                ["timeout", "invalid_response", "non_idempotent"].into_iter(),
            ),
        },
    }
}
