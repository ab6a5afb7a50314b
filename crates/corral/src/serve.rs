//! `corral run`: serves a folder without any configuration.

mod address;
mod container;
mod files;
mod folder;
mod front;
mod local;
mod options;
mod owner;
mod site_commands;

use std::fmt::Write;
use std::io::{IsTerminal, Write as _};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use corral_config::{Known, KnownModule, compare_versions, json, validate};
use corral_ipc::message::Module;
use corral_manifest::Format;
use corral_supervisor::{ConsoleOptions, DaemonOptions, ModuleSource, modules};

pub(crate) use self::folder::RunFolder;
use self::front::{Front, url};
pub(crate) use self::options::RunOptions;
pub(crate) use self::owner::Owner;
use self::site_commands::SiteCommands;
use crate::daemon;
use crate::foreground::Foreground;
use crate::log::{self, Style};
use crate::output;
use crate::site::document::{Choices, StaticPages, document};
use crate::site::recognise::{self, SiteError};
use crate::site::{Denied, InMemory, Site, SiteKind, django};

pub(crate) fn command(options: &RunOptions) -> anyhow::Result<ExitCode> {
    if let Some(paths) = configuration_files(options)? {
        return files::command(&paths, options);
    }
    let mut front = Front::of(options)?;
    let mut site = find_site(options)?;
    let owner = Owner::of(&site.root, options.user.as_deref())?;
    let modules = site.language().map_or(Ok(Vec::new()), |language| find_module(language, &owner))?;
    find_static_files(&mut site, &modules, &owner);
    let n_workers = options.workers;
    let at_terminal = std::io::stdout().is_terminal();
    let moved = if options.print_config { None } else { front.check(at_terminal)? };
    let watches = options.watches(at_terminal);
    let php_ini = php_settings(options, watches);
    let listeners = front.listeners();
    let denied = site.denied();
    let pages = StaticPages::of(&site, options.spa);
    let denied_paths = &denied.patterns;
    let choices = Choices {
        listeners,
        n_workers,
        php_ini: &php_ini,
        denied: denied_paths,
        pages,
        owner: owner.names(),
    };
    let mut document = document(&site, &choices);
    let beside = SiteCommands::of(options, &site);
    beside.add(&mut document, owner.names());
    let parsed = check(&document.to_string(), &modules, front.certificates())?;
    if options.print_config {
        return print(&parsed);
    }
    let users = owner.users(&site.root);
    let folder = RunFolder::make(&users)?;
    let control = folder.control();
    let state_dir = front.prepare(&folder)?;
    introduce(&site, &modules, n_workers, &owner, &front, &denied, &control)?;
    if let Some((notice, remedy)) = owner.notice().filter(|_| document["applications"].is_object()) {
        output::write(format!("note: {notice}; {remedy}\n"))?;
    }
    output::write(beside.notice() + &moved.unwrap_or_default())?;
    log::init(Style::Console);
    let announcement = front.url();
    let once_served = front.once_served(&control);
    let foreground = Foreground {
        control,
        temp_dir: folder.temp(),
        users,
        modules: ModuleSource::Known(modules),
        title: format!("run {}", site.root.display()),
    };
    corral_supervisor::run(DaemonOptions {
        state_dir,
        console: Some(ConsoleOptions {
            document: document.to_string().into_bytes(),
            announcement,
            once_served,
            watch: if watches { site.code() } else { Vec::new() },
            shows_requests: true,
            explains: at_terminal,
        }),
        internal_arguments: vec!["--console".to_owned()],
        ..foreground.options()
    })
}

fn find_site(options: &RunOptions) -> Result<Site, SiteError> {
    if options.files {
        return recognise::files(&options.path);
    }
    if let Some(command) = &options.command {
        return recognise::started_by(&options.path, command);
    }
    if let Some(script) = &options.worker {
        return recognise::kept_by(&options.path, script);
    }
    let mut site = recognise::inspect(&options.path)?;
    if options.no_worker {
        site.in_memory = InMemory::No;
    }
    if options.spa && !recognise::is_for_browsers(&site) {
        return Err(SiteError::NotPages(site.to_string()));
    }
    Ok(site)
}

