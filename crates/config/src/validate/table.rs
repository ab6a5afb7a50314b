//! Tables of options. A row is all that there is to say of one: its name and types, its text in the manual, and the
//! function that reads the value.

use super::context::Context;
use super::label::Label;
use crate::json::Value;

/// One row of a table. `T` is the draft that the object's members fill.
pub(super) struct Member<T> {
    pub(super) label: Label,
    read: ReadValue<T>,
}

/// Reads a value of an accepted type into the draft, or reports what is wrong with it.
pub(super) type ReadValue<T> = fn(&mut Context<'_>, Field<'_>, &mut T);

/// A value and the name that messages call it by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a Value,
}

impl Label {
    /// Completes the row with the function that reads values of the option.
    pub(super) const fn read<T>(self, read: ReadValue<T>) -> Member<T> {
        Member { label: self, read }
    }
}

/// A part of an object: rows, with the draft that they fill at hand.
pub(super) trait TablePart {
    fn labels(&self) -> Box<dyn Iterator<Item = &Label> + '_>;

    /// Has the row of this name read the value.
    fn read(&mut self, cx: &mut Context<'_>, field: Field<'_>);
}

/// Some tables and their draft.
pub(super) struct Rows<'a, T> {
    pub(super) tables: &'a [&'a [Member<T>]],
    pub(super) draft: &'a mut T,
}

impl<T> TablePart for Rows<'_, T> {
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
