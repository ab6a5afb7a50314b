//! The names of variables that only a document knows: those of its maps, and of the groups of a regular expression.

use std::fmt;

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
        self.groups?.numbered(number)
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

/// The groups that templates of a step can name: those of its regular expressions. Where there are several, a number or
/// a name is the group of the one that has matched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Groups {
    /// The first of its variables: no two steps of a document have the same.
    first: usize,
    /// Groups that have numbers; 0 is all that matched.
    n_numbers: usize,
    /// Groups that have names as well, whose variables stand behind those with numbers.
    names: Vec<String>,
    /// The expressions, as they are written.
    expressions: Vec<String>,
}

impl Groups {
    /// Groups of no expression, whose first variable is to be this one.
    #[must_use]
    pub fn new(first: usize) -> Self {
        Self { first, ..Self::default() }
    }

    /// Adds an expression with the names of its groups, that of all that matched first.
    pub fn add(&mut self, expression: &str, names: &[Option<String>]) {
        self.expressions.push(expression.to_owned());
        self.n_numbers = self.n_numbers.max(names.len());
        let new: Vec<_> = names.iter().flatten().filter(|name| !self.names.contains(name)).cloned().collect();
        self.names.extend(new);
    }

    /// Whether there is no expression.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.expressions.is_empty()
    }

    /// The names of those that have any.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The variable behind the last one.
    #[must_use]
    pub fn end(&self) -> usize {
        self.first + self.n_numbers + self.names.len()
    }

    /// The values of its variables: texts of groups by their numbers, and the names of these groups.
    #[must_use]
    pub fn captured(&self, names: &[Option<String>], texts: &[Option<&[u8]>]) -> Captured {
        let number = |number: usize| texts.get(number).copied().flatten();
        let named = |name: &String| {
            let mut all = names.iter().zip(texts);
            all.find_map(|(known, text)| text.filter(|_| known.as_ref() == Some(name)))
        };
        let all = (0..self.n_numbers).map(number).chain(self.names.iter().map(named));
        let texts = all.map(|text| text.unwrap_or_default().to_vec()).collect();
        Captured { first: self.first, texts }
    }

    fn numbered(&self, number: usize) -> Option<usize> {
        (number < self.n_numbers).then(|| self.first + number)
    }

    fn named(&self, name: &str) -> Option<usize> {
        let place = self.names.iter().position(|known| known == name)?;
        Some(self.first + self.n_numbers + place)
    }
}

impl fmt::Display for Groups {
    /// The expressions, and the variables that templates have of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expressions: Vec<_> = self.expressions.iter().map(|text| format!("\"~{text}\"")).collect();
        let numbers = (0..self.n_numbers.min(10)).map(|number| number.to_string());
        let variables: Vec<_> =
            numbers.chain(self.names.iter().cloned()).map(|name| format!("${name}")).collect();
        write!(f, "{} has {}", expressions.join(", "), variables.join(", "))
    }
}

/// The texts that the groups of a step have matched in a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    first: usize,
    texts: Vec<Vec<u8>>,
}

impl Captured {
    /// The value of a variable, if it is one of these groups.
    #[must_use]
    pub fn text(&self, variable: usize) -> Option<&[u8]> {
        self.texts.get(variable.checked_sub(self.first)?).map(Vec::as_slice)
    }

    /// Whether another one has values of the same variables.
    #[must_use]
    pub fn is_of_same(&self, other: &Self) -> bool {
        self.first == other.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups() -> Groups {
        let mut groups = Groups::new(7);
        groups.add("^/a/(.)", &[None, None]);
        groups.add("^/b/(.)(?<id>.)", &[None, None, Some("id".to_owned())]);
        groups
    }

    #[test]
    fn each_group_has_a_variable() {
        let groups = groups();
        assert_eq!([0, 1, 2, 3].map(|number| groups.numbered(number)), [Some(7), Some(8), Some(9), None]);
        assert_eq!((groups.named("id"), groups.named("x"), groups.end()), (Some(10), None, 11));
        assert_eq!(groups.to_string(), "\"~^/a/(.)\", \"~^/b/(.)(?<id>.)\" has $0, $1, $2, $id");
    }

    #[test]
    fn values_are_those_of_the_expression_that_has_matched() {
        let groups = groups();
        let all = |captured: &Captured| [6, 7, 8, 9, 10, 11].map(|n| captured.text(n).map(<[u8]>::to_vec));
        let text = |text: &str| Some(text.as_bytes().to_vec());
        let first = groups.captured(&[None, None], &[Some(b"/a/x"), Some(b"x")]);
        assert_eq!(all(&first), [None, text("/a/x"), text("x"), text(""), text(""), None]);
        let names = [None, None, Some("id".to_owned())];
        let second = groups.captured(&names, &[Some(b"/b/xy"), None, Some(b"y")]);
        assert_eq!(all(&second), [None, text("/b/xy"), text(""), text("y"), text("y"), None]);
        assert_eq!(all(&groups.captured(&[], &[])), [None, text(""), text(""), text(""), text(""), None]);
    }
}
