//! `corral run`: serves a folder without any configuration.

mod files;
mod folder;
mod owner;

use std::fmt::Write;
use std::io::Write as _;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use corral_config::address::ListenAddress;
use corral_config::{Known, KnownModule, json, validate};
use corral_ipc::message::Module;
use corral_supervisor::{Console, ControlOptions, DaemonOptions, ModuleSource, modules};

use self::folder::Folder;
use self::owner::Owner;
use crate::cli::RunOptions;
use crate::daemon;
use crate::log::{self, Style};
use crate::site::document::{Choices, document};
use crate::site::{self, Site};

pub(crate) fn command(options: &RunOptions) -> anyhow::Result<ExitCode> {
    if !options.config.is_empty() {
        return files::command(&options.config, options.watch);
    }
    let listen = listen_address(&options.listen)?;
    let site = site::inspect(&options.path)?;
    let owner = Owner::of(&site.root)?;
    let modules = site.language().map_or(Ok(Vec::new()), |language| find_module(language, &owner))?;
    let n_workers = options.workers;
    let choices =
        Choices { listen: &listen.to_string(), n_workers, php_ini: &options.php_ini, owner: owner.names() };
    let document = document(&site, &choices).to_string();
    check(&document, &modules)?;

    let users = owner.users(&site.root);
    let folder = Folder::make(&users)?;
    let control = folder.control();
    introduce(&site, &modules, n_workers, &owner, &control)?;
    log::init(Style::Console);
    corral_supervisor::run(DaemonOptions {
        control: own_control(control),
        state_dir: None,
        modules: ModuleSource::Known(modules),
        own_files: corral_program::own_files,
        pid_file: None,
        log: None,
        temp_dir: folder.temp(),
        users,
        foreground: true,
        files: None,
        console: Some(Console { document: document.into_bytes(), announcement: url(&listen) }),
        internal_arguments: vec!["--console".to_owned()],
        title: format!("corral: main v{} [run {}]", env!("CARGO_PKG_VERSION"), site.root.display()),
    })
}

/// The control API on a socket for the user alone who has started it.
fn own_control(socket: PathBuf) -> ControlOptions {
    ControlOptions { address: ListenAddress::Unix(socket), mode: 0o600, user: None, group: None, token: None }
}

/// A port alone means this machine only.
fn listen_address(text: &str) -> anyhow::Result<ListenAddress> {
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.strip_prefix("localhost:").or(text.strip_prefix(':')).unwrap_or(text);
    let full = if is_port(port) { format!("127.0.0.1:{port}") } else { text.to_owned() };
    ListenAddress::parse(full.as_bytes()).with_context(|| {
        format!(
            "\"{text}\" is no address to listen on; examples: 8080, 127.0.0.1:8080, *:80, unix:/run/site.sock"
        )
    })
}

/// What to type into a browser.
fn url(listen: &ListenAddress) -> String {
    match listen {
        ListenAddress::Inet(address) if address.ip().is_unspecified() => {
            format!("http://localhost:{}", address.port())
        }
        ListenAddress::Inet(address) => format!("http://{address}"),
        other => other.to_string(),
    }
}

fn find_module(language: &str, owner: &Owner) -> anyhow::Result<Vec<Module>> {
    let name = name_of(language);
    let folder = daemon::own_folder()?;
    let found = modules::detect(&folder, owner.credentials.as_ref())?;
    if found.modules.iter().any(|module| module.language == language) {
        return Ok(found.modules);
    }
    match found.problems.first() {
        Some(problem) => bail!("this site needs {name}, but the {name} module does not work: {problem}"),
        None => bail!(
            "this site needs {name}, but there is no corral-{} in {}; install it, or build it with `make build`",
            language.split('-').next().unwrap_or(language),
            folder.display()
        ),
    }
}

/// What people call it.
fn name_of(language: &str) -> &str {
    match language {
        "java" => "Java on Jetty",
        "php" => "PHP",
        "python" => "Python",
        "wasm-wasi-component" => "WebAssembly",
        other => other,
    }
}

/// The document is made here, so a fault in it comes from a path or setting that it cannot hold.
fn check(document: &str, modules: &[Module]) -> anyhow::Result<()> {
    let known = modules.iter().map(|module| KnownModule {
        language: module.language.clone(),
        version: module.version.clone(),
        path: module.path.clone(),
    });
    let document = json::parse(document.as_bytes()).map_err(|error| anyhow::anyhow!("{}", error.detail))?;
    match validate(&document, &Known::modules(known.collect())) {
        Ok(_) => Ok(()),
        Err(problems) => {
            let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
            bail!("this site cannot be served: {}", problems.join("; "))
        }
    }
}

fn introduce(
    site: &Site,
    modules: &[Module],
    n_workers: Option<NonZeroU32>,
    owner: &Owner,
    control: &Path,
) -> std::io::Result<()> {
    let mut text = format!("{site}");
    let module = modules.iter().find(|module| Some(&*module.language) == site.language());
    let workers = n_workers.map_or_else(|| "workers as needed".to_owned(), |n| format!("{n} workers"));
    // Writing to a string cannot fail.
    let _ =
        module.map(|module| write!(text, "; {} {}, {workers}", name_of(&module.language), module.version));
    let _ = owner.names().map(|(user, _)| write!(text, ", as user {user}"));
    text.push('\n');
    if owner.is_root {
        text.push_str("note: everything runs as root, because only root can read this folder\n");
    }
    let _ = writeln!(text, "control socket: unix:{}", control.display());
    std::io::stdout().write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_listen(text: &str, expected: Option<(&str, &str)>) {
        let address = listen_address(text).ok();
        let found = address.as_ref().map(|address| (address.to_string(), url(address)));
        assert_eq!(found, expected.map(|(address, url)| (address.to_owned(), url.to_owned())), "{text}");
    }

    #[test]
    fn short_addresses_mean_this_machine() {
        check_listen("127.0.0.1:8080", Some(("127.0.0.1:8080", "http://127.0.0.1:8080")));
        check_listen("8080", Some(("127.0.0.1:8080", "http://127.0.0.1:8080")));
        check_listen(":8080", Some(("127.0.0.1:8080", "http://127.0.0.1:8080")));
        check_listen("localhost:80", Some(("127.0.0.1:80", "http://127.0.0.1:80")));
        check_listen("*:80", Some(("*:80", "http://localhost:80")));
        check_listen("[::1]:80", Some(("[::1]:80", "http://[::1]:80")));
        check_listen("unix:/a", Some(("unix:/a", "unix:/a")));
        check_listen("", None);
        check_listen("0", None);
        check_listen("70000", None);
        check_listen("example.com:80", None);
    }
}
