//! From the path of a share to what is there: a file, a folder, or another address that it is known by.

use std::fs::File;
use std::io;
use std::rc::Rc;

use corral_config::pattern::GivenUp;
use corral_config::route::Share;
use corral_sys::process::is_descriptor_shortage;

use crate::exchange::request::RoutedRequest;
use crate::files::{self, CacheTime, ConfinedPath, FoundFile, OpenFile};

/// The end of a path.
pub(super) enum FileFinding {
    File(Rc<OpenFile>),
    /// A folder whose entries are shown.
    Listing(File),
    /// Another path of what is there, without escapes.
    Moved(Vec<u8>),
    /// No file; the status if there is no fallback.
    Missed(u16),
    Failed(u16),
    /// Unknown whether the file may be sent.
    Undecided(GivenUp),
}

/// A request for one of the files of a share.
pub(super) struct FileLookup<'l> {
    pub(super) request: &'l RoutedRequest<'l>,
    pub(super) share: &'l Share,
    pub(super) chroot: &'l [u8],
    pub(super) moment: CacheTime,
    /// Another answer came before: its address stays.
    pub(super) answers_in_place: bool,
}

/// The ending that `clean_urls` leaves out.
const PAGE: &[u8] = b".html";

impl<'l> FileLookup<'l> {
    pub(super) fn place<'p>(&self, path: &'p [u8]) -> ConfinedPath<'p>
    where
        'l: 'p,
    {
        let confinement = &self.share.confinement;
        ConfinedPath::new(path, confinement.chroot.is_some().then_some(self.chroot), confinement)
    }

    /// Looks for a file, and appends to the path what was found behind it: the name of an index, or the ending of a
    /// page.
    pub(super) fn find(&self, path: &mut Vec<u8>) -> FileFinding {
        if path.ends_with(b"/") { self.find_index(path) } else { self.find_file(path) }
    }

    fn find_file(&self, path: &mut Vec<u8>) -> FileFinding {
        let found = self.open_if_permitted(path);
        if !self.share.clean_urls {
            return self.judge(found, path);
        }
        if let Ok(FoundFile::File(file)) = found {
            return self.clean_address(path).map_or(FileFinding::File(file), FileFinding::Moved);
        }
        let len = path.len();
        path.extend_from_slice(PAGE);
        if let Ok(FoundFile::File(page)) = self.open_if_permitted(path) {
            return self.address_of_index(path, len).map_or(FileFinding::File(page), FileFinding::Moved);
        }
        path.truncate(len);
        self.judge(found, path)
    }

    /// The first index of a folder that is there, or the folder.
    fn find_index(&self, path: &mut Vec<u8>) -> FileFinding {
        let len = path.len();
        for name in &self.share.index {
            path.truncate(len);
            path.extend_from_slice(name.as_bytes());
            match self.open(path) {
                FoundFile::Nothing | FoundFile::Directory(_) => {}
                found => return self.judge(Ok(found), path),
            }
        }
        path.truncate(len);
        if let Some(address) = self.address_of_page(path) {
            return FileFinding::Moved(address);
        }
        match &self.share.listing {
            None => FileFinding::Missed(404),
            Some(_) => match self.open(path) {
                FoundFile::Directory(folder) => FileFinding::Listing(folder),
                _ => FileFinding::Missed(404),
            },
        }
    }

    fn open(&self, path: &[u8]) -> FoundFile {
        files::open(&self.place(path), self.moment)
    }

    /// Opens a file of a type that may be sent.
    fn open_if_permitted(&self, path: &[u8]) -> Result<FoundFile, FileFinding> {
        if let Some(types) = &self.share.types {
            let content_type = self.request.request_settings().mime_types.lookup(path);
            match types.matches(content_type.unwrap_or_default()) {
                Ok(true) => {}
                Ok(false) => return Err(FileFinding::Missed(403)),
                Err(given_up) => return Err(FileFinding::Undecided(given_up)),
            }
        }
        Ok(self.open(path))
    }

    fn judge(&self, found: Result<FoundFile, FileFinding>, path: &[u8]) -> FileFinding {
        match found {
            Ok(FoundFile::File(file)) => FileFinding::File(file),
            Ok(FoundFile::Directory(_)) if self.request.may_get_slash() => {
                FileFinding::Moved([self.request.asked_path(), b"/"].concat())
            }
            Ok(FoundFile::Directory(_)) => {
                log_circle(path);
                FileFinding::Missed(404)
            }
            Ok(FoundFile::Nothing) => FileFinding::Missed(404),
            Ok(FoundFile::Refused(error)) => {
                log_failure(path, &error);
                FileFinding::Missed(403)
            }
            Ok(FoundFile::Failed(error)) => {
                log_failure(path, &error);
                FileFinding::Failed(if is_descriptor_shortage(&error) { 503 } else { 500 })
            }
            Err(finding) => finding,
        }
    }

    /// The address without its ending of a page that was asked for with it.
    fn clean_address(&self, path: &[u8]) -> Option<Vec<u8>> {
        let (requested, stem) = (self.own_address()?, path.strip_suffix(PAGE)?);
        let is_named_so = file_name(requested) == file_name(path);
        if !is_named_so || file_name(stem).is_empty() {
            return None;
        }
        if self.is_index(path) {
            return Some(folder(requested).to_vec());
        }
        // That address is another file's.
        let is_taken = matches!(self.open(stem), FoundFile::File(_));
        (!is_taken).then(|| requested.strip_suffix(PAGE).map(<[u8]>::to_vec))?
    }

    /// The address of the folder whose index was asked for by its name, without the ending that begins at `len`.
    fn address_of_index(&self, path: &[u8], len: usize) -> Option<Vec<u8>> {
        let requested = self.own_address()?;
        let is_named_so = file_name(requested) == file_name(path.get(..len)?);
        (is_named_so && self.is_index(path)).then(|| folder(requested).to_vec())
    }

    /// The address of a page that was asked for as if it were a folder.
    fn address_of_page(&self, path: &[u8]) -> Option<Vec<u8>> {
        if !self.share.clean_urls {
            return None;
        }
        let (requested, stem) = (self.own_address()?.strip_suffix(b"/")?, path.strip_suffix(b"/")?);
        if file_name(stem).is_empty() || file_name(requested) != file_name(stem) {
            return None;
        }
        let page = self.open_if_permitted(&[stem, PAGE].concat());
        matches!(page, Ok(FoundFile::File(_))).then(|| requested.to_vec())
    }

    /// The path that the client has asked for, if nothing stands in its place: a redirect that leads back to a rewrite
    /// would never end.
    fn own_address(&self) -> Option<&'l [u8]> {
        (!self.answers_in_place && !self.request.is_rewritten()).then(|| self.request.path())
    }

    /// Whether a folder with this file shows it.
    fn is_index(&self, path: &[u8]) -> bool {
        self.share.index.first().is_some_and(|index| index.as_bytes() == file_name(path))
    }
}

