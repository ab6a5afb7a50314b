//! The application of a site: what runs it, and how.

use std::num::NonZeroU32;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::super::shell::search_path;
use super::super::{InMemory, ProgramApp, Python, ScriptApp, Site, SiteKind, WorkerScript};
use super::Choices;

pub(super) fn application(site: &Site, choices: &Choices<'_>) -> Option<Value> {
    let mut application = match &site.kind {
        SiteKind::Static | SiteKind::Files => return None,
        SiteKind::Program(ProgramApp { start, for_unit }) => {
            let exec = if *for_unit { "exec " } else { "" };
            let command = format!("{}; {exec}{start}", search_path(&site.root));
            program(site, &command, *for_unit, choices)
        }
        SiteKind::Go(go) => program(site, &go.start(), go.for_unit, choices),
        SiteKind::Java { webapp } => java(site, webapp, choices),
        SiteKind::Python(python) => python_application(site, python, choices),
        SiteKind::Script(script) => script_application(site, script, choices),
        SiteKind::Component(file) => {
            json!({ "type": "wasm-wasi-component", "component": file, "processes": processes(choices) })
        }
        SiteKind::FrontController { .. } | SiteKind::Scripts => php(site, choices),
    };
    if let Some((user, group)) = choices.owner {
        application["user"] = user.into();
        application["group"] = group.into();
    }
    Some(application)
}

fn processes(choices: &Choices<'_>) -> Value {
    choices.n_workers.map_or_else(|| json!("auto"), |n_workers| json!(n_workers))
}

fn python_application(site: &Site, python: &Python, choices: &Choices<'_>) -> Value {
    let mut application = json!({
        "type": "python",
        "path": site.root,
        "working_directory": site.root,
        "module": python.module,
        "callable": python.callable,
        "factory": python.factory,
        "processes": processes(choices),
    });
    if let Some(home) = &python.home {
        application["home"] = json!(home);
    }
    application
}

fn script_application(site: &Site, script: &ScriptApp, choices: &Choices<'_>) -> Value {
    json!({
        "type": script.language,
        "script": script.file,
        "working_directory": site.root,
        "processes": processes(choices),
    })
}

fn php(site: &Site, choices: &Choices<'_>) -> Value {
    let mut application = match &site.in_memory {
        InMemory::By(worker) => kept(site, worker, choices),
        InMemory::No | InMemory::Lacks(_) => classic(site, choices),
    };
    if !choices.php_ini.is_empty() {
        let settings: Map<_, _> =
            choices.php_ini.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
        application["options"] = json!({ "admin": settings });
    }
    application
}

/// All requests go to a script that stays in memory.
fn kept(site: &Site, script: &WorkerScript, choices: &Choices<'_>) -> Value {
    let mut worker = json!({ "script": script.script });
    if !script.environment.is_empty() {
        let variable = |(name, value): &(&str, String)| ((*name).to_owned(), json!(value));
        worker["env"] = script.environment.iter().map(variable).collect::<Map<_, _>>().into();
    }
    json!({ "type": "php", "processes": processes(choices), "root": site.root, "worker": worker })
}

/// Each request runs a script anew.
fn classic(site: &Site, choices: &Choices<'_>) -> Value {
    let mut targets = Map::new();
    targets.insert("scripts".to_owned(), json!({ "root": site.root }));
    if matches!(site.kind, SiteKind::FrontController { .. }) {
        targets.insert("front".to_owned(), json!({ "root": site.root, "script": "index.php" }));
    }
    json!({ "type": "php", "processes": processes(choices), "targets": targets })
}

/// A command of the shell; for `npm start` it finds the commands of its packages. One for Unit gets a socket, others a
/// port.
fn program(site: &Site, command: &str, for_unit: bool, choices: &Choices<'_>) -> Value {
    let mut application = json!({
        "type": "external",
        "executable": "/bin/sh",
        "arguments": ["-c", command],
        "working_directory": site.root,
        "processes": choices.n_workers.map_or(1, NonZeroU32::get),
        // Some are compiled first.
        "ready": { "timeout": 300 },
    });
    if !for_unit {
        application["type"] = "http".into();
        application["socket"] = "any_port".into();
    }
    application
}

/// One virtual machine for all processors.
fn java(site: &Site, webapp: &Path, choices: &Choices<'_>) -> Value {
    json!({
        "type": "java",
        "webapp": webapp,
        "working_directory": site.root,
        "threads": JAVA_THREADS,
        "processes": choices.n_workers.map_or(1, NonZeroU32::get),
    })
}

/// Enough for a desk.
const JAVA_THREADS: u32 = 16;
