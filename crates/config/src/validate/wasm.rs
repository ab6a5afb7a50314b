//! The options of WebAssembly applications (contract 22.7).

use std::path::PathBuf;

use super::applications::AppDraft;
use super::schema::{self, ARRAY, Member, OBJECT, STRING};
use super::strings::{name, path, string_array};
use crate::plan::{RuntimeSpec, WasmSpec};

/// What the members that concern WebAssembly say so far.
#[derive(Default)]
pub(super) struct WasmDraft {
    component: Option<PathBuf>,
    filesystem: Vec<String>,
}

pub(super) const WASM: &[Member<AppDraft>] = &[
    Member::required("component", STRING, |cx, field, draft| draft.wasm.component = path(cx, field)),
    Member::optional("access", OBJECT, |cx, field, draft| {
        schema::read_nested(cx, field, &[ACCESS], &mut draft.wasm);
    }),
];

const ACCESS: &[Member<WasmDraft>] = &[Member::optional("filesystem", ARRAY, |cx, field, draft| {
    draft.filesystem = string_array(cx, field, name);
})];

/// Makes the specification.
pub(super) fn finish(draft: WasmDraft) -> Option<RuntimeSpec> {
    let WasmDraft { component, filesystem } = draft;
    Some(RuntimeSpec::Wasm(WasmSpec { component: component?, filesystem }))
}
