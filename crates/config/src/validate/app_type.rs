//! One type of applications: its own tables of options, and the function that finishes with them.

use super::context::Context;
use super::schema::Member;
use crate::json::Object;
use crate::plan::{Isolation, RuntimeSpec};

/// A language, or another way to run an application. `L` is the draft of its own options.
pub(super) struct AppType<L: 'static> {
    /// The options that it has beside those of every application.
    pub(super) tables: &'static [&'static [Member<L>]],
    /// Checks what concerns several members, and makes the specification.
    pub(super) finish: fn(&mut Context<'_>, ApplicationType<'_>, L) -> Option<RuntimeSpec>,
}

/// Facts about an application that are known when the options of its type have been read.
#[derive(Clone, Copy)]
pub(super) struct ApplicationType<'a> {
    pub(super) members: &'a Object,
    pub(super) isolation: &'a Isolation,
}
