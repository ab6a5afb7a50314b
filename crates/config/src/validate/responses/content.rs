//! Values by pattern: an object whose names are patterns on the path or the MIME type of what is sent.

use crate::json::Value;
use crate::pattern::{Flavor, PatternSet};
use crate::responses::ContentRule;
use crate::validate::context::Context;
use crate::validate::schema::Field;

/// One value for everything, or values by pattern.
pub(in crate::validate) fn content_rules<T>(
    cx: &mut Context<'_>,
    field: Field<'_>,
    read: impl Fn(&mut Context<'_>, Field<'_>) -> Option<T>,
) -> Vec<ContentRule<T>> {
    let Value::Object(members) = field.value else {
        return read(cx, field).map(|value| ContentRule { pattern: None, value }).into_iter().collect();
    };
    let mut rules = Vec::new();
    for (pattern, value) in members {
        cx.at(pattern, |cx| {
            let value = read(cx, Field { name: &pattern.to_string_lossy(), value });
            let pattern = content_pattern(cx, field.name, pattern);
            rules.extend(
                pattern.zip(value).map(|(pattern, value)| ContentRule { pattern: Some(pattern), value }),
            );
        });
    }
    rules
}

fn content_pattern(cx: &mut Context<'_>, option: &str, text: &[u8]) -> Option<PatternSet> {
    if text.first() == Some(&b'!') {
        cx.problem(format!("The \"{option}\" patterns must not be negated: the first that matches counts."));
        return None;
    }
    let mut set = PatternSet::default();
    match set.add(text, Flavor::CaseInsensitive) {
        Ok(()) => Some(set),
        Err(error) => {
            cx.problem(error.to_string());
            None
        }
    }
}
