//! The user that runs the site when root starts it: the folder's owner, or the one that is named. Where root owns the
//! folder that is `nobody`, in a container root.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use corral_supervisor::{Account, UserOptions};
use corral_sys::user::{self, Credentials};

use super::container;
use crate::daemon::Flavour;

/// The user that the application runs as.
#[derive(Debug)]
pub(crate) struct Owner {
    names: Option<(String, String)>,
    pub(crate) credentials: Option<Credentials>,
    choice: OwnerChoice,
}

/// Why it is this user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnerChoice {
    /// An unprivileged process can run the application as its own user alone.
    Unprivileged,
    /// The folder belongs to that user.
    Folder,
    /// `--user` names it.
    Named,
    /// `nobody`, as root owns the folder.
    Nobody,
    /// Root, as root owns the folder, and this is a container.
    Container,
    /// Root, as no other user can read the folder.
    OnlyRoot,
}

impl Owner {
    /// The user for a folder; `named` is that of `--user`, with a group behind a colon.
    pub(crate) fn of(root: &Path, named: Option<&str>) -> anyhow::Result<Self> {
        if let Some(named) = named {
            return Self::chosen(root, named);
        }
        if !user::can_change_user() {
            return Ok(Self { names: None, credentials: None, choice: OwnerChoice::Unprivileged });
        }
        let data = fs::metadata(root).with_context(|| format!("look at {}", root.display()))?;
        if data.uid() != 0 {
            let owner = Self::numbered(data.uid(), data.gid())?;
            owner.check_way(root)?;
            return Ok(owner);
        }
        if !can_read(root, None) {
            return Self::named("root", None, OwnerChoice::OnlyRoot);
        }
        if container::is_one() {
            return Self::named("root", None, OwnerChoice::Container);
        }
        Self::named("nobody", None, OwnerChoice::Nobody)
    }

    fn chosen(root: &Path, named: &str) -> anyhow::Result<Self> {
        let (user, group) = named.split_once(':').map_or((named, None), |(user, group)| (user, Some(group)));
        let credentials = Credentials::resolve(user, group).context("--user USER[:GROUP]")?;
        if user::can_change_user() {
            let owner = Self::named(user, group, OwnerChoice::Named)?;
            owner.check_way(root)?;
            return Ok(owner);
        }
        if credentials.uid != user::effective_uid() {
            bail!("only root can run a site as another user: start it by sudo, or leave --user out");
        }
        Ok(Self { names: None, credentials: None, choice: OwnerChoice::Unprivileged })
    }

    /// By name if there is one: the user's other groups count as well then.
    fn numbered(uid: u32, gid: u32) -> anyhow::Result<Self> {
        match user::user_by_uid(uid) {
            Ok(user) => Self::named(&user.name, None, OwnerChoice::Folder),
            Err(_) => Self::named(&uid.to_string(), Some(&gid.to_string()), OwnerChoice::Folder),
        }
    }

    fn named(user: &str, group: Option<&str>, choice: OwnerChoice) -> anyhow::Result<Self> {
        let credentials = Credentials::resolve(user, group)?;
        let names = (user.to_owned(), credentials.gid.to_string());
        Ok(Self { names: Some(names), credentials: Some(credentials), choice })
    }

    /// Fails where the user cannot get to the folder: each request would.
    fn check_way(&self, root: &Path) -> anyhow::Result<()> {
        let Some(credentials) = &self.credentials else { return Ok(()) };
        let can = |attempt: &dyn Fn() -> std::io::Result<()>| user::try_as(credentials, attempt).is_ok();
        if can(&|| fs::read_dir(root).map(drop)) {
            return Ok(());
        }
        let mut way: Vec<_> = root.ancestors().collect();
        way.reverse();
        let is_shut = |folder: &&PathBuf| !can(&|| fs::metadata(folder.join(".")).map(drop));
        let shut = way.into_iter().map(Path::to_owned).collect::<Vec<_>>();
        let shut = shut.iter().find(is_shut).map_or(root, PathBuf::as_path);
        let (user, _) = self.names().unwrap_or_default();
        bail!(
            "the site would run as the user \"{user}\", which cannot enter \"{}\": let it (chmod o+x), put the site \
             elsewhere, or name another user with --user",
            shut.display()
        )
    }

