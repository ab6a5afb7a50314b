//! `corral daemon`, and this executable under the name `unitd`.

mod options;
mod token;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use corral_config::address::ListenAddress;
use corral_supervisor::{Account, ControlOptions, DaemonOptions, FilesOptions, ModuleSource, UserOptions};
use corral_sys::user;

use self::options::{GivenOptions, StartRequest};
use self::token::read_tokens;
use crate::log::{self, Style};
use crate::output;

/// The control socket's default address.
pub(crate) const DEFAULT_CONTROL: &str = "unix:/run/corral/control.sock";

/// The default file of the daemon's process id.
pub(crate) const PID_FILE: &str = "/run/corral/corral.pid";

/// Under which name the daemon was called, and what belongs to it.
#[derive(Debug)]
pub(crate) struct Flavour {
    /// Lines of `--version`.
    version: &'static str,
    pub(crate) control: &'static str,
    pid_file: &'static str,
    log: &'static str,
    pub(crate) state_dir: &'static str,
    /// Tried in this order: the first that exists runs applications that name no user.
    users: &'static [&'static str],
    /// Whether the log is on standard error when the daemon stays in the foreground.
    foreground_log_on_stderr: bool,
    /// Whether a person at a terminal is told what was started.
    introduces: bool,
}

impl Flavour {
    /// `corral daemon`.
    pub(crate) fn corral() -> Self {
        Self {
            version: concat!("corral version: ", env!("CARGO_PKG_VERSION")),
            control: DEFAULT_CONTROL,
            pid_file: PID_FILE,
            log: "/var/log/corral.log",
            state_dir: "/var/lib/corral",
            users: &["nobody"],
            foreground_log_on_stderr: true,
            introduces: true,
        }
    }

    /// `unitd`, with the paths of Unit's own packages (contract 1.2).
    pub(crate) fn unit() -> Self {
        Self {
            version: concat!("unit version: 1.35.0\ncorral version: ", env!("CARGO_PKG_VERSION")),
            control: "unix:/var/run/control.unit.sock",
            pid_file: "/var/run/unit.pid",
            log: "/var/log/unit.log",
            state_dir: "/var/lib/unit",
            users: &["unit", "nobody"],
            foreground_log_on_stderr: false,
            introduces: false,
        }
    }

    /// The user of applications that name none.
    fn user(&self) -> &'static str {
        let exists = |name: &&&str| user::user_by_name(name).is_ok();
        self.users.iter().find(exists).copied().unwrap_or("nobody")
    }

    /// The default users of processes: the daemon has one of its own.
    pub(crate) fn users(&self, group: Option<String>) -> UserOptions {
        let applications = Account { user: self.user().to_owned(), group: group.clone() };
        UserOptions { daemon: None, daemon_group: group, applications }
    }

    /// The defaults, in the form in which tools read them.
    fn configured_as(&self) -> String {
        let user = self.user();
        format!(
            "configured as ./configure --control={} --pid={} --log={} --modulesdir={} --statedir={} \
             --tmpdir={DEFAULT_TMP} --user={user}",
            self.control,
            self.pid_file,
            self.log,
            own_folder().unwrap_or_default().display(),
            self.state_dir,
        )
    }
}

const DEFAULT_TMP: &str = "/var/tmp";

/// Socket files of the control API belong to the user who started the daemon; other users have no access.
const DEFAULT_CONTROL_MODE: u32 = 0o600;

/// The options of `corral daemon`, for shell completions and manual pages.
pub(crate) fn definition() -> clap::Command {
    options::definition(&Flavour::corral())
}

pub(crate) fn command(flavour: &Flavour, name: &OsStr, arguments: &[OsString]) -> anyhow::Result<ExitCode> {
    match options::parse(&name.to_string_lossy(), arguments)? {
        StartRequest::Help => {
            output::write(options::usage(&name.to_string_lossy(), flavour))?;
            Ok(ExitCode::SUCCESS)
        }
        StartRequest::Version => {
            eprintln!("{}\n{}", flavour.version, flavour.configured_as());
            Ok(ExitCode::SUCCESS)
        }
        StartRequest::Run(given) => {
            for line in &given.warnings {
                eprintln!("{line}");
            }
            log::init(Style::File);
            let started = corral_supervisor::run(daemon_options(flavour, *given, arguments)?);
            started.map_err(advise_unprivileged)
        }
    }
}

