//! `isolation` of an application (contract 21), and what Corral adds: limits of control groups, `seccomp`,
//! `filesystem`.

mod cgroup;
mod maps;

use std::path::{Component, Path, PathBuf};

use super::context::Context;
use super::schema::{self, ARRAY, BOOL, Field, Member, OBJECT, STRING, optional};
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
    optional("namespaces", OBJECT).default("none").means("[what it has for itself](#namespaces)").read(
        |cx, field, isolation| {
            schema::read_nested(cx, field, &[NAMESPACES], &mut isolation.namespaces);
        },
    ),
    optional("uidmap", ARRAY)
        .means("[which numbers of users](#namespaces) inside stand for which outside")
        .read(|cx, field, isolation| isolation.uidmap = maps::read(cx, field)),
    optional("gidmap", ARRAY)
        .means("which numbers of groups do")
        .read(|cx, field, isolation| isolation.gidmap = maps::read(cx, field)),
    optional("rootfs", STRING)
        .means("the folder that is [`/` for it](#a-root-of-its-own)")
        .read(|cx, field, isolation| isolation.rootfs = rootfs(cx, field)),
    optional("automount", OBJECT)
        .default("all of it")
        .means("what is mounted in its [`rootfs`](#a-root-of-its-own)")
        .read(|cx, field, isolation| schema::read_nested(cx, field, &[AUTOMOUNT], &mut isolation.automount)),
    optional("new_privs", BOOL)
        .default("[by its user](#users)")
        .means("`false`: [no program that it starts gains privileges](#users)")
        .read(|_, field, isolation| isolation.new_privs = Some(is_true(field))),
    optional("cgroup", OBJECT)
        .means("its [control group](#control-groups), and bounds on what all its processes use")
        .read(|cx, field, isolation| isolation.cgroup = cgroup::read(cx, field)),
    optional("seccomp", STRING)
        .means("`\"default\"`: [system calls](#system-calls) that it has no use for are refused")
        .read(|cx, field, isolation| isolation.seccomp = seccomp(cx, field)),
    optional("filesystem", OBJECT).means("the only [files](#files) that it can `read`, or `write`").read(
        |cx, field, isolation| {
            let access = isolation.filesystem.insert(FilesystemAccess::default());
            schema::read_nested(cx, field, &[FILESYSTEM], access);
        },
    ),
];

const NAMESPACES: &[Member<Namespaces>] = &[
    optional("credential", BOOL)
        .default("`false`")
        .means("users and groups, with the numbers of `uidmap` and `gidmap`")
        .read(|_, field, namespaces| namespaces.credential = is_true(field)),
    optional("pid", BOOL)
        .default("`false`")
        .means(
            "processes: it sees and signals none but its own, if `/proc` is new, too: add `mount` or \
             `rootfs`. All of them end with its prototype",
        )
        .read(|_, field, namespaces| namespaces.pid = is_true(field)),
    optional("network", BOOL)
        .default("`false`")
        .means("the network: no interface but a loopback that is down. Sockets in files still lead out")
        .read(|_, field, namespaces| namespaces.network = is_true(field)),
    optional("mount", BOOL)
        .default("`false`")
        .means("mounts: others do not see what it mounts")
        .read(|_, field, namespaces| namespaces.mount = is_true(field)),
    optional("uname", BOOL)
        .default("`false`")
        .means("the host name")
        .read(|_, field, namespaces| namespaces.uname = is_true(field)),
    optional("cgroup", BOOL)
        .default("`false`")
        .means("the view of control groups, with its own as the root")
        .read(|_, field, namespaces| namespaces.cgroup = is_true(field)),
];

const AUTOMOUNT: &[Member<Automount>] = &[
    optional("language_deps", BOOL)
        .default("`true`")
        .means("what the language consists of, at the same paths, to be read only")
        .read(|_, field, automount| automount.language_deps = is_true(field)),
    optional("procfs", BOOL)
        .default("`true`")
        .means("`/proc`: of its own processes with `namespaces.pid`, else that of the machine")
        .read(|_, field, automount| automount.procfs = is_true(field)),
    optional("tmpfs", BOOL)
        .default("`true`")
        .means(
            "`/tmp`, 1 MiB of memory. No application needs it; without a `/tmp` that it can write to, PHP runs \
             without opcache, which makes a file for its locks there, unless `opcache.lockfile_path` names another \
             folder",
        )
        .read(|_, field, automount| automount.tmpfs = is_true(field)),
];

const FILESYSTEM: &[Member<FilesystemAccess>] = &[
    optional("read", ARRAY).read(|cx, field, access| access.read = absolute_paths(cx, field)),
    optional("write", ARRAY).read(|cx, field, access| access.write = absolute_paths(cx, field)),
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
