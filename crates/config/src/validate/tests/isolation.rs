//! `isolation`: what it becomes, and what is wrong with it.

use super::{check_problems, config};
use crate::plan::{Automount, IdRange, Isolation, SeccompProfile};

fn document(isolation: &str) -> String {
    format!(r#"{{"applications": {{"a": {{"type": "php", "root": "/www", "isolation": {isolation}}}}}}}"#)
}

#[track_caller]
fn read(isolation: &str) -> Isolation {
    config(&document(isolation)).applications.into_values().remove(0).isolation
}

/// `expect` is the only problem, with its pointer relative to `isolation`.
#[track_caller]
fn check(isolation: &str, pointer: &str, detail: &str) {
    let pointer = format!("/applications/a/isolation{pointer}");
    check_problems(&document(isolation), &[(&pointer, detail)]);
}

#[test]
fn nothing_is_isolated_without_being_asked() {
    assert_eq!(read("{}"), Isolation::default());
    assert_eq!(read("{}").automount, Automount { language_deps: true, procfs: true, tmpfs: true });
    assert_eq!(read(r#"{"namespaces": {"pid": false}}"#), Isolation::default());
    assert_eq!(read(r#"{"new_privs": false}"#).new_privs, Some(false));
    assert_eq!(read(r#"{"new_privs": true}"#).new_privs, Some(true));
}

#[test]
fn namespaces_are_chosen_by_name() {
    let names = |text: &str| read(text).namespaces.names().collect::<Vec<_>>();
    let all = ["credential", "pid", "network", "mount", "uname", "cgroup"];
    assert_eq!(names(&format!(r#"{{"namespaces": {{"{}": true}}}}"#, all.join("\": true, \""))), all);
    assert_eq!(names(r#"{"namespaces": {"pid": true, "mount": false}}"#), ["pid"]);
    check(r#"{"namespaces": {"user": true}}"#, "/namespaces/user", "Unknown parameter \"user\".");
    let wrong = "The \"pid\" value must be a boolean, but not an integer number.";
    check(r#"{"namespaces": {"pid": 1}}"#, "/namespaces/pid", wrong);
}

#[track_caller]
fn check_map(map: &str, pointer: &str, detail: &str) {
    let isolation = format!(r#"{{"namespaces": {{"credential": true}}, "uidmap": {map}}}"#);
    check(&isolation, &format!("/uidmap{pointer}"), detail);
}

#[test]
fn maps_are_ranges() {
    let isolation = read(
        r#"{"namespaces": {"credential": true}, "uidmap": [{"container": 0, "host": 1000, "size": 2}],
            "gidmap": [{"container": 4294967294, "host": 0, "size": 1}]}"#,
    );
    assert_eq!(isolation.uidmap, [IdRange { container: 0, host: 1000, size: 2 }]);
    assert!(isolation.uidmap[0].holds(1) && !isolation.uidmap[0].holds(2));
    assert!(isolation.gidmap[0].holds(u32::MAX - 1) && !isolation.gidmap[0].holds(0));
}

#[test]
fn maps_are_checked() {
    check_map("[1]", "/0", "The \"uidmap\" array must contain only object values.");
    check_map(r#"[{"container": 0, "host": 0}]"#, "/0", "Required parameter \"size\" is missing.");
    check_map(
        r#"[{"container": 0, "host": 0, "size": 0}]"#,
        "/0/size",
        "The \"size\" number must be equal to or greater than 1.",
    );
    check_map(
        r#"[{"container": -1, "host": 0, "size": 1}]"#,
        "/0/container",
        "The \"container\" number must not be negative.",
    );
    check_map(
        r#"[{"container": 0, "host": 4294967295, "size": 1}]"#,
        "/0/host",
        "The \"host\" number must not exceed 4294967294.",
    );
    let beyond = "The \"uidmap\" range goes beyond the greatest number, 4294967294.";
    check_map(r#"[{"container": 0, "host": 4294967294, "size": 2}]"#, "/0", beyond);
    let overlap = "The \"uidmap\" range overlaps another one.";
    check_map(
        r#"[{"container": 0, "host": 0, "size": 10}, {"container": 9, "host": 100, "size": 1}]"#,
        "/1",
        overlap,
    );
    check_map(
        r#"[{"container": 0, "host": 0, "size": 10}, {"container": 10, "host": 9, "size": 1}]"#,
        "/1",
        overlap,
    );
    let lonely = "The \"gidmap\" option needs the \"credential\" namespace.";
    check(r#"{"gidmap": [{"container": 0, "host": 0, "size": 1}]}"#, "/gidmap", lonely);
}

#[test]
fn a_rootfs_is_another_root() {
    assert_eq!(read(r#"{"rootfs": "/srv/./x/../root/"}"#).rootfs.as_deref(), Some("/srv/root".as_ref()));
    let wrong = "The \"rootfs\" path must be absolute and must not be \"/\".";
    for path in ["/", "//", "/.", "/..", "/a/..", "srv/root", "."] {
        check(&format!(r#"{{"rootfs": "{path}"}}"#), "/rootfs", wrong);
    }
    check(r#"{"rootfs": ""}"#, "/rootfs", "The \"rootfs\" string must not be empty.");
    let automount = read(r#"{"rootfs": "/srv", "automount": {"procfs": false}}"#).automount;
    assert_eq!(automount, Automount { language_deps: true, procfs: false, tmpfs: true });
}

#[test]
fn a_cgroup_stays_below_its_parent() {
    let cgroup = |text: &str| read(&format!(r#"{{"cgroup": {text}}}"#)).cgroup.unwrap();
    let found = cgroup(r#"{"path": "a/b", "memory": 1048576, "cpu": 1.5, "pids": 10}"#);
    assert_eq!(found.path, std::path::Path::new("a/b"));
    let limits = found.limits;
    let numbers = [limits.memory, limits.cpu, limits.pids].map(|limit| limit.map(std::num::NonZero::get));
    assert_eq!(numbers, [Some(1_048_576), Some(1500), Some(10)]);
    assert_eq!(cgroup(r#"{"path": "/a"}"#).limits, crate::plan::CgroupLimits::default());

    check(r#"{"cgroup": {}}"#, "/cgroup", "Required parameter \"path\" is missing.");
    for path in ["", "/", ".", "../a", "a/../../b", ".."] {
        let detail = format!("The cgroup path \"{path}\" is invalid.");
        check(&format!(r#"{{"cgroup": {{"path": "{path}"}}}}"#), "/cgroup/path", &detail);
    }
    let long = "x".repeat(256);
    let detail = format!("The cgroup path \"{long}\" is too long.");
    check(&format!(r#"{{"cgroup": {{"path": "{long}"}}}}"#), "/cgroup/path", &detail);
    let least = "The \"memory\" number must be equal to or greater than 1.";
    check(r#"{"cgroup": {"path": "a", "memory": 0}}"#, "/cgroup/memory", least);
    let range = "The \"cpu\" number must be between 0.01 and 65536.";
    check(r#"{"cgroup": {"path": "a", "cpu": 0.001}}"#, "/cgroup/cpu", range);
}

#[test]
fn files_and_system_calls_are_bounded_by_simple_options() {
    let isolation = read(
        r#"{"seccomp": "default", "filesystem": {"read": ["/etc", "/srv/site"], "write": ["/srv/site/var"]}}"#,
    );
    assert_eq!(isolation.seccomp, Some(SeccompProfile::Default));
    let access = isolation.filesystem.unwrap();
    assert_eq!((access.read.len(), access.write.len()), (2, 1));
    assert_eq!(read(r#"{"filesystem": {}}"#).filesystem, Some(crate::plan::FilesystemAccess::default()));
    check(r#"{"seccomp": "strict"}"#, "/seccomp", "The \"seccomp\" profile must be \"default\".");
    let paths = "The \"read\" array must contain only absolute paths.";
    check(r#"{"filesystem": {"read": ["etc"]}}"#, "/filesystem/read/0", paths);
    check(r#"{"filesystem": {"read": [1]}}"#, "/filesystem/read/0", paths);
}
