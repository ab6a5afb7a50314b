//! The options of WebAssembly applications (contract 22.7).

use std::path::PathBuf;

use super::app_type::{AppType, Application};
use super::context::Context;
use super::schema::{self, ARRAY, Member, OBJECT, STRING};
use super::strings::{name, path, string_array};
use crate::plan::{RuntimeSpec, WasmSpec};

/// Components of WebAssembly.
pub(super) const WASM: AppType<Draft> = AppType { tables: &[OPTIONS], finish };

/// What the members that concern WebAssembly say so far.
#[derive(Default)]
pub(super) struct Draft {
    component: Option<PathBuf>,
    filesystem: Vec<String>,
}

const OPTIONS: &[Member<Draft>] = &[
    Member::required("component", STRING, |cx, field, draft| draft.component = path(cx, field)),
    Member::optional("access", OBJECT, |cx, field, draft| {
        schema::read_nested(cx, field, &[ACCESS], draft);
    }),
];

const ACCESS: &[Member<Draft>] = &[Member::optional("filesystem", ARRAY, |cx, field, draft| {
    draft.filesystem = string_array(cx, field, name);
})];

fn finish(_: &mut Context<'_>, _: Application<'_>, draft: Draft) -> Option<RuntimeSpec> {
    let Draft { component, filesystem } = draft;
    Some(RuntimeSpec::Wasm(WasmSpec { component: component?, filesystem }))
}
