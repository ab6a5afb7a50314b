//! Folders and files for what a user keeps beyond the run of a command.

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use corral_sys::user;

use crate::daemon::Flavour;

/// A folder of the XDG Base Directory Specification, below which each program has one of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BaseDir {
    /// The folder for things that should be backed up: `$XDG_DATA_HOME`, or `~/.local/share`.
    Data,
    /// The folder for things that can be made again: `$XDG_STATE_HOME`, or `~/.local/state`.
    State,
}

impl BaseDir {
    fn variable(self) -> &'static str {
        match self {
            Self::Data => "XDG_DATA_HOME",
            Self::State => "XDG_STATE_HOME",
        }
    }

    fn folder(self) -> Option<PathBuf> {
        variable(self.variable()).or_else(|| Some(home()?.join(self.below_home())))
    }

    fn below_home(self) -> &'static str {
        match self {
            Self::Data => ".local/share",
            Self::State => ".local/state",
        }
    }
}

/// The folder `name` of this user, which may be missing still; or why there is none.
pub(crate) fn folder(base: BaseDir, name: &str) -> Result<PathBuf, String> {
    let found = base.folder();
    let found = found.ok_or_else(|| format!("neither {} nor HOME names a folder", base.variable()))?;
    let folder = found.join("corral").join(name);
    check_safe(&folder)?;
    Ok(folder)
}

/// No key is safe where other users may rename or make things: each folder on the way belongs to this user or root, and
/// others may write to none of them.
fn check_safe(folder: &Path) -> Result<(), String> {
    let Some(existing) = folder.ancestors().find_map(|folder| fs::canonicalize(folder).ok()) else {
        return Ok(());
    };
    let own = fs::metadata(&existing).map_err(|error| format!("\"{}\": {error}", existing.display()))?;
    if own.uid() != user::effective_uid() {
        return Err(format!("\"{}\" belongs to another user", existing.display()));
    }
    for (depth, folder) in existing.ancestors().enumerate() {
        let meta = fs::metadata(folder).map_err(|error| format!("\"{}\": {error}", folder.display()))?;
        if ![0, user::effective_uid()].contains(&meta.uid()) {
            return Err(format!("\"{}\" belongs to another user", folder.display()));
        }
        // In a folder such as /tmp, what belongs to this user is safe, but not a name that is still free.
        let is_shared = meta.mode() & STICKY != 0 && depth > 0;
        if is_open(&meta) && !is_shared {
            return Err(format!("others may write to \"{}\"", folder.display()));
        }
    }
    Ok(())
}

/// Whether others may rename what is in a folder. A user's own group, which has the user's number, is the user.
fn is_open(meta: &fs::Metadata) -> bool {
    let is_private_group = meta.gid() == user::effective_gid() && meta.gid() == user::effective_uid();
    let others = if is_private_group { 0o002 } else { 0o022 };
    meta.mode() & others != 0
}

const STICKY: u32 = 0o1000;

/// The same; root without a home, as in a service, has it in the daemon's state directory.
pub(crate) fn folder_or_state(base: BaseDir, name: &str) -> Result<PathBuf, String> {
    if base.folder().is_none() && user::effective_uid() == 0 {
        return Ok(Path::new(Flavour::corral().state_dir).join(name));
    }
    folder(base, name)
}

/// The home of the user who has started this process.
pub(crate) fn home() -> Option<PathBuf> {
    variable("HOME")
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Makes a folder, and those above it that are missing, for this user alone.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a file, and makes its folder: at any moment the whole old or the whole new one is there.
pub(crate) fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    path.parent().map_or(Ok(()), make_folder)?;
    let temporary = path.with_extension(std::process::id().to_string());
    let written =
        corral_sys::file::create(&temporary, mode).and_then(|mut file| file.write_all(text.as_bytes()));
    written.and_then(|()| fs::rename(&temporary, path)).inspect_err(|_| {
        // It would only lie about.
        let _ = fs::remove_file(&temporary);
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_that_others_may_change_is_not_safe() {
        let folder = tempfile::tempdir().unwrap();
        let (outer, inner) = (folder.path().join("outer"), folder.path().join("outer/inner"));
        fs::create_dir_all(&inner).unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        set(&inner, 0o755);
        for (mode, refused) in [(0o755, false), (0o757, true), (0o777, true), (0o1777, false)] {
            set(&outer, mode);
            assert_eq!(check_safe(&inner.join("a/b")).is_err(), refused, "{mode:o}");
        }
        // A name that is free in such a folder may be taken first.
        let error = check_safe(&outer.join("a")).unwrap_err();
        assert!(error.starts_with("others may write to"), "{error}");
    }
}
