//! Folders that a user may not enter: an application's own, or that of the process that reads files.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use corral_config::plan::AppSpec;
use corral_sys::user::{self, Credentials};

use crate::daemon::Flavour;

/// The user of a process that is going to run.
pub(super) struct Account {
    name: String,
    credentials: Credentials,
}

impl Account {
    /// The user of an application; nothing if that is not known, or has a view of its own of files.
    fn of_application(app: &AppSpec) -> Option<Self> {
        if app.isolation.rootfs.is_some() || !user::can_change_user() {
            return None;
        }
        let default = Flavour::corral().users(None).applications.user;
        let name = app.user.clone().unwrap_or(default);
        let credentials = Credentials::resolve(&name, app.group.as_deref()).ok()?;
        Some(Self { name, credentials })
    }

    /// The user of the process that reads files for clients, if this one has the right to start it.
    pub(super) fn of_router() -> Option<Self> {
        let credentials = Flavour::corral().users(None).daemon_credentials().ok()??;
        let name = user::user_by_uid(credentials.uid).map_or(credentials.uid.to_string(), |user| user.name);
        Some(Self { name, credentials })
    }

    /// The folder that keeps the user from a path, as a sentence.
    pub(super) fn obstacle(&self, path: &Path) -> Option<String> {
        let is_barred = |folder: &Path| {
            self.try_to_enter(folder).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
        };
        let folder = if path.is_dir() { path } else { path.parent()? };
        if !folder.is_absolute() || !is_barred(folder) {
            return None;
        }
        let mut on_the_way: Vec<_> = folder.ancestors().collect();
        on_the_way.reverse();
        let obstacle = on_the_way.into_iter().find(|folder| is_barred(folder)).unwrap_or(folder);
        let (user, obstacle) = (&self.name, obstacle.display());
        Some(format!("The user \"{user}\" may not enter \"{obstacle}\"."))
    }

    fn try_to_enter(&self, folder: &Path) -> io::Result<()> {
        let inside = folder.join(".");
        user::try_as(&self.credentials, || fs::metadata(&inside).map(|_| ()))
    }
}

/// One sentence for each folder that keeps an application out of its own files.
pub(super) fn of_application(app: &AppSpec) -> Vec<String> {
    let Some(account) = Account::of_application(app) else { return Vec::new() };
    let base = app.working_directory.as_deref();
    let paths = base.into_iter().chain(app.runtime.paths());
    let paths = paths
        .filter_map(|path| if path.is_absolute() { Some(path.to_owned()) } else { Some(base?.join(path)) });
    let mut sentences: Vec<_> = paths.filter_map(|path| account.obstacle(&path)).collect();
    sentences.dedup();
    sentences
}
