//! Bounds on what a process and its children can reach (Landlock): files, and other processes.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, PathFdError, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

/// Everything that stays reachable: folders with all that is below them, and files.
#[derive(Debug, Default)]
pub struct Reachable<'a> {
    /// Can be read and run.
    pub read: &'a [PathBuf],
    /// Can be changed, too.
    pub write: &'a [PathBuf],
    /// As `read`, as far as they are there.
    pub read_if_present: &'a [PathBuf],
    /// As `write`, as far as they are there.
    pub write_if_present: &'a [PathBuf],
}

/// Why files were not put out of reach.
#[derive(Debug, thiserror::Error)]
pub enum LandlockError {
    /// The kernel cannot.
    #[error(
        "this kernel has no Landlock: it needs Linux 5.13 with CONFIG_SECURITY_LANDLOCK, and \"landlock\" in the \
         list that its parameter \"lsm\" may give"
    )]
    Unsupported,
    /// A file or folder cannot be opened.
    #[error("open {}", path.display())]
    Open {
        /// As given.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The kernel refused.
    #[error("restrict the process to files")]
    Refused(#[source] RulesetError),
}

/// The least that a kernel must know to be of use. Later kernels restrict more, and do so without being asked.
const NEEDED: ABI = ABI::V1;

/// The newest that this was tried with.
const KNOWN: ABI = ABI::V5;

/// Whether this kernel can put files out of reach.
#[must_use]
pub fn is_supported() -> bool {
    ruleset().is_ok()
}

/// Puts all other files out of reach, for good. Nothing that is open already is closed. Programs can gain no
/// privileges from now on. For a process with one thread.
///
/// # Errors
/// When a file is not there or the kernel cannot: nothing has changed then.
pub fn restrict(reachable: &Reachable<'_>) -> Result<(), LandlockError> {
    let mut rules = ruleset().map_err(|_| LandlockError::Unsupported)?;
    let (read, write) = (AccessFs::from_read(KNOWN), AccessFs::from_all(KNOWN));
    for (paths, access) in [(reachable.read, read), (reachable.write, write)] {
        for path in paths {
            rules = add(rules, path, access)?;
        }
    }
    for (paths, access) in [(reachable.read_if_present, read), (reachable.write_if_present, write)] {
        for path in paths.iter().filter(|path| path.exists()) {
            rules = add(rules, path, access)?;
        }
    }
    let status = rules.restrict_self().map_err(LandlockError::Refused)?;
    if status.ruleset == RulesetStatus::NotEnforced { Err(LandlockError::Unsupported) } else { Ok(()) }
}

/// A wall around a process that others of its user are to be safe from: it can neither send signals to anybody outside,
/// nor look into them, nor connect to their abstract sockets. Nothing where the kernel cannot (before Linux 6.12).
#[must_use]
pub fn wall() -> Option<OwnedFd> {
    let scopes = Scope::AbstractUnixSocket | Scope::Signal;
    let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).scope(scopes).ok()?;
    Option::from(rules.create().ok()?)
}

/// Puts this process and all that come from it behind a wall, for good. It must have one thread, and either
/// `no_new_privs` or the right to do without. Async-signal-safe.
pub(crate) fn enter(wall: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the call takes a descriptor and flags, of which there are none.
    let failed = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, wall.as_raw_fd(), 0) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn ruleset() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .create()
}

fn add(
    rules: RulesetCreated,
    path: &Path,
    access: landlock::BitFlags<AccessFs>,
) -> Result<RulesetCreated, LandlockError> {
    let fd = PathFd::new(path).map_err(|error| {
        let PathFdError::OpenCall { source, .. } = error else {
            return LandlockError::Open { path: path.to_owned(), source: io::ErrorKind::Other.into() };
        };
        LandlockError::Open { path: path.to_owned(), source }
    })?;
    // What only folders can have, such as making files, is an error for a file.
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(KNOWN) };
    rules.add_rule(PathBeneath::new(fd, access)).map_err(LandlockError::Refused)
}
