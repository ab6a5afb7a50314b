//! The options of Perl applications (contract 22.4).

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use super::app_type::{AppType, Application};
use super::context::Context;
use super::scalars::{count, is_true, thread_stack_size};
use super::schema::{BOOL, INTEGER, Member, STRING};
use super::strings::path;
use crate::plan::{PerlSpec, RuntimeSpec};

/// Applications of Perl.
pub(super) const PERL: AppType<Draft> = AppType { tables: &[OPTIONS], finish };

/// What the members that concern Perl say so far.
#[derive(Default)]
pub(super) struct Draft {
    script: Option<PathBuf>,
    preload: bool,
    threads: Option<NonZeroU32>,
    thread_stack_size: Option<NonZeroUsize>,
}

const OPTIONS: &[Member<Draft>] = &[
    Member::required("script", STRING, |cx, field, draft| draft.script = path(cx, field)),
    Member::optional("preload", BOOL, |_, field, draft| draft.preload = is_true(field)),
    Member::optional("threads", INTEGER, |cx, field, draft| draft.threads = count(cx, field)),
    Member::optional("thread_stack_size", INTEGER, |cx, field, draft| {
        draft.thread_stack_size = thread_stack_size(cx, field);
    }),
];

fn finish(_: &mut Context<'_>, _: Application<'_>, draft: Draft) -> Option<RuntimeSpec> {
    let Draft { script, preload, threads, thread_stack_size } = draft;
    let threads = threads.unwrap_or(NonZeroU32::MIN);
    Some(RuntimeSpec::Perl(PerlSpec { script: script?, preload, threads, thread_stack_size }))
}