    pub(crate) fn names(&self) -> Option<(&str, &str)> {
        self.names.as_ref().map(|(user, group)| (user.as_str(), group.as_str()))
    }

    /// The meaning of the user's choice for an application, where that is more or less than people expect, and what
    /// they can do about it.
    pub(crate) fn notice(&self) -> Option<(&'static str, &'static str)> {
        let is_root = self.credentials.as_ref().is_some_and(|credentials| credentials.uid == 0);
        match self.choice {
            OwnerChoice::Nobody => Some((
                "root owns this folder, so the application runs as nobody and can write nothing here, such as \
                 SQLite's files, uploads, caches and logs",
                "--user NAME runs it as another user",
            )),
            OwnerChoice::Container => Some((
                "root owns this folder and this is a container, so the application runs as root",
                "--user nobody runs it without root's rights",
            )),
            OwnerChoice::OnlyRoot => Some((
                "everything runs as root, because only root can read this folder",
                "chmod o+rx lets other users read it",
            )),
            OwnerChoice::Named if is_root => Some((
                "the application has the rights of root, and so has a fault in it",
                "name another --user",
            )),
            OwnerChoice::Named | OwnerChoice::Folder | OwnerChoice::Unprivileged => None,
        }
    }

    /// The users of all processes: the daemon's own share the owner's group, by which they can read the site's files,
    /// and the owner only if that is not enough. Root's group is shared with none.
    pub(crate) fn users(&self, root: &Path) -> UserOptions {
        let Some((user, group)) = self.names() else { return Flavour::corral().users(None) };
        let account = Account { user: user.to_owned(), group: Some(group.to_owned()) };
        let gid = self.credentials.as_ref().map(|credentials| credentials.gid).filter(|gid| *gid != 0);
        if !can_read(root, gid) {
            return UserOptions::shared(account);
        }
        UserOptions { daemon: None, daemon_group: gid.map(|_| group.to_owned()), applications: account }
    }
}

/// Whether the permissions of the folder and all above it let this group in; without a group, all users.
fn can_read(root: &Path, group: Option<u32>) -> bool {
    let allows = |path: &Path, bits: u32| {
        fs::metadata(path).is_ok_and(|data| {
            let bits = if Some(data.gid()) == group { bits << 3 } else { bits };
            data.permissions().mode() & bits == bits
        })
    };
    allows(root, 0o005) && root.ancestors().skip(1).all(|folder| allows(folder, 0o001))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    #[test]
    fn one_closed_folder_shuts_everything_below() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("site");
        fs::create_dir(&inner).unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let own_group = Some(user::effective_gid());
        set(folder.path(), 0o711);
        set(&inner, 0o755);
        assert!(can_read(&inner, None));
        set(&inner, 0o750);
        assert!(!can_read(&inner, None));
        assert!(can_read(&inner, own_group));
        set(&inner, 0o705);
        assert!(!can_read(&inner, own_group), "its own group is shut out");
        set(&inner, 0o755);
        set(folder.path(), 0o700);
        assert!(!can_read(&inner, None) && !can_read(&inner, own_group));
    }

    #[test]
    fn strangers_keep_their_numbers() {
        let owner = Owner::numbered(3_999_999_999, 3_999_999_998).unwrap();
        assert_eq!(owner.names(), Some(("3999999999", "3999999998")));
        let nobody = Owner::numbered(65534, 0).unwrap();
        assert_eq!(nobody.names().unwrap().0, "nobody");
    }

    #[test]
    fn the_daemon_is_the_owner_only_where_nobody_else_can_read() {
        let folder = tempfile::tempdir().unwrap();
        let set = |mode| fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
        let owner = Owner::named("nobody", None, OwnerChoice::Nobody).unwrap();
        set(0o755);
        assert!(owner.users(folder.path()).daemon.is_none());
        set(0o700);
        assert_eq!(owner.users(folder.path()).daemon.unwrap().user, "nobody");
        let root = Owner::named("root", None, OwnerChoice::OnlyRoot).unwrap();
        assert_eq!(root.users(folder.path()).daemon.unwrap().user, "root");
        set(0o755);
        let users = root.users(folder.path());
        assert!(users.daemon.is_none() && users.daemon_group.is_none(), "root's group stays its own");
    }
}
