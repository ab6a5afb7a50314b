//! Programs as other users, in namespaces, with few files: the router reaches them all the same.

use std::os::unix::fs::PermissionsExt;

use corral_testkit::{Daemon, Site, eventually, site};
use serde_json::{Value, json};

use crate::go::server_in;
use crate::{node, program, with_app};

/// A process of the application that answers, as this system numbers it.
fn process(server: &Daemon) -> u32 {
    server.named("node")[0]
}

fn namespace(pid: u32, kind: &str) -> String {
    let link = std::fs::read_link(format!("/proc/{pid}/ns/{kind}")).expect("it runs");
    link.to_string_lossy().into_owned()
}

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("skipped: only root may do this");
    }
    is_root
}

#[test]
fn it_runs_as_its_user() {
    if !is_root() {
        return;
    }
    let site = program("server.js");
    for socket in ["inherited", "unix", "port"] {
        let server =
            with_app(&node(&site, json!({ "user": "daemon", "group": "bin", "socket": socket }))).start();
        server.get("/user").expect(200).expect_body("1 2");
    }
}

#[test]
fn a_daemon_without_privileges_runs_it_as_itself() {
    let site = program("server.js");
    for socket in ["inherited", "unix", "port"] {
        let server = with_app(&node(&site, json!({ "socket": socket }))).unprivileged().start();
        server.get("/").expect(200);
    }
}

#[test]
fn it_is_reached_in_namespaces_of_its_own() {
    if !is_root() {
        return;
    }
    let site = program("server.js");
    let all = json!({ "pid": true, "mount": true, "network": true, "uname": true });
    for socket in ["inherited", "unix"] {
        let members = json!({ "socket": socket, "isolation": { "namespaces": all } });
        let server = with_app(&node(&site, members)).start();
        server.get("/").expect(200);
        let pid = process(&server);
        for kind in ["pid", "mnt", "net", "uts"] {
            assert_ne!(namespace(pid, kind), namespace(std::process::id(), kind), "{socket}: {kind}");
        }
        // In there it has a small number; here it is known by the one that it has here.
        server.expect_log(&format!("\"app\" application started, process {pid}"));
        server.kill(pid);
        eventually("another one serves", || (server.get("/").status == 200).then_some(()));
    }
}

#[test]
fn it_is_reached_in_a_user_namespace() {
    let site = program("server.js");
    let members = json!({ "isolation": { "namespaces": { "credential": true, "pid": true } } });
    let server = with_app(&node(&site, members)).start();
    server.get("/").expect(200);
    assert_ne!(namespace(process(&server), "user"), namespace(std::process::id(), "user"));
}

/// A root with nothing in it but a program that needs nothing else.
fn root_with_server() -> Site {
    let root = site();
    server_in(&root);
    std::fs::set_permissions(root.path("server"), PermissionsExt::from_mode(0o755)).expect("it is ours");
    root
}

#[test]
fn it_is_reached_in_another_root() {
    if !is_root() {
        return;
    }
    let root = root_with_server();
    let app = json!({
        "type": "http", "executable": "/server",
        "isolation": { "rootfs": root.root(), "namespaces": { "mount": true } }
    });
    let server = with_app(&app).start();
    assert!(server.get("/").expect(200).text().starts_with("hello from "));
}

