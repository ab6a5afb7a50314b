//! `applications`: the options that all languages share (contract 20), and which module runs what.

use std::path::PathBuf;

use super::advice;
use super::context::Context;
use super::http::{self, HttpDraft};
use super::isolation;
use super::java::{self, JavaDraft};
use super::limits::{self, LIMITS, PROCESSES};
use super::modules;
use super::perl::{self, PerlDraft};
use super::php::{self, PhpDraft};
use super::python::{self, PythonDraft};
use super::restart;
use super::ruby::{self, RubyDraft};
use super::scalars::{count, is_true};
use super::schema::{self, BOOL, Field, INTEGER, Member, OBJECT, STRING};
use super::strings::{member_name, name, path};
use super::wasm::{self, WasmDraft};
use crate::KnownModule;
use crate::json::{Bytes, Value};
use crate::plan::{AppSpec, Isolation, Limits, Processes, Restart, RuntimeSpec};

/// Reads all applications; those that are wrong are left out.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Vec<AppSpec> {
    let read = if cx.known.is_lenient { read_or_excuse } else { read_application };
    let members = field.value.as_object().into_iter().flatten();
    members.filter_map(|(name, value)| cx.at(name, |cx| read(cx, name, value))).collect()
}

/// An application that is wrong becomes one that cannot be started, and the first problem the reason why.
fn read_or_excuse(cx: &mut Context<'_>, name: &Bytes, value: &Value) -> Option<AppSpec> {
    let n_before = cx.n_problems();
    let spec = read_application(cx, name, value);
    let text = name.to_str().filter(|text| is_name(text));
    match (text, cx.take_problems(n_before).into_iter().next()) {
        (Some(name), Some(problem)) => {
            let runtime = RuntimeSpec::Unusable(problem.to_string());
            Some(specification(name.to_owned(), PathBuf::new(), AppDraft::default(), runtime))
        }
        (None, Some(problem)) => {
            cx.problem(problem.detail);
            None
        }
        (_, None) => spec,
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains('\0')
}

fn read_application(cx: &mut Context<'_>, name: &Bytes, value: &Value) -> Option<AppSpec> {
    let text = member_name(cx, name)?;
    if !is_name(&text) {
        cx.problem("The application name must not be empty and must not contain null character.");
    }
    let Some(members) = value.as_object() else {
        schema::report_wrong_type(cx, &text, OBJECT, value);
        return None;
    };
    let Some(app_type) = members.get(b"type".as_slice()) else {
        cx.problem("Application must have the \"type\" property set.");
        schema::report_misspelt(cx, members, &["type"]);
        return None;
    };
    let Value::String(app_type) = app_type else {
        cx.at(b"type", |cx| schema::report_wrong_type(cx, "type", STRING, app_type));
        return None;
    };
    let module = cx.at(b"type", |cx| find_module(cx, app_type))?;
    let mut draft = AppDraft::default();
    let runtime = match split_type(&app_type.to_string_lossy()).0 {
        "perl" => {
            schema::read_object(cx, members, &[COMMON, perl::PERL], &mut draft);
            perl::finish(std::mem::take(&mut draft.perl))
        }
        "ruby" => {
            schema::read_object(cx, members, &[COMMON, ruby::RUBY], &mut draft);
            ruby::finish(std::mem::take(&mut draft.ruby))
        }
        "python" => {
            schema::read_object(cx, members, &[COMMON, python::PYTHON], &mut draft);
            python::finish(cx, members, std::mem::take(&mut draft.python))
        }
        "wasm-wasi-component" => {
            schema::read_object(cx, members, &[COMMON, wasm::WASM], &mut draft);
            wasm::finish(std::mem::take(&mut draft.wasm))
        }
        "http" => {
            schema::read_object(cx, members, &[COMMON, http::EXTERNAL, http::HTTP], &mut draft);
            http::finish(cx, members, std::mem::take(&mut draft.http), &draft.isolation)
        }
        "java" => {
            schema::read_object(cx, members, &[COMMON, java::JAVA], &mut draft);
            let (java, http) = (std::mem::take(&mut draft.java), std::mem::take(&mut draft.http));
            java::finish(cx, members, java, http, &draft.isolation)
        }
        "external" | "go" => {
            schema::read_object(cx, members, &[COMMON, http::EXTERNAL], &mut draft);
            http::finish_external(cx, members, std::mem::take(&mut draft.http), &draft.isolation)
        }
        _ => {
            schema::read_object(cx, members, &[COMMON, php::PHP], &mut draft);
            php::finish(cx, members, std::mem::take(&mut draft.php))
        }
    }?;
    Some(specification(text, module, draft, runtime))
}

fn specification(name: String, module: PathBuf, draft: AppDraft, runtime: RuntimeSpec) -> AppSpec {
    AppSpec {
        name,
        module,
        user: draft.user,
        group: draft.group,
        working_directory: draft.working_directory,
        environment: draft.environment,
        inherit_environment: draft.inherit_environment.unwrap_or(true),
        stdout: draft.stdout,
        stderr: draft.stderr,
        isolation: draft.isolation,
        processes: draft.processes.unwrap_or_else(limits::one_process),
        limits: draft.limits,
        restart: draft.restart,
        runtime,
    }
}

/// What the members of an application say so far. A language's rows fill its own part.
#[derive(Default)]
pub(super) struct AppDraft {
    user: Option<String>,
    group: Option<String>,
    working_directory: Option<PathBuf>,
    environment: Vec<(String, String)>,
    inherit_environment: Option<bool>,
    stdout: Option<PathBuf>,
    stderr: Option<PathBuf>,
    isolation: Isolation,
    processes: Option<Processes>,
    limits: Limits,
    restart: Restart,
    pub(super) perl: PerlDraft,
    pub(super) http: HttpDraft,
    pub(super) java: JavaDraft,
    pub(super) php: PhpDraft,
    pub(super) python: PythonDraft,
    pub(super) ruby: RubyDraft,
    pub(super) wasm: WasmDraft,
}

const COMMON: &[Member<AppDraft>] = &[
    Member::optional("type", STRING, |_, _, _| {}),
    Member::<AppDraft>::optional("processes", INTEGER.or(OBJECT), |cx, field, draft| {
        draft.processes = read_processes(cx, field);
    })
    .or_beyond_unit(STRING),
    Member::optional("limits", OBJECT, |cx, field, draft| {
        schema::read_nested(cx, field, &[LIMITS], &mut draft.limits);
    }),
    Member::optional("restart", OBJECT, |cx, field, draft| draft.restart = restart::read(cx, field)),
    Member::optional("user", STRING, |cx, field, draft| draft.user = name(cx, field)),
    Member::optional("group", STRING, |cx, field, draft| draft.group = name(cx, field)),
    Member::optional("working_directory", STRING, |cx, field, draft| {
        draft.working_directory = path(cx, field);
    }),
    Member::optional("environment", OBJECT, |cx, field, draft| {
        draft.environment = read_environment(cx, field);
    }),
    Member::optional("inherit_environment", BOOL, |_, field, draft| {
        draft.inherit_environment = Some(is_true(field));
    }),
    Member::optional("isolation", OBJECT, |cx, field, draft| {
        draft.isolation = isolation::read(cx, field);
    }),
    Member::optional("stdout", STRING, |cx, field, draft| draft.stdout = path(cx, field)),
    Member::optional("stderr", STRING, |cx, field, draft| draft.stderr = path(cx, field)),
];

fn read_processes(cx: &mut Context<'_>, field: Field<'_>) -> Option<Processes> {
    let members = match field.value {
        Value::Object(members) => members,
        Value::String(text) if **text == *b"auto" => return Some(limits::automatic_processes()),
        Value::String(_) => {
            let advice = advice::for_type(INTEGER, field.value);
            cx.problem_with_advice("The \"processes\" string must be \"auto\".", advice);
            return None;
        }
        _ => return count(cx, field).map(limits::static_processes),
    };
    let mut processes = limits::dynamic_processes();
    schema::read_object(cx, members, &[PROCESSES], &mut processes);
    if processes.spare > processes.max.get() {
        cx.at(b"spare", |cx| cx.problem("The \"spare\" number must be less than or equal to \"max\"."));
    }
    Some(processes)
}

fn read_environment(cx: &mut Context<'_>, field: Field<'_>) -> Vec<(String, String)> {
    let members = field.value.as_object().into_iter().flatten();
    members.filter_map(|(name, value)| cx.at(name, |cx| read_variable(cx, name, value))).collect()
}

fn read_variable(cx: &mut Context<'_>, name: &Bytes, value: &Value) -> Option<(String, String)> {
    if name.is_empty() {
        cx.problem("The environment name must not be empty.");
    }
    if name.contains(&0) {
        cx.problem("The environment name must not contain null character.");
    }
    if name.contains(&b'=') {
        cx.problem("The environment name must not contain '=' character.");
    }
    let Value::String(text) = value else {
        let advice = advice::for_type(STRING, value);
        cx.problem_with_advice(format!("The \"{name}\" environment value must be a string."), advice);
        return None;
    };
    if text.contains(&0) {
        cx.problem(format!("The \"{name}\" environment value must not contain null character."));
    }
    let Some(text) = text.to_str() else {
        cx.problem(format!("The \"{name}\" environment value must be valid UTF-8."));
        return None;
    };
    Some((member_name(cx, name)?, text.to_owned()))
}

/// The executable that runs applications of this type; the daemon's own for what needs no language.
fn find_module(cx: &mut Context<'_>, app_type: &Bytes) -> Option<PathBuf> {
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
        modules::report_missing(cx, &text, language);
    }
    found
}

