//! Reading objects by their tables: what is missing, what is unknown, what has a wrong type.

use super::context::Context;
pub(super) use super::label::{optional, required};
pub(super) use super::table::{Field, Member, Rows, TablePart};
use super::types::type_of;
pub(super) use super::types::{ANY, ARRAY, BOOL, INTEGER, NUMBER, OBJECT, STRING, Types};
use super::{advice, forms, survey};
use crate::json::{Object, Value};

/// Checks and reads all members of an object that has one draft.
pub(super) fn read_object<T>(cx: &mut Context<'_>, members: &Object, tables: &[&[Member<T>]], draft: &mut T) {
    read_parts(cx, members, &mut [&mut Rows { tables, draft }]);
}

/// Checks and reads all members. The parts are those that make up the object.
pub(super) fn read_parts(cx: &mut Context<'_>, members: &Object, parts: &mut [&mut dyn TablePart]) {
    if cx.recorder.is_some() {
        return survey::visit(cx, members, parts);
    }
    for label in parts.iter().flat_map(|part| part.labels()).filter(|label| label.is_required) {
        if !members.contains_key(label.name.as_bytes()) {
            cx.problem(format!("Required parameter \"{}\" is missing.", label.name));
        }
    }
    let is_first = |name: &[u8]| {
        parts
            .iter()
            .flat_map(|part| part.labels())
            .any(|label| label.is_first && label.name.as_bytes() == name)
    };
    let (first, rest): (Vec<_>, Vec<_>) = members.iter().partition(|(name, _)| is_first(name));
    for (name, value) in first.into_iter().chain(rest) {
        cx.at(name, |cx| {
            if !parts.iter_mut().any(|part| read_member(cx, *part, name, value)) {
                let known: Vec<_> =
                    parts.iter().flat_map(|part| part.labels()).map(|label| label.name).collect();
                cx.unknown(name, &known);
            }
        });
    }
}

/// Whether the part knows the member.
fn read_member(cx: &mut Context<'_>, part: &mut dyn TablePart, name: &[u8], value: &Value) -> bool {
    let label = part.labels().find(|label| label.name.as_bytes() == name).copied();
    match label {
        Some(label) if label.accepts(value) => match label.refusal(value) {
            // The rest of the object is checked as if the bound were there.
            Some((detail, most)) => {
                cx.problem(detail);
                part.read(cx, Field { name: label.name, value: &most });
            }
            None => part.read(cx, Field { name: label.name, value }),
        },
        Some(label) => report_wrong_type(cx, label.name, label.types, value),
        None => {}
    }
    label.is_some()
}

/// As `read_object`, for a member that is known to be an object.
pub(super) fn read_nested<T>(cx: &mut Context<'_>, field: Field<'_>, tables: &[&[Member<T>]], draft: &mut T) {
    if let Some(members) = field.value.as_object() {
        read_object(cx, members, tables, draft);
    }
}

/// As `read_nested`, for an object that has members with free names, too: `read_free` reads these.
pub(super) fn read_open<T>(
    cx: &mut Context<'_>,
    field: Field<'_>,
    table: &[Member<T>],
    draft: &mut T,
    read_free: impl Fn(&mut Context<'_>, Field<'_>, &mut T),
) {
    let is_known = |name: &[u8]| table.iter().any(|member| member.label.name.as_bytes() == name);
    let Some(members) = field.value.as_object() else { return };
    let known: Object = members
        .iter()
        .filter(|(name, _)| is_known(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    read_object(cx, &known, &[table], draft);
    for (name, value) in members.iter().filter(|(name, _)| !is_known(name)) {
        cx.at(name, |cx| read_free(cx, Field { name: &name.to_string_lossy(), value }, draft));
    }
}

/// Reports members that probably mean one of `wanted`, in an object that has none of them.
pub(super) fn report_misspelt(cx: &mut Context<'_>, members: &Object, wanted: &[&str]) {
    for name in members.keys() {
        cx.at(name, |cx| cx.unknown_if_meant(name, wanted));
    }
}

/// The detail for a value that must be an object; `subject` starts the sentence.
pub(super) fn not_an_object(subject: &str, value: &Value) -> String {
    format!("{subject} must be an object, but not {}.", word_for(value))
}

/// Reports a member of a wrong type.
pub(super) fn report_wrong_type(cx: &mut Context<'_>, name: &str, expected: Types, value: &Value) {
    let advice = forms::of(name, expected, value).unwrap_or_else(|| advice::for_type(expected, value));
    cx.problem_with_advice(wrong_type(name, expected, value), advice);
}

/// The detail for a value of a wrong type.
pub(super) fn wrong_type(name: &str, expected: Types, value: &Value) -> String {
    let expected = match expected.words().as_slice() {
        [] => "absent".to_owned(),
        [only] => (*only).to_owned(),
        [first, second] => format!("either {first} or {second}"),
        [others @ .., last] => format!("either {}, or {last}", others.join(", ")),
    };
    format!("The \"{name}\" value must be {expected}, but not {}.", word_for(value))
}

fn word_for(value: &Value) -> &'static str {
    type_of(value).words().first().copied().unwrap_or("a value")
}
