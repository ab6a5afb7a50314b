//! The global options of a Caddyfile.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use corral_manifest::caddyfile::Directive;

use super::plan::absolute;
use super::words::{BlocksResult, block, name, pair, refuse, unknown, value, values};

/// Settings for all sites.
#[derive(Debug)]
pub(super) struct Globals {
    /// Where the calls of Octane are answered, if anywhere.
    pub(super) admin: Option<String>,
    /// Whether requests of HTTP are led to HTTPS, where that is served.
    pub(super) redirects: bool,
    /// Whether everything is logged.
    pub(super) debug: bool,
    pub(super) worker: Option<WorkerOptions>,
    /// php.ini settings.
    pub(super) php_ini: Vec<(String, String)>,
}

impl Default for Globals {
    fn default() -> Self {
        Self {
            admin: Some("localhost:2019".to_owned()),
            redirects: true,
            debug: false,
            worker: None,
            php_ini: Vec::new(),
        }
    }
}

/// A script that stays in memory.
#[derive(Debug, Default, Clone)]
pub(super) struct WorkerOptions {
    pub(super) script: PathBuf,
    /// Processes; as many as FrankenPHP would have threads unless given.
    pub(super) number: Option<NonZeroU32>,
    /// Files and folders whose changes restart it.
    pub(super) watch: Vec<PathBuf>,
    pub(super) environment: Vec<(String, String)>,
}

pub(super) fn read(directive: &Directive) -> BlocksResult<Globals> {
    let mut globals = Globals::default();
    for option in block(directive) {
        match name(option) {
            "admin" => globals.admin = Some(value(option)?.to_owned()).filter(|address| address != "off"),
            "auto_https" => globals.redirects = redirects(option)?,
            "debug" => globals.debug = true,
            "frankenphp" => frankenphp(option, &mut globals)?,
            _ => return unknown(option, &["admin", "auto_https", "debug", "frankenphp"]),
        }
    }
    Ok(globals)
}

/// The modes that are about redirections; certificates of authorities are not ordered here anyway.
fn redirects(directive: &Directive) -> BlocksResult<bool> {
    match value(directive)? {
        "off" | "disable_redirects" => Ok(false),
        "disable_certs" | "ignore_loaded_certs" => Ok(true),
        other => refuse(
            directive,
            format!(
                "\"auto_https {other}\" is not known here; known are off, disable_redirects, \
            disable_certs, ignore_loaded_certs"
            ),
        ),
    }
}

fn frankenphp(directive: &Directive, globals: &mut Globals) -> BlocksResult<()> {
    for option in block(directive) {
        match name(option) {
            "worker" if globals.worker.is_some() => {
                return refuse(option, "a second \"worker\"; one is known here");
            }
            "worker" => globals.worker = Some(worker(option)?),
            "php_ini" if option.block.is_some() => {
                for setting in block(option) {
                    globals.php_ini.push((name(setting).to_owned(), value(setting)?.to_owned()));
                }
            }
            "php_ini" => globals.php_ini.push(pair(option)?),
            _ => return unknown(option, &["worker", "php_ini"]),
        }
    }
    Ok(())
}

/// `worker FILE [NUMBER]`, or a block that says the same in lines.
pub(super) fn worker(directive: &Directive) -> BlocksResult<WorkerOptions> {
    let mut worker = WorkerOptions::default();
    let mut has_script = false;
    if let [script, rest @ ..] = values(directive) {
        worker.script = absolute(script);
        has_script = true;
        worker.number = match rest {
            [] => None,
            [number] => number_of(directive, number)?,
            _ => return refuse(directive, "\"worker\" takes a file and a number"),
        };
    }
    for option in block(directive) {
        match name(option) {
            "file" => {
                worker.script = absolute(value(option)?);
                has_script = true;
            }
            "num" => worker.number = number_of(option, value(option)?)?,
            "env" => worker.environment.push(pair(option)?),
            "watch" => match values(option) {
                [] => worker.watch.push(absolute(".")),
                paths => worker.watch.extend(paths.iter().map(|path| without_wildcards(&absolute(path)))),
            },
            // It appears in FrankenPHP's own figures.
            "name" => drop(value(option)?),
            _ => return unknown(option, &["file", "num", "watch", "env", "name"]),
        }
    }
    if !has_script {
        return refuse(directive, "\"worker\" needs a file");
    }
    Ok(worker)
}

fn number_of(directive: &Directive, text: &str) -> BlocksResult<Option<NonZeroU32>> {
    match text.parse() {
        Ok(number) => Ok(NonZeroU32::new(number)),
        Err(_) => refuse(directive, format!("\"{text}\" is not a number of workers")),
    }
}

/// The folder that all files are in that a pattern such as `/app/**/*.php` means.
fn without_wildcards(path: &Path) -> PathBuf {
    let is_plain =
        |part: &std::path::Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{']);
    path.components().take_while(is_plain).collect()
}