/// `php 8.2` and `php8.2` alike into `php` and `8.2`.
fn split_type(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(text.len());
    let (language, version) = text.split_at(end);
    (language, version.trim_start())
}

/// The highest version that is asked for; of equal ones the first by file name.
fn best_module<'a>(modules: &'a [KnownModule], language: &str, version: &str) -> Option<&'a KnownModule> {
    let fitting =
        modules.iter().filter(|module| module.language == language && is_version(&module.version, version));
    fitting.max_by(|a, b| {
        version_parts(&a.version).cmp(&version_parts(&b.version)).then_with(|| b.path.cmp(&a.path))
    })
}

/// Whether `version` is `wanted` or starts with it where a part of the version ends: 3.1 stands for
/// 3.1.4 and not for 3.11.
fn is_version(version: &str, wanted: &str) -> bool {
    let Some(rest) = version.strip_prefix(wanted) else { return false };
    let (Some(last), Some(next)) = (wanted.chars().next_back(), rest.chars().next()) else { return true };
    last.is_ascii_digit() != next.is_ascii_digit()
}

/// The numbers in a version, for comparing.
fn version_parts(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

/// Types of programs that serve HTTP: the daemon runs them, and they have no version.
pub(super) const WITHOUT_MODULE: &[&str] = &["external", "go", "http"];

/// What was there before components: an interface of NGINX Unit's own, which it has deprecated itself.
const MODULES_OF_WASM: &str = "The \"wasm\" application type is not supported: it runs modules that were written for \
    an interface of NGINX Unit alone. Build a component for wasi:http, and use the type \"wasm-wasi-component\".";

#[cfg(test)]
mod tests {
    use super::{best_module, is_version, split_type};
    use crate::KnownModule;

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
