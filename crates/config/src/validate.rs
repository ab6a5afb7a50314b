//! Document to `Config`, with every problem collected (contract 5 and the sections after it).
//!
//! `schema` reads objects by tables of their members; each module below holds the tables and checks
//! of one part of the document and fills a draft, which is taken only when nothing was wrong.

mod access_log;
mod actions;
mod advice;
mod app_type;
mod applications;
mod compression;
mod context;
mod describe;
mod environment;
mod forwarded;
mod http;
mod isolation;
mod java;
mod label;
mod limits;
mod listeners;
mod modules;
mod names;
mod perl;
mod php;
mod proxy;
mod python;
mod recorder;
mod reference;
mod restart;
mod routes;
mod ruby;
mod scalars;
mod schema;
mod settings;
mod share;
mod strings;
mod survey;
mod synonyms;
mod table;
mod targets;
mod tls;
mod types;
mod upstreams;
mod wasm;

use std::path::PathBuf;

use self::context::Context;
pub use self::describe::configuration_schema;
pub use self::reference::{DocumentedOption, OptionTable, option_tables};
use self::schema::{ARRAY, Member, OBJECT, STRING, optional};
use crate::access_log::AccessLog;
use crate::json::{MAX_DEPTH, Value};
use crate::listener::Listener;
use crate::plan::AppSpec;
use crate::route::Route;
use crate::settings::Settings;
use crate::upstream::Upstream;
use crate::{Config, Problem};

/// What the world outside the document offers. What was not named with a builder does not exist.
#[derive(Debug, Clone)]
pub struct Known {
    modules: Option<Vec<KnownModule>>,
    /// Names; `None` means that any exists.
    certificates: Option<Vec<String>>,
    /// Names; `None` means that any exists.
    scripts: Option<Vec<String>>,
    /// Whether it is enough that most of the document can be used.
    is_lenient: bool,
    /// `None` means that all scripts are right.
    check_script: Option<ScriptCheck>,
    /// The kernel can open files in restricted ways (openat2).
    confinement: bool,
}

/// Says what is wrong with a JavaScript template literal, if anything.
pub type ScriptCheck = fn(&str) -> Result<(), String>;

/// A host executable that can run applications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownModule {
    /// `php`, `python`, …
    pub language: String,
    /// As the interpreter reports it.
    pub version: String,
    /// Its path.
    pub path: PathBuf,
}

impl Known {
    /// These modules and no others.
    #[must_use]
    pub fn modules(modules: Vec<KnownModule>) -> Self {
        let (certificates, scripts) = (Some(Vec::new()), Some(Vec::new()));
        Self {
            modules: Some(modules),
            certificates,
            scripts,
            check_script: None,
            confinement: true,
            is_lenient: false,
        }
    }

    /// With these certificate bundles.
    #[must_use]
    pub fn with_certificates(mut self, names: Vec<String>) -> Self {
        self.certificates = Some(names);
        self
    }

    /// With these JavaScript modules, and the check that expressions have to pass.
    #[must_use]
    pub fn with_scripts(mut self, names: Vec<String>, check: ScriptCheck) -> Self {
        self.scripts = Some(names);
        self.check_script = Some(check);
        self
    }

    /// Whether the kernel can keep a path inside a folder, off links and off other mounts (openat2).
    #[must_use]
    pub fn with_confinement(self, confinement: bool) -> Self {
        Self { confinement, ..self }
    }

    /// With any certificate bundle, for a document whose bundles are elsewhere.
    #[must_use]
    pub fn with_any_certificates(mut self) -> Self {
        self.certificates = None;
        self
    }

    /// With any JavaScript module, for a document whose modules are elsewhere.
    #[must_use]
    pub fn with_any_scripts(mut self) -> Self {
        self.scripts = None;
        self
    }

    /// Accepts what a daemon can do without when it starts: applications that have problems, whose
    /// specification then says why they cannot be started, and listeners whose certificate bundle is missing.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.is_lenient = true;
        self
    }

    /// For a document that was validated elsewhere: any application has its module, whose path is
    /// empty in the specifications that come out; any certificate bundle and script exists.
    #[must_use]
    pub fn validated_elsewhere() -> Self {
        Self {
            modules: None,
            certificates: None,
            scripts: None,
            check_script: None,
            confinement: true,
            is_lenient: false,
        }
    }
}

/// Reads a whole document.
///
/// # Errors
///
/// With everything that is wrong, in the order of the document; never empty.
pub fn validate(doc: &Value, known: &Known) -> Result<Config, Vec<Problem>> {
    let destinations = names::collect(doc);
    let mut cx = Context::new(known, &destinations);
    let mut draft = Draft::default();
    if doc.depth() > MAX_DEPTH {
        cx.problem(format!("The configuration must not be nested deeper than {MAX_DEPTH} levels."));
    } else if let Some(members) = doc.as_object() {
        schema::read_object(&mut cx, members, &[ROOT], &mut draft);
    } else {
        cx.problem(schema::not_an_object("The configuration", doc));
    }
    let (problems, assets, proxies) = cx.finish();
    if !problems.is_empty() {
        return Err(problems);
    }
    let Draft { listeners, routes, applications, upstreams, settings, access_logs } = draft;
    Ok(Config {
        listeners,
        routes,
        applications,
        upstreams,
        proxies,
        settings,
        access_logs,
        assets,
        destinations,
    })
}

#[derive(Default)]
struct Draft {
    listeners: Vec<Listener>,
    routes: Vec<Route>,
    applications: Vec<AppSpec>,
    upstreams: Vec<Upstream>,
    settings: Settings,
    access_logs: Vec<AccessLog>,
}

const ROOT: &[Member<Draft>] = &[
    optional("settings", OBJECT)
        .means(
            "[settings](configuration/settings.md): limits and time-outs of HTTP, compression, the log, \
             telemetry",
        )
        .read(|cx, field, draft| settings::read(cx, field, &mut draft.settings)),
    optional("listeners", OBJECT)
        .means("[listeners](configuration/listeners.md): addresses, and where their requests go")
        .read(|cx, field, draft| draft.listeners = listeners::read(cx, field)),
    optional("routes", ARRAY.or(OBJECT))
        .means("[routes](configuration/routes.md): which action a request gets")
        .read(|cx, field, draft| draft.routes = routes::read(cx, field)),
    optional("applications", OBJECT)
        .means("[applications](configuration/applications.md): what is run, as whom, in how many processes")
        .read(|cx, field, draft| draft.applications = applications::read(cx, field)),
    optional("upstreams", OBJECT)
        .means("[groups of servers](configuration/proxy.md#groups) that requests are passed on to")
        .read(|cx, field, draft| draft.upstreams = upstreams::read(cx, field)),
    optional("access_log", STRING.or(OBJECT))
        .or_beyond_unit(ARRAY)
        .means(
            "[access log](configuration/logs.md): a file with one line for each request; opened by the main \
             process, opened again at `SIGUSR1`",
        )
        .read(|cx, field, draft| draft.access_logs = access_log::read(cx, field)),
];

#[cfg(test)]
mod tests;
