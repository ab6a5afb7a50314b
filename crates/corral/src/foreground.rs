//! A daemon in the foreground that keeps nothing when it ends: that of `corral run` and of `frankenphp run`.

use std::path::PathBuf;

use corral_config::address::ListenAddress;
use corral_supervisor::{ControlOptions, DaemonOptions, ModuleSource, UserOptions};

/// The options in which such daemons differ.
pub(crate) struct Foreground {
    /// The control API's socket, which only the user of this process can use.
    pub(crate) control: PathBuf,
    pub(crate) temp_dir: PathBuf,
    pub(crate) users: UserOptions,
    pub(crate) modules: ModuleSource,
    /// The command, for `ps`.
    pub(crate) title: String,
}

impl Foreground {
    /// All options, with nothing to serve yet.
    pub(crate) fn options(self) -> DaemonOptions {
        let Self { control, temp_dir, users, modules, title } = self;
        let address = ListenAddress::Unix(control);
        DaemonOptions {
            control: ControlOptions {
                address,
                mode: 0o600,
                user: None,
                group: None,
                token: None,
                read_token: None,
            },
            state_dir: None,
            modules,
            own_files: corral_program::own_files,
            pid_file: None,
            log: None,
            temp_dir,
            users,
            foreground: true,
            introduces: false,
            files: None,
            console: None,
            internal_arguments: Vec::new(),
            title: format!("corral: main v{} [{title}]", env!("CARGO_PKG_VERSION")),
        }
    }
}
