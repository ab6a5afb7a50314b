//! When the next request of each key is due, in bounded memory.
//!
//! Libraries for limits of rates keep a map that grows with each key and is swept from time to time, so that a flood of
//! keys takes as much memory as it likes. Here a key has its place in one of many small sets; a set without room
//! forgets the key that is due first. One that is due already is like one that never came, so that a key is forgotten
//! only where a whole set is in use, and those that have used most of their limit stay longest: a flood does not clear
//! what is known of its clients.

/// Keys of a set.
const WAYS: usize = 16;

/// A part of all keys, which has a lock of its own.
#[derive(Debug)]
pub(super) struct DueTable {
    /// Whole sets, one behind the other.
    entries: Vec<DueKey>,
    /// Most entries.
    most: usize,
}

/// A key whose next request is due at some time. One that is due by now is the same as none.
#[derive(Debug, Default, Clone, Copy)]
struct DueKey {
    key: u64,
    due: u64,
}

impl DueTable {
    /// A table of about so many entries at most, which begins with few.
    pub(super) fn new(most: usize) -> Self {
        let most = most.div_ceil(WAYS).max(1) * WAYS;
        Self { entries: vec![DueKey::default(); WAYS], most }
    }

    /// When the key's next request is due, to be changed.
    pub(super) fn due(&mut self, key: u64, now: u64) -> &mut u64 {
        let mut place = self.place(key);
        while self.entries[place].key != key && self.entries[place].due > now && self.grow(now) {
            place = self.place(key);
        }
        let entry = &mut self.entries[place];
        if entry.key != key {
            *entry = DueKey { key, due: 0 };
        }
        &mut entry.due
    }

    /// Keys that are not due yet.
    pub(super) fn n_in_use(&self, now: u64) -> usize {
        self.entries.iter().filter(|entry| entry.due > now).count()
    }

    /// Where the key is, or would be: in the place of the one of its set that is due first.
    fn place(&self, key: u64) -> usize {
        let n_sets = self.entries.len() / WAYS;
        // The bits behind those that have chosen the table, scaled to the number of sets.
        let set = ((u128::from(key << KEPT) * n_sets as u128) >> u64::BITS) as usize * WAYS;
        let entries = &self.entries[set..set + WAYS];
        let known = entries.iter().position(|entry| entry.key == key);
        let first = || entries.iter().enumerate().min_by_key(|(_, entry)| entry.due);
        set + known.or_else(|| first().map(|(idx, _)| idx)).unwrap_or_default()
    }

    /// Makes more room, as long as there may be more.
    fn grow(&mut self, now: u64) -> bool {
        if self.entries.len() >= self.most {
            return false;
        }
        let larger = (self.entries.len() * 2).min(self.most);
        let known = std::mem::replace(&mut self.entries, vec![DueKey::default(); larger]);
        for entry in known.into_iter().filter(|entry| entry.due > now) {
            let place = self.place(entry.key);
            if self.entries[place].due < entry.due {
                self.entries[place] = entry;
            }
        }
        true
    }
}

/// The high bits of keys, which choose a table.
pub(super) const KEPT: u32 = 4;

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, RandomState};

    use super::*;

    #[test]
    fn keys_are_known_until_they_are_due() {
        let mut table = DueTable::new(1000);
        let hasher = RandomState::new();
        let keys: Vec<u64> = (0..500).map(|n| hasher.hash_one(n)).collect();
        for (idx, key) in (1..).zip(&keys) {
            *table.due(*key, 0) = idx * 10;
        }
        let n_known = (1..).zip(&keys).filter(|(idx, key)| *table.due(**key, 0) == idx * 10).count();
        assert!(n_known >= 490, "{n_known} of 500 in a table of 1000");
        let in_use = table.n_in_use(2500);
        assert!((240..=250).contains(&in_use), "{in_use}");
        assert_eq!(table.n_in_use(5000), 0);
    }

    #[test]
    fn few_keys_take_little() {
        let mut table = DueTable::new(1_000_000);
        for n in 0..1_000_000u64 {
            // Each is due again before the next one comes.
            *table.due(n.wrapping_mul(0x9e37_79b9_7f4a_7c15), n * 10) = n * 10 + 5;
        }
        assert_eq!(table.entries.len(), WAYS);
    }

    #[test]
    fn a_flood_of_keys_takes_no_more_than_its_bound() {
        let mut table = DueTable::new(1000);
        let hasher = RandomState::new();
        for n in 0..1_000_000u64 {
            *table.due(hasher.hash_one(n), 0) = 1_000_000 + n;
        }
        assert_eq!(table.entries.len(), 1008);
        assert!(table.entries.capacity() <= 1008);
    }

    #[test]
    fn a_flood_does_not_forget_who_has_used_most() {
        let mut table = DueTable::new(1000);
        let hasher = RandomState::new();
        let busy = hasher.hash_one("busy");
        *table.due(busy, 0) = 1_000_000;
        for n in 0..100_000u64 {
            *table.due(hasher.hash_one(n), 0) = 100;
        }
        assert_eq!(*table.due(busy, 0), 1_000_000);
    }
}
