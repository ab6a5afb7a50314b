//! `worker` of a PHP application: a script that stays in memory (beyond Unit).

use std::num::NonZeroU32;
use std::path::PathBuf;

use super::context::Context;
use super::environment;
use super::scalars::{count, is_true};
use super::schema::{self, ARRAY, BOOL, Field, INTEGER, Member, OBJECT, STRING, optional, required};
use super::strings::{absolute_paths, path};
use crate::plan::{AppSpec, Guard, PhpWorker, RuntimeSpec};

/// Reads `worker`.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<PhpWorker> {
    let mut draft = PhpWorkerDraft::default();
    schema::read_nested(cx, field, &[WORKER], &mut draft);
    Some(PhpWorker {
        script: draft.script?,
        max_requests: draft.max_requests,
        watch: draft.watch,
        environment: draft.environment,
        compatibility: draft.compatibility.unwrap_or(true),
        guard: draft.guard.unwrap_or_default(),
    })
}

/// The application with what its worker's own options say about things that every application has.
pub(super) fn applied(mut spec: AppSpec) -> AppSpec {
    let RuntimeSpec::Php(php) = &spec.runtime else { return spec };
    let Some(worker) = php.worker() else { return spec };
    if let Some(most) = worker.max_requests {
        spec.limits.requests = Some(spec.limits.requests.map_or(most, |limit| limit.min(most)));
    }
    spec.restart.watch.extend(worker.watch.iter().cloned());
    let is_new = |(name, _): &&(String, String)| spec.environment.iter().all(|(known, _)| known != name);
    let added: Vec<_> = worker.environment.iter().filter(is_new).cloned().collect();
    spec.environment.extend(added);
    spec
}

#[derive(Default)]
struct PhpWorkerDraft {
    script: Option<PathBuf>,
    max_requests: Option<NonZeroU32>,
    watch: Vec<PathBuf>,
    environment: Vec<(String, String)>,
    compatibility: Option<bool>,
    guard: Option<Guard>,
}

const WORKER: &[Member<PhpWorkerDraft>] = &[
    required("script", STRING)
        .means(
            "runs once in each process and asks for its requests: absolute, below `root`, or below the \
             `working_directory`",
        )
        .read(|cx, field, draft| draft.script = path(cx, field)),
    optional("max_requests", INTEGER)
        .default("none")
        .means("requests after which the script is told to end, and started anew in another process")
        .read(|cx, field, draft| draft.max_requests = count(cx, field)),
    optional("watch", ARRAY)
        .means("absolute paths of files or folders whose change starts it anew, with the code in these folders, as \
            `restart.watch` does")
        .read(|cx, field, draft| draft.watch = absolute_paths(cx, field)),
    optional("env", OBJECT)
        .means("variables for the script, which each request finds in `$_SERVER`, too")
        .read(|cx, field, draft| draft.environment = environment::read(cx, field)),
    optional("guard", STRING)
        .default("`\"report\"`")
        .means(
            "what is done about [state that a request leaves behind](php-worker.md#the-state-guard): \
             `\"report\"`, `\"restore\"`, `\"recycle\"` or `\"off\"`",
        )
        .read(|cx, field, draft| draft.guard = guard(cx, field)),
    optional("compatibility", BOOL)
        .default("`true`")
        .means("whether the functions have the names that FrankenPHP has given them, too")
        .read(|_, field, draft| draft.compatibility = Some(is_true(field))),
];

fn guard(cx: &mut Context<'_>, field: Field<'_>) -> Option<Guard> {
    let written = field.value.as_bytes()?;
    let found = GUARDS.iter().find(|(name, _)| name.as_bytes() == &**written);
    if found.is_none() {
        let detail = "The \"guard\" string must be \"report\", \"restore\", \"recycle\" or \"off\".";
        let written = String::from_utf8_lossy(written);
        cx.problem_with_suggestion(detail, &written, GUARDS.iter().map(|(name, _)| *name));
    }
    found.map(|(_, guard)| *guard)
}

const GUARDS: [(&str, Guard); 4] = [
    ("report", Guard::Report),
    ("restore", Guard::Restore),
    ("recycle", Guard::Recycle),
    ("off", Guard::Off),
];
