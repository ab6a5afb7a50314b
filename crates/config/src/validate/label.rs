//! The name, default and documentation of an option: the part of a table's row that does not depend on who reads it.

use super::types::{Types, type_of};
use crate::json::Value;

/// One option.
#[derive(Debug, Clone, Copy)]
pub(super) struct Label {
    pub(super) name: &'static str,
    pub(super) types: Types,
    /// Further types that Unit does not know, and that its words for wrong types do not name.
    pub(super) beyond: Types,
    pub(super) is_required: bool,
    /// The value when none is given, as the manual has it; empty where there is nothing to say.
    pub(super) default: &'static str,
    /// The documentation of the option, in Markdown; empty where it describes the members instead, or the
    /// object that this is a member of.
    pub(super) meaning: &'static str,
}

/// An option that may be missing. What follows says more of it, and `read` who reads it.
pub(super) const fn optional(name: &'static str, types: Types) -> Label {
    Label { name, types, beyond: Types::NONE, is_required: false, default: "", meaning: "" }
}

/// An option that must be there.
pub(super) const fn required(name: &'static str, types: Types) -> Label {
    Label { is_required: true, default: "required", ..optional(name, types) }
}

impl Label {
    /// Takes these types too.
    pub(super) const fn or_beyond_unit(self, beyond: Types) -> Self {
        Self { beyond, ..self }
    }

    /// The default as the manual writes it, in Markdown.
    pub(super) const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    /// The documentation in the manual, in Markdown.
    pub(super) const fn means(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }

    /// Whether the documentation is the same.
    pub(super) fn says_the_same_as(&self, other: &Self) -> bool {
        (self.default, self.meaning) == (other.default, other.meaning)
    }

    /// Whether values of this type are read.
    pub(super) fn accepts(&self, value: &Value) -> bool {
        self.accepted().contains(type_of(value))
    }

    /// All types that are accepted.
    pub(super) fn accepted(&self) -> Types {
        self.types.or(self.beyond)
    }
}
