//! `access_log` (UNIT-COMPAT 18): a path, or an object with one.

use std::path::PathBuf;

use super::context::Context;
use super::schema::{self, Field, Member, STRING};
use super::strings::path;
use crate::AccessLog;

/// Reads either form.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Option<AccessLog> {
    let Some(members) = field.value.as_object() else {
        return path(cx, field).map(|path| AccessLog { path });
    };
    let mut draft = None;
    schema::read_object(cx, members, &[ACCESS_LOG], &mut draft);
    draft.map(|path| AccessLog { path })
}

const ACCESS_LOG: &[Member<Option<PathBuf>>] = &[
    Member::required("path", STRING, |cx, field, draft| *draft = path(cx, field)),
    Member::not_yet("format"),
    Member::not_yet("if"),
];
