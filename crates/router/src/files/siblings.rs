//! The precompressed siblings of a file. That none has come or gone is seen by the folder that they are in: one look
//! instead of one for each name.

use std::cell::Cell;
use std::fs;
use std::rc::Rc;
use std::time::Instant;

use corral_http::encoding::ContentCoding;
use smallvec::SmallVec;

use super::{CacheTime, ConfinedPath, FileIdentity, FoundFile, OpenFile, open_anew};

/// The siblings beside a file.
pub(super) struct Siblings {
    /// In the order of `ContentCoding::COMPRESSED`.
    found: SmallVec<[Sibling; 3]>,
    /// The path of the folder.
    folder: Vec<u8>,
    /// The folder when they were looked for; `None` when it cannot tell whether one comes.
    folder_identity: Option<FileIdentity>,
    checked: Cell<Instant>,
}

/// One that is there. It may be older than the file.
struct Sibling {
    coding: ContentCoding,
    path: Vec<u8>,
    file: Rc<OpenFile>,
}

/// The outcome of a look for one of them.
enum SiblingLookup {
    File(Rc<OpenFile>),
    Nothing,
    /// A file that can appear, or become readable, without a change of the folder.
    Other,
}

impl Siblings {
    /// Looks for those of the file at `place`. Of those that are known already, all that was made of them stays.
    pub(super) fn find(place: &ConfinedPath<'_>, moment: CacheTime, known: Option<&Self>) -> Self {
        let folder = folder_of(place.path);
        // Before the rest: what comes meanwhile makes it another one.
        let mut folder_identity = identity(&place.at(&folder)).filter(FileIdentity::is_settled);
        let mut found = SmallVec::new();
        for coding in ContentCoding::COMPRESSED {
            let path = [place.path, coding.suffix().as_bytes()].concat();
            match look(&place.at(&path), moment.now) {
                SiblingLookup::File(file) => {
                    let file = known.and_then(|known| known.unchanged(&file)).unwrap_or(file);
                    found.push(Sibling { coding, path, file });
                }
                SiblingLookup::Nothing => {}
                SiblingLookup::Other => folder_identity = None,
            }
        }
        Self { found, folder, folder_identity, checked: Cell::new(moment.now) }
    }

    /// Whether the same ones are still there, and no other.
    pub(super) fn are_current(&self, place: &ConfinedPath<'_>, moment: CacheTime) -> bool {
        let are_trusted = self.found.iter().all(|known| known.file.is_trusted(moment));
        if moment.trusts(self.checked.get()) && are_trusted {
            return true;
        }
        let same_folder =
            self.folder_identity.is_some() && identity(&place.at(&self.folder)) == self.folder_identity;
        let are_current = same_folder
            && self.found.iter().all(|known| known.file.is_current(&place.at(&known.path), moment));
        if are_current {
            self.checked.set(moment.now);
        }
        are_current
    }

    pub(super) fn not_older_than(&self, file: &OpenFile) -> SmallVec<[(ContentCoding, Rc<OpenFile>); 3]> {
        let fresh = self.found.iter().filter(|sibling| sibling.file.modified >= file.modified);
        fresh.map(|sibling| (sibling.coding, Rc::clone(&sibling.file))).collect()
    }

    fn unchanged(&self, file: &OpenFile) -> Option<Rc<OpenFile>> {
        let same = self.found.iter().find(|known| known.file.identity == file.identity)?;
        Some(Rc::clone(&same.file))
    }
}

/// The folder itself, by a name below it, so that it is found in a root that it is the top of.
fn folder_of(path: &[u8]) -> Vec<u8> {
    let len = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    [&path[..len], b"."].concat()
}

fn identity(place: &ConfinedPath<'_>) -> Option<FileIdentity> {
    place.metadata().ok().map(|metadata| FileIdentity::of(&metadata))
}

fn look(place: &ConfinedPath<'_>, now: Instant) -> SiblingLookup {
    match open_anew(place, now) {
        FoundFile::File(file) => SiblingLookup::File(file),
        // A symbolic link that leads nowhere yet.
        FoundFile::Nothing if fs::symlink_metadata(place.as_path()).is_ok() => SiblingLookup::Other,
        FoundFile::Nothing => SiblingLookup::Nothing,
        FoundFile::Directory(_) | FoundFile::Refused(_) | FoundFile::Failed(_) => SiblingLookup::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_file_is_named_by_a_name_below_it() {
        for (path, expect) in [("/www/a.css", "/www/."), ("/a", "/."), ("a", "."), ("www/a", "www/.")] {
            assert_eq!(folder_of(path.as_bytes()), expect.as_bytes());
        }
    }
}