/// Django knows more of them than its folder shows.
fn find_static_files(site: &mut Site, modules: &[Module], owner: &Owner) {
    let SiteKind::Python(python) = &site.kind else { return };
    let Some(module) = modules.iter().find(|module| module.language == "python") else { return };
    if python.software != Some("Django") {
        return;
    }
    let found = django::static_files(site, python, &module.version, owner.credentials.as_ref());
    if let SiteKind::Python(python) = &mut site.kind
        && !found.is_empty()
    {
        python.files = found;
    }
}

/// Scripts are compiled anew when they have changed, which PHP looks for every two seconds otherwise.
fn php_settings(options: &RunOptions, watches: bool) -> Vec<(String, String)> {
    let looks = [("opcache.validate_timestamps", "1"), ("opcache.revalidate_freq", "0")];
    let own = looks.into_iter().filter(|_| watches).map(|(name, value)| (name.to_owned(), value.to_owned()));
    own.chain(options.php_ini.iter().cloned()).collect()
}

/// The files of `--config`, or the one that is named in place of a folder.
fn configuration_files(options: &RunOptions) -> anyhow::Result<Option<Vec<PathBuf>>> {
    if !options.config.is_empty() {
        return Ok(Some(options.config.clone()));
    }
    let name = options.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !options.path.is_file() || Format::of_name(name).is_none() {
        return Ok(None);
    }
    let has_worker = options.worker.is_some() || options.no_worker;
    let is_said = options.https
        || !options.domain.is_empty()
        || options.listen.is_some()
        || options.port.is_some()
        || options.host.is_some()
        || options.workers.is_some()
        || options.user.is_some()
        || options.command.is_some()
        || !options.php_ini.is_empty();
    if is_said || has_worker || options.files {
        bail!(
            "\"{}\" is a configuration, which says itself what --listen, --https, --domain, --workers, \
             --worker, --user, --command, --php-ini and --static would: change the file",
            options.path.display()
        );
    }
    Ok(Some(vec![options.path.clone()]))
}

/// `--print-config`: a document as a file of it would be written.
fn print(document: &json::Value) -> anyhow::Result<ExitCode> {
    let text = document.pretty();
    let lines = text.split(|byte| *byte == b'\r');
    output::write(lines.collect::<Vec<_>>().concat())?;
    Ok(ExitCode::SUCCESS)
}

/// All that work, the newest version first: of a language without a version, that is the one which the daemon starts.
pub(crate) fn find_module(language: &str, owner: &Owner) -> anyhow::Result<Vec<Module>> {
    let name = name_of(language);
    let folder = daemon::own_folder()?;
    let mut found = modules::detect(&folder, owner.credentials.as_ref())?;
    sort_newest_first(&mut found.modules);
    if found.modules.iter().any(|module| module.language == language) {
        return Ok(found.modules);
    }
    let host = format!("corral-{}", language.split('-').next().unwrap_or(language));
    match found.problems.iter().find(|problem| problem.contains(&host)) {
        Some(problem) => bail!("this site needs {name}, but the {name} module does not work: {problem}"),
        None => bail!(
            "this site needs {name}, but there is no {host} in {}; install it, or build it with `make build`",
            folder.display()
        ),
    }
}

fn sort_newest_first(modules: &mut [Module]) {
    modules.sort_by(|a, b| compare_versions(&b.version, &a.version));
}

/// The language's usual name.
fn name_of(language: &str) -> &str {
    match language {
        "java" => "Java on Tomcat",
        "php" => "PHP",
        "python" => "Python",
        "wasm-wasi-component" => "WebAssembly",
        other => other,
    }
}

