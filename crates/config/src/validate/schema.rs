//! Objects by table: which members there are, of which types, which are required, who reads them.

use super::context::Context;
use super::{advice, describe};
use crate::json::{Kind, Object, Value};

/// A set of JSON types.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Types(u8);

pub(super) const NULL: Types = Types(1);
pub(super) const BOOL: Types = Types(1 << 1);
pub(super) const INTEGER: Types = Types(1 << 2);
pub(super) const FRACTION: Types = Types(1 << 3);
pub(super) const NUMBER: Types = INTEGER.or(FRACTION);
pub(super) const STRING: Types = Types(1 << 4);
pub(super) const ARRAY: Types = Types(1 << 5);
pub(super) const OBJECT: Types = Types(1 << 6);
pub(super) const ANY: Types = Types(0x7f);

impl Types {
    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The names of JSON Schema.
    pub(super) fn schema_names(self) -> Vec<&'static str> {
        let number = if self.contains(FRACTION) { "number" } else { "integer" };
        let names = [
            (NULL, "null"),
            (BOOL, "boolean"),
            (NUMBER, number),
            (STRING, "string"),
            (ARRAY, "array"),
            (OBJECT, "object"),
        ];
        names.into_iter().filter(|(types, _)| self.contains(*types)).map(|(_, name)| name).collect()
    }
}

/// One row of a table. `T` is the draft that the object's members fill.
pub(super) struct Member<T> {
    pub(super) name: &'static str,
    pub(super) types: Types,
    /// Further types that Unit does not know, and that its words for wrong types do not name.
    pub(super) beyond: Types,
    presence: Presence,
    pub(super) read: Read<T>,
}

/// Reads a value of an accepted type into the draft, or reports what is wrong with it.
pub(super) type Read<T> = fn(&mut Context<'_>, Field<'_>, &mut T);

/// A value and the name that messages call it by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a Value,
}

#[derive(PartialEq, Eq)]
enum Presence {
    Optional,
    Required,
}

impl<T> Member<T> {
    pub(super) const fn optional(name: &'static str, types: Types, read: Read<T>) -> Self {
        Self { name, types, beyond: Types(0), presence: Presence::Optional, read }
    }

    pub(super) const fn required(name: &'static str, types: Types, read: Read<T>) -> Self {
        Self { name, types, beyond: Types(0), presence: Presence::Required, read }
    }

    /// As it is, and of these types too.
    pub(super) const fn or_beyond_unit(self, beyond: Types) -> Self {
        Self { beyond, ..self }
    }

    /// A member that `read_some` reads with another table.
    pub(super) const fn elsewhere(name: &'static str) -> Self {
        Self { name, types: ANY, beyond: Types(0), presence: Presence::Optional, read: |_, _, _| {} }
    }

    pub(super) fn is_required(&self) -> bool {
        self.presence == Presence::Required
    }
}

/// Checks and reads all members. The tables are those of the parts that make up the object.
pub(super) fn read_object<T>(cx: &mut Context<'_>, members: &Object, tables: &[&[Member<T>]], draft: &mut T) {
    if cx.recorder.is_some() {
        return describe::record(cx, members, tables, draft);
    }
    let rows = || tables.iter().copied().flatten();
    for row in rows().filter(|row| row.presence == Presence::Required) {
        if !members.contains_key(row.name.as_bytes()) {
            cx.problem(format!("Required parameter \"{}\" is missing.", row.name));
        }
    }
    for (name, value) in members {
        cx.at(name, |cx| match rows().find(|row| row.name.as_bytes() == &**name) {
            Some(row) => read_member(cx, row, value, draft),
            None => {
                let known: Vec<_> = rows().map(|row| row.name).collect();
                cx.unknown(name, &known);
            }
        });
    }
}

/// Reports members that probably mean one of `wanted`, in an object that has none of them.
pub(super) fn report_misspelt(cx: &mut Context<'_>, members: &Object, wanted: &[&str]) {
    for name in members.keys() {
        cx.at(name, |cx| cx.unknown_if_meant(name, wanted));
    }
}

/// As `read_object`, for a member that is known to be an object.
pub(super) fn read_nested<T>(cx: &mut Context<'_>, field: Field<'_>, tables: &[&[Member<T>]], draft: &mut T) {
    if let Some(members) = field.value.as_object() {
        read_object(cx, members, tables, draft);
    }
}

/// Reads those members that are in the table; somebody else looks after the others.
pub(super) fn read_some<T>(cx: &mut Context<'_>, members: &Object, table: &[Member<T>], draft: &mut T) {
    if cx.recorder.is_some() {
        return describe::record(cx, members, &[table], draft);
    }
    for (name, value) in members {
        if let Some(row) = table.iter().find(|row| row.name.as_bytes() == &**name) {
            cx.at(name, |cx| read_member(cx, row, value, draft));
        }
    }
}

fn read_member<T>(cx: &mut Context<'_>, row: &Member<T>, value: &Value, draft: &mut T) {
    if row.types.or(row.beyond).contains(type_of(value)) {
        (row.read)(cx, Field { name: row.name, value }, draft);
    } else {
        report_wrong_type(cx, row.name, row.types, value);
    }
}

/// The detail for a value that must be an object; `subject` starts the sentence.
pub(super) fn not_an_object(subject: &str, value: &Value) -> String {
    format!("{subject} must be an object, but not {}.", name_of(type_of(value)))
}

/// Reports a member of a wrong type.
pub(super) fn report_wrong_type(cx: &mut Context<'_>, name: &str, expected: Types, value: &Value) {
    cx.problem_with_advice(wrong_type(name, expected, value), advice::for_type(expected, value));
}

fn wrong_type(name: &str, expected: Types, value: &Value) -> String {
    let names: Vec<_> =
        TYPE_NAMES.iter().filter(|(types, _)| expected.contains(*types)).map(|(_, name)| *name).collect();
    let expected = match names.as_slice() {
        [] => "absent".to_owned(),
        [only] => (*only).to_owned(),
        [first, second] => format!("either {first} or {second}"),
        [others @ .., last] => format!("either {}, or {last}", others.join(", ")),
    };
    format!("The \"{name}\" value must be {expected}, but not {}.", name_of(type_of(value)))
}

pub(super) fn type_of(value: &Value) -> Types {
    match value.kind() {
        Kind::Null => NULL,
        Kind::Bool => BOOL,
        Kind::Integer => INTEGER,
        Kind::Fraction => FRACTION,
        Kind::String => STRING,
        Kind::Array => ARRAY,
        Kind::Object => OBJECT,
    }
}

fn name_of(types: Types) -> &'static str {
    TYPE_NAMES.iter().find(|(known, _)| *known == types).map_or("a value", |(_, name)| name)
}

const TYPE_NAMES: &[(Types, &str)] = &[
    (NULL, "a null"),
    (BOOL, "a boolean"),
    (INTEGER, "an integer number"),
    (FRACTION, "a fractional number"),
    (STRING, "a string"),
    (ARRAY, "an array"),
    (OBJECT, "an object"),
];
