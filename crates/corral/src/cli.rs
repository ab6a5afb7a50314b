//! The command line, but for the daemon's options, which follow Unit's rules.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

use crate::client::{Address, Daemon};
use crate::{daemon, frankenphp};

/// An application server: HTTP, static files and applications in one daemon, configured while it runs.
#[derive(Debug, Parser)]
#[command(name = "corral", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a folder without any configuration, or what configuration files say
    Run(RunOptions),

    /// Make browsers and programs trust the local authority that `corral run --https` has
    Trust(TrustOptions),

    /// Run the server; `corral daemon -h` lists its options, which are those of NGINX Unit's unitd
    #[command(disable_help_flag = true)]
    Daemon {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },

    /// Read or change the configuration of a running daemon
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
        #[command(flatten)]
        control: Control,
    },

    /// Validate configuration files and list everything that is wrong with them
    Check(CheckOptions),

    /// Show what a running daemon is doing
    Status {
        /// Show it again and again, each SECONDS (default: 1)
        #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "1", value_parser = seconds)]
        watch: Option<Duration>,
        /// The object of the control API, for programs; with --watch in one line each time
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        control: Control,
    },

    /// List, upload or remove certificate bundles of a running daemon
    Certificate {
        #[command(subcommand)]
        command: AssetCommand,
        #[command(flatten)]
        control: Control,
    },

    /// List, upload or remove JavaScript modules of a running daemon
    JsModule {
        #[command(subcommand)]
        command: AssetCommand,
        #[command(flatten)]
        control: Control,
    },

    /// Start an application anew; requests go on being answered meanwhile
    Restart {
        /// Name of the application in the configuration
        application: String,
        #[command(flatten)]
        control: Control,
    },

    /// Run a command at once that has a schedule
    Start {
        /// Name of the application in the configuration
        application: String,
        #[command(flatten)]
        control: Control,
    },

    /// Run a command as an application: with its user, folder, environment, limits and isolation
    ///
    /// At a terminal the command gets one of its own, with the keyboard of this one. Other standard streams are handed
    /// to it as they are: `corral exec shop -- mysqldump shop > file` writes the file byte for byte. The exit code is
    /// the command's, 128 and its number for a signal, 127 and 126 for a command that is not there or cannot be run.
    #[command(
        after_help = "Examples:\n  corral exec shop -- php artisan migrate\n  corral exec blog -- python manage.py shell"
    )]
    Exec(ExecOptions),

    /// Have the executable that is installed now take over from a running daemon; no request is lost
    Upgrade {
        /// File that holds the process id of the daemon
        #[arg(long, value_name = "FILE", default_value = daemon::PID_FILE)]
        pid: PathBuf,
        #[command(flatten)]
        control: Control,
    },

    /// Ask the control API as Unit's `unitc` does; `corral unitc --help` says more
    #[command(disable_help_flag = true)]
    Unitc {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },

    /// The most used commands of Unit's `unitctl`; `corral unitctl --help` says more
    #[command(disable_help_flag = true)]
    Unitctl {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },

    /// Stand in for FrankenPHP where Laravel Octane starts it
    Frankenphp {
        #[command(subcommand)]
        command: frankenphp::Command,
    },

    /// Set a container up from /docker-entrypoint.d, then become COMMAND, as Unit's images do
    Entrypoint {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },

    /// Print a script that completes this command line in a shell
    Completion { shell: Shell },

    /// Write the manual pages of all commands into a folder
    Man { folder: PathBuf },

    /// Run one of the daemon's own processes
    #[command(hide = true)]
    Internal {
        role: Role,
        /// Log for a person at a terminal
        #[arg(long)]
        console: bool,
    },
}

/// A process that the daemon makes of this executable.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Role {
    Controller,
    Router,
    Reader,
    Program,
    Cgi,
    Exec,
    Frankenphp,
}

