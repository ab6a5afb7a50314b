//! The module that runs an application, by its `type`; where nothing does, what is meant, what there is, and
//! how to get more.

use std::cmp::Ordering;
use std::path::PathBuf;

use super::context::{Context, nearest};
use crate::json::Bytes;
use crate::known::KnownModule;

/// The executable that runs applications of this type; the daemon's own for what needs no language.
pub(super) fn find(cx: &mut Context<'_>, app_type: &Bytes) -> Option<PathBuf> {
    let text = app_type.to_string_lossy();
    let (language, version) = split_type(&text);
    if language == "wasm" {
        cx.problem(MODULES_OF_WASM);
        return None;
    }
    if WITHOUT_MODULE.contains(&&*text) {
        return Some(PathBuf::new());
    }
    // Which Java there is depends on the application's environment.
    let version = if language == "java" { "" } else { version };
    let found = match &cx.known.modules {
        None if matches!(language, "java" | "perl" | "php" | "python" | "ruby" | "wasm-wasi-component") => {
            Some(PathBuf::new())
        }
        None => None,
        Some(modules) => best_module(modules, language, version).map(|module| module.path.clone()),
    };
    if found.is_none() {
        report_missing(cx, &text, language);
    }
    found
}

/// `php 8.2` and `php8.2` alike into `php` and `8.2`.
pub(super) fn split_type(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(text.len());
    let (language, version) = text.split_at(end);
    (language, version.trim_start())
}

/// The highest version that is asked for; of equal ones the first by file name.
fn best_module<'a>(modules: &'a [KnownModule], language: &str, version: &str) -> Option<&'a KnownModule> {
    let fitting =
        modules.iter().filter(|module| module.language == language && is_version(&module.version, version));
    fitting.max_by(|a, b| compare_versions(&a.version, &b.version).then_with(|| b.path.cmp(&a.path)))
}

/// Compares the numbers in versions: 8.10 is newer than 8.9.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    version_parts(a).cmp(&version_parts(b))
}

/// Whether `version` is `wanted` or starts with it where a part of the version ends: 3.1 stands for
/// 3.1.4 and not for 3.11.
fn is_version(version: &str, wanted: &str) -> bool {
    let Some(rest) = version.strip_prefix(wanted) else { return false };
    let (Some(last), Some(next)) = (wanted.chars().next_back(), rest.chars().next()) else { return true };
    last.is_ascii_digit() != next.is_ascii_digit()
}

