//! The options of PHP applications (contract 22.1).

use std::path::PathBuf;

use super::advice;
use super::app_type::{AppType, ApplicationType};
use super::context::Context;
use super::scalars::is_true;
use super::schema::{self, BOOL, Field, Member, OBJECT, STRING, optional, required};
use super::script_root::{self, ScriptRoot};
use super::strings::{member_name, name, path, text};
use super::{params, php_paths, php_worker, targets};
use crate::gateway::{EntryPoint, Param};
use crate::json::{Bytes, Object, Value};
use crate::plan::{PhpPathOptions, PhpSpec, PhpTarget, PhpWorker, RuntimeSpec};

/// Applications of PHP.
pub(super) const PHP: AppType<PhpDraft> = AppType { tables: &[APPLICATION], finish };

/// The members that concern PHP, as far as they were read.
#[derive(Default)]
pub(super) struct PhpDraft {
    target: PhpTargetDraft,
    targets: Vec<(PhpTarget, EntryPoint)>,
    options: PhpOptions,
    opcache: OpcacheDraft,
    by_path: Vec<PhpPathOptions>,
    params: Vec<Param>,
}

/// Members of `opcache`.
#[derive(Default)]
struct OpcacheDraft {
    shared: bool,
}

#[derive(Default)]
struct PhpTargetDraft {
    root: Option<ScriptRoot>,
    script: Option<PathBuf>,
    index: Option<String>,
    worker: Option<PhpWorker>,
    params: Vec<Param>,
}

#[derive(Default)]
pub(super) struct PhpOptions {
    file: Option<PathBuf>,
    pub(super) admin: Vec<(String, String)>,
    pub(super) user: Vec<(String, String)>,
    sapi_name: Option<String>,
}

const APPLICATION: &[Member<PhpDraft>] = &[
    optional("root", STRING)
        .means(
            "the folder of the scripts; required, or in each target. With variables it is [another one for each \
             host](#one-folder-for-each-host) (beyond Unit)",
        )
        .read(|cx, field, draft| draft.target.root = script_root::read(cx, field)),
    optional("script", STRING)
        .means("every request runs this one, relative to `root`")
        .read(|cx, field, draft| draft.target.script = path(cx, field)),
    optional("index", STRING)
        .default("`\"index.php\"`")
        .means("the script for a folder")
        .read(|cx, field, draft| draft.target.index = text(cx, field)),
    optional("targets", OBJECT)
        .means(
            "several sets of `root`, `script`, `index`, `worker`, `params` under a name each, passed to as \
             `applications/NAME/TARGET`",
        )
        .read(|cx, field, draft| draft.targets = targets::read(cx, field, read_target)),
    optional("worker", OBJECT)
        .means("a [script that stays in memory](php-worker.md) and answers all requests (beyond Unit)")
        .read(|cx, field, draft| draft.target.worker = php_worker::read(cx, field)),
    params::OF_APPLICATION.read(|cx, field, draft| draft.params = params::read(cx, field)),
    optional("options", OBJECT)
        .read(|cx, field, draft| schema::read_nested(cx, field, &[SETTINGS, OPTIONS], &mut draft.options)),
    optional("opcache", OBJECT)
        .read(|cx, field, draft| schema::read_nested(cx, field, &[OPCACHE], &mut draft.opcache)),
    php_paths::BY_PATH.read(|cx, field, draft| draft.by_path = php_paths::read(cx, field)),
];

fn finish(cx: &mut Context<'_>, app: ApplicationType<'_>, draft: PhpDraft) -> Option<RuntimeSpec> {
    let targets = if targets::are_given(cx, app.members, &["root", "script", "index", "worker"]) {
        draft.targets
    } else {
        if !app.members.contains_key(b"root".as_slice()) {
            cx.problem("Required parameter \"root\" is missing.");
        }
        vec![target(cx, String::new(), draft.target)?]
    };
    let (targets, of_targets): (Vec<PhpTarget>, _) = targets.into_iter().unzip();
    if !draft.by_path.is_empty() && targets.iter().all(|target| target.worker.is_some()) {
        let detail = "The \"options_by_path\" option is for scripts that run for each request: a \"worker\" is one \
                      script for all paths.";
        cx.at(b"options_by_path", |cx| cx.problem(detail));
    }
    params::set_entries(cx, &draft.params, of_targets);
    let PhpOptions { file, admin, user, sapi_name } = draft.options;
    let by_path = draft.by_path;
    let shared_opcache = draft.opcache.shared;
    Some(RuntimeSpec::Php(PhpSpec {
        targets,
        ini_file: file,
        admin,
        user,
        by_path,
        sapi_name,
        shared_opcache,
    }))
}

