//! `access_log` (UNIT-COMPAT 18): a path, or an object with one.

use std::path::PathBuf;

use super::context::Context;
use super::schema::{self, Member, STRING};
use super::strings::path;
use crate::AccessLog;
use crate::json::Value;

/// Reads either form.
pub(super) fn read(cx: &mut Context<'_>, value: &Value) -> Option<AccessLog> {
    let Some(members) = value.as_object() else {
        return path(cx, "access_log", value).map(|path| AccessLog { path });
    };
    let mut draft = None;
    schema::read_object(cx, members, &[ACCESS_LOG], &mut draft);
    draft.map(|path| AccessLog { path })
}

const ACCESS_LOG: &[Member<Option<PathBuf>>] = &[
    Member::required("path", STRING, |cx, value, draft| *draft = path(cx, "path", value)),
    Member::not_yet("format"),
    Member::not_yet("if"),
];