/// The document is made here, so a fault in it comes from a path or setting that it cannot hold.
pub(crate) fn check(
    document: &str,
    modules: &[Module],
    certificates: Vec<String>,
) -> anyhow::Result<json::Value> {
    let known = modules.iter().map(|module| KnownModule {
        language: module.language.clone(),
        version: module.version.clone(),
        path: module.path.clone(),
    });
    let document = json::parse(document.as_bytes()).map_err(|error| anyhow::anyhow!("{}", error.detail))?;
    match validate(&document, &Known::modules(known.collect()).with_certificates(certificates)) {
        Ok(_) => Ok(document),
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
    front: &Front,
    denied: &Denied,
    control: &Path,
) -> std::io::Result<()> {
    let mut text = format!("{site}");
    let module = modules.iter().find(|module| Some(&*module.language) == site.language());
    let workers = match n_workers.map(NonZeroU32::get) {
        None => "workers as needed".to_owned(),
        Some(1) => "1 worker".to_owned(),
        Some(n) => format!("{n} workers"),
    };
    // Writing to a string cannot fail.
    let _ =
        module.map(|module| write!(text, "; {} {}, {workers}", name_of(&module.language), module.version));
    let runs_code = !matches!(site.kind, SiteKind::Static | SiteKind::Files);
    let _ = owner.names().filter(|_| runs_code).map(|(user, _)| write!(text, ", as user {user}"));
    text.push('\n');
    text.push_str(&environment(site));
    text.push_str(&memory(site));
    if let Some(note) = private_files(site) {
        text.push_str(&note);
    }
    text.push_str(&unclear_denials(denied));
    text.push_str(&front.notice());
    let _ = writeln!(text, "control socket: unix:{}", control.display());
    std::io::stdout().write_all(text.as_bytes())
}

/// Names the virtual environment of an application of Python.
fn environment(site: &Site) -> String {
    let SiteKind::Python(python) = &site.kind else { return String::new() };
    let line = |home: &PathBuf| format!("virtual environment: {}\n", home.display());
    python.home.as_ref().map_or_else(String::new, line)
}

/// Says whether an application of PHP stays in memory, where that is not as usual.
fn memory(site: &Site) -> String {
    match &site.in_memory {
        InMemory::No => String::new(),
        InMemory::Lacks(lack) => format!("note: {lack}; each request loads the application\n"),
        InMemory::By(worker) => {
            let script = worker.script.display();
            let by = |software| format!(" by {software}; --no-worker loads the application for each request");
            format!("worker: {script} stays in memory{}\n", worker.software.map_or_else(String::new, by))
        }
    }
}

/// Says which files are not served although the user may expect them to be.
fn private_files(site: &Site) -> Option<String> {
    let names = site.private_entries();
    let (shown, others) = names.split_at(names.len().min(MOST_NAMES));
    let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
    let names = shown.join(", ");
    (!shown.is_empty())
        .then(|| format!("note: not served: {names}{more}; --static serves all files as they are\n"))
}

/// Says which folders are denied for what is not understood.
fn unclear_denials(denied: &Denied) -> String {
    let note = |(file, section): &(PathBuf, String)| {
        let (file, section) = (file.display(), section.escape_debug());
        format!("note: everything beside {file} is denied: <{section} is not understood\n")
    };
    denied.unclear.iter().map(note).collect()
}

const MOST_NAMES: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_that_is_started_is_first() {
        let module = |version: &str, path: &str| Module {
            language: "php".to_owned(),
            version: version.to_owned(),
            path: path.into(),
            dependencies: Vec::new(),
        };
        let mut modules = [module("8.9.1", "/a"), module("8.10.0", "/b"), module("8.10.0", "/c")];
        sort_newest_first(&mut modules);
        let paths: Vec<_> = modules.iter().map(|module| module.path.to_str().unwrap()).collect();
        assert_eq!(paths, ["/b", "/c", "/a"]);
    }
}
