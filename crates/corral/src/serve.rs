//! `corral run`: serves a folder without any configuration.

mod files;

use std::fmt::Write;
use std::io::Write as _;
use std::num::NonZeroU32;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use corral_config::address::ListenAddress;
use corral_config::{Known, KnownModule, json, validate};
use corral_ipc::message::Module;
use corral_supervisor::{Console, ControlOptions, DaemonOptions, ModuleSource, modules};
use corral_sys::user::{self, Credentials};

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

    let folder = private_folder(owner.credentials.as_ref())?;
    let control = folder.path().join("control.sock");
    introduce(&site, &modules, n_workers, &owner, &control)?;
    log::init(Style::Console);
    corral_supervisor::run(DaemonOptions {
        control: own_control(control),
        state_dir: None,
        modules: ModuleSource::Known(modules),
        own_files: corral_program::own_files,
        pid_file: None,
        log: None,
        temp_dir: folder.path().to_owned(),
        user: owner.names().map(|(user, _)| user.to_owned()),
        group: owner.names().map(|(_, group)| group.to_owned()),
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

/// A folder for the control socket and request bodies; removed when it is dropped.
fn private_folder(owner: Option<&Credentials>) -> anyhow::Result<tempfile::TempDir> {
    let place = std::env::temp_dir();
    let folder = tempfile::Builder::new().prefix("corral-").tempdir_in(&place);
    let folder = folder.with_context(|| format!("create a folder in {}", place.display()))?;
    if let Some(credentials) = owner {
        chown(folder.path(), Some(credentials.uid), Some(credentials.gid))
            .with_context(|| format!("give {} away", folder.path().display()))?;
    }
    Ok(folder)
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

/// Who runs the site when root starts it: root itself only if there is no other way.
#[derive(Debug)]
struct Owner {
    names: Option<(String, String)>,
    credentials: Option<Credentials>,
    is_root: bool,
}

impl Owner {
    fn of(root: &Path) -> anyhow::Result<Self> {
        if !user::can_change_user() {
            return Ok(Self { names: None, credentials: None, is_root: false });
        }
        let data = std::fs::metadata(root).with_context(|| format!("look at {}", root.display()))?;
        if data.uid() != 0 {
            return Self::numbered(data.uid(), data.gid());
        }
        if everybody_can_read(root) {
            return Self::named("nobody", None);
        }
        Ok(Self { is_root: true, ..Self::named("root", None)? })
    }

    /// By name if there is one: the user's other groups count as well then.
    fn numbered(uid: u32, gid: u32) -> anyhow::Result<Self> {
        match user::user_by_uid(uid) {
            Ok(user) => Self::named(&user.name, None),
            Err(_) => Self::named(&uid.to_string(), Some(&gid.to_string())),
        }
    }

    fn named(user: &str, group: Option<&str>) -> anyhow::Result<Self> {
        let credentials = Credentials::resolve(user, group)?;
        let names = (user.to_owned(), credentials.gid.to_string());
        Ok(Self { names: Some(names), credentials: Some(credentials), is_root: false })
    }

    fn names(&self) -> Option<(&str, &str)> {
        self.names.as_ref().map(|(user, group)| (user.as_str(), group.as_str()))
    }
}

/// Whether the permissions of the folder and all above it let everybody in.
fn everybody_can_read(root: &Path) -> bool {
    let allows = |path: &Path, bits: u32| {
        std::fs::metadata(path).is_ok_and(|data| data.permissions().mode() & bits == bits)
    };
    allows(root, 0o005) && root.ancestors().skip(1).all(|folder| allows(folder, 0o001))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

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

    #[test]
    fn one_closed_folder_shuts_everything_below() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("site");
        fs::create_dir(&inner).unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        set(folder.path(), 0o711);
        set(&inner, 0o755);
        assert!(everybody_can_read(&inner));
        set(&inner, 0o750);
        assert!(!everybody_can_read(&inner));
        set(&inner, 0o755);
        set(folder.path(), 0o700);
        assert!(!everybody_can_read(&inner));
    }

    #[test]
    fn strangers_keep_their_numbers() {
        let owner = Owner::numbered(3_999_999_999, 3_999_999_998).unwrap();
        assert_eq!(owner.names(), Some(("3999999999", "3999999998")));
        let nobody = Owner::numbered(65534, 0).unwrap();
        assert_eq!(nobody.names().unwrap().0, "nobody");
    }
}
