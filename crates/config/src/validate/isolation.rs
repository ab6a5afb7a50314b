//! `isolation` of an application (contract 21), and what Corral adds: limits of control groups, `seccomp`, `filesystem`.

mod cgroup;
mod maps;

use std::path::{Component, Path, PathBuf};

use super::context::Context;
use super::schema::{self, ARRAY, BOOL, Field, Member, OBJECT, STRING};
use super::strings::{absolute_paths, path};
use crate::json::Value;
use crate::plan::{Automount, FilesystemAccess, Isolation, Namespaces, SeccompProfile};

/// Reads `isolation`.
pub(super) fn read(cx: &mut Context<'_>, field: Field<'_>) -> Isolation {
    let mut isolation = Isolation::default();
    schema::read_nested(cx, field, &[ISOLATION], &mut isolation);
    if !isolation.namespaces.credential {
        for name in ["uidmap", "gidmap"].into_iter().filter(|name| field.value.member(name).is_some()) {
            let detail = format!("The \"{name}\" option needs the \"credential\" namespace.");
            cx.at(name.as_bytes(), |cx| cx.problem(detail));
        }
    }
    isolation
}

const ISOLATION: &[Member<Isolation>] = &[
    Member::optional("namespaces", OBJECT, |cx, field, isolation| {
        schema::read_nested(cx, field, &[NAMESPACES], &mut isolation.namespaces);
    }),
    Member::optional("uidmap", ARRAY, |cx, field, isolation| isolation.uidmap = maps::read(cx, field)),
    Member::optional("gidmap", ARRAY, |cx, field, isolation| isolation.gidmap = maps::read(cx, field)),
    Member::optional("rootfs", STRING, |cx, field, isolation| isolation.rootfs = rootfs(cx, field)),
    Member::optional("automount", OBJECT, |cx, field, isolation| {
        schema::read_nested(cx, field, &[AUTOMOUNT], &mut isolation.automount);
    }),
    Member::optional("new_privs", BOOL, |_, field, isolation| isolation.new_privs = Some(is_true(field))),
    Member::optional("cgroup", OBJECT, |cx, field, isolation| isolation.cgroup = cgroup::read(cx, field)),
    Member::optional("seccomp", STRING, |cx, field, isolation| isolation.seccomp = seccomp(cx, field)),
    Member::optional("filesystem", OBJECT, |cx, field, isolation| {
        let access = isolation.filesystem.insert(FilesystemAccess::default());
        schema::read_nested(cx, field, &[FILESYSTEM], access);
    }),
];

const NAMESPACES: &[Member<Namespaces>] = &[
    Member::optional("credential", BOOL, |_, field, namespaces| namespaces.credential = is_true(field)),
    Member::optional("pid", BOOL, |_, field, namespaces| namespaces.pid = is_true(field)),
    Member::optional("network", BOOL, |_, field, namespaces| namespaces.network = is_true(field)),
    Member::optional("mount", BOOL, |_, field, namespaces| namespaces.mount = is_true(field)),
    Member::optional("uname", BOOL, |_, field, namespaces| namespaces.uname = is_true(field)),
    Member::optional("cgroup", BOOL, |_, field, namespaces| namespaces.cgroup = is_true(field)),
];

const AUTOMOUNT: &[Member<Automount>] = &[
    Member::optional("language_deps", BOOL, |_, field, automount| automount.language_deps = is_true(field)),
    Member::optional("procfs", BOOL, |_, field, automount| automount.procfs = is_true(field)),
    Member::optional("tmpfs", BOOL, |_, field, automount| automount.tmpfs = is_true(field)),
];

const FILESYSTEM: &[Member<FilesystemAccess>] = &[
    Member::optional("read", ARRAY, |cx, field, access| access.read = absolute_paths(cx, field)),
    Member::optional("write", ARRAY, |cx, field, access| access.write = absolute_paths(cx, field)),
];

fn is_true(field: Field<'_>) -> bool {
    *field.value == Value::Bool(true)
}

/// An absolute path that does not lead back to `/`.
fn rootfs(cx: &mut Context<'_>, field: Field<'_>) -> Option<PathBuf> {
    let path = path(cx, field)?;
    let normal = normalise(&path);
    if path.is_relative() || normal == Path::new("/") {
        cx.problem("The \"rootfs\" path must be absolute and must not be \"/\".");
        return None;
    }
    Some(normal)
}

/// Without `.` and `..`, as far as that can be said without looking.
fn normalise(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            component => normal.push(component),
        }
    }
    normal
}

fn seccomp(cx: &mut Context<'_>, field: Field<'_>) -> Option<SeccompProfile> {
    match &**field.value.as_bytes()? {
        b"default" => Some(SeccompProfile::Default),
        other => {
            let written = String::from_utf8_lossy(other);
            let names = ["default"].into_iter();
            cx.problem_with_suggestion("The \"seccomp\" profile must be \"default\".", &written, names);
            None
        }
    }
}
