//! The configurations that were in force, as the controller has told them: bounded in number and bytes, the oldest go
//! first. Main writes them for the reason that it writes the configuration itself.

use corral_ipc::history::{MOST_BYTES, StoredConfiguration, surplus};

use crate::store::Store;

/// All that are kept, oldest first. They are remembered here as well, for the next controller, which may start when
/// there is no state directory.
pub(super) struct HistoryFiles {
    all: Vec<StoredConfiguration>,
}

impl HistoryFiles {
    /// Reads what an earlier daemon left. Files beyond the bounds are removed: a new controller could not be told all.
    pub(super) fn read(store: Option<&Store>) -> Self {
        let mut history = Self { all: store.map(Store::history).unwrap_or_default() };
        history.drop_surplus(store);
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
        // First, so that there is room.
        self.drop_surplus(store);
        match (store, self.all.last()) {
            (Some(store), Some(StoredConfiguration { id, bytes })) => {
                let stored = store.set_history(*id, Some(bytes));
                stored.map_err(|error| format!("{:#}", anyhow::Error::new(error)))
            }
            _ => Ok(()),
        }
    }

    fn drop_surplus(&mut self, store: Option<&Store>) {
        let sizes: Vec<_> = self.all.iter().map(|one| one.bytes.len()).collect();
        for dropped in self.all.drain(..surplus(&sizes)) {
            let removed = store.map_or(Ok(()), |store| store.set_history(dropped.id, None));
            if let Err(error) = removed {
                // The next start tries it again.
                tracing::warn!("{:#}", anyhow::Error::new(error));
            }
        }
    }
}

#[cfg(test)]
mod tests {
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
    fn files_beyond_the_bounds_are_removed_at_the_start() {
        let state = tempfile::tempdir().unwrap();
        let store = Store::open(state.path().to_owned()).unwrap();
        for id in 1..=110 {
            store.set_history(id, Some(b"x")).unwrap();
        }
        assert_eq!(ids(&HistoryFiles::read(Some(&store))), (11..=110).collect::<Vec<_>>());
        assert_eq!(store.history().len(), MOST_CONFIGURATIONS);
    }
}
