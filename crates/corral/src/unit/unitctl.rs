//! `unitctl`: the most used commands of Unit's tool (contract 26).

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command as Process, ExitCode};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use serde_json::{Value, json};

use super::format::OutputFormat;
use super::instances;
use crate::asset::segment;
use crate::client::{self, Address, ApiCall, Daemon, encode};
use crate::config::edit;
use crate::entrypoint::setup;
use crate::output;

/// Asks and changes running daemons, as Unit's unitctl does
#[derive(Debug, Parser)]
#[command(name = "unitctl", version)]
struct Unitctl {
    /// Control socket: unix:PATH, ADDRESS:PORT or http://HOST:PORT; can be given several times
    #[arg(short = 's', long = "control-socket-address", global = true, value_name = "ADDRESS")]
    control: Vec<String>,
    /// How often to look for the control socket
    #[arg(short = 'w', long, global = true, default_value_t = 1, value_name = "NUMBER")]
    wait_max_tries: u32,
    /// Seconds between two tries
    #[arg(short = 't', long, global = true, default_value_t = 1, value_name = "SECONDS")]
    wait_timeout_seconds: u32,
    #[command(subcommand)]
    command: UnitctlCommand,
}

/// For manual pages and completions.
pub(crate) fn definition() -> clap::Command {
    Unitctl::command()
}

#[derive(Debug, Subcommand)]
enum UnitctlCommand {
    /// List the daemons of this machine, or end one
    Instances {
        #[command(flatten)]
        output: OutputOptions,
        #[command(subcommand)]
        command: Option<Instances>,
    },
    /// List applications, or restart one
    #[command(alias = "app")]
    Apps {
        #[command(subcommand)]
        command: Apps,
    },
    /// Open the configuration in $VISUAL or $EDITOR
    Edit,
    /// Put a folder in force: *.pem, *.js and *.json
    Import { directory: PathBuf },
    /// Save the configuration to a tar archive; `-` prints it
    Export {
        #[arg(short = 'f', long = "filename", default_value = "-")]
        file: PathBuf,
    },
    /// Send a request
    Execute {
        /// GET, PUT, POST or DELETE
        #[arg(short, long, default_value = "GET")]
        method: String,
        #[arg(short, long)]
        path: String,
        /// File to send; `-` reads standard input
        #[arg(short = 'f', long)]
        file: Option<PathBuf>,
        /// How the reply is printed: json-pretty, json, yaml or text
        #[arg(short = 'o', long = "output-format", default_value = "json-pretty")]
        format: String,
    },
    /// Show what the daemon does
    Status {
        #[command(flatten)]
        output: OutputOptions,
    },
    /// List the listeners
    Listeners {
        #[command(flatten)]
        output: OutputOptions,
    },
    /// Print a script that completes this command line in a shell
    Completion { shell: Shell },
}

