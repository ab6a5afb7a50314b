//! The options of web applications in Java (contract 22.6).

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use super::app_type::{AppType, Application};
use super::context::Context;
use super::http::{self, ReadyDraft};
use super::scalars::{count, thread_stack_size};
use super::schema::{ARRAY, INTEGER, Member, OBJECT, STRING};
use super::strings::{argument, path, string_array};
use crate::plan::{JavaSpec, RuntimeSpec};

/// Web applications in Java.
pub(super) const JAVA: AppType<Draft> = AppType { tables: &[OPTIONS], finish };

/// What the members that concern Java say so far.
#[derive(Default)]
pub(super) struct Draft {
    webapp: Option<PathBuf>,
    classpath: Vec<String>,
    options: Vec<String>,
    threads: Option<NonZeroU32>,
    thread_stack_size: Option<NonZeroUsize>,
    ready: ReadyDraft,
}

const OPTIONS: &[Member<Draft>] = &[
    Member::required("webapp", STRING, |cx, field, draft| draft.webapp = path(cx, field)),
    Member::optional("classpath", ARRAY, |cx, field, draft| {
        draft.classpath = string_array(cx, field, argument);
    }),
    Member::optional("options", ARRAY, |cx, field, draft| {
        draft.options = string_array(cx, field, argument);
    }),
    // Where Unit keeps its own container.
    Member::optional("unit_jars", STRING, |cx, field, _| drop(path(cx, field))),
    Member::optional("threads", INTEGER, |cx, field, draft| draft.threads = count(cx, field)),
    Member::optional("thread_stack_size", INTEGER, |cx, field, draft| {
        draft.thread_stack_size = thread_stack_size(cx, field);
    }),
    Member::optional("ready", STRING.or(OBJECT), |cx, field, draft| {
        draft.ready = http::ready(cx, field);
    }),
];

fn finish(cx: &mut Context<'_>, app: Application<'_>, draft: Draft) -> Option<RuntimeSpec> {
    let Draft { webapp, classpath, options, threads, thread_stack_size, ready } = draft;
    let java = JavaSpec { webapp: webapp?, classpath, options, thread_stack_size };
    http::finish(cx, app, http::Draft::of_java(java, ready, threads.unwrap_or(NonZeroU32::MIN)))
}
