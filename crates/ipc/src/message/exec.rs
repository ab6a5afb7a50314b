//! Messages from main to `corral exec`, and between that and the process beside the command.

use std::ffi::{CString, OsString};
use std::path::PathBuf;

use corral_config::plan::AppSpec;
use corral_sys::limits::Limit;
use corral_sys::user::Credentials;
use serde::{Deserialize, Serialize};

use super::exit::Exit;
use crate::link::{Incoming, MAX_INLINE};

/// All that another process has to know to run a command as an application. It holds secrets of the application's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecContext {
    /// The application, as it is in force. Its control group is absolute.
    pub spec: AppSpec,
    /// Environment variables, `NAME=value` each.
    pub environment: Vec<CString>,
    /// The user that its processes change to, by the numbers of their namespace; none if they change to none.
    pub credentials: Option<UserNumbers>,
    /// The daemon's user, which applications have when it may not change users.
    pub daemon: UserNumbers,
    /// Whether the daemon may change users.
    pub may_change_users: bool,
    /// The application's user, by its number outside.
    pub owner: u32,
    /// Whether it is kept from others of its user.
    pub is_walled: bool,
    /// Files and folders that are there in a root of its own.
    pub dependencies: Vec<PathBuf>,
    /// The folder that the daemon is in, and with it applications without `working_directory`.
    pub folder: PathBuf,
    /// The number of the daemon's main process.
    pub pid: u32,
    /// The daemon's namespace of processes, in which that number counts, as the kernel names it.
    pub processes: Option<PathBuf>,
    /// The daemon's namespace of mounts: a service manager may have given it one.
    pub mounts: Option<PathBuf>,
    /// The mask of permissions that new files do not get, if it is known.
    pub umask: Option<u32>,
    /// Limits of resources.
    pub limits: Vec<Limit>,
}

/// A user and groups by their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserNumbers {
    /// User.
    pub uid: u32,
    /// Primary group.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
}

impl From<Credentials> for UserNumbers {
    fn from(Credentials { uid, gid, groups }: Credentials) -> Self {
        Self { uid, gid, groups }
    }
}

impl From<UserNumbers> for Credentials {
    fn from(UserNumbers { uid, gid, groups }: UserNumbers) -> Self {
        Self { uid, gid, groups }
    }
}

impl ExecContext {
    /// Bytes, for processes that only hand it on.
    ///
    /// # Errors
    /// When it is too large for this machine.
    pub fn to_bytes(&self) -> Result<Vec<u8>, postcard::Error> {
        postcard::to_stdvec(self)
    }

    /// From what the same version has made bytes of.
    ///
    /// # Errors
    /// When another version has.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, postcard::Error> {
        postcard::from_bytes(bytes)
    }
}

/// From `corral exec` to the process beside the command.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToExec {
    /// First message: run this command. Answered by `Ended` or `Failed`.
    Start {
        /// The application.
        spec: Box<AppSpec>,
        /// Files of the language, which stays readable.
        dependencies: Vec<PathBuf>,
        /// The folder to run it in if the application names none.
        folder: FolderChoice,
        /// The command, its name first.
        words: Vec<OsString>,
        /// Whether its standard input is a terminal of its own.
        controlling_terminal: bool,
    },
    /// Send the command a signal.
    Signal {
        /// Number of the signal.
        number: i32,
    },
}

/// The folder that a command runs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FolderChoice {
    /// The one that the process is in already.
    Given,
    /// The folder of the application's code, or else the daemon's.
    OfCode {
        /// The daemon's.
        otherwise: PathBuf,
    },
}

/// From the process beside the command to `corral exec`.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromExec {
    /// The command could not be run.
    Failed {
        /// The reason, in words.
        reason: String,
        /// The code that shells have for that.
        code: u8,
    },
    /// The command has ended.
    Ended {
        /// How.
        exit: Exit,
    },
}

impl Incoming for FromExec {
    const LONGEST: usize = MAX_INLINE;
}
