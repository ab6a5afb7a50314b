//! Section 21: namespaces, users, roots and control groups, as scripts find them from inside. What Corral adds is
//! in `beyond`.

use std::os::unix::fs::{PermissionsExt, chown};

use corral_testkit::{Daemon, daemon, eventually};
use serde_json::{Value, json};

use super::{EPERM, app_of, ask, eval, is_root, with_and_without_privileges};

/// Options: applications.{N}.user, applications.{N}.group
#[test]
fn an_application_reads_no_files_of_another_one_s_user() {
    if !is_root() {
        return;
    }
    let site = eval().file("secret", "of 4001");
    chown(site.path("secret"), Some(4001), Some(4001)).expect("root may do that");
    std::fs::set_permissions(site.path("secret"), PermissionsExt::from_mode(0o600))
        .expect("root may do that");
    let read = format!("@file_get_contents('{}')", site.path("secret").display());
    for (user, expected) in [("4001", json!("of 4001")), ("4002", json!(false))] {
        let app = app_of(&site, json!({})).with("user", json!(user));
        let server = daemon().application(app).start();
        assert_eq!(ask(&server, &read), expected, "{user}");
        assert_eq!(ask(&server, "posix_getgroups()"), json!([user.parse::<u32>().expect("a number")]));
    }
}

/// Options: applications.{N}.isolation.new_privs
#[test]
fn without_new_privileges_setuid_programs_are_programs_like_others() {
    if !is_root() {
        return;
    }
    let site = eval();
    let program = site.path("id");
    std::fs::copy("/usr/bin/id", &program).expect("it is there");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o4755)).expect("root may do that");
    let id = format!("exec('{} -u')", program.display());
    let line = "preg_match('/NoNewPrivs:\\s(.)/', file_get_contents('/proc/self/status'), $m) ? $m[1] : ''";
    for (isolation, flag, uid) in [
        (json!({}), "0", "0"),
        (json!({ "new_privs": true }), "0", "0"),
        (json!({ "new_privs": false }), "1", "65534"),
    ] {
        let app = app_of(&site, isolation.clone()).with("user", json!("65534"));
        let server = daemon().application(app).start();
        assert_eq!(ask(&server, line), flag, "{isolation}");
        assert_eq!(ask(&server, &id), uid, "{isolation}");
    }
}

/// Options: applications.{N}.isolation.namespaces.credential, applications.{N}.isolation.uidmap,
/// applications.{N}.isolation.gidmap
#[test]
fn users_of_a_namespace_are_others_outside() {
    if !is_root() {
        return;
    }
    let site = eval();
    std::fs::set_permissions(site.path("www/index.php"), PermissionsExt::from_mode(0o644)).expect("ours");
    let map = json!([{ "container": 0, "host": 4001, "size": 1 }]);
    let isolation = json!({ "namespaces": { "credential": true }, "uidmap": map, "gidmap": map });
    let app = app_of(&site, isolation).with("user", json!("0"));
    let server = daemon().application(app).start();
    let ids = "[posix_getuid(), posix_getgid(), posix_getgroups()]";
    assert_eq!(ask(&server, ids), json!([0, 0, [0]]), "root, as far as it can see");
    let workers = server.expect_processes("\"php\" worker", 1);
    let worker = server.processes().into_iter().find(|process| process.pid == workers[0]).expect("it runs");
    assert_eq!(worker.uid, 4001, "and nobody outside");
    assert_eq!(ask(&server, "@file_get_contents('/etc/shadow')"), json!(false));
    assert_eq!(ask(&server, &format!("@posix_kill({}, 0)", server.pid())), json!(false));
    assert_eq!(ask(&server, "fileowner('/etc/shadow')"), json!(65534), "outside's root has no name inside");
}

