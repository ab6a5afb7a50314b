//! The names of variables that only a document knows: those of its maps, and of the groups of a regular expression.

use indexmap::IndexMap;

use crate::table::{Key, NamedMap};

/// The names that stand beside those that are always there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scope<'s> {
    /// The maps of the document.
    pub maps: Option<&'s MapNames>,
    /// The groups of the regular expression that the text belongs to.
    pub groups: Option<&'s Groups>,
}

impl Scope<'_> {
    /// The map whose values `$map_NAME` stands for.
    pub(super) fn map(self, name: &str) -> Option<MapName> {
        self.maps?.find(name)
    }

    /// The group with this number, if there is one.
    pub(super) fn group(self, number: usize) -> Option<usize> {
        self.groups?.has(number).then_some(number)
    }

    /// The group with this name.
    pub(super) fn group_named(self, name: &str) -> Option<usize> {
        self.groups?.named(name)
    }
}

/// A map, as a variable names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MapName {
    /// The place among the maps of the configuration.
    pub key: Key<NamedMap>,
    /// Whether all its values are the document's own text.
    pub is_constant: bool,
}

/// The maps of a document, in its order.
#[derive(Debug, Clone, Default)]
pub struct MapNames(IndexMap<String, bool>);

impl MapNames {
    /// The map with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<MapName> {
        let (idx, _, &is_constant) = self.0.get_full(name)?;
        Some(MapName { key: Key::nth(idx), is_constant })
    }

    /// All names.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl FromIterator<(String, bool)> for MapNames {
    /// Names, and whether all values of that map are constants.
    fn from_iter<I: IntoIterator<Item = (String, bool)>>(maps: I) -> Self {
        Self(maps.into_iter().collect())
    }
}

/// The groups of a regular expression, numbered from 1; 0 is all that matched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Groups(Vec<Option<String>>);

impl Groups {
    /// From the names of the groups in their order, that of all that matched first.
    #[must_use]
    pub fn new(names: Vec<Option<String>>) -> Self {
        Self(names)
    }

    fn has(&self, number: usize) -> bool {
        number < self.0.len()
    }

    fn named(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|known| known.as_deref() == Some(name))
    }
}
