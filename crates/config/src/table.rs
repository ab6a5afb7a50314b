//! Tables of the objects of a configuration. Each kind of object has a kind of key, so that a key opens no table of
//! another kind.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Index;
use std::slice;

/// The objects of one kind, in the order in which they were added. `Table<K, V>` holds something else for each object
/// of kind `K`, by the same keys.
#[derive(Clone)]
pub struct Table<K, V = K> {
    values: Vec<V>,
    kind: PhantomData<fn(K)>,
}

/// The place of an object in the tables of its kind.
pub struct Key<K> {
    idx: usize,
    kind: PhantomData<fn(K)>,
}

/// The kind of listeners within the router, for their keys.
#[derive(Debug, Clone, Copy)]
pub enum InnerListener {}

/// The kind of maps, for their keys: variables have these, and maps have variables.
#[derive(Debug, Clone, Copy)]
pub enum NamedMap {}

impl<K, V> Table<K, V> {
    /// Adds an object.
    pub fn push(&mut self, value: V) -> Key<K> {
        let key = Key::nth(self.values.len());
        self.values.push(value);
        key
    }

    /// The object at this key; none if the table was made for another configuration.
    #[must_use]
    pub fn get(&self, key: Key<K>) -> Option<&V> {
        self.values.get(key.idx)
    }

    /// The object at this key, to be changed.
    pub fn get_mut(&mut self, key: Key<K>) -> Option<&mut V> {
        self.values.get_mut(key.idx)
    }

    /// All objects, in their order, to be changed.
    pub fn values_mut(&mut self) -> &mut [V] {
        &mut self.values
    }

    /// All objects, in their order.
    #[must_use]
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// All objects, in their order.
    #[must_use]
    pub fn into_values(self) -> Vec<V> {
        self.values
    }

    /// All objects, in their order.
    pub fn iter(&self) -> slice::Iter<'_, V> {
        self.values.iter()
    }

    /// All objects with their keys, in their order.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (Key<K>, &V)> {
        self.values.iter().enumerate().map(|(idx, value)| (Key::nth(idx), value))
    }

    /// The number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The key of the first object that `is_meant`.
    pub fn find(&self, is_meant: impl FnMut(&V) -> bool) -> Option<Key<K>> {
        self.values.iter().position(is_meant).map(Key::nth)
    }
}

impl<K> Key<K> {
    /// The key of the object that was added after so many others.
    #[must_use]
    pub const fn nth(idx: usize) -> Self {
        Self { idx, kind: PhantomData }
    }
}

impl<K, V> Index<Key<K>> for Table<K, V> {
    type Output = V;

    /// # Panics
    ///
    /// If the key is of another configuration.
    fn index(&self, key: Key<K>) -> &V {
        &self.values[key.idx]
    }
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { values: Vec::new(), kind: PhantomData }
    }
}

impl<K, V> FromIterator<V> for Table<K, V> {
    fn from_iter<I: IntoIterator<Item = V>>(values: I) -> Self {
        Self { values: values.into_iter().collect(), kind: PhantomData }
    }
}

impl<K, V> Extend<V> for Table<K, V> {
    fn extend<I: IntoIterator<Item = V>>(&mut self, values: I) {
        self.values.extend(values);
    }
}

impl<'t, K, V> IntoIterator for &'t Table<K, V> {
    type Item = &'t V;
    type IntoIter = slice::Iter<'t, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K, V: fmt::Debug> fmt::Debug for Table<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values.fmt(f)
    }
}

// Not derived: a key is copied and compared whatever its objects are.

impl<K> Clone for Key<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Key<K> {}

impl<K> PartialEq for Key<K> {
    fn eq(&self, other: &Self) -> bool {
        self.idx == other.idx
    }
}

impl<K> Eq for Key<K> {}

impl<K> Hash for Key<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.idx.hash(state);
    }
}

impl<K> fmt::Debug for Key<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.idx.fmt(f)
    }
}