fn target(cx: &mut Context<'_>, name: String, draft: PhpTargetDraft) -> Option<(PhpTarget, EntryPoint)> {
    let PhpTargetDraft { root, script, index, worker, params } = draft;
    if worker.is_some() && script.is_some() {
        cx.at(b"script", |cx| {
            cx.problem("The \"script\" option is mutually exclusive with the \"worker\" object.");
        });
    }
    let (root, varies) = match root? {
        ScriptRoot::Fixed(root) => (root, None),
        ScriptRoot::Varies(template) => (PathBuf::new(), Some(template)),
    };
    if worker.is_some() && varies.is_some() {
        cx.at(b"root", |cx| {
            cx.problem(
                "The \"root\" must not hold variables beside a \"worker\", which is one script for all requests.",
            );
        });
    }
    let index = index.unwrap_or_else(|| "index.php".to_owned());
    let target = PhpTarget { name, root, root_varies: varies.is_some(), script, index, worker };
    Some((target, EntryPoint { root: varies, ..params::of_target(params) }))
}

fn read_target(cx: &mut Context<'_>, name: String, members: &Object) -> Option<(PhpTarget, EntryPoint)> {
    let mut draft = PhpTargetDraft::default();
    schema::read_object(cx, members, &[TARGET], &mut draft);
    target(cx, name, draft)
}

const TARGET: &[Member<PhpTargetDraft>] = &[
    required("root", STRING).read(|cx, field, draft| draft.root = script_root::read(cx, field)),
    optional("script", STRING).read(|cx, field, draft| draft.script = path(cx, field)),
    optional("index", STRING).read(|cx, field, draft| draft.index = text(cx, field)),
    optional("worker", OBJECT).read(|cx, field, draft| draft.worker = php_worker::read(cx, field)),
    params::OF_APPLICATION.read(|cx, field, draft| draft.params = params::read(cx, field)),
];

/// Settings of `php.ini`.
pub(super) const SETTINGS: &[Member<PhpOptions>] = &[
    optional("admin", OBJECT)
        .means("settings as `\"name\": \"value\"`, which scripts cannot change")
        .read(|cx, field, options| options.admin = ini_settings(cx, field)),
    optional("user", OBJECT)
        .means("settings as `\"name\": \"value\"`, which scripts can change")
        .read(|cx, field, options| options.user = ini_settings(cx, field)),
];

const OPTIONS: &[Member<PhpOptions>] = &[
    optional("file", STRING).means("a `php.ini`").read(|cx, field, options| options.file = path(cx, field)),
    optional("sapi_name", STRING)
        .default("`\"cli-server\"`")
        .means("what `php_sapi_name()` says (beyond Unit): 1 to 32 lower-case letters, digits or hyphens")
        .read(|cx, field, options| options.sapi_name = sapi_name(cx, field)),
];

const OPCACHE: &[Member<OpcacheDraft>] = &[optional("shared", BOOL)
    .default("`false`")
    .means(
        "whether compiled scripts are in memory that the application [has together with \
             others](#many-sites) that say so, too, and that can write there (beyond Unit)",
    )
    .read(|_, field, draft| draft.shared = is_true(field))];

fn ini_settings(cx: &mut Context<'_>, field: Field<'_>) -> Vec<(String, String)> {
    let members = field.value.as_object().into_iter().flatten();
    members.filter_map(|(name, value)| cx.at(name, |cx| ini_setting(cx, name, value))).collect()
}

fn ini_setting(cx: &mut Context<'_>, option: &Bytes, value: &Value) -> Option<(String, String)> {
    if option.is_empty() {
        cx.problem("The PHP option name must not be empty.");
    }
    if !matches!(value, Value::String(_)) {
        let advice = advice::for_type(STRING, value);
        cx.problem_with_advice(format!("The \"{option}\" PHP option must be a string."), advice);
        return None;
    }
    Some((member_name(cx, option)?, text(cx, Field { name: &option.to_string_lossy(), value })?))
}

fn sapi_name(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    let text = name(cx, field)?;
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.len() > MAX_SAPI_NAME || !text.chars().all(allowed) {
        cx.problem(format!(
            "The \"sapi_name\" string must be 1 to {MAX_SAPI_NAME} lower-case letters, digits or hyphens."
        ));
        return None;
    }
    Some(text)
}

const MAX_SAPI_NAME: usize = 32;
