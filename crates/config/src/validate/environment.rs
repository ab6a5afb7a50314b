//! `environment` of an application (contract 20).

use super::advice;
use super::context::Context;
use super::schema::{Field, STRING};
use super::strings::member_name;
use crate::json::{Bytes, Value};

/// Reads the variables.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Vec<(String, String)> {
    let members = field.value.as_object().into_iter().flatten();
    members.filter_map(|(name, value)| cx.at(name, |cx| read_variable(cx, name, value))).collect()
}

fn read_variable(cx: &mut Context<'_>, name: &Bytes, value: &Value) -> Option<(String, String)> {
    if name.is_empty() {
        cx.problem("The environment name must not be empty.");
    }
    if name.contains(&0) {
        cx.problem("The environment name must not contain null character.");
    }
    if name.contains(&b'=') {
        cx.problem("The environment name must not contain '=' character.");
    }
    let Value::String(text) = value else {
        let advice = advice::for_type(STRING, value);
        cx.problem_with_advice(format!("The \"{name}\" environment value must be a string."), advice);
        return None;
    };
    if text.contains(&0) {
        cx.problem(format!("The \"{name}\" environment value must not contain null character."));
    }
    let Some(text) = text.to_str() else {
        cx.problem(format!("The \"{name}\" environment value must be valid UTF-8."));
        return None;
    };
    Some((member_name(cx, name)?, text.to_owned()))
}
