//! The configurations that were in force, as the controller has told them: bounded in number and bytes, the oldest go
//! first. Main writes them for the reason that it writes the configuration itself.
//!
//! A file is removed when another one is there in its place: a disk that takes nothing keeps what it has. On one that
//! is full, the oldest makes room, once until that has helped.

use std::collections::BTreeSet;

use corral_ipc::history::{MOST_BYTES, StoredConfiguration, surplus};

use crate::asset_files::AssetError;
use crate::store::Store;

/// All that are kept, oldest first. They are remembered here as well, for the next controller, which may start when
/// there is no state directory.
pub(super) struct HistoryFiles {
    all: Vec<StoredConfiguration>,
    /// The numbers of those that have files.
    files: BTreeSet<u32>,
    /// The oldest file has made room, and that was not enough.
    has_made_room: bool,
}

impl HistoryFiles {
    /// Reads what an earlier daemon left. Files beyond the bounds are removed: a new controller could not be told all.
    pub(super) fn read(store: Option<&Store>) -> Self {
        let all = store.map(Store::history).unwrap_or_default();
        let files = all.iter().map(|one| one.id).collect();
        let mut history = Self { all, files, has_made_room: false };
        history.drop_surplus();
        store.into_iter().for_each(|store| history.remove_surplus(store));
        history
    }

    pub(super) fn all(&self) -> &[StoredConfiguration] {
        &self.all
    }

    /// Takes one more. The bounds hold whether or not it can be stored.
    pub(super) fn add(
        &mut self,
        store: Option<&Store>,
        configuration: StoredConfiguration,
    ) -> Result<(), String> {
        if configuration.bytes.len() > MOST_BYTES {
            return Err(format!("a configuration of the history may have {MOST_BYTES} bytes"));
        }
        if self.all.last().is_some_and(|last| last.id >= configuration.id) {
            return Err("a configuration of the history has a number that was used".to_owned());
        }
        self.all.push(configuration);
        self.drop_surplus();
        let Some(store) = store else { return Ok(()) };
        let stored = self.write_newest(
            |newest| store.set_history(newest),
            AssetError::is_full,
            |oldest| remove(store, &[oldest].into()),
        );
        stored.map_err(|error| format!("{:#}", anyhow::Error::new(error)))?;
        self.remove_surplus(store);
        Ok(())
    }

    /// Writes the newest one. Where the disk `is_full`, the oldest file is removed first, unless that was of no use.
    fn write_newest<E>(
        &mut self,
        write: impl Fn(&StoredConfiguration) -> Result<(), E>,
        is_full: impl FnOnce(&E) -> bool,
        remove: impl FnOnce(u32),
    ) -> Result<(), E> {
        let Some(newest) = self.all.last() else { return Ok(()) };
        let mut written = write(newest);
        if written.as_ref().is_err_and(is_full)
            && !self.has_made_room
            && let Some(oldest) = self.files.pop_first()
        {
            remove(oldest);
            written = write(newest);
            self.has_made_room = true;
        }
        if written.is_ok() {
            self.files.insert(newest.id);
            self.has_made_room = false;
        }
        written
    }

    fn drop_surplus(&mut self) {
        let sizes: Vec<_> = self.all.iter().map(|one| one.bytes.len()).collect();
        self.all.drain(..surplus(&sizes));
    }

    /// Removes the files of what was dropped.
    fn remove_surplus(&mut self, store: &Store) {
        let kept: BTreeSet<_> = self.all.iter().map(|one| one.id).collect();
        remove(store, &self.files.difference(&kept).copied().collect());
        self.files.retain(|id| kept.contains(id));
    }
}

