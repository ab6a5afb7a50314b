//! Document to `Config`, with every problem collected (contract 5 and the sections after it).
//!
//! `schema` reads objects by tables of their members; each module below holds the tables and checks
//! of one part of the document and fills a draft, which is taken only when nothing was wrong.

mod access_log;
mod acme;
mod actions;
mod advice;
mod app_type;
mod applications;
mod authentication;
mod bounds;
mod cgi;
mod command;
mod compression;
mod context;
mod cors;
mod defaults;
mod describe;
mod description;
mod destination;
mod entry;
mod environment;
mod forms;
mod forwarded;
mod gateway;
mod groups;
mod http;
mod https_only;
mod isolation;
mod java;
mod json_schema;
mod label;
mod layer4;
mod limits;
mod listeners;
mod local_address;
mod maintenance;
mod maps;
mod mirror;
mod modules;
mod names;
mod params;
mod perl;
mod php;
mod php_paths;
mod php_worker;
mod plain;
mod prefix;
mod process;
mod proxy;
mod python;
mod queue;
mod recorder;
mod reference;
mod request_bounds;
mod responses;
mod restart;
mod rewrite;
mod rewrites;
mod routes;
mod ruby;
mod scalars;
mod schedule;
mod schema;
mod script_root;
mod settings;
mod share;
mod strings;
mod survey;
mod synonyms;
mod table;
mod targets;
mod throttle;
mod tls;
mod try_files;
mod types;
mod upstreams;
mod variables;
mod wasm;

use self::context::Context;
pub use self::describe::configuration_schema;
pub use self::groups::process_groups;
pub use self::modules::compare_versions;
pub use self::reference::{DocumentedOption, OptionTable, option_tables};
use self::routes::RouteDrafts;
use self::schema::{ARRAY, Member, OBJECT, STRING, optional};
use crate::Config;
use crate::access_log::AccessLog;
use crate::json::{MAX_DEPTH, Value};
use crate::known::Known;
use crate::listener::Listener;
use crate::problem::Problem;
use crate::settings::Settings;
use crate::table::{Key, Table};
use crate::upstream::Upstream;

/// Reads a whole document.
///
/// # Errors
///
/// With everything that is wrong, in the order of the document; never empty.
pub fn validate(doc: &Value, known: &Known) -> Result<Config, Vec<Problem>> {
    let destinations = names::collect(doc);
    let maps = names::maps(doc);
    let mut cx = Context::new(known, &destinations, &maps, actions::read);
    let mut draft = DocumentDraft::default();
    if doc.depth() > MAX_DEPTH {
        cx.problem(format!("The configuration must not be nested deeper than {MAX_DEPTH} levels."));
    } else if let Some(members) = doc.as_object() {
        schema::read_object(&mut cx, members, &[ROOT], &mut draft);
    } else {
        cx.problem(schema::not_an_object("The configuration", doc));
    }
    let (mut tables, assets) = cx.finish()?;
    let DocumentDraft {
        mut listeners,
        routes: RouteDrafts { routes, defaults: route_defaults },
        applications,
        upstreams,
        settings,
        access_logs,
    } = draft;
    let applications::ApplicationDrafts { specs, policies, background } = applications;
    let mut problems = authentication::wrong_servers(&tables.authentications, &upstreams);
    problems.extend(try_files::complete(&mut tables.tries, &specs, &policies));
    problems.extend(settings::control::add_listeners(&mut listeners, &settings));
    problems.extend(acme::add_names(&mut listeners, &routes));
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Config {
        listeners,
        routes,
        route_defaults,
        applications: specs,
        app_policies: policies,
        background,
        upstreams,
        tables,
        settings,
        access_logs,
        assets,
        destinations,
    })
}

#[derive(Default)]
struct DocumentDraft {
    listeners: Vec<Listener>,
    routes: RouteDrafts,
    applications: applications::ApplicationDrafts,
    upstreams: Table<Upstream>,
    settings: Settings,
    access_logs: Vec<Key<AccessLog>>,
}

const ROOT: &[Member<DocumentDraft>] = &[
    optional("$schema", STRING)
        .means("the [schema](configuration-files.md#editors) by which an editor completes and checks the file; ignored")
        .read(|_, _, _| {}),
    optional("settings", OBJECT)
        .means(
            "[settings](configuration/settings.md): limits and timeouts of HTTP, compression, the log, \
             telemetry",
        )
        .read(|cx, field, draft| settings::read(cx, field, &mut draft.settings)),
    optional("listeners", OBJECT)
        .means("[listeners](configuration/listeners.md): addresses, and where their requests go")
        .read(|cx, field, draft| draft.listeners = listeners::read(cx, field)),
    optional("limit_zones", OBJECT)
        .first()
        .means(
            "[limits with a name](configuration/limits.md#one-limit-for-several-places), which several places \
             share (beyond Unit)",
        )
        .read(|cx, field, _| throttle::read_zones(cx, field)),
    optional("routes", ARRAY.or(OBJECT))
        .means("[routes](configuration/routes.md): which action a request gets")
        .read(|cx, field, draft| draft.routes = routes::read(cx, field)),
    optional("applications", OBJECT)
        .means("[applications](configuration/applications.md): what is run, as whom, in how many processes")
        .read(|cx, field, draft| draft.applications = applications::read(cx, field)),
    optional("upstreams", OBJECT)
        .means("[groups of servers](configuration/proxy.md#groups) that requests are passed on to")
        .read(|cx, field, draft| draft.upstreams = upstreams::read(cx, field)),
    optional("maps", OBJECT)
        .means(
            "[tables](configuration/maps.md) in which the value of a variable `$map_NAME` is looked up (beyond \
             Unit)",
        )
        .read(|cx, field, _| maps::read(cx, field)),
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
