//! Where a file is looked for, and what the way to it may not do (contract 12).

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use corral_config::route;
use corral_sys::confined::{self, Confinement};

/// A path with the restrictions on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConfinedPath<'a> {
    pub(crate) path: &'a [u8],
    /// The folder that the path must lie in, and that is `/` for every link on the way.
    pub(crate) chroot: Option<&'a [u8]>,
    pub(crate) follow_symlinks: bool,
    pub(crate) traverse_mounts: bool,
}

impl<'a> ConfinedPath<'a> {
    /// A path with the restrictions of the configuration, and the folder that is among them if there is one.
    pub(crate) fn new(path: &'a [u8], chroot: Option<&'a [u8]>, confinement: &route::Confinement) -> Self {
        let route::Confinement { follow_symlinks, traverse_mounts, .. } = *confinement;
        Self { path, chroot, follow_symlinks, traverse_mounts }
    }
}

impl ConfinedPath<'_> {
    /// Another path with the same restrictions.
    pub(crate) fn at<'b>(&'b self, path: &'b [u8]) -> ConfinedPath<'b> {
        ConfinedPath { path, ..*self }
    }

    pub(crate) fn is_confined(&self) -> bool {
        self.chroot.is_some() || !self.follow_symlinks || !self.traverse_mounts
    }

    /// A text that no two places have in common. A path alone holds no NUL, or it could not be opened.
    pub(super) fn key(&self) -> Cow<'_, [u8]> {
        if !self.is_confined() {
            return Cow::Borrowed(self.path);
        }
        let flags = u8::from(self.follow_symlinks) | u8::from(self.traverse_mounts) << 1;
        let chroot = self.chroot.unwrap_or_default();
        let has_chroot = u8::from(self.chroot.is_some());
        Cow::Owned([self.path, &[0, b'0' + flags, b'0' + has_chroot], chroot].concat())
    }

    pub(super) fn as_path(&self) -> &Path {
        as_path(self.path)
    }

    /// Opens it for reading.
    pub(super) fn open(&self) -> io::Result<File> {
        if !self.is_confined() {
            return corral_sys::file::open_read(as_path(self.path));
        }
        self.confined(confined::open_read_confined)
    }

    /// The metadata of the file that is there now.
    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        if !self.is_confined() {
            return std::fs::metadata(as_path(self.path));
        }
        self.confined(confined::metadata_confined)
    }

    /// Looks for it from the folder that it is confined to.
    fn confined<'p, T>(&'p self, look: Look<'p, T>) -> io::Result<T> {
        let confinement = Confinement {
            in_root: self.chroot.is_some(),
            no_symlinks: !self.follow_symlinks,
            no_mounts: !self.traverse_mounts,
        };
        if let Some(chroot) = self.chroot {
            let inner = below(chroot, self.path).ok_or(io::ErrorKind::PermissionDenied)?;
            let folder = confined::open_folder(as_path(chroot))?;
            return look(Some(folder.as_fd()), as_path(inner), confinement);
        }
        if !self.path.starts_with(b"/") {
            return look(None, as_path(self.path), confinement);
        }
        let inner = match skip_slashes(self.path) {
            [] => b".",
            inner => inner,
        };
        look(Some(root()?), as_path(inner), confinement)
    }
}

type Look<'p, T> = fn(Option<BorrowedFd<'_>>, &'p Path, Confinement) -> io::Result<T>;

/// `/`, which stays open: it is never another folder.
fn root() -> io::Result<BorrowedFd<'static>> {
    static ROOT: OnceLock<OwnedFd> = OnceLock::new();
    if let Some(root) = ROOT.get() {
        return Ok(root.as_fd());
    }
    let root = confined::open_folder("/")?;
    Ok(ROOT.get_or_init(|| root).as_fd())
}

/// The part of `path` below `folder`, compared as text with repeated slashes counted once; `None` when it lies
/// elsewhere, or is the folder itself.
fn below<'p>(folder: &[u8], path: &'p [u8]) -> Option<&'p [u8]> {
    let (mut rest, mut folder) = (path, folder);
    loop {
        match (folder.first(), rest.first()) {
            (None, _) => break,
            (Some(b'/'), Some(b'/')) => (folder, rest) = (skip_slashes(folder), skip_slashes(rest)),
            (Some(a), Some(b)) if a == b => (folder, rest) = (&folder[1..], &rest[1..]),
            // A slash at the folder's end need not be in front of anything.
            _ => return None,
        }
    }
    let at_boundary = path[..path.len() - rest.len()].ends_with(b"/") || rest.starts_with(b"/");
    let rest = skip_slashes(rest);
    (at_boundary && !rest.is_empty()).then_some(rest)
}

fn skip_slashes(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|&byte| byte != b'/').unwrap_or(text.len());
    &text[start..]
}

fn as_path(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(folder: &str, path: &str, expect: Option<&str>) {
        let found = below(folder.as_bytes(), path.as_bytes());
        assert_eq!(found, expect.map(str::as_bytes), "{path} in {folder}");
    }

    #[test]
    fn a_path_lies_in_a_folder_as_its_text_says() {
        check("/www", "/www/a", Some("a"));
        check("/www/", "/www/a/b", Some("a/b"));
        check("/www//x/", "//www/x///a", Some("a"));
        check("/", "/a", Some("a"));
        check("www", "www/a", Some("a"));
        check("/www", "/www/../etc", Some("../etc"));
    }

    #[test]
    fn other_paths_do_not() {
        check("/www", "/www", None);
        check("/www", "/www/", None);
        check("/www", "/wwwx/a", None);
        check("/www/x", "/www/a", None);
        check("/www", "www/a", None);
        check("/www", "/x/../www/a", None);
        check("/www", "", None);
        check("/www", "/ww", None);
    }

    #[test]
    fn places_with_other_restrictions_are_other_places() {
        let free = ConfinedPath { path: b"/a", chroot: None, follow_symlinks: true, traverse_mounts: true };
        let places = [
            free,
            ConfinedPath { follow_symlinks: false, ..free },
            ConfinedPath { traverse_mounts: false, ..free },
            ConfinedPath { chroot: Some(b"/"), ..free },
            ConfinedPath { chroot: Some(b""), ..free },
            ConfinedPath { chroot: Some(b"/a"), ..free },
        ];
        for (n, place) in places.iter().enumerate() {
            for other in &places[n + 1..] {
                assert_ne!(place.key(), other.key(), "{place:?} {other:?}");
            }
        }
    }
}