fn daemon_options(
    flavour: &Flavour,
    given: GivenOptions,
    arguments: &[OsString],
) -> anyhow::Result<DaemonOptions> {
    let control = given.control.unwrap_or_else(|| flavour.control.to_owned());
    let address = ListenAddress::parse(control.as_bytes()).with_context(|| {
        format!(
            "the control socket \"{control}\" is not an address: use unix:PATH, unix:@NAME or ADDRESS:PORT"
        )
    })?;
    let on_stderr = given.no_daemon && flavour.foreground_log_on_stderr;
    let default_log = (!on_stderr).then(|| PathBuf::from(flavour.log));
    let [token, read_token] =
        read_tokens(given.control_token_file.as_deref(), given.control_read_token_file.as_deref())?;
    let title: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    Ok(DaemonOptions {
        control: ControlOptions {
            address,
            mode: given.control_mode.filter(|mode| *mode != 0).unwrap_or(DEFAULT_CONTROL_MODE),
            user: given.control_user,
            group: given.control_group,
            token,
            read_token,
        },
        state_dir: Some(given.state_dir.unwrap_or_else(|| flavour.state_dir.into())),
        modules: ModuleSource::Folder(modules_folder(given.modules_dir)?),
        own_files: corral_program::own_files,
        pid_file: Some(given.pid_file.unwrap_or_else(|| flavour.pid_file.into())),
        log: given.log.or(default_log),
        temp_dir: given.temp_dir.unwrap_or_else(|| DEFAULT_TMP.into()),
        users: match given.user {
            Some(user) => UserOptions::shared(Account { user, group: given.group }),
            None => flavour.users(given.group),
        },
        foreground: given.no_daemon,
        introduces: flavour.introduces,
        files: (!given.config.is_empty()).then_some(FilesOptions {
            paths: given.config,
            watch: given.watch,
            is_writable: given.config_writable,
        }),
        console: None,
        internal_arguments: Vec::new(),
        title: format!("corral: main v{} [{}]", env!("CARGO_PKG_VERSION"), title.join(" ")),
    })
}

/// The folder that was named, unless it holds modules of Unit only: then the one of this executable,
/// so that the options of an existing installation go on working.
fn modules_folder(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    match given {
        Some(folder) if !holds_only_unit_modules(&folder) => Ok(folder),
        _ => own_folder(),
    }
}

fn holds_only_unit_modules(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return false;
    };
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name().into_encoded_bytes()).collect();
    names.iter().any(|name| name.ends_with(b".unit.so"))
        && !names.iter().any(|name| name.starts_with(b"corral-"))
}

/// The folder of this executable, where its modules are.
pub(crate) fn own_folder() -> anyhow::Result<PathBuf> {
    let executable = std::env::current_exe().context("find this executable")?;
    Ok(executable.parent().unwrap_or(Path::new("/")).to_owned())
}

/// Most failures of an ordinary user come from the default paths, which are root's.
fn advise_unprivileged(error: anyhow::Error) -> anyhow::Error {
    let is_denied = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::PermissionDenied);
    if is_denied && user::effective_uid() != 0 {
        return anyhow::anyhow!(
            "{error:#}; without root, choose paths with --control, --statedir, --log and --pid"
        );
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_unit_s_own_modules_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let given = || modules_folder(Some(folder.path().to_owned())).unwrap();
        assert_eq!(given(), folder.path());
        std::fs::write(folder.path().join("php.unit.so"), "").unwrap();
        assert_eq!(given(), own_folder().unwrap());
        std::fs::write(folder.path().join("corral-php"), "").unwrap();
        assert_eq!(given(), folder.path());
        let missing = Path::new("/no/such/folder");
        assert_eq!(modules_folder(Some(missing.to_owned())).unwrap(), missing, "it is reported when used");
    }

    fn options(arguments: &[&str], flavour: &Flavour) -> anyhow::Result<DaemonOptions> {
        let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
        match options::parse("corral", &arguments)? {
            StartRequest::Run(given) => daemon_options(flavour, *given, &arguments),
            request => panic!("{request:?}"),
        }
    }

    #[test]
    fn defaults_follow_the_name() {
        let corral = options(&[], &Flavour::corral()).unwrap();
        assert_eq!(corral.control.address.to_string(), DEFAULT_CONTROL);
        assert_eq!(corral.log, Some("/var/log/corral.log".into()));
        let unit = options(&["--no-daemon"], &Flavour::unit()).unwrap();
        assert_eq!(unit.control.address.to_string(), "unix:/var/run/control.unit.sock");
        assert_eq!(unit.log, Some("/var/log/unit.log".into()));
        assert_eq!(unit.state_dir, Some("/var/lib/unit".into()));
    }

    #[test]
    fn in_the_foreground_the_log_is_on_standard_error() {
        assert_eq!(options(&["--no-daemon"], &Flavour::corral()).unwrap().log, None);
        let named = options(&["--no-daemon", "--log", "/x"], &Flavour::corral()).unwrap();
        assert_eq!(named.log, Some("/x".into()));
    }

    #[test]
    fn a_wrong_control_address_is_named() {
        let error = options(&["--control", "localhost"], &Flavour::corral()).unwrap_err();
        assert!(
            error.to_string().starts_with("the control socket \"localhost\" is not an address"),
            "{error}"
        );
    }

    #[test]
    fn mode_zero_means_the_default() {
        let mode = |text| options(&["--control-mode", text], &Flavour::unit()).unwrap().control.mode;
        assert_eq!([mode("0"), mode("660"), mode("0666")], [0o600, 0o660, 0o666]);
    }
}
