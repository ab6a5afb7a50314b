//! The options of web applications in Java (contract 22.6).

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use super::applications::AppDraft;
use super::context::Context;
use super::http::{self, HttpDraft};
use super::scalars::{count, thread_stack_size};
use super::schema::{ARRAY, INTEGER, Member, OBJECT, STRING};
use super::strings::{argument, path, string_array};
use crate::json::Object;
use crate::plan::{Isolation, JavaSpec, ProgramKind, RuntimeSpec};

/// What the members that concern Java say so far.
#[derive(Default)]
pub(super) struct JavaDraft {
    webapp: Option<PathBuf>,
    classpath: Vec<String>,
    options: Vec<String>,
    threads: Option<NonZeroU32>,
    thread_stack_size: Option<NonZeroUsize>,
}

pub(super) const JAVA: &[Member<AppDraft>] = &[
    Member::required("webapp", STRING, |cx, field, draft| draft.java.webapp = path(cx, field)),
    Member::optional("classpath", ARRAY, |cx, field, draft| {
        draft.java.classpath = string_array(cx, field, argument);
    }),
    Member::optional("options", ARRAY, |cx, field, draft| {
        draft.java.options = string_array(cx, field, argument);
    }),
    // Where Unit keeps its own container.
    Member::optional("unit_jars", STRING, |cx, field, _| drop(path(cx, field))),
    Member::optional("threads", INTEGER, |cx, field, draft| draft.java.threads = count(cx, field)),
    Member::optional("thread_stack_size", INTEGER, |cx, field, draft| {
        draft.java.thread_stack_size = thread_stack_size(cx, field);
    }),
    Member::optional("ready", STRING.or(OBJECT), |cx, field, draft| {
        draft.http.ready = http::ready(cx, field);
    }),
];

/// Makes the specification.
pub(super) fn finish(
    cx: &mut Context<'_>,
    members: &Object,
    draft: JavaDraft,
    http: HttpDraft,
    isolation: &Isolation,
) -> Option<RuntimeSpec> {
    let JavaDraft { webapp, classpath, options, threads, thread_stack_size } = draft;
    let java = JavaSpec { webapp: webapp?, classpath, options, thread_stack_size };
    let threads = threads.unwrap_or(NonZeroU32::MIN);
    http::finish(cx, members, http.of_java(ProgramKind::Java(java), threads), isolation)
}
