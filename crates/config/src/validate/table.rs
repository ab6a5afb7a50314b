//! Tables of options. A row is all that there is to say of one: its name and types, what the manual says, and who
//! reads the value.

use super::context::Context;
use super::label::Label;
use super::types::Types;
use crate::json::Value;

/// One row of a table. `T` is the draft that the object's members fill.
pub(super) struct Member<T> {
    pub(super) label: Label,
    read: Read<T>,
}

/// Reads a value of an accepted type into the draft, or reports what is wrong with it.
pub(super) type Read<T> = fn(&mut Context<'_>, Field<'_>, &mut T);

/// A value and the name that messages call it by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a Value,
}

impl<T> Member<T> {
    pub(super) const fn optional(name: &'static str, types: Types, read: Read<T>) -> Self {
        let label = Label { name, types, beyond: Types::NONE, is_required: false, default: "", meaning: "" };
        Self { label, read }
    }

    pub(super) const fn required(name: &'static str, types: Types, read: Read<T>) -> Self {
        let row = Self::optional(name, types, read);
        Self { label: Label { is_required: true, default: "required", ..row.label }, ..row }
    }

    /// As it is, and of these types too.
    pub(super) const fn or_beyond_unit(self, beyond: Types) -> Self {
        Self { label: Label { beyond, ..self.label }, ..self }
    }

    /// What the manual calls the default, in Markdown.
    pub(super) const fn default(self, default: &'static str) -> Self {
        Self { label: Label { default, ..self.label }, ..self }
    }

    /// What the manual says, in Markdown.
    pub(super) const fn means(self, meaning: &'static str) -> Self {
        Self { label: Label { meaning, ..self.label }, ..self }
    }
}

/// A part of an object: rows, with the draft that they fill at hand.
pub(super) trait Part {
    fn labels(&self) -> Box<dyn Iterator<Item = &Label> + '_>;

    /// Has the row of this name read the value.
    fn read(&mut self, cx: &mut Context<'_>, field: Field<'_>);
}

/// Some tables and their draft.
pub(super) struct Rows<'a, T> {
    pub(super) tables: &'a [&'a [Member<T>]],
    pub(super) draft: &'a mut T,
}

impl<T> Part for Rows<'_, T> {
    fn labels(&self) -> Box<dyn Iterator<Item = &Label> + '_> {
        Box::new(self.tables.iter().copied().flatten().map(|row| &row.label))
    }

    fn read(&mut self, cx: &mut Context<'_>, field: Field<'_>) {
        let mut rows = self.tables.iter().copied().flatten();
        if let Some(row) = rows.find(|row| row.label.name == field.name) {
            (row.read)(cx, field, self.draft);
        }
    }
}