/// Without maps, every process keeps its user.
///
/// Options: applications.{N}.isolation.namespaces.credential
#[test]
fn a_namespace_of_users_needs_no_maps() {
    if is_root() {
        let site = eval();
        let isolation = json!({ "namespaces": { "credential": true } });
        let app = app_of(&site, isolation).with("user", json!("nobody")).with("group", json!("daemon"));
        let server = daemon().application(app).start();
        assert_eq!(ask(&server, "posix_getuid()"), 65534);
        let rights = "preg_match('/CapEff:\\s*0+$/m', file_get_contents('/proc/self/status'))";
        assert_eq!(ask(&server, rights), 1, "what its first process was made with is gone");
        assert_eq!(ask(&server, "file('/proc/self/uid_map')[0] != file('/proc/1/uid_map')[0]"), true);
    }
    let site = eval();
    let app = app_of(&site, json!({ "namespaces": { "credential": true } })).with("user", json!("root"));
    let server = daemon().unprivileged().application(app).start();
    assert_eq!(ask(&server, "posix_getuid()"), 0, "who has no privileges may at least be called so");
    assert_eq!(ask(&server, "@file_get_contents('/etc/shadow')"), json!(false));
}

/// Options: applications.{N}.isolation.uidmap[].{container,host,size},
/// applications.{N}.isolation.gidmap[].{container,host,size}
#[test]
fn maps_that_do_not_fit_are_refused() {
    let site = eval();
    let server = daemon().start_unconfigured();
    let refused = |server: &Daemon, user: &str, maps: &[(&str, Value)], spare: u32| {
        let mut isolation = json!({ "namespaces": { "credential": true } });
        for (name, map) in maps {
            isolation[*name] = map.clone();
        }
        let app = json!({ "type": "php", "root": site.path("www"), "user": user, "isolation": isolation,
                          "processes": { "spare": spare } });
        let reply = server.control().put("/config", &json!({ "applications": { "app": app } }));
        reply.expect_refused(500, "Failed to apply new configuration.")
    };
    let map = |container: u32, host: u32, size: u32| json!([{ "container": container, "host": host, "size": size }]);
    if is_root() {
        for spare in [0, 1] {
            let detail = refused(&server, "4001", &[("uidmap", map(0, 100_000, 1000))], spare);
            assert_eq!(
                detail,
                "application \"app\": map users and groups: no \"container\" range of \"uidmap\" holds the user 4001, \
                 which the application runs as"
            );
        }
        let detail = refused(&server, "4001", &[("gidmap", map(0, 100_000, 1000))], 0);
        assert!(detail.contains("\"gidmap\" holds the group 4001"), "{detail}");
    }
    let server = daemon().unprivileged().start_unconfigured();
    let detail = refused(&server, "0", &[("uidmap", map(0, 0, 1000))], 0);
    assert!(
        detail.contains("without root, \"uidmap\" can have one range only: {\"container\": 0, "),
        "{detail}"
    );
    assert_eq!(server.control().get("/config/applications").json(), json!({}));
}

/// Numbers in the log and signals of main are those of outside.
///
/// Options: applications.{N}.isolation.namespaces.pid, applications.{N}.isolation.namespaces.mount
#[test]
fn in_a_namespace_of_processes_there_are_no_others() {
    with_and_without_privileges(|daemon| {
        let site = eval();
        let namespaces = json!({ "credential": true, "pid": true, "mount": true });
        let server = daemon().application(app_of(&site, json!({ "namespaces": namespaces }))).start();
        let visible = "array_values(preg_grep('/^[0-9]+$/', scandir('/proc')))";
        assert_eq!(ask(&server, "[getmypid(), posix_getppid()]"), json!([2, 1]));
        assert_eq!(ask(&server, visible), json!(["1", "2"]), "its prototype and itself");
        let others = [server.pid(), std::process::id()];
        for other in others {
            assert_eq!(ask(&server, &format!("posix_kill({other}, 0)")), json!(false));
        }
        let worker = server.expect_processes("\"php\" worker", 1)[0];
        server.expect_log(&format!("\"php\" application started, process {worker}"));
        server.kill(worker);
        server.expect_log(&format!("app process {worker} exited on signal 9"));
        let next = eventually("another takes its place", || ask(&server, "getmypid()").as_u64());
        assert!(next > 2, "{next}");
        // What scripts leave behind is collected by the first process of the namespace.
        ask(&server, "exec('(sleep 0.01; exit) >/dev/null 2>&1 & echo')");
        eventually("it is collected", || (ask(&server, &format!("count({visible})")) == 2).then_some(()));
        // All of them go with the prototype.
        let prototype = server.expect_processes("\"php\" prototype", 1)[0];
        server.kill(prototype);
        eventually("it is started again", || (server.get("/?q=1").status == 200).then_some(()));
    });
}