fn version_parts(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

/// Reports that no module runs `app_type`, whose language is `language`.
fn report_missing(cx: &mut Context<'_>, app_type: &str, language: &str) {
    let modules = cx.known.modules.as_deref().unwrap_or_default();
    let (meant, advice) = match alias(language) {
        Some((meant, advice)) => (meant.map(str::to_owned), advice.to_owned()),
        None if modules.iter().any(|module| module.language == language) => {
            (None, format!("{} {}", what_there_is(modules, language), MORE_VERSIONS))
        }
        None if LANGUAGES.contains(&language) => (None, MISSING.replace("NAME", host(language))),
        None => {
            let known = modules.iter().map(|module| module.language.as_str());
            let meant = cx.search(|| nearest(language, known.chain(WITHOUT_MODULE.iter().copied())));
            (meant, what_there_is(modules, ""))
        }
    };
    let detail =
        format!("The module to run \"{app_type}\" is not found among the available application modules.");
    cx.problem_that_means(detail, advice, meant);
}

/// The type that applications of another name have.
fn alias(language: &str) -> Option<(Option<&'static str>, &'static str)> {
    let (_, meant, advice) = ALIASES.iter().find(|(names, ..)| names.contains(&language))?;
    Some((*meant, advice))
}

/// A sentence with the types that could be asked for: versions of one language, or all.
fn what_there_is(modules: &[KnownModule], language: &str) -> String {
    let wanted = modules.iter().filter(|module| language.is_empty() || module.language == language);
    let mut names: Vec<_> =
        wanted.map(|module| format!("\"{} {}\"", module.language, module.version)).collect();
    if language.is_empty() {
        names.extend(WITHOUT_MODULE.iter().map(|name| format!("\"{name}\"")));
    }
    format!("There is {}.", names.join(", "))
}

/// The part of the executable's name behind `corral-`.
fn host(language: &str) -> &str {
    language.split('-').next().unwrap_or(language)
}

/// Types of programs and scripts: the daemon runs them, and they have no version.
const WITHOUT_MODULE: &[&str] = &["cgi", "external", "fastcgi", "go", "http", "process"];

/// The answer to modules from before components: an interface of NGINX Unit's own, which it has deprecated itself.
const MODULES_OF_WASM: &str = "The \"wasm\" application type is not supported: it runs modules that were written for \
    an interface of NGINX Unit alone. Build a component for wasi:http, and use the type \"wasm-wasi-component\".";

const LANGUAGES: &[&str] = &["java", "perl", "php", "python", "ruby", "wasm-wasi-component"];

const MISSING: &str = "Put corral-NAME beside the executable corral, or into the folder of --modulesdir, and start \
    the daemon again.";

const MORE_VERSIONS: &str = "For another version, build its module against it and put that beside the others, \
     or run the application by \"http\" or \"proxy\".";

/// Names, the type that is meant, and what else it needs.
const ALIASES: &[(&[&str], Option<&str>, &str)] = &[
    (
        &["nodejs", "node", "node.js", "javascript", "js", "typescript", "deno", "bun"],
        Some("external"),
        "A program in Node.js is \"external\" with the package unit-http, or \"http\" when it serves HTTP itself; \
        its \"executable\" runs it.",
    ),
    (
        &["rust", "dotnet", "elixir", "binary", "executable", "program", "command", "exec"],
        Some("http"),
        "A program that serves HTTP is \"http\", and its \"executable\" runs it.",
    ),
    (
        &["golang"],
        Some("go"),
        "A program in Go is \"go\" with the package unit.nginx.org/go, or \"http\" when it serves HTTP itself.",
    ),
    (&["wsgi", "asgi", "uwsgi", "django", "flask", "fastapi", "gunicorn", "uvicorn"], Some("python"), ""),
    (&["rack", "rails", "sinatra", "puma"], Some("ruby"), ""),
    (&["psgi", "plack", "starman"], Some("perl"), ""),
    (&["php-fpm", "fpm"], Some("php"), "No FastCGI server is needed."),
    (
        &["fcgi", "fcgid", "php-cgi"],
        Some("fastcgi"),
        "A program that accepts FastCGI on descriptor 0 is \"fastcgi\", and its \"executable\" runs it.",
    ),
    (&["scgi", "cgi-bin", "cgid"], Some("cgi"), "Scripts of CGI are \"cgi\"; their folder is its \"root\"."),
    (&["servlet", "jsp", "war", "tomcat", "jetty"], Some("java"), ""),
    (
        &["static", "file", "files", "share"],
        None,
        "Files need no application: a route's action has \"share\".",
    ),
];

#[cfg(test)]
mod tests {
    use super::{ALIASES, LANGUAGES, WITHOUT_MODULE, best_module, is_version, split_type};
    use crate::known::KnownModule;

    #[test]
    fn what_is_meant_is_a_type() {
        for (names, meant, _) in ALIASES {
            assert!(
                meant.is_none_or(|meant| LANGUAGES.contains(&meant) || WITHOUT_MODULE.contains(&meant)),
                "{names:?}"
            );
        }
    }

    #[test]
    fn a_type_is_a_language_and_a_version() {
        assert_eq!(split_type("php"), ("php", ""));
        assert_eq!(split_type("php8"), ("php", "8"));
        assert_eq!(split_type("php 8.2"), ("php", "8.2"));
        assert_eq!(split_type("wasm-wasi-component"), ("wasm-wasi-component", ""));
        assert_eq!(split_type("8"), ("", "8"));
    }

    #[test]
    fn a_version_is_matched_part_by_part() {
        assert!(is_version("3.1.4", ""));
        assert!(is_version("3.1.4", "3"));
        assert!(is_version("3.1.4", "3.1"));
        assert!(is_version("3.1.4", "3.1."));
        assert!(is_version("3.1.4", "3.1.4"));
        assert!(!is_version("3.11", "3.1"));
        assert!(!is_version("3.1", "3.1.4"));
        assert!(!is_version("31", "3"));
    }

    #[test]
    fn the_highest_version_wins() {
        let module = |version: &str, path: &str| KnownModule {
            language: "php".to_owned(),
            version: version.to_owned(),
            path: path.into(),
        };
        let modules =
            [module("8.2.30", "/b"), module("8.10.1", "/c"), module("8.2.4", "/d"), module("8.2.30", "/a")];
        let path =
            |version| best_module(&modules, "php", version).map(|module| module.path.to_str().unwrap());
        assert_eq!(path(""), Some("/c"));
        assert_eq!(path("8.2"), Some("/a"));
        assert_eq!(path("8.2.4"), Some("/d"));
        assert_eq!(path("8.1"), None);
        assert_eq!(best_module(&modules, "python", ""), None);
    }
}
