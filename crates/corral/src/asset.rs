//! `corral certificate`, `corral js-module` and `corral restart`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Subcommand;
use corral_config::plan::AssetKind;
use serde_json::Value;

use crate::client::{self, ApiCall, Daemon};
use crate::output;

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

pub(crate) fn command(command: &AssetCommand, kind: AssetKind, daemon: &Daemon) -> anyhow::Result<ExitCode> {
    let body = match command {
        AssetCommand::List => {
            let all = daemon.get(collection(kind))?.into_body()?;
            let all: Value = serde_json::from_slice(&all).context("the list is not JSON")?;
            let names = all.as_object().into_iter().flatten().map(|(name, about)| line(name, about));
            output::write(names.collect::<String>())?;
            return Ok(ExitCode::SUCCESS);
        }
        AssetCommand::Show { name } => daemon.get(&target(kind, name))?.into_body()?,
        AssetCommand::Delete { name } => daemon.delete(&target(kind, name))?.into_body()?,
        AssetCommand::Put { ca: true, .. } if kind == AssetKind::Script => {
            bail!("--ca is about certificates")
        }
        AssetCommand::Put { name, file, replace, ca } => {
            upload(daemon, kind, name, file, &[("replace", *replace), ("ca", *ca)])?
        }
    };
    output::print(&body)?;
    Ok(ExitCode::SUCCESS)
}

/// Without `replace` the daemon refuses a name that is taken, without `ca` a bundle that has no private key.
fn upload(
    daemon: &Daemon,
    kind: AssetKind,
    name: &str,
    file: &Path,
    options: &[(&str, bool)],
) -> anyhow::Result<Vec<u8>> {
    let content = client::read_input(file)?;
    let options = options.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| format!("{name}=true"));
    let query = options.collect::<Vec<_>>().join("&");
    daemon.put(&format!("{}?{query}", target(kind, name)), &content)?.into_body()
}

/// The name, and the end of a certificate.
fn line(name: &str, about: &Value) -> String {
    let leaf = &about["chain"][0];
    match (leaf["subject"]["common_name"].as_str(), leaf["validity"]["until"].as_str()) {
        (subject, Some(until)) => format!("{name}\t{}\tuntil {until}\n", subject.unwrap_or("-")),
        _ => format!("{name}\n"),
    }
}

fn collection(kind: AssetKind) -> &'static str {
    match kind {
        AssetKind::Certificate => "/certificates",
        AssetKind::Script => "/js_modules",
    }
}

/// Where one content is; its name is one segment of the path, whatever it holds.
pub(crate) fn target(kind: AssetKind, name: &str) -> String {
    format!("{}/{}", collection(kind), segment(name))
}

/// Percent-encodes everything that has a meaning in paths.
pub(crate) fn segment(name: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(byte).collect()
}

pub(crate) fn restart(application: Option<String>, daemon: &Daemon) -> anyhow::Result<ExitCode> {
    let application = application.context(
        "name the application: corral restart APPLICATION, of those that corral status lists. For a new configuration \
         there is corral reload, for a new version of Corral corral upgrade, and corral stop before corral daemon",
    )?;
    replace_processes(&application, daemon)?;
    println!("{application}: restarted");
    Ok(ExitCode::SUCCESS)
}

/// Gives an application new processes, and returns when they serve.
pub(crate) fn replace_processes(application: &str, daemon: &Daemon) -> anyhow::Result<()> {
    let target = format!("/control/applications/{}/restart", segment(application));
    let answer = daemon.ask(ApiCall { method: "POST", path: &target, body: Some(b""), if_match: None })?;
    if answer.status == 404 {
        bail!("there is no application \"{application}\"; `corral status` lists them");
    }
    answer.into_body()?;
    Ok(())
}

/// `corral start`: has a command run at once.
pub(crate) fn start(application: Option<String>, daemon: &Daemon) -> anyhow::Result<ExitCode> {
    let application = application.context(
        "corral daemon starts the server, corral run FOLDER serves a folder; corral start APPLICATION runs a command \
         that has a schedule",
    )?;
    let target = format!("/control/applications/{}/run", segment(&application));
    let answer = daemon.ask(ApiCall { method: "POST", path: &target, body: Some(b""), if_match: None })?;
    if answer.status == 404 {
        anyhow::bail!("there is no application \"{application}\"; `corral status` lists them");
    }
    answer.into_body()?;
    println!("{application}: started");
    Ok(ExitCode::SUCCESS)
}
