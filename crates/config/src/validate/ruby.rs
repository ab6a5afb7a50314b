//! The options of Ruby applications (contract 22.3).

use std::num::NonZeroU32;
use std::path::PathBuf;

use super::applications::AppDraft;
use super::scalars::{count, is_true};
use super::schema::{BOOL, INTEGER, Member, STRING};
use super::strings::path;
use crate::plan::{RubySpec, RuntimeSpec};

/// What the members that concern Ruby say so far.
#[derive(Default)]
pub(super) struct RubyDraft {
    script: Option<PathBuf>,
    hooks: Option<PathBuf>,
    preload: bool,
    threads: Option<NonZeroU32>,
}

pub(super) const RUBY: &[Member<AppDraft>] = &[
    Member::required("script", STRING, |cx, field, draft| draft.ruby.script = path(cx, field)),
    Member::optional("hooks", STRING, |cx, field, draft| draft.ruby.hooks = path(cx, field)),
    Member::optional("preload", BOOL, |_, field, draft| draft.ruby.preload = is_true(field)),
    Member::optional("threads", INTEGER, |cx, field, draft| draft.ruby.threads = count(cx, field)),
];

/// Makes the specification.
pub(super) fn finish(draft: RubyDraft) -> Option<RuntimeSpec> {
    let RubyDraft { script, hooks, preload, threads } = draft;
    let threads = threads.unwrap_or(NonZeroU32::MIN);
    Some(RuntimeSpec::Ruby(RubySpec { script: script?, hooks, preload, threads }))
}
