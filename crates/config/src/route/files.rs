//! `match.file`: what has to be at a path of the file system.

use super::conditions::Facts;
use super::confinement::Confinement;
use crate::template::{Exception, PathFault, Template};

/// The kind of file that a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A device, a socket and the like.
    Other,
    /// Nothing, or the way to it is not permitted.
    Absent,
}

/// The files that a condition asks for.
#[derive(Debug, Clone, Default)]
pub struct FileTests {
    /// At least one of these must hold, unless there is none.
    pub positive: Vec<FileTest>,
    /// Files that must not be there.
    pub negative: Vec<FileTest>,
}

/// One file without its negation.
#[derive(Debug, Clone)]
pub struct FileTest {
    /// The path.
    pub path: Template,
    /// The kinds that are meant.
    pub kinds: FileKinds,
    /// Bounds on the way to it.
    pub confinement: Confinement,
}

/// Kinds of files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FileKinds {
    /// Regular files.
    #[default]
    File,
    /// Folders.
    Folder,
    /// All that can be there.
    Any,
}

impl FileKinds {
    fn contains(self, kind: FileKind) -> bool {
        match self {
            Self::File => kind == FileKind::File,
            Self::Folder => kind == FileKind::Folder,
            Self::Any => kind != FileKind::Absent,
        }
    }
}

impl FileTests {
    /// Whether none of the negated ones is there, and one of the others.
    ///
    /// # Errors
    ///
    /// When the script of a path throws.
    pub fn hold<F: Facts>(&self, facts: &mut F) -> Result<bool, Exception> {
        for test in &self.negative {
            if test.holds(facts)? {
                return Ok(false);
            }
        }
        for test in &self.positive {
            if test.holds(facts)? {
                return Ok(true);
            }
        }
        Ok(self.positive.is_empty())
    }
}

impl FileTest {
    /// A path that a client's value would lead elsewhere leads to nothing.
    fn holds<F: Facts>(&self, facts: &mut F) -> Result<bool, Exception> {
        let (mut path, mut chroot) = (Vec::new(), Vec::new());
        match self.confinement.render(&self.path, facts, (&mut path, &mut chroot)) {
            Ok(()) => {
                let chroot = self.confinement.chroot.is_some().then_some(&*chroot);
                Ok(self.kinds.contains(facts.file_kind(&path, chroot, &self.confinement)))
            }
            Err(PathFault::Script(exception)) => Err(exception),
            Err(PathFault::Stray(_)) => Ok(false),
        }
    }
}
