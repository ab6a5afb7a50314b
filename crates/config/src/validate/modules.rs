//! An application's `type` that nothing here runs: what is meant, what there is, and how to get more.

use super::applications::WITHOUT_MODULE;
use super::context::{Context, nearest};
use crate::KnownModule;

/// Reports that no module runs `app_type`, whose language is `language`.
pub(super) fn report_missing(cx: &mut Context<'_>, app_type: &str, language: &str) {
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

const LANGUAGES: &[&str] = &["java", "perl", "php", "python", "ruby", "wasm-wasi-component"];

const MISSING: &str = "Put corral-NAME beside the executable corral, or into the folder of --modulesdir, and start the daemon again.";

const MORE_VERSIONS: &str = "For another version, build its module against it and put that beside the others, \
     or run the application by \"http\" or \"proxy\".";

/// Names, the type that is meant, and what else it needs.
const ALIASES: &[(&[&str], Option<&str>, &str)] = &[
    (
        &["nodejs", "node", "node.js", "javascript", "js", "typescript", "deno", "bun"],
        Some("external"),
        "A program in Node.js is \"external\" with the package unit-http, or \"http\" when it serves HTTP itself; its \"executable\" runs it.",
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
    (&["fastcgi", "php-fpm", "fpm"], Some("php"), "No FastCGI server is needed."),
    (&["servlet", "jsp", "war", "tomcat", "jetty"], Some("java"), ""),
    (
        &["static", "file", "files", "share"],
        None,
        "Files need no application: a route's action has \"share\".",
    ),
];

#[cfg(test)]
mod tests {
    use super::{ALIASES, LANGUAGES, WITHOUT_MODULE};

    #[test]
    fn what_is_meant_is_a_type() {
        for (names, meant, _) in ALIASES {
            assert!(
                meant.is_none_or(|meant| LANGUAGES.contains(&meant) || WITHOUT_MODULE.contains(&meant)),
                "{names:?}"
            );
        }
    }
}
