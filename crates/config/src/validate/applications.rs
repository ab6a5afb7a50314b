//! `applications`: the options that all languages share (contract 20), and which module runs what.

use std::mem;
use std::path::PathBuf;

use super::app_type::{AppType, ApplicationType};
use super::bounds;
use super::context::Context;
use super::limits::{self, LIMITS, PROCESSES, ProcessesDraft};
use super::scalars::{count, is_true};
use super::schema::{self, BOOL, Field, INTEGER, Member, OBJECT, Rows, STRING, optional};
use super::strings::{member_name, name, path};
use super::{
    advice, cgi, environment, forms, groups, http, isolation, java, modules, perl, php, php_worker, process,
    python, queue, restart, ruby, throttle, wasm,
};
use crate::abandoned::Abandoned;
use crate::json::{Bytes, Object, Value};
use crate::plan::{AppSpec, Isolation, Limits, Processes, QueueSpec, Restart, RuntimeSpec};
use crate::table::{Key, Table};
use crate::tables::AppPolicy;
use crate::throttle::Throttle;

/// All applications.
#[derive(Default)]
pub(super) struct ApplicationDrafts {
    pub(super) specs: Table<AppSpec>,
    pub(super) policies: Table<AppSpec, AppPolicy>,
    /// Background applications, which no listener reaches.
    pub(super) background: Vec<AppSpec>,
}

impl ApplicationDrafts {
    fn push(&mut self, spec: AppSpec, policy: AppPolicy) {
        self.specs.push(spec);
        self.policies.push(policy);
    }
}

/// Reads all applications, and behind them what they have of further groups of processes; those that are wrong are left
/// out.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> ApplicationDrafts {
    let read = if cx.known.is_lenient { read_or_excuse } else { read_application };
    let (mut draft, mut further) = (ApplicationDrafts::default(), Vec::new());
    let Some(members) = field.value.as_object() else { return draft };
    for (name, value) in members {
        let Some((spec, policy)) = cx.at(name, |cx| read(cx, name, value)) else { continue };
        if process::is_process(value) {
            draft.background.push(process::applied(spec, value));
            continue;
        }
        let policies = groups::policies(policy, value);
        let mut groups = groups::split(spec, value).into_iter().map(php_worker::applied).zip(policies);
        if let Some((spec, policy)) = groups.next() {
            draft.push(spec, policy);
        }
        further.extend(groups);
    }
    if let Some(name) = groups::taken_name(members) {
        let detail = format!("The processes of a target with a worker are called \"{name}\" already.");
        cx.at(name, |cx| cx.problem(detail));
    }
    further.into_iter().for_each(|(spec, policy)| draft.push(spec, policy));
    draft
}

