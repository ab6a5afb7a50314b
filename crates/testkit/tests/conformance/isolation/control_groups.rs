//! Control groups: which processes are in one, and what those may take together.

use std::path::PathBuf;

use corral_testkit::{daemon, eventually};
use serde_json::{Value, json};

use super::{app_of, ask, eval};

/// Where control groups of version 2 are mounted, if this test may make one there.
fn cgroup_root() -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("it is there");
    let mount = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let path = fields.next()?;
        (fields.next()? == "cgroup2").then(|| PathBuf::from(path))
    });
    let probe = mount.as_ref().map(|mount| mount.join(format!("corral-probe-{}", std::process::id())));
    let is_writable = probe
        .as_ref()
        .is_some_and(|probe| std::fs::create_dir(probe).is_ok() && std::fs::remove_dir(probe).is_ok());
    if !is_writable {
        eprintln!("skipped: control groups of version 2 are not mounted, or only for others: {mount:?}");
    }
    mount.filter(|_| is_writable)
}

/// Options: applications.{N}.isolation.cgroup.path, applications.{N}.isolation.namespaces.cgroup
#[test]
fn a_control_group_holds_all_processes_and_goes_with_them() {
    let Some(mount) = cgroup_root() else { return };
    let site = eval();
    let name = format!("corral-test-{}-{}", std::process::id(), site.root().len());
    let cgroup = |path: &str| json!({ "cgroup": { "path": path } });
    let own = "trim(preg_replace('/^(?!0::).*\\n/m', '', file_get_contents('/proc/self/cgroup')))";

    let path = format!("/{name}/deep");
    let server = daemon().application(app_of(&site, cgroup(&path))).start();
    assert_eq!(ask(&server, own), format!("0::{path}"));
    let folder = mount.join(&name).join("deep");
    let members = std::fs::read_to_string(folder.join("cgroup.procs")).expect("it is there");
    assert_eq!(members.lines().count(), 2, "the prototype and a worker");
    // The next instance is there before the one before it ends.
    server.control().get("/control/applications/php/restart").0.expect(200);
    assert_eq!(ask(&server, own), format!("0::{path}"));

    let mut isolation = cgroup(&path);
    isolation["namespaces"] = json!({ "cgroup": true, "credential": true });
    server.control().put("/config/applications/php/isolation", &isolation).expect_done();
    assert_eq!(ask(&server, own), "0::/", "in a namespace, it is the root");

    server.control().put("/config/applications/php/isolation", &json!({})).expect_done();
    eventually("it is removed", || (!mount.join(&name).exists()).then_some(()));

    let relative = daemon().application(app_of(&site, cgroup(&name))).start();
    let found = ask(&relative, own);
    assert!(found.as_str().is_some_and(|found| found.ends_with(&name)), "{found}");
    drop(relative);
    assert!(!mount.join(&name).exists());
}

/// Options: applications.{N}.isolation.cgroup.path
#[test]
fn paths_of_control_groups_do_not_lead_out() {
    let site = eval();
    let server = daemon().start_unconfigured();
    for path in ["", "..", "../x", "x/../y", "/../x"] {
        let app =
            json!({ "type": "php", "root": site.path("www"), "isolation": { "cgroup": { "path": path } } });
        let reply = server.control().put("/config", &json!({ "applications": { "app": app } }));
        let detail = reply.expect_refused(400, "Invalid configuration.");
        assert_eq!(detail, format!("The cgroup path \"{path}\" is invalid."));
    }
}

/// Whether the kernel lets these tests use a controller; says so when not.
fn has_controller(name: &str) -> bool {
    let Some(mount) = cgroup_root() else { return false };
    let list = std::fs::read_to_string(mount.join("cgroup.controllers")).unwrap_or_default();
    let is_there = list.split_whitespace().any(|word| word == name);
    if !is_there {
        eprintln!(
            "skipped: the controller \"{name}\" is not in the hierarchy of version 2 at {}",
            mount.display()
        );
    }
    is_there
}

fn bounded(limits: Value) -> Value {
    let mut cgroup = limits;
    // A group of its own for each test.
    cgroup["path"] = json!(format!("/corral-bounded-{}", std::process::id()));
    json!({ "cgroup": cgroup })
}

/// Options: applications.{N}.isolation.cgroup.memory
#[test]
fn memory_is_bounded() {
    if !has_controller("memory") {
        return;
    }
    let site = eval();
    let app = app_of(&site, bounded(json!({ "memory": 128 << 20 }))).admin("memory_limit", "-1");
    let server = daemon().application(app).start();
    assert_eq!(ask(&server, "strlen(str_repeat('x', 16 << 20))"), 16 << 20);
    let greedy = server.get("/?q=strlen(str_repeat('x',512*1024*1024))");
    assert_eq!(greedy.status, 503, "{greedy}");
    eventually("another worker takes its place", || (server.get("/?q=1").status == 200).then_some(()));
}

/// Options: applications.{N}.isolation.cgroup.pids
#[test]
fn processes_are_bounded() {
    if !has_controller("pids") {
        return;
    }
    let site = eval();
    let server = daemon().application(app_of(&site, bounded(json!({ "pids": 3 })))).start();
    assert_eq!(ask(&server, "exec('true; echo one')"), "one", "a shell is the third");
    assert_eq!(ask(&server, "exec('(echo two) 2>/dev/null | cat')"), "", "and there is no fourth");
}

/// Options: applications.{N}.isolation.cgroup.cpu
#[test]
fn time_is_bounded() {
    if !has_controller("cpu") {
        return;
    }
    let site = eval();
    let server = daemon().application(app_of(&site, bounded(json!({ "cpu": 0.1 })))).start();
    let share = "(function () { $r = fn() => array_sum(sscanf(json_encode(hrtime(true)), '%d')); \
                 $t = $r(); $c = getrusage()['ru_utime.tv_sec'] * 1e6 + getrusage()['ru_utime.tv_usec']; \
                 while ($r() - $t < 2e9); \
                 return (getrusage()['ru_utime.tv_sec'] * 1e6 + getrusage()['ru_utime.tv_usec'] - $c) / 2e6; })()";
    let share = ask(&server, share).as_f64().expect("a number");
    assert!(share < 0.3, "{share}");
}

/// Where a controller is missing, it is named, with what to do.
///
/// Options: applications.{N}.isolation.cgroup.memory
#[test]
fn a_bound_that_cannot_be_set_is_refused() {
    let Some(mount) = cgroup_root() else { return };
    let list = std::fs::read_to_string(mount.join("cgroup.controllers")).unwrap_or_default();
    if list.split_whitespace().any(|word| word == "memory") {
        eprintln!("skipped: this system has the controller \"memory\"");
        return;
    }
    let site = eval();
    let server = daemon().application(app_of(&site, json!({}))).start();
    let isolation = bounded(json!({ "memory": 1 << 30 }));
    let reply = server.control().put("/config/applications/php/isolation", &isolation);
    let detail = reply.expect_refused(500, "Failed to apply new configuration.");
    let expected =
        "application \"php\": prepare the control group: the controller \"memory\" is not available in";
    assert!(detail.starts_with(expected) && detail.contains("Delegate=yes"), "{detail}");
    assert_eq!(ask(&server, "1"), 1);
    assert!(!mount.join(format!("corral-bounded-{}", std::process::id())).exists());
}
