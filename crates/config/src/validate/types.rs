//! The types of JSON, as sets of them.

use crate::json::{JsonKind, Value};

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
    pub(super) const NONE: Self = Self(0);

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

    /// The names in the words of Unit, each with its article.
    pub(super) fn words(self) -> Vec<&'static str> {
        WORDS.iter().filter(|(types, _)| self.contains(*types)).map(|(_, words)| *words).collect()
    }
}

pub(super) fn type_of(value: &Value) -> Types {
    match value.kind() {
        JsonKind::Null => NULL,
        JsonKind::Bool => BOOL,
        JsonKind::Integer => INTEGER,
        JsonKind::Fraction => FRACTION,
        JsonKind::String => STRING,
        JsonKind::Array => ARRAY,
        JsonKind::Object => OBJECT,
    }
}

const WORDS: &[(Types, &str)] = &[
    (NULL, "a null"),
    (BOOL, "a boolean"),
    (INTEGER, "an integer number"),
    (FRACTION, "a fractional number"),
    (STRING, "a string"),
    (ARRAY, "an array"),
    (OBJECT, "an object"),
];
