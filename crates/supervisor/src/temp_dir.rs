//! The folder for temporary files: the one of the options, or one in it that belongs to the router.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown};
use std::path::{Path, PathBuf};

use anyhow::Context;
use corral_sys::file;
use corral_sys::user::{self, Credentials};

use crate::users::Users;

/// Finds, or makes, the folder in which the router, as its own user, can keep what does not fit into memory.
pub(crate) fn find(path: &Path, users: Option<&Users>) -> anyhow::Result<PathBuf> {
    // A folder that cannot be made is one that cannot be used, which is told below.
    let _ = DirBuilder::new().recursive(true).mode(0o755).create(path);
    let Some(Users { daemon, .. }) = users else {
        let context = || format!("use \"{}\" for temporary files", path.display());
        return file::temp_file(path).map(|_| path.to_owned()).with_context(context);
    };
    let can_use = |path: &Path| user::try_as(&daemon.credentials, || file::temp_file(path).map(drop));
    let Err(error) = can_use(path) else { return Ok(path.to_owned()) };
    if let Ok(own) = make_own(path, &daemon.credentials)
        && can_use(&own).is_ok()
    {
        return Ok(own);
    }
    Err(error).with_context(|| {
        format!(
            "the router, which runs as the user {}, cannot keep temporary files in \"{}\": give the folder to that \
             user, let it pass through (chmod o+x), or name another one with \"--tmpdir\"",
            daemon.user,
            path.display()
        )
    })
}

/// A folder of the router's in one of root's. In a folder of another user that could be replaced.
fn make_own(path: &Path, router: &Credentials) -> io::Result<PathBuf> {
    let data = fs::metadata(path)?;
    if data.uid() != 0 || data.mode() & OTHERS_WRITE != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let own = path.join(format!("corral-{}", router.uid));
    match DirBuilder::new().mode(0o700).create(&own) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if !own.symlink_metadata()?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    chown(&own, Some(router.uid), Some(router.gid))?;
    Ok(own)
}

const OTHERS_WRITE: u32 = 0o022;

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_folder_is_made_in_one_of_root_s_alone() {
        if !user::can_change_user() {
            return eprintln!("skipped: only root can give folders away");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let router = Credentials { uid: 65_530, gid: 65_530, groups: vec![65_530] };
        let set = |mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        set(0o755);
        let own = make_own(path, &router).unwrap();
        let data = fs::metadata(&own).unwrap();
        assert_eq!((data.uid(), data.mode() & 0o777), (65_530, 0o700));
        assert_eq!(make_own(path, &router).unwrap(), own, "it is there already");
        fs::remove_dir(&own).unwrap();
        symlink("/etc", &own).unwrap();
        assert!(make_own(path, &router).is_err(), "a link is not given away");
        fs::remove_file(&own).unwrap();
        for (mode, owner) in [(0o777, 0), (0o775, 0), (0o755, 65_531)] {
            set(mode);
            chown(path, Some(owner), None).unwrap();
            assert!(make_own(path, &router).is_err(), "{mode:o} {owner}");
        }
        assert_eq!(fs::metadata("/etc").unwrap().uid(), 0);
    }
}
