//! The options of Python applications (contract 22.2).

use std::mem;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use super::app_type::{AppType, ApplicationType};
use super::bounds;
use super::context::Context;
use super::scalars::{count, is_true, thread_stack_size};
use super::schema::{self, ARRAY, BOOL, Field, INTEGER, Member, OBJECT, STRING, optional, required};
use super::strings::{name, path, string_array};
use super::{params, targets};
use crate::gateway::{EntryPoint, Param};
use crate::json::{Object, Value};
use crate::plan::{PythonProtocol, PythonSpec, PythonTarget, RuntimeSpec};

/// Applications of Python.
pub(super) const PYTHON: AppType<PythonDraft> = AppType { tables: &[APPLICATION], finish };

/// The members that concern Python, as far as they were read.
#[derive(Default)]
pub(super) struct PythonDraft {
    target: PythonTargetDraft,
    targets: Vec<(PythonTarget, EntryPoint)>,
    params: Vec<Param>,
    home: Option<PathBuf>,
    path: Vec<PathBuf>,
    protocol: Option<PythonProtocol>,
    threads: Option<NonZeroU32>,
    thread_stack_size: Option<NonZeroUsize>,
}

#[derive(Default)]
struct PythonTargetDraft {
    module: Option<String>,
    callable: Option<String>,
    factory: bool,
    prefix: Option<String>,
    params: Vec<Param>,
}

const APPLICATION: &[Member<PythonDraft>] = &[
    optional("module", STRING)
        .means("the module to import, such as `wsgi` or `project.wsgi`; required, or in each target")
        .read(|cx, field, draft| draft.target.module = name(cx, field)),
    optional("callable", STRING)
        .default("`\"application\"`")
        .means("the application's name in the module")
        .read(|cx, field, draft| draft.target.callable = name(cx, field)),
    optional("factory", BOOL)
        .default("`false`")
        .means("the callable takes no arguments and returns the application")
        .read(|_, field, draft| draft.target.factory = is_true(field)),
    optional("prefix", STRING)
        .means(
            "what the application's paths begin with, such as `/app`: it becomes `SCRIPT_NAME` and is taken \
             off `PATH_INFO`",
        )
        .read(|cx, field, draft| draft.target.prefix = prefix(cx, field)),
    optional("targets", OBJECT)
        .means(
            "several entry points, each with `module`, `callable`, `factory`, `prefix` and `params` of its own, for \
             `\"pass\": \"applications/site/NAME\"`",
        )
        .read(|cx, field, draft| draft.targets = targets::read(cx, field, read_target)),
    params::OF_APPLICATION.read(|cx, field, draft| draft.params = params::read(cx, field)),
    optional("home", STRING)
        .means("a virtual environment, or where another standard library is (`PYTHONHOME`)")
        .read(|cx, field, draft| draft.home = path(cx, field)),
    optional("path", STRING.or(ARRAY))
        .means(
            "a folder or an array of folders that are searched for modules before all others, in this order",
        )
        .read(|cx, field, draft| draft.path = paths(cx, field)),
    optional("protocol", STRING)
        .default("by the callable")
        .means("`wsgi` or `asgi`: a coroutine function, or an object that is called like one, speaks ASGI")
        .read(|cx, field, draft| draft.protocol = protocol(cx, field)),
    optional("threads", INTEGER)
        .at_most(bounds::THREADS)
        .default("1")
        .means(
            "requests that each process runs at once; in ASGI, where a process runs as many as come, its \
             event loops: requests that may block at once",
        )
        .read(|cx, field, draft| draft.threads = count(cx, field)),
    optional("thread_stack_size", INTEGER)
        .at_most(bounds::THREAD_STACK)
        .default("the system's")
        .means(
            "bytes of stack of each thread but the first, a multiple of 4096; 128 KiB at least where they \
             have event loops",
        )
        .read(|cx, field, draft| draft.thread_stack_size = thread_stack_size(cx, field)),
];

const TARGET: &[Member<PythonTargetDraft>] = &[
    required("module", STRING).read(|cx, field, draft| draft.module = name(cx, field)),
    optional("callable", STRING).read(|cx, field, draft| draft.callable = name(cx, field)),
    optional("factory", BOOL).read(|_, field, draft| draft.factory = is_true(field)),
    optional("prefix", STRING).read(|cx, field, draft| draft.prefix = prefix(cx, field)),
    params::OF_APPLICATION.read(|cx, field, draft| draft.params = params::read(cx, field)),
];

fn finish(cx: &mut Context<'_>, app: ApplicationType<'_>, draft: PythonDraft) -> Option<RuntimeSpec> {
    let targets = if targets::are_given(cx, app.members, &["module", "callable", "factory", "prefix"]) {
        draft.targets
    } else {
        if !app.members.contains_key(b"module".as_slice()) {
            cx.problem("Required parameter \"module\" is missing.");
        }
        vec![(target(String::new(), draft.target)?, EntryPoint::default())]
    };
    let (targets, of_targets) = targets.into_iter().unzip();
    params::set_entries(cx, &draft.params, of_targets);
    Some(RuntimeSpec::Python(PythonSpec {
        targets,
        home: draft.home,
        path: draft.path,
        protocol: draft.protocol,
        threads: draft.threads.unwrap_or(NonZeroU32::MIN),
        thread_stack_size: draft.thread_stack_size,
    }))
}

fn read_target(cx: &mut Context<'_>, name: String, members: &Object) -> Option<(PythonTarget, EntryPoint)> {
    let mut draft = PythonTargetDraft::default();
    schema::read_object(cx, members, &[TARGET], &mut draft);
    let entry = params::of_target(mem::take(&mut draft.params));
    Some((target(name, draft)?, entry))
}

fn target(name: String, draft: PythonTargetDraft) -> Option<PythonTarget> {
    let callable = draft.callable.unwrap_or_else(|| "application".to_owned());
    Some(PythonTarget { name, module: draft.module?, callable, factory: draft.factory, prefix: draft.prefix })
}

/// Without the slashes at its end: `/app/` is the prefix of `/app` too. Nothing but slashes is none.
fn prefix(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    let text = super::strings::text(cx, field)?;
    if !text.starts_with('/') {
        cx.problem("The \"prefix\" must be a string beginning with \"/\".");
    }
    let prefix = text.trim_end_matches('/');
    (!prefix.is_empty()).then(|| prefix.to_owned())
}

fn paths(cx: &mut Context<'_>, field: Field<'_>) -> Vec<PathBuf> {
    match field.value {
        Value::Array(_) => string_array(cx, field, path),
        _ => path(cx, field).into_iter().collect(),
    }
}

fn protocol(cx: &mut Context<'_>, field: Field<'_>) -> Option<PythonProtocol> {
    match &**field.value.as_bytes()? {
        b"wsgi" => return Some(PythonProtocol::Wsgi),
        b"asgi" => return Some(PythonProtocol::Asgi),
        _ => cx.problem("The \"protocol\" can either be \"wsgi\" or \"asgi\"."),
    }
    None
}
