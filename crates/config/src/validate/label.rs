//! What a row of a table says of its option, whoever reads the value.

use super::types::Types;

/// One option.
#[derive(Debug, Clone, Copy)]
pub(super) struct Label {
    pub(super) name: &'static str,
    pub(super) types: Types,
    /// Further types that Unit does not know, and that its words for wrong types do not name.
    pub(super) beyond: Types,
    pub(super) is_required: bool,
    /// What the manual says of the value when none is given; empty where there is nothing to say.
    pub(super) default: &'static str,
    /// What the manual says of the option, in Markdown; empty where it describes the members instead, or the
    /// object that this is a member of.
    pub(super) meaning: &'static str,
}

impl Label {
    /// All types that are accepted.
    pub(super) fn accepted(&self) -> Types {
        self.types.or(self.beyond)
    }
}