#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    /// Folder of the site, a component of WebAssembly, an archive of Java, or a configuration file
    #[arg(default_value = ".", conflicts_with = "config")]
    pub(crate) path: PathBuf,
    /// Serve what this JSON, YAML or folder of such files says; several are merged
    #[arg(long, value_name = "FILE|FOLDER", conflicts_with_all = ["listen", "workers", "php_ini", "files", "worker", "no_worker"])]
    pub(crate) config: Vec<PathBuf>,
    /// Serve changed code, or changed files of --config, from the next request on; so it is at a terminal
    #[arg(long)]
    watch: bool,
    /// Do not look for changes
    #[arg(long, conflicts_with = "watch")]
    no_watch: bool,
    /// Print the configuration that would be served, and end
    #[arg(long)]
    pub(crate) print_config: bool,
    /// Serve the folder's files as they are, whatever they are
    #[arg(long = "static", conflicts_with_all = ["workers", "php_ini", "worker"])]
    pub(crate) files: bool,
    /// Where to listen: a port of this machine, ADDRESS:PORT, *:PORT or unix:PATH [default: 127.0.0.1:8080, with
    /// --https 127.0.0.1:8443, with --domain *:443]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Serve https://localhost:8443, with a certificate of a local authority; see `corral trust`
    #[arg(long, conflicts_with = "config")]
    pub(crate) https: bool,
    /// Serve this host name by HTTPS, with automatic certificates; can be given several times. With --https, one
    /// more name for the local certificate, such as shop.localhost
    #[arg(long, value_name = "NAME", conflicts_with = "config")]
    pub(crate) domain: Vec<String>,
    /// With --domain: where to listen for plain HTTP, which is redirected [default: *:80]
    #[arg(long, value_name = "ADDRESS", requires = "domain", conflicts_with = "https")]
    pub(crate) listen_http: Option<String>,
    /// With --domain: where the certificate authority sends warnings to
    #[arg(long, value_name = "ADDRESS", requires = "domain", conflicts_with = "https")]
    pub(crate) email: Option<String>,
    /// With --domain: the directory of the certificate authority [default: that of Let's Encrypt]
    #[arg(long, value_name = "URL", requires = "domain", conflicts_with = "https")]
    pub(crate) acme_directory: Option<String>,
    /// With --acme-directory: certificates that the directory's own is verified by [default: the system's]
    #[arg(long, value_name = "FILE", requires = "acme_directory", conflicts_with = "https")]
    pub(crate) acme_ca: Option<PathBuf>,
    /// Processes of the application; as many as the work needs when not given
    #[arg(long, visible_alias = "processes", value_name = "NUMBER")]
    pub(crate) workers: Option<std::num::NonZeroU32>,
    /// A PHP script below the folder that stays in memory and answers all requests
    #[arg(long, value_name = "SCRIPT")]
    pub(crate) worker: Option<PathBuf>,
    /// Load an application of PHP for each request, even if Octane or Symfony's runtime is installed
    #[arg(long, conflicts_with = "worker")]
    pub(crate) no_worker: bool,
    /// Run Laravel's queue and scheduler beside the site
    #[arg(long, conflicts_with_all = ["config", "files"])]
    pub(crate) background: bool,
    /// A php.ini setting, for example memory_limit=256M; can be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = php_setting)]
    pub(crate) php_ini: Vec<(String, String)>,
}

impl RunOptions {
    /// Whether changes take effect by themselves.
    pub(crate) fn watches(&self, at_terminal: bool) -> bool {
        self.watch || (at_terminal && !self.no_watch)
    }
}

fn php_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err("a setting has the form KEY=VALUE".to_owned()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct TrustOptions {
    /// Take back what was done
    #[arg(long)]
    pub(crate) remove: bool,
    /// Print the authority's certificate, for other machines and containers
    #[arg(long, conflicts_with_all = ["remove", "path", "nss_store", "no_system"])]
    pub(crate) print: bool,
    /// Print the path of the file that has the authority's certificate
    #[arg(long, conflicts_with_all = ["remove", "nss_store", "no_system"])]
    pub(crate) path: bool,
    /// A folder with a store of NSS (cert9.db), which is made if there is none, and no other store; can be given
    /// several times
    #[arg(long, value_name = "FOLDER")]
    pub(crate) nss_store: Vec<PathBuf>,
    /// Leave the system's store alone, which only root can change
    #[arg(long)]
    pub(crate) no_system: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExecOptions {
    /// Name of the application in the configuration
    pub(crate) application: String,
    /// The command with its arguments, which can follow `--`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
    /// Folder to run it in, as the application sees it [default: the application's working_directory, or else the
    /// folder of its code]
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) workdir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) control: Control,
}

