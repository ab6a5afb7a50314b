//! The options of Perl applications (contract 22.4).

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use super::app_type::{AppType, ApplicationType};
use super::bounds;
use super::context::Context;
use super::params;
use super::scalars::{count, is_true, thread_stack_size};
use super::schema::{BOOL, INTEGER, Member, STRING, optional, required};
use super::strings::path;
use crate::gateway::{EntryPoint, Param};
use crate::plan::{PerlSpec, RuntimeSpec};

/// Applications of Perl.
pub(super) const PERL: AppType<PerlDraft> = AppType { tables: &[OPTIONS], finish };

/// The members that concern Perl, as far as they were read.
#[derive(Default)]
pub(super) struct PerlDraft {
    script: Option<PathBuf>,
    params: Vec<Param>,
    preload: bool,
    threads: Option<NonZeroU32>,
    thread_stack_size: Option<NonZeroUsize>,
}

const OPTIONS: &[Member<PerlDraft>] = &[
    required("script", STRING)
        .means("the file that ends with the application")
        .read(|cx, field, draft| draft.script = path(cx, field)),
    params::OF_APPLICATION.read(|cx, field, draft| draft.params = params::read(cx, field)),
    optional("preload", BOOL)
        .default("`false`")
        .means("the script is loaded once, before the workers are forked from it")
        .read(|_, field, draft| draft.preload = is_true(field)),
    optional("threads", INTEGER)
        .at_most(bounds::THREADS)
        .default("1")
        .means("requests that each process runs at once, each in an interpreter of its own")
        .read(|cx, field, draft| draft.threads = count(cx, field)),
    optional("thread_stack_size", INTEGER)
        .at_most(bounds::THREAD_STACK)
        .default("the system's")
        .means("bytes of stack of each thread but the first, a multiple of 4096")
        .read(|cx, field, draft| draft.thread_stack_size = thread_stack_size(cx, field)),
];

fn finish(cx: &mut Context<'_>, _: ApplicationType<'_>, draft: PerlDraft) -> Option<RuntimeSpec> {
    let PerlDraft { script, params, preload, threads, thread_stack_size } = draft;
    params::set_entries(cx, &params, vec![EntryPoint::default()]);
    let threads = threads.unwrap_or(NonZeroU32::MIN);
    Some(RuntimeSpec::Perl(PerlSpec { script: script?, preload, threads, thread_stack_size }))
}
