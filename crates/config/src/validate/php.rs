//! The options of PHP applications (contract 22.1).

use std::path::PathBuf;

use super::advice;
use super::app_type::{AppType, ApplicationType};
use super::context::Context;
use super::schema::{self, Field, Member, OBJECT, STRING, optional, required};
use super::strings::{member_name, name, path, text};
use super::{entry, php_worker, targets};
use crate::gateway::{EntryPoint, Param};
use crate::json::{Bytes, Object, Value};
use crate::plan::{PhpSpec, PhpTarget, PhpWorker, RuntimeSpec};

/// Applications of PHP.
pub(super) const PHP: AppType<PhpDraft> = AppType { tables: &[APPLICATION], finish };

/// The members that concern PHP, as far as they were read.
#[derive(Default)]
pub(super) struct PhpDraft {
    target: PhpTargetDraft,
    targets: Vec<PhpTarget>,
    options: PhpOptions,
    params: Vec<Param>,
}

#[derive(Default)]
struct PhpTargetDraft {
    root: Option<PathBuf>,
    script: Option<PathBuf>,
    index: Option<String>,
    worker: Option<PhpWorker>,
}

#[derive(Default)]
struct PhpOptions {
    file: Option<PathBuf>,
    admin: Vec<(String, String)>,
    user: Vec<(String, String)>,
    sapi_name: Option<String>,
}

const APPLICATION: &[Member<PhpDraft>] = &[
    optional("root", STRING)
        .means("the folder of the scripts; required, or in each target")
        .read(|cx, field, draft| draft.target.root = path(cx, field)),
    optional("script", STRING)
        .means("every request runs this one, relative to `root`")
        .read(|cx, field, draft| draft.target.script = path(cx, field)),
    optional("index", STRING)
        .default("`\"index.php\"`")
        .means("the script for a folder")
        .read(|cx, field, draft| draft.target.index = text(cx, field)),
    optional("targets", OBJECT)
        .means(
            "several sets of `root`, `script`, `index`, `worker` under a name each, passed to as \
             `applications/NAME/TARGET`",
        )
        .read(|cx, field, draft| draft.targets = targets::read(cx, field, read_target)),
    optional("worker", OBJECT)
        .means("a [script that stays in memory](php-worker.md) and answers all requests (beyond Unit)")
        .read(|cx, field, draft| draft.target.worker = php_worker::read(cx, field)),
    optional("params", OBJECT)
        .means(
            "an object: variables for `$_SERVER`, as texts with variables, beside [those of CGI](cgi-variables.md) \
            or in their place; `null` takes one away (beyond Unit)",
        )
        .read(|cx, field, draft| draft.params = entry::params(cx, field)),
    optional("options", OBJECT)
        .read(|cx, field, draft| schema::read_nested(cx, field, &[OPTIONS], &mut draft.options)),
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
    if !draft.params.is_empty() {
        cx.set_entries(vec![EntryPoint { scripts: None, params: draft.params }]);
    }
    let PhpOptions { file, admin, user, sapi_name } = draft.options;
    Some(RuntimeSpec::Php(PhpSpec { targets, ini_file: file, admin, user, sapi_name }))
}

fn target(cx: &mut Context<'_>, name: String, draft: PhpTargetDraft) -> Option<PhpTarget> {
    if draft.worker.is_some() && draft.script.is_some() {
        cx.at(b"script", |cx| {
            cx.problem("The \"script\" option is mutually exclusive with the \"worker\" object.");
        });
    }
    let index = draft.index.unwrap_or_else(|| "index.php".to_owned());
    Some(PhpTarget { name, root: draft.root?, script: draft.script, index, worker: draft.worker })
}

fn read_target(cx: &mut Context<'_>, name: String, members: &Object) -> Option<PhpTarget> {
    let mut draft = PhpTargetDraft::default();
    schema::read_object(cx, members, &[TARGET], &mut draft);
    target(cx, name, draft)
}

const TARGET: &[Member<PhpTargetDraft>] = &[
    required("root", STRING).read(|cx, field, draft| draft.root = path(cx, field)),
    optional("script", STRING).read(|cx, field, draft| draft.script = path(cx, field)),
    optional("index", STRING).read(|cx, field, draft| draft.index = text(cx, field)),
    optional("worker", OBJECT).read(|cx, field, draft| draft.worker = php_worker::read(cx, field)),
];

const OPTIONS: &[Member<PhpOptions>] = &[
    optional("file", STRING).means("a `php.ini`").read(|cx, field, options| options.file = path(cx, field)),
    optional("admin", OBJECT)
        .means("settings as `\"name\": \"value\"`, which scripts cannot change")
        .read(|cx, field, options| options.admin = ini_settings(cx, field)),
    optional("user", OBJECT)
        .means("settings as `\"name\": \"value\"`, which scripts can change")
        .read(|cx, field, options| options.user = ini_settings(cx, field)),
    optional("sapi_name", STRING)
        .default("`\"cli-server\"`")
        .means("what `php_sapi_name()` says (beyond Unit): 1 to 32 lower-case letters, digits or hyphens")
        .read(|cx, field, options| options.sapi_name = sapi_name(cx, field)),
];

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
