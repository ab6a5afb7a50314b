//! The options of web applications in Java (contract 22.6).

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use super::app_type::{AppType, ApplicationType};
use super::bounds;
use super::context::Context;
use super::http::{self, ReadyDraft};
use super::scalars::{count, thread_stack_size};
use super::schema::{ARRAY, INTEGER, Member, OBJECT, STRING, optional, required};
use super::strings::{argument, path, string_array};
use crate::plan::{JavaSpec, RuntimeSpec};

/// Web applications in Java.
pub(super) const JAVA: AppType<JavaDraft> = AppType { tables: &[OPTIONS], finish };

/// The members that concern Java, as far as they were read.
#[derive(Default)]
pub(super) struct JavaDraft {
    webapp: Option<PathBuf>,
    classpath: Vec<String>,
    options: Vec<String>,
    threads: Option<NonZeroU32>,
    thread_stack_size: Option<NonZeroUsize>,
    ready: ReadyDraft,
}

const OPTIONS: &[Member<JavaDraft>] = &[
    required("webapp", STRING)
        .means(
            "the archive, or the folder; absolute, or relative to `working_directory`. A folder needs no \
             `WEB-INF`: pages (`.jsp`) and files are enough. Everything in it is served but `WEB-INF` and \
             `META-INF`",
        )
        .read(|cx, field, draft| draft.webapp = path(cx, field)),
    optional("classpath", ARRAY)
        .default("none")
        .means("archives, folders and URLs with further classes of the application")
        .read(|cx, field, draft| draft.classpath = string_array(cx, field, argument)),
    optional("options", ARRAY)
        .default("none")
        .means("options of the virtual machine: `-Xmx512m`, `-Dname=value`, …")
        .read(|cx, field, draft| draft.options = string_array(cx, field, argument)),
    // Where Unit keeps its own container.
    optional("unit_jars", STRING)
        .means("taken for compatibility and not used: Corral brings its own")
        .read(|cx, field, _| drop(path(cx, field))),
    optional("threads", INTEGER)
        .at_most(bounds::THREADS)
        .default("1")
        .means("requests that one process runs at the same time")
        .read(|cx, field, draft| draft.threads = count(cx, field)),
    optional("thread_stack_size", INTEGER)
        .at_most(bounds::THREAD_STACK)
        .default("the machine's")
        .means("bytes of stack of each thread (`-Xss`)")
        .read(|cx, field, draft| draft.thread_stack_size = thread_stack_size(cx, field)),
    optional("ready", STRING.or(OBJECT))
        .default("`\"connect\"`")
        .means(
            "when it gets requests, [as for `http`](http.md#when-it-is-ready) (beyond Unit): it accepts \
             connections when the application has been started, so that only `timeout` is of interest",
        )
        .read(|cx, field, draft| draft.ready = http::ready(cx, field)),
];

fn finish(cx: &mut Context<'_>, app: ApplicationType<'_>, draft: JavaDraft) -> Option<RuntimeSpec> {
    let JavaDraft { webapp, classpath, options, threads, thread_stack_size, ready } = draft;
    let java = JavaSpec { webapp: webapp?, classpath, options, thread_stack_size };
    http::finish(cx, app, http::HttpDraft::of_java(java, ready, threads.unwrap_or(NonZeroU32::MIN)))
}
