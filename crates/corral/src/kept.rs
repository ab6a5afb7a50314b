//! Folders and files for what a user keeps beyond the run of a command.

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use corral_sys::user;

use crate::daemon::Flavour;

/// A folder of the XDG Base Directory Specification, below which each program has one of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    /// The folder for things that should be backed up: `$XDG_DATA_HOME`, or `~/.local/share`.
    Data,
    /// The folder for things that can be made again: `$XDG_STATE_HOME`, or `~/.local/state`.
    State,
}

impl Base {
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
pub(crate) fn folder(base: Base, name: &str) -> Result<PathBuf, String> {
    let found = base.folder();
    let found = found.ok_or_else(|| format!("neither {} nor HOME names a folder", base.variable()))?;
    let existing = found.ancestors().find_map(|folder| Some((folder, fs::metadata(folder).ok()?)));
    match existing {
        // Where somebody else may rename things, no key is safe.
        Some((folder, meta)) if meta.uid() != user::effective_uid() => {
            Err(format!("\"{}\" belongs to somebody else", folder.display()))
        }
        _ => Ok(found.join("corral").join(name)),
    }
}

/// The same; root without a home, as in a service, has it in the daemon's state directory.
pub(crate) fn folder_or_state(base: Base, name: &str) -> Result<PathBuf, String> {
    if base.folder().is_none() && user::effective_uid() == 0 {
        return Ok(Path::new(Flavour::corral().state_dir).join(name));
    }
    folder(base, name)
}

/// The home of whoever has started this process.
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