/// The part behind the last slash.
fn file_name(path: &[u8]) -> &[u8] {
    &path[folder(path).len()..]
}

/// The part up to the last slash.
fn folder(path: &[u8]) -> &[u8] {
    &path[..memchr::memrchr(b'/', path).map_or(0, |slash| slash + 1)]
}

fn log_failure(path: &[u8], error: &io::Error) {
    tracing::error!("open \"{}\": {error}", String::from_utf8_lossy(path).escape_debug());
}

fn log_circle(path: &[u8]) {
    let path = String::from_utf8_lossy(path);
    let (path, folder) = (path.escape_debug(), path.trim_end_matches('/').escape_debug());
    tracing::error!(
        "\"share\" is the folder \"{path}\" for a path that ends in a slash: \"{folder}$uri\" serves its files"
    );
}

#[cfg(test)]
mod tests {
    use super::{file_name, folder};

    #[test]
    fn paths_are_split_at_their_last_slash() {
        for (path, parts) in [
            ("/a/b.html", ("/a/", "b.html")),
            ("/a/", ("/a/", "")),
            ("/", ("/", "")),
            ("b", ("", "b")),
            ("", ("", "")),
        ] {
            let path = path.as_bytes();
            assert_eq!((folder(path), file_name(path)), (parts.0.as_bytes(), parts.1.as_bytes()));
        }
    }
}
