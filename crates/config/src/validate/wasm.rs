//! The options of WebAssembly applications (contract 22.7).

use std::path::PathBuf;

use super::app_type::{AppType, ApplicationType};
use super::context::Context;
use super::schema::{self, ARRAY, Member, OBJECT, STRING, optional, required};
use super::strings::{name, path, string_array};
use crate::plan::{RuntimeSpec, WasmSpec};

/// Components of WebAssembly.
pub(super) const WASM: AppType<WasmDraft> = AppType { tables: &[OPTIONS], finish };

/// The members that concern WebAssembly, as far as they were read.
#[derive(Default)]
pub(super) struct WasmDraft {
    component: Option<PathBuf>,
    filesystem: Vec<String>,
}

const OPTIONS: &[Member<WasmDraft>] = &[
    required("component", STRING)
        .means("the component's file, in the binary format")
        .read(|cx, field, draft| draft.component = path(cx, field)),
    optional("access", OBJECT).read(|cx, field, draft| schema::read_nested(cx, field, &[ACCESS], draft)),
];

const ACCESS: &[Member<WasmDraft>] = &[optional("filesystem", ARRAY)
    .default("`[]`")
    .means(
        "folders that the component finds at the same paths, and may do anything in that the \
         application's user may",
    )
    .read(|cx, field, draft| draft.filesystem = string_array(cx, field, name))];

fn finish(_: &mut Context<'_>, _: ApplicationType<'_>, draft: WasmDraft) -> Option<RuntimeSpec> {
    let WasmDraft { component, filesystem } = draft;
    Some(RuntimeSpec::Wasm(WasmSpec { component: component?, filesystem }))
}
