//! Options that the main process is given before it starts anything.

use std::fmt;
use std::path::PathBuf;

use corral_config::address::ListenAddress;
use corral_ipc::message::{ControlToken, Module};

use crate::users::UserOptions;

/// Everything that decides how the daemon runs, apart from its configuration document.
#[derive(Debug)]
pub struct DaemonOptions {
    /// Where the control API is served.
    pub control: ControlOptions,
    /// Folder of the stored configuration; `None` keeps nothing.
    pub state_dir: Option<PathBuf>,
    /// Where the host executables come from.
    pub modules: ModuleSource,
    /// The files that this executable consists of, which is the host of programs that serve HTTP.
    pub own_files: fn() -> Vec<PathBuf>,
    /// File that holds the process id while the daemon runs.
    pub pid_file: Option<PathBuf>,
    /// File for the log; `None` leaves it on standard error.
    pub log: Option<PathBuf>,
    /// Folder for request bodies that do not fit in memory.
    pub temp_dir: PathBuf,
    /// The users that processes run as.
    pub users: UserOptions,
    /// Whether the process stays in the foreground.
    pub foreground: bool,
    /// Whether a person at a terminal is told what was started.
    pub introduces: bool,
    /// Files that the configuration is read from, in place of the stored one.
    pub files: Option<FilesOptions>,
    /// Whether this is `corral run`, and what belongs to it.
    pub console: Option<ConsoleOptions>,
    /// Arguments behind `internal controller` and `internal router`, for what `corral` sets up there.
    pub internal_arguments: Vec<String>,
    /// The text that `ps` shows behind the name of the main process.
    pub title: String,
}

/// Configuration files (`--config`).
#[derive(Debug)]
pub struct FilesOptions {
    /// Files and folders, merged in this order; never empty.
    pub paths: Vec<PathBuf>,
    /// Whether changes of the files take effect by themselves.
    pub watch: bool,
    /// Whether the control API may change the running configuration.
    pub is_writable: bool,
}

/// The control API's socket.
#[derive(Debug)]
pub struct ControlOptions {
    /// Where it listens.
    pub address: ListenAddress,
    /// Permissions of a socket file.
    pub mode: u32,
    /// Owner of a socket file; `None` leaves it.
    pub user: Option<String>,
    /// Group of a socket file; `None` leaves it.
    pub group: Option<String>,
    /// The token that every request has to show; needed where other machines can connect.
    pub token: Option<ControlToken>,
    /// A token for requests that change nothing, besides that one.
    pub read_token: Option<ControlToken>,
}

/// Where the host executables come from.
#[derive(Debug)]
pub enum ModuleSource {
    /// Executables named `corral-*` in a folder, each asked what it is.
    Folder(PathBuf),
    /// Found already.
    Known(Vec<Module>),
}

/// A daemon that serves one given document for a person at a terminal.
pub struct ConsoleOptions {
    /// The document to serve, in place of a stored one.
    pub document: Vec<u8>,
    /// Printed on standard output once the document is in force. When it cannot be put in force,
    /// the reason is printed and the daemon ends.
    pub announcement: String,
    /// Called at the same moment, when this process has its title and its signals: it may start a thread.
    pub once_served: Option<Box<dyn FnOnce() + Send>>,
    /// Files, and folders with all that is below them, whose changes are served from the next request on.
    pub watch: Vec<PathBuf>,
    /// Whether each request is shown on standard output.
    pub shows_requests: bool,
    /// Whether errors are explained to browsers.
    pub explains: bool,
}

impl fmt::Debug for ConsoleOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsoleOptions").field("announcement", &self.announcement).finish_non_exhaustive()
    }
}
