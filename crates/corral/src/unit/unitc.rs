//! `unitc`: Unit's wrapper of curl (contract 26). The method follows from what is given: GET, or
//! PUT with files or standard input.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Arg, ArgAction};
use serde_json::Value;

use super::format::OutputFormat;
use crate::client::{self, Address, ApiAnswer, ApiCall, Daemon, encode};
use crate::config::edit;
use crate::output;

const USAGE: &str = "\
unitc: reads and changes a running configuration

usage: unitc [OPTION | METHOD | FILE]... URI

  URI              a path such as /config/listeners, or http://HOST:PORT/PATH
  FILE...          what to send, one after the other; else standard input, if it is no terminal
  METHOD           GET, PUT, POST or DELETE; GET, or PUT with something to send, when not given
  INSERT           adds the data at the beginning of an array
  EDIT             opens the value in $VISUAL or $EDITOR
  ssh://[USER@]HOST[:PORT]/PATH   control socket of another machine
  docker://CONTAINER[/PATH]       control socket of a container; DOCKER may name another program, as podman
  http://HOST:PORT[/URI]          control socket of another machine, over TCP
  -f, --format F   output as JSON or YAML
  -q, --quiet      no output
  -l, --nolog      accepted for compatibility
  -h, --help       this text

UNIT_CTRL or CORRAL_CONTROL name the control socket; else that of the running daemon is used.
";

/// The options of the usage, for manual pages and completions.
pub(crate) fn definition() -> clap::Command {
    let flag = |name: &'static str, short: char, help: &'static str| {
        Arg::new(name).short(short).long(name).help(help).action(ArgAction::SetTrue)
    };
    clap::Command::new("unitc")
        .arg(Arg::new("ARGUMENTS").num_args(0..).help("OPTION, METHOD or FILE, in any order, and a URI"))
        .arg(Arg::new("format").short('f').long("format").value_name("F").help("output as JSON or YAML"))
        .arg(flag("quiet", 'q', "no output"))
        .arg(flag("nolog", 'l', "accepted for compatibility"))
        .after_help(USAGE)
}

/// The arguments of the command line, as they were given.
#[derive(Debug, Default, PartialEq, Eq)]
struct UnitcArguments {
    uri: Option<String>,
    method: Option<String>,
    files: Vec<PathBuf>,
    address: Option<Address>,
    yaml: bool,
    quiet: bool,
    help: bool,
}

