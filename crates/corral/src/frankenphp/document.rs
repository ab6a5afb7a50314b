//! The configuration of Corral that does what a Caddyfile asks for.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::addresses::CaddyListener;
use super::globals::WorkerOptions;
use super::logs::{CaddyLevel, Log};
use super::plan::CaddyfilePlan;
use crate::site::document::share;

/// The name of the application.
pub(super) const APPLICATION: &str = "php";

/// Users and files that the machine has and no Caddyfile names.
pub(super) struct DocumentContext<'a> {
    /// The user of the application, where that is not the daemon's.
    pub(super) owner: Option<(&'a str, &'a str)>,
    /// Files for errors.
    pub(super) pages: &'a [(u16, PathBuf)],
    /// Where the application runs.
    pub(super) folder: &'a Path,
}

pub(super) fn document(plan: &CaddyfilePlan, surroundings: &DocumentContext<'_>) -> Value {
    let listeners: Map<_, _> = plan.site.addresses.listeners.iter().map(listener).collect();
    let mut document = json!({
        "settings": { "log": { "level": level(plan), "format": "json" } },
        "listeners": listeners,
        "routes": { SITE: routes(plan, surroundings.pages) },
        "applications": { APPLICATION: application(plan, surroundings) },
    });
    if let Some(port) = plan.site.addresses.secure_port().filter(|_| plan.globals.redirects) {
        redirect(&mut document, port);
    }
    if !plan.site.encodings.is_empty() {
        let compressor = |name: &String| json!({ "encoding": name, "min_length": WORTH_IT });
        let compressors: Vec<_> = plan.site.encodings.iter().map(compressor).collect();
        document["settings"]["http"] =
            json!({ "compression": { "types": TEXTS, "compressors": compressors } });
    }
    if let Some(log) = &plan.site.log {
        document["access_log"] = access_log(log);
    }
    document
}

/// The routes of the site.
const SITE: &str = "site";

/// The certificate of listeners for HTTPS.
pub(super) const CERTIFICATE: &str = "own";

fn listener(listener: &CaddyListener) -> (String, Value) {
    let mut value = json!({ "pass": format!("routes/{SITE}") });
    if listener.is_secure {
        value["tls"] = json!({ "certificate": CERTIFICATE });
    }
    (listener.address.clone(), value)
}

/// Leads requests of HTTP to HTTPS, unless they are served themselves.
fn redirect(document: &mut Value, port: &str) {
    if document["listeners"].get(PLAIN).is_some() {
        return;
    }
    let port = if port == "443" { String::new() } else { format!(":{port}") };
    let location = format!("https://${{host}}{port}${{request_uri}}");
    document["listeners"][PLAIN] = json!({ "pass": "routes/https" });
    document["routes"]["https"] = json!([{ "action": { "return": 308, "location": location } }]);
}

/// Where browsers ask first.
const PLAIN: &str = "*:80";

/// Shorter bodies are sent as they are.
const WORTH_IT: u32 = 512;

/// Media types that become smaller.
const TEXTS: [&str; 8] = [
    "text/*",
    "application/json*",
    "application/javascript*",
    "application/*+json*",
    "application/*xml*",
    "application/wasm*",
    "image/svg+xml*",
    "font/*",
];

fn level(plan: &CaddyfilePlan) -> &'static str {
    let asked = plan.site.log.as_ref().map_or(CaddyLevel::Info, |log| log.level);
    if plan.globals.debug { CaddyLevel::Debug.name() } else { asked.name() }
}

fn routes(plan: &CaddyfilePlan, pages: &[(u16, PathBuf)]) -> Value {
    let site = &plan.site;
    let application = json!({ "pass": format!("applications/{APPLICATION}") });
    let files = share(&site.root);
    let mut steps = vec![step(&HIDDEN, &application), step(&SCRIPTS, &application)];
    if !site.files.is_empty() {
        let mut action = json!({ "share": files });
        if !pages.is_empty() {
            let page = |(status, path): &(u16, PathBuf)| (status.to_string(), json!({ "share": path }));
            action["errors"] = pages.iter().map(page).collect::<Map<_, _>>().into();
        }
        steps.push(step(&site.files, &action));
    }
    // A folder is not a file: the application answers for it.
    steps.push(step(&["*/"], &application));
    steps.push(json!({ "action": {
        "share": files,
        "types": ["!application/x-httpd-php"],
        "fallback": application,
    } }));
    if site.addresses.hosts.is_empty() {
        return steps.into();
    }
    for step in &mut steps {
        step["match"]["host"] = json!(site.addresses.hosts);
    }
    steps.into()
}

fn step(uri: &[impl AsRef<str>], action: &Value) -> Value {
    let uri: Vec<_> = uri.iter().map(AsRef::as_ref).collect();
    json!({ "match": { "uri": uri }, "action": action })
}

/// Files that are not meant to be published, such as `.htaccess`.
const HIDDEN: [&str; 2] = ["*/.*", "!/.well-known/*"];

/// Sources, by whatever spelling: never shown.
const SCRIPTS: [&str; 3] = ["*.php", "*.php/*", "~(?i)\\.(php[0-9]?|phtml|phar|inc)(/|$)"];

fn application(plan: &CaddyfilePlan, surroundings: &DocumentContext<'_>) -> Value {
    let php = &plan.site.php;
    let mut application = json!({
        "type": "php",
        "root": plan.site.root,
        "working_directory": surroundings.folder,
    });
    match &php.worker {
        Some(worker) => {
            application["processes"] = processes(worker).into();
            let variables = worker.environment.iter().chain(&php.environment);
            application["worker"] = json!({ "script": worker.script, "env": object(variables) });
        }
        None => {
            application["processes"] = "auto".into();
            application["script"] = php.index.as_str().into();
            application["environment"] = object(php.environment.iter());
        }
    }
    if !plan.globals.php_ini.is_empty() {
        application["options"] = json!({ "admin": object(plan.globals.php_ini.iter()) });
    }
    if let Some((user, group)) = surroundings.owner {
        application["user"] = user.into();
        application["group"] = group.into();
    }
    application
}

/// FrankenPHP has two threads for each processor unless it is told otherwise.
pub(super) fn processes(worker: &WorkerOptions) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    worker.number.map_or_else(|| 2 * processors(), |number| number.get() as usize)
}

fn object<'a>(pairs: impl Iterator<Item = &'a (String, String)>) -> Value {
    pairs.map(|(name, value)| (name.clone(), value.as_str().into())).collect::<Map<_, _>>().into()
}

/// The daemon's standard output. Not every container has a /dev/stdout.
const OWN_OUTPUT: &str = "/proc/self/fd/1";

/// One object for each request; the program that reads it gives it its form.
fn access_log(log: &Log) -> Value {
    let mut access_log = json!({
        "path": OWN_OUTPUT,
        "format": {
            "remote_ip": "$remote_addr",
            "proto": "$protocol",
            "method": "$method",
            "host": "$header_host",
            "uri": "$request_uri",
            "status": "$status",
            "size": "$body_bytes_sent",
            "duration": "$request_time",
        },
    });
    if log.level > CaddyLevel::Info {
        access_log["if"] = "`${vars.status >= 500 ? 1 : 0}`".into();
    }
    access_log
}