#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    /// JSON or YAML, or a folder of such files; several are merged; `-` reads standard input
    #[arg(required = true, value_name = "FILE|FOLDER")]
    pub(crate) paths: Vec<PathBuf>,
    /// Folder of the language modules
    #[arg(long, value_name = "FOLDER")]
    pub(crate) modulesdir: Option<PathBuf>,
    /// Exit with 3 if there are warnings, such as missing files and unused applications
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the configuration or the part at PATH, such as listeners/*:80
    Get {
        #[arg(default_value = "")]
        path: String,
    },
    /// Replace the configuration or the part at PATH by FILE
    ///
    /// FILE is JSON; without it, or with `-`, standard input is read. A single argument that is the
    /// name of a file replaces the whole configuration.
    Set {
        #[arg(value_name = "PATH")]
        path: Option<String>,
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Remove the configuration or the part at PATH
    Delete {
        #[arg(default_value = "")]
        path: String,
    },
    /// Open the configuration or the part at PATH in $VISUAL or $EDITOR, and put it in force
    ///
    /// A change that the daemon refuses is shown with its place in the file, which can be edited again.
    Edit {
        #[arg(default_value = "")]
        path: String,
    },
    /// Show how the running configuration differs from FILEs; exits with 1 if it does
    Diff {
        /// JSON or YAML, or a folder of such files; several are merged
        #[arg(required = true, value_name = "FILE|FOLDER")]
        paths: Vec<PathBuf>,
    },
    /// Put in force what FILEs say, with the certificates and js_modules beside them
    Apply {
        /// JSON or YAML, or a folder of such files; several are merged
        #[arg(required = true, value_name = "FILE|FOLDER")]
        paths: Vec<PathBuf>,
    },
}

/// The actions on uploads.
#[derive(Debug, Subcommand)]
pub(crate) enum AssetCommand {
    /// Print the names of all
    List,
    /// Print what is known of one
    Show { name: String },
    /// Upload FILE, or standard input with `-`, under a name
    Put {
        name: String,
        file: PathBuf,
        /// Take the place of what has the name, even while it is used
        #[arg(long)]
        replace: bool,
        /// The file holds certificates of authorities, without a private key
        #[arg(long)]
        ca: bool,
    },
    /// Remove one
    Delete { name: String },
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is expected".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if duration >= Duration::from_millis(100) => Ok(duration),
        _ => Err("at least 0.1 seconds".to_owned()),
    }
}

/// Where the daemon is asked.
#[derive(Debug, Args)]
pub(crate) struct Control {
    /// Control socket of the daemon: unix:PATH or ADDRESS:PORT
    #[arg(long, env = "CORRAL_CONTROL", default_value = daemon::DEFAULT_CONTROL, global = true)]
    control: String,
    /// File with the token that the control socket asks for
    #[arg(long, env = "CORRAL_CONTROL_TOKEN_FILE", value_name = "FILE", global = true)]
    control_token_file: Option<PathBuf>,
}

impl Control {
    /// The daemon; a plain path means a socket file.
    pub(crate) fn daemon(&self) -> anyhow::Result<Daemon> {
        let read = |path: &PathBuf| {
            let token = std::fs::read_to_string(path);
            let token = token.with_context(|| format!("read the token in \"{}\"", path.display()))?;
            anyhow::Ok(token.trim().to_owned())
        };
        let token = self.control_token_file.as_ref().map(read).transpose()?;
        Ok(Daemon { address: Address::parse(&self.control)?, token })
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[track_caller]
    fn check_setting(text: &str, expected: Option<(&str, &str)>) {
        let found = php_setting(text).ok();
        assert_eq!(found, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }

    #[test]
    fn settings_have_a_key() {
        check_setting("memory_limit=256M", Some(("memory_limit", "256M")));
        check_setting("date.timezone = Europe/Rome", Some(("date.timezone", "Europe/Rome")));
        check_setting("a=b=c", Some(("a", "b=c")));
        check_setting("a=", Some(("a", "")));
        check_setting("=b", None);
        check_setting("memory_limit", None);
    }

    #[track_caller]
    fn check_control(text: &str, expected: Option<&str>) {
        let control = Control { control: text.to_owned(), control_token_file: None };
        assert_eq!(control.daemon().ok().map(|daemon| daemon.address.to_string()).as_deref(), expected);
    }

    #[test]
    fn control_addresses() {
        check_control("unix:/run/c.sock", Some("unix:/run/c.sock"));
        check_control("/run/c.sock", Some("unix:/run/c.sock"));
        check_control("./c.sock", Some("unix:./c.sock"));
        check_control("127.0.0.1:90", Some("127.0.0.1:90"));
        check_control("localhost", None);
    }
}
