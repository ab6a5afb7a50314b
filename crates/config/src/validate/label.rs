//! The name, default and documentation of an option: the part of a table's row that does not depend on the type that
//! the value is read into.

use super::bounds::Maximum;
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
    /// The greatest number that is taken.
    pub(super) bound: Option<Maximum>,
    /// Whether it is read before its neighbours, as these name what it defines.
    pub(super) is_first: bool,
}

/// An option that may be missing. Later calls say more of it, and `read` names its reader.
pub(super) const fn optional(name: &'static str, types: Types) -> Label {
    Label {
        name,
        types,
        beyond: Types::NONE,
        is_required: false,
        default: "",
        meaning: "",
        bound: None,
        is_first: false,
    }
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

    /// Read before its neighbours, which name what it defines.
    pub(super) const fn first(self) -> Self {
        Self { is_first: true, ..self }
    }

    /// The greatest number that is taken, and why.
    pub(super) const fn at_most(self, bound: Maximum) -> Self {
        Self { bound: Some(bound), ..self }
    }

    /// The words for a number beyond the bound, and the number that the bound is.
    pub(super) fn refusal(&self, value: &Value) -> Option<(String, Value)> {
        let bound = self.bound?;
        let is_beyond = value.as_number()?.as_i64() > i64::from(bound.most);
        is_beyond.then(|| (bound.refusal(self.name), Value::from(u64::from(bound.most))))
    }

    /// Whether the documentation is the same.
    pub(super) fn says_the_same_as(&self, other: &Self) -> bool {
        (self.default, self.meaning, self.bound) == (other.default, other.meaning, other.bound)
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