/// An application that is wrong becomes one that cannot be started, and the first problem the reason why.
fn read_or_excuse(cx: &mut Context<'_>, name: &Bytes, value: &Value) -> Option<(AppSpec, AppPolicy)> {
    let n_before = cx.n_problems();
    let spec = read_application(cx, name, value);
    let text = name.to_str().filter(|text| is_name(text));
    match (text, cx.take_problems(n_before).into_iter().next()) {
        (Some(name), Some(problem)) => {
            let runtime = RuntimeSpec::Unusable(problem.to_string());
            let spec = specification(name.to_owned(), PathBuf::new(), Common::default(), runtime);
            Some((spec, AppPolicy::default()))
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

fn read_application(cx: &mut Context<'_>, name: &Bytes, value: &Value) -> Option<(AppSpec, AppPolicy)> {
    let text = member_name(cx, name)?;
    if !is_name(&text) {
        cx.problem("The application name must not be empty and must not contain null character.");
    }
    let Some(members) = value.as_object() else {
        let detail = schema::wrong_type(&text, OBJECT, value);
        cx.problem_with_advice(detail, forms::APPLICATION);
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
    let module = cx.at(b"type", |cx| modules::find(cx, app_type))?;
    let (mut common, mut runtime) = match modules::split_type(&app_type.to_string_lossy()).0 {
        "perl" => read_members(cx, members, &perl::PERL),
        "ruby" => read_members(cx, members, &ruby::RUBY),
        "python" => read_members(cx, members, &python::PYTHON),
        "wasm-wasi-component" => read_members(cx, members, &wasm::WASM),
        "http" => read_members(cx, members, &http::HTTP),
        "fastcgi" => read_members(cx, members, &cgi::FASTCGI),
        "cgi" => read_members(cx, members, &cgi::CGI),
        "process" => read_members(cx, members, &process::PROCESS),
        "java" => read_members(cx, members, &java::JAVA),
        "external" | "go" => read_members(cx, members, &http::EXTERNAL),
        _ => read_members(cx, members, &php::PHP),
    }?;
    match &mut runtime {
        RuntimeSpec::Process(process) => process.queue = common.queue.take(),
        _ => queue::refuse(cx, members),
    }
    let limits = mem::take(&mut common.client_limits);
    let policy = AppPolicy { limits, abandoned: common.abandoned, entries: cx.take_entries() };
    Some((specification(text, module, common, runtime), policy))
}

/// Reads the members of all applications and those of one type.
fn read_members<L: Default>(
    cx: &mut Context<'_>,
    members: &Object,
    app_type: &AppType<L>,
) -> Option<(Common, RuntimeSpec)> {
    let (mut common, mut own) = (Common::default(), L::default());
    let mut common_rows = Rows { tables: &[COMMON], draft: &mut common };
    let mut own_rows = Rows { tables: app_type.tables, draft: &mut own };
    schema::read_parts(cx, members, &mut [&mut common_rows, &mut own_rows]);
    let runtime = (app_type.finish)(cx, ApplicationType { members, isolation: &common.isolation }, own)?;
    Some((common, runtime))
}

fn specification(name: String, module: PathBuf, common: Common, runtime: RuntimeSpec) -> AppSpec {
    AppSpec {
        name,
        module,
        user: common.user,
        group: common.group,
        working_directory: common.working_directory,
        environment: common.environment,
        inherit_environment: common.inherit_environment.unwrap_or(true),
        stdout: common.stdout,
        stderr: common.stderr,
        isolation: common.isolation,
        processes: common.processes.unwrap_or_else(limits::one_process),
        limits: common.limits,
        restart: common.restart,
        runtime,
    }
}

/// The members that every application may have, as far as they are read; those of its type fill a draft of their own.
#[derive(Default)]
struct Common {
    user: Option<String>,
    group: Option<String>,
    working_directory: Option<PathBuf>,
    environment: Vec<(String, String)>,
    inherit_environment: Option<bool>,
    stdout: Option<PathBuf>,
    stderr: Option<PathBuf>,
    isolation: Isolation,
    processes: Option<Processes>,
    queue: Option<QueueSpec>,
    limits: Limits,
    /// Not a part of the specification: a change of them needs no new processes.
    client_limits: Vec<Key<Throttle>>,
    /// The same.
    abandoned: Abandoned,
    restart: Restart,
}

const COMMON: &[Member<Common>] = &[
    optional("type", STRING)
        .default("required")
        .means(
            "the language, with a version if several are installed: `php`, `php 8.2`. `wasm-wasi-component` \
             is for [WebAssembly](webassembly.md), [`http`](http.md) for programs that serve HTTP themselves, \
             [`fastcgi`](cgi.md) for programs of FastCGI, [`cgi`](cgi.md#scripts-of-cgi) for scripts, \
             [`process`](../background-work.md) for commands that get no requests",
        )
        .read(|_, _, _| {}),
    optional("processes", INTEGER.or(OBJECT)).at_most(bounds::PROCESSES)
        .or_beyond_unit(STRING)
        .default("1")
        .means(
            "a number: as many workers, always. Or an object: `max` workers at most, `spare` idle ones kept \
             ready, further idle ones ended after `idle_timeout` seconds. With `spare` 0 nothing is started, \
             and so nothing is tested, before the first request, and nothing is left after ten times the \
             `idle_timeout` without one. Or [`\"auto\"`](#as-many-workers-as-are-needed)",
        )
        .read(|cx, field, draft| draft.processes = read_processes(cx, field, &mut draft.queue)),
    optional("limits", OBJECT)
        .read(|cx, field, draft| schema::read_nested(cx, field, &[LIMITS], &mut draft.limits)),
    throttle::REQUESTS.read(|cx, field, draft| throttle::requests(cx, field, &mut draft.client_limits)),
    throttle::CONNECTIONS.read(|cx, field, draft| throttle::connections(cx, field, &mut draft.client_limits)),
    optional("abandoned", STRING)
        .default("by the method")
        .means(
            "`\"run\"` or `\"drop\"`: what becomes of [requests whose clients \
            leave](#clients-that-leave-while-they-wait) while they wait for a worker. Without it, `GET`, `HEAD`, \
            `OPTIONS` and `TRACE` are dropped and others run",
        )
        .read(|cx, field, draft| draft.abandoned = abandoned(cx, field).unwrap_or_default()),
    optional("restart", OBJECT).read(|cx, field, draft| draft.restart = restart::read(cx, field)),
    optional("user", STRING)
        .default("`nobody`, or that of `--user`")
        .means("[the account of the workers](../separation.md)")
        .read(|cx, field, draft| draft.user = name(cx, field)),
    optional("group", STRING)
        .default("that of the user")
        .means("their group")
        .read(|cx, field, draft| draft.group = name(cx, field)),
    optional("working_directory", STRING)
        .default("the daemon's")
        .means("where they run")
        .read(|cx, field, draft| draft.working_directory = path(cx, field)),
    optional("environment", OBJECT)
        .means("an object: variables that are added to the daemon's environment")
        .read(|cx, field, draft| draft.environment = environment::read(cx, field)),
    optional("inherit_environment", BOOL)
        .default("`true`")
        .means(
            "whether there is anything of [the daemon's \
             environment](../separation.md#what-an-application-cannot-do) but `PATH`, `LANG` and `TZ`",
        )
        .read(|_, field, draft| draft.inherit_environment = Some(is_true(field))),
    optional("isolation", OBJECT)
        .default("none")
        .means("[what it can see and use](isolation.md) of the machine")
        .read(|cx, field, draft| draft.isolation = isolation::read(cx, field)),
    optional("stdout", STRING)
        .default("the daemon's log")
        .means("a file for what the application writes there")
        .read(|cx, field, draft| draft.stdout = path(cx, field)),
    optional("stderr", STRING)
        .default("the daemon's log")
        .means("a file for what the application writes there")
        .read(|cx, field, draft| draft.stderr = path(cx, field)),
];

fn read_processes(
    cx: &mut Context<'_>,
    field: Field<'_>,
    queue: &mut Option<QueueSpec>,
) -> Option<Processes> {
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
    let mut draft = ProcessesDraft { numbers: limits::dynamic_processes(), queue: None };
    schema::read_object(cx, members, &[PROCESSES], &mut draft);
    *queue = draft.queue;
    let processes = draft.numbers;
    if processes.spare > processes.max.get() {
        cx.at(b"spare", |cx| cx.problem("The \"spare\" number must be less than or equal to \"max\"."));
    }
    Some(processes)
}

fn abandoned(cx: &mut Context<'_>, field: Field<'_>) -> Option<Abandoned> {
    match &**field.value.as_bytes()? {
        b"run" => Some(Abandoned::Run),
        b"drop" => Some(Abandoned::Drop),
        other => {
            let written = String::from_utf8_lossy(other);
            let detail = "The \"abandoned\" value must be \"run\" or \"drop\".";
            cx.problem_with_suggestion(detail, &written, ["run", "drop"].into_iter());
            None
        }
    }
}
