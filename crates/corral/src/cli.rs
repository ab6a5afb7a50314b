//! The command line, but for the daemon's options, which follow Unit's rules.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::asset::AssetCommand;
use crate::check::CheckOptions;
use crate::client::Control;
use crate::config::ConfigCommand;
use crate::dashboard::DashboardOptions;
use crate::exec::ExecOptions;
use crate::internal::InternalRole;
use crate::logs::LogsOptions;
use crate::serve::RunOptions;
use crate::trust::TrustOptions;
use crate::{daemon, frankenphp};

/// An application server: HTTP, static files and applications in one daemon, configured while it runs.
#[derive(Debug, Parser)]
#[command(name = "corral", version, max_term_width = 100, before_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a folder without any configuration, or what configuration files say
    #[command(visible_alias = "serve")]
    Run(Box<RunOptions>),

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
    #[command(visible_alias = "validate")]
    Check(CheckOptions),

    /// Print the JSON Schema of configuration files, by which editors complete and check them
    Schema,

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

    /// Show the figures of a running daemon at a terminal as they change, restart its applications, and end their
    /// processes
    Top {
        /// How often the figures are asked for
        #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = pause)]
        interval: Duration,
        #[command(flatten)]
        control: Control,
    },

    /// Open the dashboard of a running daemon in a browser
    ///
    /// Where the control API is a Unix socket, the command passes requests of the browser on to it, until Ctrl-C.
    Dashboard {
        #[command(flatten)]
        options: DashboardOptions,
        #[command(flatten)]
        control: Control,
    },

    /// Show the last lines of a running daemon's log
    #[command(visible_alias = "log")]
    Logs {
        #[command(flatten)]
        options: LogsOptions,
        #[command(flatten)]
        control: Control,
    },

    /// Stop a running daemon when the requests in progress are done, and wait until it has ended
    Stop {
        /// How long requests in progress may take; with 0 they are not waited for
        #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = patience)]
        timeout: Duration,
        #[command(flatten)]
        control: Control,
    },

    /// Have a running daemon read the files of its --config again, and say what has come of it
    Reload {
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
        application: Option<String>,
        #[command(flatten)]
        control: Control,
    },

    /// Run a command at once that has a schedule
    Start {
        /// Name of the application in the configuration
        application: Option<String>,
        #[command(flatten)]
        control: Control,
    },

    /// Run a command as an application: with its user, folder, environment, limits and isolation
    ///
    /// At a terminal the command gets one of its own, with the keyboard of this one. Other standard streams are handed
    /// to it as they are: `corral exec shop -- mysqldump shop > file` writes the file byte for byte. The exit code is
    /// the command's, 128 and its number for a signal, 127 and 126 for a command that is not there or cannot be run.
    #[command(
        after_help = "Examples:\n  corral exec shop -- php artisan migrate\n  corral exec blog -- python manage.py \
            shell"
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
        command: frankenphp::FrankenphpCommand,
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

    /// Print the version
    Version,

    /// Run one of the daemon's own processes
    #[command(hide = true)]
    Internal {
        role: InternalRole,
        /// Log for a person at a terminal
        #[arg(long)]
        console: bool,
    },
}

/// The beginning of the help text.
const EXAMPLES: &str = "\
Examples:
  corral run .                      serve this folder at http://127.0.0.1:8080, whatever is in it
  corral check site.json            list everything that is wrong with a configuration
  corral daemon --config site.json  serve it in the background, until: corral stop";

/// A number of seconds that may be zero, of a day at most.
fn patience(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is expected".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if duration <= Duration::from_secs(24 * 60 * 60) => Ok(duration),
        _ => Err("from 0 to 86400 seconds".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is expected".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if duration >= Duration::from_millis(100) => Ok(duration),
        _ => Err("at least 0.1 seconds".to_owned()),
    }
}

/// The time between two looks: an hour at most.
fn pause(text: &str) -> Result<Duration, String> {
    match seconds(text)? {
        pause if pause <= Duration::from_secs(60 * 60) => Ok(pause),
        _ => Err("from 0.1 to 3600 seconds".to_owned()),
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
}
