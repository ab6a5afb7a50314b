//! The options of Ruby applications (contract 22.3).

use std::num::NonZeroU32;
use std::path::PathBuf;

use super::app_type::{AppType, ApplicationType};
use super::bounds;
use super::context::Context;
use super::params;
use super::scalars::{count, is_true};
use super::schema::{BOOL, INTEGER, Member, STRING, optional, required};
use super::strings::path;
use crate::gateway::{EntryPoint, Param};
use crate::plan::{RubySpec, RuntimeSpec};

/// Applications of Ruby.
pub(super) const RUBY: AppType<RubyDraft> = AppType { tables: &[OPTIONS], finish };

/// The members that concern Ruby, as far as they were read.
#[derive(Default)]
pub(super) struct RubyDraft {
    script: Option<PathBuf>,
    params: Vec<Param>,
    hooks: Option<PathBuf>,
    preload: bool,
    threads: Option<NonZeroU32>,
}

const OPTIONS: &[Member<RubyDraft>] = &[
    required("script", STRING)
        .means("the rackup file")
        .read(|cx, field, draft| draft.script = path(cx, field)),
    params::OF_APPLICATION.read(|cx, field, draft| draft.params = params::read(cx, field)),
    optional("hooks", STRING)
        .means("a file that says [what to do when workers begin and end](#processes)")
        .read(|cx, field, draft| draft.hooks = path(cx, field)),
    optional("preload", BOOL)
        .default("`false`")
        .means("the application is loaded once, before the workers are forked from it")
        .read(|_, field, draft| draft.preload = is_true(field)),
    optional("threads", INTEGER)
        .at_most(bounds::THREADS)
        .default("1")
        .means("requests that each process runs at once")
        .read(|cx, field, draft| draft.threads = count(cx, field)),
];

fn finish(cx: &mut Context<'_>, _: ApplicationType<'_>, draft: RubyDraft) -> Option<RuntimeSpec> {
    let RubyDraft { script, params, hooks, preload, threads } = draft;
    params::set_entries(cx, &params, vec![EntryPoint::default()]);
    let threads = threads.unwrap_or(NonZeroU32::MIN);
    Some(RuntimeSpec::Ruby(RubySpec { script: script?, hooks, preload, threads }))
}
