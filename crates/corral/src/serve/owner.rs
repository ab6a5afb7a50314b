//! The user that runs the site when root starts it: root itself only if there is no other way.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use anyhow::Context;
use corral_supervisor::{Account, UserOptions};
use corral_sys::user::{self, Credentials};

use crate::daemon::Flavour;

/// The user that the application runs as.
#[derive(Debug)]
pub(crate) struct Owner {
    names: Option<(String, String)>,
    pub(crate) credentials: Option<Credentials>,
    pub(crate) is_root: bool,
}

impl Owner {
    pub(crate) fn of(root: &Path) -> anyhow::Result<Self> {
        if !user::can_change_user() {
            return Ok(Self { names: None, credentials: None, is_root: false });
        }
        let data = std::fs::metadata(root).with_context(|| format!("look at {}", root.display()))?;
        if data.uid() != 0 {
            return Self::numbered(data.uid(), data.gid());
        }
        if can_read(root, None) {
            return Self::named("nobody", None);
        }
        Ok(Self { is_root: true, ..Self::named("root", None)? })
    }

    /// By name if there is one: the user's other groups count as well then.
    fn numbered(uid: u32, gid: u32) -> anyhow::Result<Self> {
        match user::user_by_uid(uid) {
            Ok(user) => Self::named(&user.name, None),
            Err(_) => Self::named(&uid.to_string(), Some(&gid.to_string())),
        }
    }

    fn named(user: &str, group: Option<&str>) -> anyhow::Result<Self> {
        let credentials = Credentials::resolve(user, group)?;
        let names = (user.to_owned(), credentials.gid.to_string());
        Ok(Self { names: Some(names), credentials: Some(credentials), is_root: false })
    }

    pub(crate) fn names(&self) -> Option<(&str, &str)> {
        self.names.as_ref().map(|(user, group)| (user.as_str(), group.as_str()))
    }

    /// The users of all processes: the daemon's own share the owner's group, by which they can read the site's files,
    /// and the owner only if that is not enough.
    pub(crate) fn users(&self, root: &Path) -> UserOptions {
        let Some((user, group)) = self.names() else { return Flavour::corral().users(None) };
        let account = Account { user: user.to_owned(), group: Some(group.to_owned()) };
        let gid = self.credentials.as_ref().map(|credentials| credentials.gid);
        if self.is_root || !can_read(root, gid) {
            return UserOptions::shared(account);
        }
        UserOptions { daemon: None, daemon_group: Some(group.to_owned()), applications: account }
    }
}

/// Whether the permissions of the folder and all above it let this group in; without a group, all users.
fn can_read(root: &Path, group: Option<u32>) -> bool {
    let allows = |path: &Path, bits: u32| {
        std::fs::metadata(path).is_ok_and(|data| {
            let bits = if Some(data.gid()) == group { bits << 3 } else { bits };
            data.permissions().mode() & bits == bits
        })
    };
    allows(root, 0o005) && root.ancestors().skip(1).all(|folder| allows(folder, 0o001))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

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
        let owner = Owner::named("nobody", None).unwrap();
        set(0o755);
        assert!(owner.users(folder.path()).daemon.is_none());
        set(0o700);
        assert_eq!(owner.users(folder.path()).daemon.unwrap().user, "nobody");
        let root = Owner { is_root: true, ..Owner::named("root", None).unwrap() };
        assert_eq!(root.users(folder.path()).daemon.unwrap().user, "root");
    }
}