fn remove(store: &Store, ids: &BTreeSet<u32>) {
    if let Err(error) = store.remove_history(ids) {
        // The next start tries it again.
        tracing::warn!("{:#}", anyhow::Error::new(error));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::fs;

    use corral_ipc::history::MOST_CONFIGURATIONS;

    use super::*;

    fn configuration(id: u32, len: usize) -> StoredConfiguration {
        StoredConfiguration { id, bytes: vec![b'x'; len] }
    }

    fn ids(history: &HistoryFiles) -> Vec<u32> {
        history.all().iter().map(|one| one.id).collect()
    }

    #[test]
    fn what_is_kept_is_bounded_and_found_again() {
        let state = tempfile::tempdir().unwrap();
        let store = Store::open(state.path().to_owned()).unwrap();
        let mut history = HistoryFiles::read(Some(&store));
        for id in 1..=103 {
            history.add(Some(&store), configuration(id, 10)).unwrap();
        }
        assert_eq!(ids(&history), (4..=103).collect::<Vec<_>>());
        assert_eq!(fs::read_dir(state.path().join("history")).unwrap().count(), MOST_CONFIGURATIONS);
        assert_eq!(HistoryFiles::read(Some(&store)).all(), history.all());
        history.add(Some(&store), configuration(200, MOST_BYTES - 15)).unwrap();
        assert_eq!(ids(&history), [103, 200]);
        assert_eq!(fs::read_dir(state.path().join("history")).unwrap().count(), 2);
    }

    #[test]
    fn numbers_grow_and_no_configuration_is_too_large() {
        let mut history = HistoryFiles::read(None);
        history.add(None, configuration(5, 1)).unwrap();
        assert!(history.add(None, configuration(5, 1)).unwrap_err().contains("was used"));
        assert!(history.add(None, configuration(6, MOST_BYTES + 1)).unwrap_err().contains("bytes"));
        history.add(None, configuration(6, 1)).unwrap();
        assert_eq!(ids(&history), [5, 6]);
    }

    #[test]
    fn what_cannot_be_stored_is_remembered_all_the_same() {
        let state = tempfile::tempdir().unwrap();
        let store = Store::open(state.path().to_owned()).unwrap();
        fs::write(state.path().join("history"), "a file").unwrap();
        let mut history = HistoryFiles::read(Some(&store));
        let error = history.add(Some(&store), configuration(1, 1)).unwrap_err();
        assert!(error.contains("history/0000000001"), "{error}");
        assert_eq!(ids(&history), [1]);
    }

    #[test]
    fn a_disk_that_takes_nothing_keeps_what_it_has() {
        let state = tempfile::tempdir().unwrap();
        let store = Store::open(state.path().to_owned()).unwrap();
        let mut history = HistoryFiles::read(Some(&store));
        for id in 1..=100 {
            history.add(Some(&store), configuration(id, 1)).unwrap();
        }
        // The file that is written first cannot be.
        let obstacle = state.path().join("history/%:new");
        fs::create_dir(&obstacle).unwrap();
        for id in 101..=110 {
            history.add(Some(&store), configuration(id, 1)).unwrap_err();
        }
        let stored = |store: &Store| store.history().iter().map(|one| one.id).collect::<Vec<_>>();
        assert_eq!((ids(&history)[0], stored(&store)), (11, (1..=100).collect()));
        fs::remove_dir(obstacle).unwrap();
        history.add(Some(&store), configuration(111, 1)).unwrap();
        assert_eq!(stored(&store), (12..=100).chain([111]).collect::<Vec<_>>());
    }

    /// Adds one more, for which there is room when so many others have been removed. Returns those.
    fn add_to_full_disk(history: &mut HistoryFiles, id: u32, n_in_the_way: usize) -> (Vec<u32>, bool) {
        history.all.push(configuration(id, 1));
        let removed = RefCell::new(Vec::new());
        let write = |_: &StoredConfiguration| {
            if removed.borrow().len() < n_in_the_way { Err("no room") } else { Ok(()) }
        };
        let written = history.write_newest(write, |_| true, |oldest| removed.borrow_mut().push(oldest));
        (removed.take(), written.is_ok())
    }

    #[test]
    fn the_oldest_makes_room_on_a_full_disk_once() {
        let mut history = HistoryFiles { all: vec![], files: (1..=5).collect(), has_made_room: false };
        assert_eq!(add_to_full_disk(&mut history, 6, 1), (vec![1], true));
        assert_eq!(add_to_full_disk(&mut history, 7, 2), (vec![2], false));
        assert_eq!(add_to_full_disk(&mut history, 8, 1), (vec![], false));
        assert_eq!(add_to_full_disk(&mut history, 9, 0), (vec![], true));
        assert_eq!(add_to_full_disk(&mut history, 10, 1), (vec![3], true));
        assert_eq!(history.files, [4, 5, 6, 9, 10].into());
    }

    #[test]
    fn files_beyond_the_bounds_are_removed_at_the_start() {
        let state = tempfile::tempdir().unwrap();
        let store = Store::open(state.path().to_owned()).unwrap();
        for id in 1..=110 {
            store.set_history(&configuration(id, 1)).unwrap();
        }
        assert_eq!(ids(&HistoryFiles::read(Some(&store))), (11..=110).collect::<Vec<_>>());
        assert_eq!(store.history().len(), MOST_CONFIGURATIONS);
    }
}