pub(crate) fn command(arguments: &[OsString]) -> anyhow::Result<ExitCode> {
    let given = parse(arguments)?;
    let (Some(uri), false) = (&given.uri, given.help) else {
        output::write(USAGE)?;
        return Ok(if given.help { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    };
    let address = given.address.clone().map_or_else(super::default_address, Ok)?;
    let daemon = Daemon { address, token: None };
    let target = encode(uri);
    let data = data(&given.files)?;
    let method = given.method.as_deref().unwrap_or(if data.is_some() { "PUT" } else { "GET" });
    let answer = match method {
        "EDIT" => return edit::command(&daemon, &target),
        "INSERT" => insert(&daemon, &target, data.as_deref())?,
        method => {
            let body = data.as_deref().filter(|_| method != "GET" && method != "DELETE");
            daemon.ask(ApiCall { method, path: &target, body, if_match: None })?
        }
    };
    show(&answer, &given)
}

fn parse(arguments: &[OsString]) -> anyhow::Result<UnitcArguments> {
    let mut given = UnitcArguments::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        match &*text {
            "-h" | "--help" => given.help = true,
            "-q" | "--quiet" => given.quiet = true,
            "-l" | "--nolog" => {}
            "-f" | "--format" => {
                let format = arguments.next().context("option \"--format\" requires JSON or YAML")?;
                given.yaml = format.eq_ignore_ascii_case("yaml");
            }
            text if is_method(text) => given.method = Some(text.to_ascii_uppercase()),
            text if text.starts_with("ssh://") || text.starts_with("docker://") => {
                given.address = Some(Address::parse(text)?);
            }
            text if text.starts_with("http://") => {
                given.address = Some(Address::parse(text)?);
                let path =
                    text["http://".len()..].find('/').map(|at| text["http://".len()..][at..].to_owned());
                given.uri = path.or(given.uri);
            }
            text if text.starts_with('-') && text != "-" => {
                bail!("unknown option \"{text}\"; try unitc --help")
            }
            // A file with an absolute path looks like a URI; the first one is the URI.
            text if text.starts_with('/') && given.uri.is_none() && !looks_like_a_file(text) => {
                given.uri = Some(text.to_owned());
            }
            _ => given.files.push(argument.into()),
        }
    }
    Ok(given)
}

fn is_method(text: &str) -> bool {
    ["GET", "PUT", "POST", "DELETE", "INSERT", "EDIT"].iter().any(|method| text.eq_ignore_ascii_case(method))
}

fn looks_like_a_file(text: &str) -> bool {
    let first = text.split('/').nth(1).unwrap_or_default();
    !["", "config", "certificates", "js_modules", "status", "control"].contains(&first)
        && Path::new(text).is_file()
}

/// The data to send, if any.
fn data(files: &[PathBuf]) -> anyhow::Result<Option<Vec<u8>>> {
    if !files.is_empty() {
        let all: anyhow::Result<Vec<_>> = files.iter().map(|file| client::read_input(file)).collect();
        return Ok(Some(all?.concat()));
    }
    if !is_fed() {
        return Ok(None);
    }
    let mut input = Vec::new();
    io::stdin().read_to_end(&mut input).context("read standard input")?;
    Ok(Some(input).filter(|input| !input.is_empty()))
}

/// Whether data may come on standard input: it is not a terminal and not `/dev/null`.
fn is_fed() -> bool {
    let is_device = File::open("/dev/stdin")
        .and_then(|stdin| stdin.metadata())
        .is_ok_and(|data| data.file_type().is_char_device());
    !io::stdin().is_terminal() && !is_device
}

/// Reads the array, and sends it with the data as its first element.
fn insert(daemon: &Daemon, target: &str, data: Option<&[u8]>) -> anyhow::Result<ApiAnswer> {
    let data = data.context("INSERT needs data: name a file, or write to standard input")?;
    let answer = daemon.get(target)?;
    let version = answer.etag.clone();
    if answer.status != 200 {
        return Ok(answer);
    }
    let Ok(Value::Array(mut elements)) = serde_json::from_slice(&answer.body) else {
        bail!("the value at {target} is not an array, so nothing can be inserted at its beginning");
    };
    elements.insert(0, serde_json::from_slice(data).context("the data is not JSON")?);
    let body = Value::Array(elements).to_string();
    let (body, if_match) = (Some(body.as_bytes()), version.as_deref());
    daemon.ask(ApiCall { method: "PUT", path: target, body, if_match })
}

/// As curl does, the reply goes to standard output in any case.
fn show(answer: &ApiAnswer, given: &UnitcArguments) -> anyhow::Result<ExitCode> {
    if !given.quiet {
        let format = if given.yaml { OutputFormat::Yaml } else { OutputFormat::JsonPretty };
        output::write(format.render(&answer.body))?;
    }
    Ok(if answer.status == 200 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str) -> anyhow::Result<UnitcArguments> {
        parse(&text.split_ascii_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[track_caller]
    fn check(text: &str, uri: Option<&str>, method: Option<&str>, files: &[&str]) {
        let given = given(text).unwrap();
        assert_eq!(given.uri.as_deref(), uri);
        assert_eq!(given.method.as_deref(), method);
        assert_eq!(given.files, files.iter().map(PathBuf::from).collect::<Vec<_>>());
    }

    #[test]
    fn arguments_come_in_any_order() {
        check("/config", Some("/config"), None, &[]);
        check("delete /config/routes", Some("/config/routes"), Some("DELETE"), &[]);
        check("/config Edit", Some("/config"), Some("EDIT"), &[]);
        check("cert.pem key.pem /certificates/x", Some("/certificates/x"), None, &["cert.pem", "key.pem"]);
        check("/config /etc/hostname", Some("/config"), None, &["/etc/hostname"]);
        check("/etc/hostname /config", Some("/config"), None, &["/etc/hostname"]);
        check("-q -l /status", Some("/status"), None, &[]);
        check("http://127.0.0.1:8080/config/x", Some("/config/x"), None, &[]);
        check("http://127.0.0.1:8080 /config", Some("/config"), None, &[]);
        check("", None, None, &[]);
        assert!(given("--nonsense /config").is_err());
        assert!(given("/config -f").is_err());
        assert!(given("/config -f yaml").unwrap().yaml);
        assert!(given("ssh://root@example.org/run/c.sock /config").unwrap().address.is_some());
        assert!(given("docker://web /config").unwrap().address.is_some());
    }
}
