//! `targets`: several entry points of one application, whatever its language.

use super::context::Context;
use super::schema::Field;
use super::strings::member_name;
use crate::json::{Bytes, Object, Value};

/// Reads all targets, each by its name and its members; those that are wrong are left out.
pub(super) fn read<T>(
    cx: &mut Context<'_>,
    field: Field<'_>,
    read_target: fn(&mut Context<'_>, String, &Object) -> Option<T>,
) -> Vec<T> {
    let n_targets = field.value.as_object().map_or(0, Object::len);
    if n_targets > MAX_TARGETS {
        cx.problem(format!("The \"targets\" object must not contain more than {MAX_TARGETS} members."));
    } else if n_targets == 0 {
        cx.problem("The \"targets\" object must contain at least one member.");
    }
    let members = field.value.as_object().into_iter().flatten();
    members.filter_map(|(name, value)| cx.at(name, |cx| read_one(cx, name, value, read_target))).collect()
}

fn read_one<T>(
    cx: &mut Context<'_>,
    name: &Bytes,
    value: &Value,
    read_target: fn(&mut Context<'_>, String, &Object) -> Option<T>,
) -> Option<T> {
    if name.is_empty() {
        cx.problem("The target name must not be empty.");
    }
    let Some(members) = value.as_object() else {
        cx.problem(format!("The \"{name}\" target must be an object."));
        return None;
    };
    let text = member_name(cx, name);
    read_target(cx, text.unwrap_or_default(), members)
}

/// Whether the application has targets; then the options of its only target make no sense beside them.
pub(super) fn are_given(cx: &mut Context<'_>, members: &Object, twins: &[&str]) -> bool {
    let given = members.contains_key(b"targets".as_slice());
    for twin in twins.iter().filter(|twin| given && members.contains_key(twin.as_bytes())) {
        let detail = format!("The \"{twin}\" option is mutually exclusive with the \"targets\" object.");
        cx.at(twin.as_bytes(), |cx| cx.problem(detail));
    }
    given
}

const MAX_TARGETS: usize = 254;