/// Not even a folder for its socket, which is outside.
///
/// Options: applications.{N}.isolation.automount.tmpfs
#[test]
fn it_needs_nothing_in_its_root() {
    if !is_root() {
        return;
    }
    let root = root_with_server();
    let folders = || -> Vec<_> { std::fs::read_dir("/tmp").unwrap().flatten().map(|it| it.path()).collect() };
    let before = folders();
    let isolation = |namespaces: Value| {
        json!({
            "rootfs": root.root(), "namespaces": namespaces, "automount": { "tmpfs": false, "procfs": false }
        })
    };
    for namespaces in [json!({}), json!({ "mount": true, "pid": true }), json!({ "credential": true })] {
        let app = json!({
            "type": "http", "executable": "/server", "processes": 2, "isolation": isolation(namespaces)
        });
        let server = with_app(&app).start();
        assert!(server.get("/").expect(200).text().starts_with("hello from "));
        server.kill(server.named("server")[0]);
        eventually("another one serves", || (server.get("/").status == 200).then_some(()));
        // What is handed to it leads nowhere else.
        let working_directory =
            std::fs::read_link(format!("/proc/{}/cwd", server.named("server")[0])).unwrap();
        assert!(!working_directory.to_string_lossy().contains("sockets"), "{working_directory:?}");
    }
    assert!(!root.path("tmp").exists() && !root.path("proc").exists());
    let is_left = |path: &std::path::PathBuf| path.join("sockets").exists() && !before.contains(path);
    eventually("nothing is left", || (!folders().iter().any(is_left)).then_some(()));
    // One that is told a path needs a place for it.
    let app = json!({
        "type": "http", "executable": "/server", "socket": "unix", "isolation": isolation(json!({}))
    });
    let control = corral_testkit::daemon().start_unconfigured();
    let reply = control.control().put("/config", &json!({ "applications": { "app": app } }));
    let detail = reply.expect_refused(500, "Failed to apply new configuration.");
    assert!(detail.contains("make a folder for sockets in $TMPDIR, /tmp"), "{detail}");
}

#[test]
fn it_reaches_the_files_that_are_listed_and_no_others() {
    let root = program("server.js").writable_folder("data");
    let access = |read: Value| json!({ "isolation": { "filesystem": { "read": read, "write": [root.path("data")] } } });
    let start = |site: &Site, read: Value| {
        let server = with_app(&node(site, access(read)));
        server.start()
    };
    let server = start(&root, json!(["/usr", "/etc", "/lib", "/lib64", "/proc", root.root()]));
    server.get("/").expect(200);
    drop(server);
    let reply = corral_testkit::daemon().start_unconfigured().control().put(
        "/config",
        &json!({ "applications": { "app": node(&root, access(json!(["/usr", "/lib", "/lib64"]))) } }),
    );
    let detail = reply.expect_refused(500, "Failed to apply new configuration.");
    assert!(detail.contains("before it was ready"), "its own script is out of reach: {detail}");
}

#[test]
fn the_seccomp_profile_holds_for_it() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({ "isolation": { "seccomp": "default" } }))).start();
    server.get("/").expect(200);
    let status = std::fs::read_to_string(format!("/proc/{}/status", process(&server))).unwrap();
    assert!(status.contains("Seccomp:\t2"), "{status}");
}

/// Nothing of its sockets is left.
#[test]
fn its_folder_is_removed() {
    let site = program("server.js");
    let folders = || {
        let all = std::fs::read_dir("/tmp").unwrap().flatten().map(|entry| entry.file_name());
        all.filter(|name| name.to_string_lossy().starts_with("corral-")).collect::<Vec<_>>()
    };
    let mut server = with_app(&node(&site, json!({ "socket": "unix" }))).start();
    let environment = server.get("/environment").expect(200).json();
    let socket = std::path::PathBuf::from(environment["SOCKET_PATH"].as_str().expect("it has one"));
    assert!(socket.exists() && folders().iter().any(|name| socket.parent().unwrap().ends_with(name)));
    server.stop();
    assert!(!socket.parent().unwrap().exists());
}

/// Nothing of the daemon's is open but its standard streams and the socket that it serves at.
#[test]
fn nothing_of_the_daemon_reaches_it() {
    let site = program("server.js");
    server_in(&site);
    let go = json!({ "type": "http", "executable": "./server", "working_directory": site.root() });
    for (app, name) in [(node(&site, json!({})), "node"), (go, "server")] {
        let server = with_app(&app).start();
        server.get("/").expect(200);
        assert_eq!(server.shared_with(server.named(name)[0], 4), Vec::<String>::new(), "{name}");
    }
}
