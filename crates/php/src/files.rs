//! Files that PHP opens by itself.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use corral_config::plan::{AppSpec, PhpSpec, RuntimeSpec};
use rustix::fs::{Access, access};

use crate::ffi;

/// Where Debian's PHP, which has no time zones of its own, looks for them.
const TIME_ZONES: &str = "/usr/share/zoneinfo";

/// PHP's extensions, its settings, and its time zones.
pub(crate) fn of_php() -> Vec<PathBuf> {
    compiled_in_folders().map(|path| all_interfaces(&path)).chain([TIME_ZONES.into()]).collect()
}

/// The folders of PHP's extensions and settings.
pub(crate) fn compiled_in_folders() -> impl Iterator<Item = PathBuf> {
    (0..).map_while(compiled_in).filter(|path| path.is_absolute())
}

/// Opcache makes a file for its locks while it starts, and removes it at once.
pub(crate) fn scratch(spec: &AppSpec) -> Vec<PathBuf> {
    let RuntimeSpec::Php(php) = &spec.runtime else { return Vec::new() };
    vec![folder_of_locks(php).map_or_else(|| USUAL_FOLDER_OF_LOCKS.into(), PathBuf::from)]
}

/// Whether opcache would not start, and PHP not without it: another root may have no such folder, or one that is
/// another user's.
pub(crate) fn opcache_lacks_folder(php: &PhpSpec) -> bool {
    folder_of_locks(php).is_none()
        && access(USUAL_FOLDER_OF_LOCKS, Access::WRITE_OK | Access::EXEC_OK).is_err()
}

fn folder_of_locks(php: &PhpSpec) -> Option<&str> {
    let set = php.admin.iter().chain(&php.user).rfind(|(name, _)| name == "opcache.lockfile_path");
    set.map(|(_, path)| path.as_str())
}

const USUAL_FOLDER_OF_LOCKS: &str = "/tmp";

fn compiled_in(idx: usize) -> Option<PathBuf> {
    // SAFETY: returns a constant of the shim.
    let folder = unsafe { ffi::corral_php_folder(idx) };
    if folder.is_null() {
        return None;
    }
    // SAFETY: a NUL-terminated constant.
    let folder = unsafe { CStr::from_ptr(folder) };
    Some(PathBuf::from(OsStr::from_bytes(folder.to_bytes())))
}

/// Debian has a folder of settings for each interface of PHP below one folder, and the headers name that of the
/// command line.
fn all_interfaces(path: &Path) -> PathBuf {
    let above = path.ancestors().find(|folder| folder.ends_with("cli")).and_then(Path::parent);
    above.unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_one_interface_stand_for_all() {
        assert_eq!(all_interfaces("/etc/php/8.2/cli/conf.d".as_ref()), Path::new("/etc/php/8.2"));
        assert_eq!(all_interfaces("/usr/local/etc/php".as_ref()), Path::new("/usr/local/etc/php"));
    }

    #[test]
    fn extensions_are_among_them() {
        assert!(of_php().iter().any(|path| path.join("opcache.so").exists()), "{:?}", of_php());
    }
}
