//! Things by name that one thread changes and all event loops look up.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;

/// Things by name. A look at an empty map costs a load.
#[derive(Debug)]
pub(crate) struct SharedMap<T> {
    n_things: AtomicUsize,
    things: RwLock<HashMap<String, T>>,
}

impl<T: Clone> SharedMap<T> {
    pub(crate) fn is_empty(&self) -> bool {
        // What it guards has a lock of its own.
        self.n_things.load(Ordering::Relaxed) == 0
    }

    pub(crate) fn get(&self, name: &str) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.things.read().get(name).cloned()
    }

    /// Puts something in the place of what has this name.
    pub(super) fn put(&self, name: String, thing: T) {
        let mut things = self.things.write();
        let before = things.insert(name, thing);
        self.n_things.store(things.len(), Ordering::Relaxed);
        drop(things);
        // No thread waits for the lock while it is freed.
        drop(before);
    }

    pub(super) fn remove(&self, name: &str) {
        let mut things = self.things.write();
        let before = things.remove(name);
        self.n_things.store(things.len(), Ordering::Relaxed);
        drop(things);
        drop(before);
    }
}

impl<T> Default for SharedMap<T> {
    fn default() -> Self {
        Self { n_things: AtomicUsize::new(0), things: RwLock::default() }
    }
}
