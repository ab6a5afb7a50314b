//! The site of a Caddyfile.

use std::path::{Path, PathBuf};

use corral_manifest::caddyfile::Directive;

use super::addresses::{self, SiteAddresses};
use super::globals::{self, WorkerOptions};
use super::logs::{self, Log};
use super::pages::{self, ErrorPage};
use super::plan::absolute;
use super::words::{BlocksResult, block, name, pair, refuse, unknown, value, values};

/// A site: its files and scripts, and its address.
#[derive(Debug)]
pub(super) struct PhpSite {
    pub(super) addresses: SiteAddresses,
    pub(super) root: PathBuf,
    pub(super) encodings: Vec<String>,
    /// Patterns of paths that are files and nothing else.
    pub(super) files: Vec<String>,
    pub(super) php: PhpOptions,
    pub(super) error_page: Option<ErrorPage>,
    pub(super) log: Option<Log>,
}

/// The answer to whatever is not a file.
#[derive(Debug)]
pub(super) struct PhpOptions {
    /// Below the root.
    pub(super) index: String,
    pub(super) worker: Option<WorkerOptions>,
    pub(super) environment: Vec<(String, String)>,
}

const KNOWN: [&str; 7] = ["log", "route", "root", "encode", "file_server", "php_server", "handle_errors"];

#[derive(Default)]
struct SiteDraft {
    root: Option<PathBuf>,
    encodings: Vec<String>,
    matchers: Vec<(String, Vec<String>)>,
    files: Vec<String>,
    php: Option<PhpOptions>,
    error_page: Option<ErrorPage>,
    log: Option<Log>,
}

pub(super) fn read(directive: &Directive, worker: Option<&WorkerOptions>) -> BlocksResult<PhpSite> {
    let Some(directives) = &directive.block else {
        return refuse(directive, format!("\"{}\" is a site without a block", directive.words.join(" ")));
    };
    let addresses = addresses::read(directive)?;
    let mut draft = SiteDraft::default();
    matchers(directives, &mut draft)?;
    read_all(directives, &mut draft)?;
    let Some(root) = draft.root else { return refuse(directive, "the site has no \"root\"") };
    let Some(mut php) = draft.php else { return refuse(directive, "the site has no \"php_server\"") };
    if php.worker.is_none() {
        php.worker = worker.cloned();
    }
    check_worker(directive, &root, &php)?;
    Ok(PhpSite {
        addresses,
        root,
        encodings: draft.encodings,
        files: draft.files,
        php,
        error_page: draft.error_page,
        log: draft.log,
    })
}

/// They may stand behind what uses them.
fn matchers(directives: &[Directive], draft: &mut SiteDraft) -> BlocksResult<()> {
    for directive in directives {
        if name(directive) == "route" {
            matchers(block(directive), draft)?;
        }
        if name(directive).starts_with('@') {
            draft.matchers.push((name(directive).to_owned(), matcher(directive)?));
        }
    }
    Ok(())
}

/// `@name path PATTERN…`, or the same in a block.
fn matcher(directive: &Directive) -> BlocksResult<Vec<String>> {
    let (path, patterns) = match (values(directive), block(directive)) {
        ([kind, patterns @ ..], []) if kind == "path" => (directive, patterns),
        ([], [only]) if name(only) == "path" => (only, values(only)),
        ([], [other, ..]) => return unknown(other, &["path"]),
        _ => return refuse(directive, format!("\"{}\" can only match a \"path\" here", name(directive))),
    };
    match patterns.iter().find(|pattern| !pattern.starts_with(['/', '*'])) {
        Some(pattern) => {
            refuse(path, format!("\"{pattern}\" is not a pattern of a path: it begins with / or *"))
        }
        None => Ok(patterns.to_vec()),
    }
}

fn read_all(directives: &[Directive], draft: &mut SiteDraft) -> BlocksResult<()> {
    directives.iter().try_for_each(|directive| read_one(directive, draft))
}

