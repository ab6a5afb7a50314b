//! The folder of `corral run`: its control socket, and below it what does not fit into memory.

use std::fs::{self, DirBuilder, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use anyhow::Context;
use corral_supervisor::UserOptions;
use tempfile::TempDir;

/// The folder belongs to the user who has started this process, as any user who can write to it can replace the control
/// socket. The folder is removed when this value is dropped.
pub(crate) struct RunFolder(TempDir);

impl RunFolder {
    pub(crate) fn make(users: &UserOptions) -> anyhow::Result<Self> {
        let place = std::env::temp_dir();
        let folder = tempfile::Builder::new().prefix("corral-").tempdir_in(&place).map(Self);
        let folder = folder.with_context(|| {
            format!(
                "create a folder in {}: where that cannot be written to, TMPDIR names another one, such as a tmpfs",
                place.display()
            )
        })?;
        let temp = folder.temp();
        folder.add(&temp, users).with_context(|| format!("create {}", temp.display()))?;
        Ok(folder)
    }

    pub(crate) fn control(&self) -> PathBuf {
        self.0.path().join("control.sock")
    }

    /// For the router alone.
    pub(crate) fn temp(&self) -> PathBuf {
        self.0.path().join("tmp")
    }

    /// Adds a folder whose files can be read by all users who know the path.
    pub(crate) fn add_public(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.0.path().join(name);
        let add = || {
            fs::create_dir(&path)?;
            fs::set_permissions(&path, Permissions::from_mode(0o755))
        };
        add().with_context(|| format!("create {}", path.display()))?;
        Ok(path)
    }

    /// Adds a folder for the user who has started this process.
    fn add_private(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.0.path().join(name);
        let added = DirBuilder::new().mode(0o700).create(&path);
        added.with_context(|| format!("create {}", path.display()))?;
        Ok(path)
    }

    /// A state directory for a daemon that has this certificate, with its key in PEM, and nothing else.
    pub(crate) fn add_certificate(&self, name: &str, bundle: &str) -> anyhow::Result<PathBuf> {
        let state = self.add_private("state")?;
        let path = self.add_private("state/certs")?.join(name);
        let written =
            corral_sys::file::create(&path, 0o600).and_then(|mut file| file.write_all(bundle.as_bytes()));
        written.with_context(|| format!("write {}", path.display()))?;
        Ok(state)
    }

    fn add(&self, temp: &Path, users: &UserOptions) -> anyhow::Result<()> {
        fs::create_dir(temp)?;
        fs::set_permissions(temp, Permissions::from_mode(0o700))?;
        if let Some(router) = users.daemon_credentials()? {
            chown(temp, Some(router.uid), Some(router.gid))?;
            // It has to pass through.
            fs::set_permissions(self.0.path(), Permissions::from_mode(0o711))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use corral_supervisor::Account;
    use corral_sys::user;

    use super::*;

    #[test]
    fn the_control_socket_s_folder_is_given_to_nobody() {
        let nobody = || Account { user: "nobody".to_owned(), group: None };
        let folder = RunFolder::make(&UserOptions::shared(nobody())).unwrap();
        let data = |path: &Path| fs::metadata(path).unwrap();
        let outer = data(folder.control().parent().unwrap());
        assert_eq!((outer.uid(), outer.mode() & 0o022), (user::effective_uid(), 0));
        let inner = data(&folder.temp());
        assert_eq!(inner.mode() & 0o777, 0o700);
        let router = if user::can_change_user() { 65534 } else { user::effective_uid() };
        assert_eq!(inner.uid(), router);
    }
}