#[derive(Debug, Subcommand)]
enum Instances {
    /// Not here: start a daemon with `corral daemon`, a container with docker
    New {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// End the daemon with this process id
    Kill { pid: u32 },
}

#[derive(Debug, Subcommand)]
enum Apps {
    /// Show the applications of the configuration
    List {
        #[command(flatten)]
        output: OutputOptions,
    },
    /// Give an application new processes
    #[command(alias = "reload")]
    Restart { name: String },
}

#[derive(Debug, clap::Args)]
struct OutputOptions {
    /// How the reply is printed: json-pretty, json, yaml or text
    #[arg(short = 'f', long = "output-format", default_value = "json-pretty")]
    format: String,
}

pub(crate) fn command(arguments: &[OsString]) -> anyhow::Result<ExitCode> {
    let program = OsString::from("unitctl");
    let options = Unitctl::parse_from([&program].into_iter().chain(arguments));
    match &options.command {
        UnitctlCommand::Completion { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Unitctl::command(), "unitctl", &mut script);
            output::write(script)?;
            return Ok(ExitCode::SUCCESS);
        }
        UnitctlCommand::Instances { command: Some(Instances::Kill { pid }), .. } => {
            return instances::end(*pid);
        }
        UnitctlCommand::Instances { command: Some(Instances::New { .. }), .. } => bail!(
            "`unitctl instances new` starts Unit in a container, which is not done here; start a daemon with \
             `corral daemon`, or a container with `docker run` and an image of packaging/docker"
        ),
        UnitctlCommand::Instances { output, command: None } => {
            let all = instances::running()
                .into_iter()
                .map(|one| json!({ "pid": one.pid, "version": one.version, "control_socket": one.control }));
            return print(&Value::Array(all.collect()), &output.format);
        }
        _ => {}
    }
    for daemon in daemons(&options)? {
        wait(&daemon, &options)?;
        run(&daemon, &options.command)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn daemons(options: &Unitctl) -> anyhow::Result<Vec<Daemon>> {
    let addresses: anyhow::Result<Vec<_>> = match options.control.as_slice() {
        [] => super::default_address().map(|address| vec![address]),
        named => named.iter().map(|text| Address::parse(text)).collect(),
    };
    Ok(addresses?.into_iter().map(|address| Daemon { address, token: None }).collect())
}

/// Until the daemon answers, as often as was asked for.
fn wait(daemon: &Daemon, options: &Unitctl) -> anyhow::Result<()> {
    for _ in 1..options.wait_max_tries {
        if daemon.get("/").is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_secs(options.wait_timeout_seconds.into()));
    }
    daemon.get("/").map(drop)
}

fn run(daemon: &Daemon, command: &UnitctlCommand) -> anyhow::Result<()> {
    match command {
        UnitctlCommand::Apps { command: Apps::List { output } } => {
            show(daemon, "/config/applications", output)
        }
        UnitctlCommand::Apps { command: Apps::Restart { name } } => ask(
            daemon,
            "GET",
            &format!("/control/applications/{}/restart", segment(name)),
            None,
            "json-pretty",
        ),
        UnitctlCommand::Edit => edit::command(daemon, "/config").map(drop),
        UnitctlCommand::Import { directory } => {
            setup::apply(daemon, &setup::collect(directory)?, &mut |line| println!("{line}"))
        }
        UnitctlCommand::Export { file } => export(daemon, file),
        UnitctlCommand::Execute { method, path, file, format } => {
            let body = file.as_deref().map(client::read_input).transpose()?;
            ask(daemon, &method.to_ascii_uppercase(), &encode(path), body.as_deref(), format)
        }
        UnitctlCommand::Status { output } => show(daemon, "/status", output),
        UnitctlCommand::Listeners { output } => show(daemon, "/config/listeners", output),
        UnitctlCommand::Instances { .. } | UnitctlCommand::Completion { .. } => Ok(()), // they ask no daemon
    }
}

fn show(daemon: &Daemon, path: &str, output: &OutputOptions) -> anyhow::Result<()> {
    ask(daemon, "GET", path, None, &output.format)
}

fn ask(daemon: &Daemon, method: &str, path: &str, body: Option<&[u8]>, format: &str) -> anyhow::Result<()> {
    let format = OutputFormat::parse(format)?;
    let body = daemon.ask(ApiCall { method, path, body, if_match: None })?.into_body()?;
    output::write(format.render(&body))?;
    Ok(())
}

fn print(value: &Value, format: &str) -> anyhow::Result<ExitCode> {
    let pretty = serde_json::to_vec_pretty(value)?;
    output::write(OutputFormat::parse(format)?.render(&pretty))?;
    Ok(ExitCode::SUCCESS)
}

/// The configuration as `config.json` in an archive that the system's `tar` writes.
fn export(daemon: &Daemon, file: &std::path::Path) -> anyhow::Result<()> {
    let body = daemon.get("/config")?.into_body()?;
    if file == std::path::Path::new("-") {
        return Ok(output::print(&body)?);
    }
    let folder = tempfile::tempdir().context("make a folder for the configuration")?;
    std::fs::write(folder.path().join("config.json"), &body).context("write the configuration")?;
    let tar =
        Process::new("tar").arg("-cf").arg(file).arg("-C").arg(folder.path()).arg("config.json").status();
    let status = tar.context("start tar")?;
    if !status.success() {
        bail!("tar ended with {status}");
    }
    Ok(())
}
