//! `root` of scripts: a folder, or a text with variables that is one for each request.

use std::path::PathBuf;

use super::context::Context;
use super::schema::Field;
use super::strings::{path, template};
use crate::template::{Template, Variable};

/// The folder of scripts.
#[derive(Debug)]
pub(super) enum ScriptRoot {
    Fixed(PathBuf),
    /// For each request another one.
    Varies(Template),
}

/// Reads a folder that may depend on the request.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<ScriptRoot> {
    if !field.value.as_bytes().is_some_and(|text| Template::is_dynamic(text)) {
        return path(cx, field).map(ScriptRoot::Fixed);
    }
    let folder = template(cx, field)?;
    // The variables of a map may be any.
    let is_path = |variable: &Variable| match variable {
        Variable::Map(map) => !map.is_constant,
        _ => matches!(variable, Variable::Uri | Variable::RequestUri),
    };
    let detail = if folder.script().is_some() {
        "The \"root\" may hold variables, but is not JavaScript."
    } else if !folder.begins_with(b"") || folder.variables().any(is_path) {
        "The \"root\" must begin with a folder, and must not depend on the path of the request."
    } else {
        return Some(ScriptRoot::Varies(folder));
    };
    cx.problem_with_advice(detail, "As in \"/srv/$host/public\".");
    None
}