fn read_one(directive: &Directive, draft: &mut SiteDraft) -> BlocksResult<()> {
    match name(directive) {
        "route" if values(directive).is_empty() => read_all(block(directive), draft)?,
        "route" => return refuse(directive, "\"route\" with a matcher is not known here"),
        "root" => draft.root = Some(root(directive)?),
        "encode" => draft.encodings = encodings(directive)?,
        "file_server" => draft.files.extend(files(directive, draft)?),
        "php_server" => draft.php = Some(php_server(directive)?),
        "handle_errors" => draft.error_page = Some(pages::read(directive)?),
        "log" => draft.log = Some(logs::read(directive)?),
        matcher if matcher.starts_with('@') => {}
        _ => return unknown(directive, &KNOWN),
    }
    Ok(())
}

fn root(directive: &Directive) -> BlocksResult<PathBuf> {
    match values(directive) {
        [path] if !path.is_empty() => Ok(absolute(path)),
        [all, path] if all == "*" && !path.is_empty() => Ok(absolute(path)),
        [] | [_] => refuse(directive, "\"root\" needs a path"),
        [all, _] if all == "*" => refuse(directive, "\"root\" needs a path"),
        _ => refuse(directive, "\"root\" takes * and a path"),
    }
}

fn encodings(directive: &Directive) -> BlocksResult<Vec<String>> {
    if directive.block.is_some() {
        return refuse(directive, "\"encode\" with a block is not known here");
    }
    let is_known = |name: &&String| ["zstd", "br", "gzip"].contains(&name.as_str());
    match values(directive) {
        [] => Ok(vec!["zstd".to_owned(), "gzip".to_owned()]),
        names => match names.iter().find(|name| !is_known(name)) {
            Some(other) => {
                refuse(directive, format!("encoding \"{other}\" is not known here: zstd, br or gzip"))
            }
            None => Ok(names.to_vec()),
        },
    }
}

fn files(directive: &Directive, draft: &SiteDraft) -> BlocksResult<Vec<String>> {
    let name = value(directive)?;
    let found = draft.matchers.iter().find(|(known, _)| known == name);
    match (found, &directive.block) {
        (Some((_, patterns)), None) => Ok(patterns.clone()),
        (None, _) => refuse(directive, format!("the matcher \"{name}\" is not there")),
        (_, Some(_)) => refuse(directive, "\"file_server\" with a block is not known here"),
    }
}

fn php_server(directive: &Directive) -> BlocksResult<PhpOptions> {
    let mut php = PhpOptions { index: "index.php".to_owned(), worker: None, environment: Vec::new() };
    let mut tried = None;
    if !values(directive).is_empty() {
        return refuse(directive, "\"php_server\" with a matcher is not known here");
    }
    for option in block(directive) {
        match name(option) {
            "index" => value(option)?.clone_into(&mut php.index),
            "try_files" => match values(option) {
                [path, index] if path == "{path}" => tried = Some((option, index)),
                _ => return refuse(option, "\"try_files\" can only be {path} and the index here"),
            },
            "resolve_root_symlink" => {}
            "env" => php.environment.push(pair(option)?),
            "worker" => php.worker = Some(globals::worker(option)?),
            _ => return unknown(option, &["index", "try_files", "resolve_root_symlink", "env", "worker"]),
        }
    }
    match tried.filter(|(_, index)| **index != php.index) {
        Some((option, index)) => {
            refuse(option, format!("\"try_files\" leads to {index}, but the index is {}", php.index))
        }
        None => Ok(php),
    }
}

/// The requests lead to the index: that is the worker's script, or the worker would have nothing to do.
fn check_worker(directive: &Directive, root: &Path, php: &PhpOptions) -> BlocksResult<()> {
    let Some(worker) = &php.worker else { return Ok(()) };
    let canonical = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let index = root.join(&php.index);
    if canonical(&index) == canonical(&worker.script) {
        return Ok(());
    }
    let (index, script) = (index.display(), worker.script.display());
    refuse(
        directive,
        format!("requests lead to \"{index}\" (\"index\" of \"php_server\"), but the worker is \"{script}\""),
    )
}
