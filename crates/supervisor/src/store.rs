//! The state directory: the stored configuration as opaque bytes (contract 2.1).

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::time::SystemTime;

use corral_config::plan::{Asset, AssetKind, Assets};
use corral_ipc::history::StoredConfiguration;

use crate::asset_files::{self, AssetError};
use crate::replacing::replace;

/// The state directory.
#[derive(Debug)]
pub(crate) struct Store {
    directory: PathBuf,
}

/// Why the state directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// The directory is missing and cannot be made.
    #[error("create the state directory {}", path.display())]
    Create {
        /// The directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file in it cannot be read.
    #[error("read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file in it cannot be written.
    #[error("write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl Store {
    /// Creates the directory, for its owner alone, when it is missing.
    pub(crate) fn open(directory: PathBuf) -> Result<Self, StoreError> {
        match DirBuilder::new().recursive(true).mode(0o700).create(&directory) {
            Ok(()) => Ok(Self { directory }),
            Err(source) => Err(StoreError::Create { path: directory, source }),
        }
    }

    /// The stored document, if there is one.
    pub(crate) fn read(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.directory.join(DOCUMENT);
        match fs::read(&path) {
            Ok(document) => {
                tracing::info!("stored configuration: \"{}\"", path.display());
                Ok(Some(document))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(StoreError::Read { path, source }),
        }
    }

    /// Stores a document so that at any moment the whole old or the whole new one is there.
    pub(crate) fn write(&self, document: &[u8]) -> Result<(), StoreError> {
        self.replace(VERSION, WRITER_VERSION)?;
        self.replace(DOCUMENT, document)
    }

    /// Gives the stored document a second name, under which it stays when another one is stored.
    pub(crate) fn set_aside(&self) -> Result<Option<PathBuf>, StoreError> {
        let (path, now) = (self.directory.join(DOCUMENT), SystemTime::now());
        let seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let aside = self.directory.join(format!("{DOCUMENT}.invalid-{seconds}"));
        // A link needs no reading; not every file system has links.
        match fs::hard_link(&path, &aside).or_else(|_| fs::copy(&path, &aside).map(drop)) {
            Ok(()) => Ok(Some(aside)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(StoreError::Write { path: aside, source }),
        }
    }

    /// All certificate bundles and JavaScript modules that can be read.
    pub(crate) fn assets(&self) -> Assets {
        asset_files::read_all(&self.directory)
    }

    /// Stores a certificate bundle or a JavaScript module, or removes it.
    pub(crate) fn set_asset(
        &self,
        kind: AssetKind,
        name: &str,
        bytes: Option<&[u8]>,
    ) -> Result<(), AssetError> {
        asset_files::set(&self.directory, kind, name, bytes)
    }

    /// All records about certificates that are ordered, as far as they can be read.
    pub(crate) fn records(&self) -> Vec<Asset> {
        asset_files::read_records(&self.directory)
    }

    /// Stores such a record, or removes it.
    pub(crate) fn set_record(&self, name: &str, bytes: Option<&[u8]>) -> Result<(), AssetError> {
        asset_files::set_record(&self.directory, name, bytes)
    }

    /// All configurations that were in force, oldest first, as far as they can be read.
    pub(crate) fn history(&self) -> Vec<StoredConfiguration> {
        asset_files::read_history(&self.directory)
    }

    /// Stores one of them.
    pub(crate) fn set_history(&self, configuration: &StoredConfiguration) -> Result<(), AssetError> {
        asset_files::set_history(&self.directory, configuration)
    }

    /// Removes those with these numbers.
    pub(crate) fn remove_history(&self, ids: &BTreeSet<u32>) -> Result<(), AssetError> {
        asset_files::remove_history(&self.directory, ids)
    }

    fn replace(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        let path = self.directory.join(name);
        let replaced = replace(&self.directory, &path, &path.with_extension("new"), content);
        replaced.map_err(|source| StoreError::Write { path, source })
    }
}

const DOCUMENT: &str = "conf.json";
const VERSION: &str = "version";

/// The version of Unit whose format this is.
const WRITER_VERSION: &[u8] = b"13500";

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_document_survives_with_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("lib/corral");
        let store = Store::open(directory.clone()).unwrap();
        assert_eq!(store.read().unwrap(), None);
        store.write(b"{\"listeners\":{}}").unwrap();
        store.write(b"{}").unwrap();
        assert_eq!(Store::open(directory.clone()).unwrap().read().unwrap(), Some(b"{}".to_vec()));
        assert_eq!(fs::read(directory.join("version")).unwrap(), b"13500");
        assert_eq!(mode(&directory), 0o700);
        assert_eq!(mode(&directory.join("conf.json")), 0o600);
        assert_eq!(mode(&directory.join("version")), 0o600);
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 2, "nothing temporary is left");
    }

    #[test]
    fn a_document_can_be_kept_aside() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().to_owned()).unwrap();
        assert!(store.set_aside().unwrap().is_none());
        store.write(b"old").unwrap();
        let aside = store.set_aside().unwrap().unwrap();
        store.write(b"new").unwrap();
        assert_eq!(fs::read(&aside).unwrap(), b"old");
        assert_eq!(store.read().unwrap(), Some(b"new".to_vec()));
        assert!(aside.to_string_lossy().contains("conf.json.invalid-"));
    }

    #[test]
    fn failures_name_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Store::open(file.join("state")).unwrap_err();
        assert_eq!(error.to_string(), format!("create the state directory {}", file.join("state").display()));

        let store = Store::open(folder.path().join("state")).unwrap();
        fs::create_dir(folder.path().join("state/conf.json")).unwrap();
        assert!(store.read().unwrap_err().to_string().starts_with("read "));
        assert!(store.write(b"{}").unwrap_err().to_string().ends_with("conf.json"));
    }
}
