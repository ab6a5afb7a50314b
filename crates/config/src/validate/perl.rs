//! The options of Perl applications (contract 22.4).

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use super::applications::AppDraft;
use super::scalars::{count, is_true, thread_stack_size};
use super::schema::{BOOL, INTEGER, Member, STRING};
use super::strings::path;
use crate::plan::{PerlSpec, RuntimeSpec};

/// What the members that concern Perl say so far.
#[derive(Default)]
pub(super) struct PerlDraft {
    script: Option<PathBuf>,
    preload: bool,
    threads: Option<NonZeroU32>,
    thread_stack_size: Option<NonZeroUsize>,
}

pub(super) const PERL: &[Member<AppDraft>] = &[
    Member::required("script", STRING, |cx, field, draft| draft.perl.script = path(cx, field)),
    Member::optional("preload", BOOL, |_, field, draft| draft.perl.preload = is_true(field)),
    Member::optional("threads", INTEGER, |cx, field, draft| draft.perl.threads = count(cx, field)),
    Member::optional("thread_stack_size", INTEGER, |cx, field, draft| {
        draft.perl.thread_stack_size = thread_stack_size(cx, field);
    }),
];

/// Makes the specification.
pub(super) fn finish(draft: PerlDraft) -> Option<RuntimeSpec> {
    let PerlDraft { script, preload, threads, thread_stack_size } = draft;
    let threads = threads.unwrap_or(NonZeroU32::MIN);
    Some(RuntimeSpec::Perl(PerlSpec { script: script?, preload, threads, thread_stack_size }))
}