/// Options: applications.{N}.isolation.namespaces.network
#[test]
fn in_a_namespace_of_networks_there_is_no_way_out() {
    with_and_without_privileges(|daemon| {
        let site = eval();
        let interfaces =
            "preg_match_all('/^ *(\\w+):/m', file_get_contents('/proc/net/dev'), $m) ? $m[1] : []";
        let isolation = json!({ "namespaces": { "credential": true, "network": true } });
        let server = daemon().application(app_of(&site, isolation)).start();
        assert_eq!(ask(&server, interfaces), json!(["lo"]));
        let address = server.address();
        let connect = format!("(bool) @stream_socket_client('tcp://{address}', $code, $text, 1)");
        assert_eq!(ask(&server, &connect), json!(false));
        let free = daemon().application(app_of(&site, json!({})).processes(2)).start();
        let connect = format!("(bool) @stream_socket_client('tcp://{}', $code, $text, 1)", free.address());
        assert_eq!(ask(&free, &connect), json!(true));
    });
}

/// Options: applications.{N}.isolation.namespaces.uname
#[test]
fn a_host_name_can_be_changed_for_oneself() {
    with_and_without_privileges(|daemon| {
        let site = eval();
        let namespaces = json!({ "credential": true, "uname": true });
        let app =
            app_of(&site, json!({ "namespaces": namespaces, "uidmap": as_root(), "gidmap": as_root() }));
        let server = daemon().application(app.with("user", json!("0")).with("group", json!("0"))).start();
        let before = ask(&server, "gethostname()");
        assert_eq!(
            ask(&server, "c('int sethostname(const char *name, size_t len);')->sethostname('inside', 6)"),
            0
        );
        assert_eq!(ask(&server, "gethostname()"), "inside");
        let outside = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("it is there");
        assert_eq!(before.as_str(), Some(outside.trim()));
    });
}

/// A map by which root inside is the one user whom both kinds of daemons can map.
fn as_root() -> Value {
    let is_root = rustix::process::geteuid().is_root();
    let host = if is_root { 47_001 } else { rustix::process::geteuid().as_raw() };
    json!([{ "container": 0, "host": host, "size": 1 }])
}

const MOUNT: &str = "errno_of(fn($c) => $c->mount('none', '/mnt', 'tmpfs', 0, ''), \
     c('int mount(const char *, const char *, const char *, unsigned long, const char *);'))";

/// Options: applications.{N}.isolation.namespaces.mount
#[test]
fn mounts_are_seen_inside_only() {
    with_and_without_privileges(|daemon| {
        let site = eval();
        let namespaces = json!({ "credential": true, "mount": true });
        let isolation = json!({ "namespaces": namespaces, "uidmap": as_root(), "gidmap": as_root() });
        let app = app_of(&site, isolation).with("user", json!("0")).with("group", json!("0"));
        let server = daemon().application(app).start();
        assert_eq!(ask(&server, MOUNT), 0);
        let n_mounted = "preg_match_all('~ /mnt tmpfs ~', file_get_contents('/proc/self/mounts'))";
        assert_eq!(ask(&server, n_mounted), 1);
        assert!(!std::fs::read_to_string("/proc/self/mounts").expect("it is there").contains(" /mnt tmpfs "));
        let free = daemon().application(app_of(&site, json!({}))).start();
        assert_eq!(ask(&free, MOUNT), EPERM);
    });
}

/// Options: applications.{N}.isolation.namespaces.pid
#[test]
fn what_needs_privileges_says_so() {
    let site = eval();
    let server = daemon().unprivileged().start_unconfigured();
    let isolation = json!({ "namespaces": { "pid": true, "network": true } });
    let app = json!({ "type": "php", "root": site.path("www"), "isolation": isolation });
    let reply = server.control().put("/config", &json!({ "applications": { "app": app } }));
    assert_eq!(
        reply.expect_refused(500, "Failed to apply new configuration."),
        "application \"app\": create the namespaces \"pid\", \"network\": Operation not permitted (os error 1); \
        start the daemon as root, or set \"credential\": true, too"
    );
}
