//! `settings.js_module` (contract 15) and what scripts may take.

use std::time::Duration;

use super::super::context::Context;
use super::super::scalars::{integer, size};
use super::super::schema::{Field, INTEGER, Member, optional};
use super::super::strings::name;
use crate::json::Value;
use crate::settings::ScriptLimits;

/// Less is not enough for the language itself.
const MIN_MEMORY: i64 = 1 << 20;
const MAX_MEMORY: i64 = 1 << 32;

pub(super) const LIMITS: &[Member<ScriptLimits>] = &[
    optional("memory", INTEGER).default("67108864").means("bytes for all scripts of an event loop").read(
        |cx, field, limits| limits.memory = size(cx, field, MIN_MEMORY..=MAX_MEMORY).unwrap_or(limits.memory),
    ),
    optional("timeout_ms", INTEGER)
        .default("200")
        .means("milliseconds for one evaluation, 1 to 60000; the event loop waits for it")
        .read(|cx, field, limits| {
            let millis = integer(cx, field, 1..=60_000).and_then(|millis| u64::try_from(millis).ok());
            limits.timeout = millis.map_or(limits.timeout, Duration::from_millis);
        }),
];

/// Names of modules, each once, in the order of the document.
pub(super) fn modules(cx: &mut Context<'_>, field: Field<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut add = |cx: &mut Context<'_>, value: &Value| {
        let Some(name) = name(cx, Field { name: field.name, value }) else { return };
        cx.script(&name);
        if !names.contains(&name) {
            names.push(name);
        }
    };
    match field.value {
        Value::Array(elements) => {
            for (idx, element) in elements.iter().enumerate() {
                cx.at_index(idx, |cx| match element {
                    Value::String(_) => add(cx, element),
                    _ => cx.problem("The \"js_module\" array must contain only string values."),
                });
            }
        }
        value => add(cx, value),
    }
    names
}
