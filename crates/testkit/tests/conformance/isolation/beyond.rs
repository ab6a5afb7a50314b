//! Additions to section 21: `seccomp`, and `filesystem`.

use corral_testkit::{Daemon, daemon};
use serde_json::{Value, json};

use super::{EPERM, EVAL, app_of, ask, eval};

const ENOSYS: i32 = 38;

/// The error number of a system call by number, 0 for success.
fn call(number: i64, arguments: &str) -> String {
    let declaration = "long syscall(long number, ...);";
    format!("errno_of(fn($c) => $c->syscall({number}, {arguments}), c('{declaration}'))")
}

/// Options: applications.{N}.isolation.seccomp
#[test]
#[cfg(target_arch = "x86_64")]
fn dangerous_calls_are_refused_and_others_are_not() {
    let site = eval();
    let server = daemon().application(app_of(&site, json!({ "seccomp": "default" }))).start();
    let status = "preg_match_all('/^(Seccomp|NoNewPrivs):\\s*(\\d)/m', file_get_contents('/proc/self/status'), $m) \
                  ? array_combine($m[1], $m[2]) : []";
    assert_eq!(ask(&server, status), json!({ "NoNewPrivs": "1", "Seccomp": "2" }));
    const NEW_USER: i64 = 0x1000_0000;
    for (name, number, arguments) in [
        ("unshare", 272, NEW_USER.to_string()),
        ("ptrace", 101, "0, 0, 0, 0".to_owned()),
        ("bpf", 321, "0, 0, 0".to_owned()),
        ("io_uring_setup", 425, "1, 0".to_owned()),
        ("keyctl", 250, "0, 0, 0".to_owned()),
        ("pidfd_getfd", 438, "-1, 0, 0".to_owned()),
        ("process_madvise", 440, "-1, 0, 0, 0, 0".to_owned()),
        ("memfd_secret", 447, "0".to_owned()),
        ("statmount", 457, "0, 0, 0, 0".to_owned()),
        ("listmount", 458, "0, 0, 0, 0".to_owned()),
        ("open_tree_attr", 467, "-1, 0, 0, 0, 0".to_owned()),
        ("clone with a namespace", 56, format!("{}, 0, 0, 0, 0", NEW_USER | 17)),
        ("unshare by its x32 number", 0x4000_0000 + 272, NEW_USER.to_string()),
    ] {
        assert_eq!(ask(&server, &call(number, &arguments)), EPERM, "{name}");
    }
    assert_eq!(ask(&server, &call(435, "0, 0")), ENOSYS, "clone3");
    // getppid, and all that it takes to run a program.
    assert_eq!(ask(&server, &call(110, "0")), 0);
    assert_eq!(ask(&server, "exec('echo a | cat')"), "a");
    let free = daemon().application(app_of(&site, json!({}))).start();
    assert_ne!(ask(&free, &call(250, "0, 0, 0")), EPERM, "keyctl");
}

/// Options: applications.{N}.isolation.seccomp
#[test]
fn there_is_one_profile() {
    let site = eval();
    let server = daemon().start_unconfigured();
    let app = json!({ "type": "php", "root": site.path("www"), "isolation": { "seccomp": "defualt" } });
    let reply = server.control().put("/config", &json!({ "applications": { "app": app } }));
    assert_eq!(reply.json()["suggestion"], "default", "{}", reply.0);
    let detail = reply.expect_refused(400, "Invalid configuration.");
    assert_eq!(detail, "The \"seccomp\" profile must be \"default\".");
}

/// Whether this kernel has Landlock; says so when not.
fn has_landlock() -> bool {
    let site = eval();
    let server = daemon().start_unconfigured();
    let reply =
        server.control().put("/config", &json!({ "applications": { "app": restricted(&site, &[], &[]) } }));
    let is_there = reply.0.status == 200;
    if !is_there {
        assert!(reply.0.text().contains("this kernel has no Landlock"), "{}", reply.0);
        eprintln!("skipped: this kernel has no Landlock");
    }
    is_there
}

fn restricted(site: &corral_testkit::Site, read: &[&str], write: &[&str]) -> Value {
    let paths = |names: &[&str]| names.iter().map(|name| site.path(name)).collect::<Vec<_>>();
    json!({ "type": "php", "root": site.path("www"), "options": { "admin": { "ffi.enable": "1" } },
            "isolation": { "filesystem": { "read": paths(read), "write": paths(write) } } })
}

fn serve(app: &Value) -> Daemon {
    daemon().config(json!({ "applications": { "app": app } })).start()
}

/// Options: applications.{N}.isolation.filesystem.read, applications.{N}.isolation.filesystem.write
#[test]
fn files_are_in_reach_that_are_listed() {
    if !has_landlock() {
        return;
    }
    let site = eval()
        .file("read/a.txt", "a")
        .file("one.txt", "one")
        .file("other.txt", "other")
        .file("write/b.txt", "b")
        .writable_folder("read")
        .writable_folder("write");
    let server = serve(&restricted(&site, &["read", "one.txt"], &["write"]));
    let read = |name: &str| ask(&server, &format!("@file_get_contents('{}')", site.path(name).display()));
    assert_eq!(
        [read("read/a.txt"), read("one.txt"), read("write/b.txt")],
        ["a", "one", "b"].map(Value::from)
    );
    assert_eq!(read("other.txt"), json!(false));
    assert_eq!(ask(&server, "@file_get_contents('/etc/passwd')"), json!(false));
    assert_eq!(ask(&server, &format!("@scandir('{}')", site.root())), json!(false));
    let write =
        |name: &str| ask(&server, &format!("@file_put_contents('{}', 'x')", site.path(name).display()));
    assert_eq!(write("write/new.txt"), 1);
    assert_eq!(write("read/new.txt"), json!(false), "its permissions would allow it");
    assert_eq!(write("www/new.txt"), json!(false));
    assert_eq!(ask(&server, "@tempnam('/tmp', 'x')"), json!(false), "although opcache has its locks there");
    let unlink = |name: &str| ask(&server, &format!("@unlink('{}')", site.path(name).display()));
    assert_eq!([unlink("write/new.txt"), unlink("read/a.txt")], [json!(true), json!(false)]);
    assert_eq!(ask(&server, "exec('echo a')"), json!(false), "no program is in reach");
    // PHP has what it consists of.
    assert_eq!(ask(&server, "(new DateTimeZone('Europe/Berlin'))->getName()"), "Europe/Berlin");
    assert_eq!(ask(&server, "extension_loaded('mbstring') && (bool) opcache_get_status(false)"), true);
}

/// Options: applications.{N}.isolation.filesystem.read
#[test]
fn programs_are_bound_like_those_who_start_them() {
    if !has_landlock() {
        return;
    }
    let site = eval().writable_folder("");
    let server = serve(&restricted(&site, &["/usr", "/bin", "/lib", "/lib64"], &[]));
    assert_eq!(ask(&server, "exec('echo a')"), "a");
    assert_eq!(ask(&server, "exec('cat /etc/passwd 2>&1')"), "cat: /etc/passwd: Permission denied");
    let refused = ask(&server, &format!("exec('(echo a >{}/new) 2>&1')", site.root()));
    assert!(refused.as_str().is_some_and(|text| text.ends_with("Permission denied")), "{refused}");
    assert!(!site.path("new").exists());
}

/// Options: applications.{N}.isolation.filesystem
#[test]
fn what_is_listed_has_to_be_there() {
    if !has_landlock() {
        return;
    }
    let site = eval();
    let server = serve(&restricted(&site, &[], &[]));
    assert_eq!(ask(&server, "1"), 1);
    let reply = server.control().put("/config/applications/app", &restricted(&site, &["missing"], &[]));
    let detail = reply.expect_refused(500, "Failed to apply new configuration.");
    let path = site.path("missing");
    let expected = format!(
        "application \"app\": restrict the application to its \"filesystem\": open {}: No such file or directory \
         (os error 2)",
        path.display()
    );
    assert_eq!(detail, expected);
    assert_eq!(ask(&server, "1"), 1);
}

/// Options: applications.{N}.isolation
#[test]
fn all_of_it_works_together() {
    if !has_landlock() {
        return;
    }
    for daemon in [daemon(), daemon().unprivileged()] {
        let root = corral_testkit::site().file("srv/www/index.php", EVAL).file("etc/secret", "x");
        let root = root.writable_folder("").writable_folder("etc").writable_folder("srv/var");
        let namespaces = json!({ "credential": true, "pid": true, "network": true, "mount": true, "uname": true,
                                 "cgroup": true });
        let app = json!({ "type": "php", "root": "/srv/www", "processes": 2, "isolation": {
            "namespaces": namespaces, "rootfs": root.root(), "new_privs": false, "seccomp": "default",
            "filesystem": { "read": ["/proc"], "write": ["/srv/var", "/tmp"] } } });
        let server = daemon.config(json!({ "applications": { "app": app } })).start();
        assert_eq!(ask(&server, "[posix_getppid(), count(file('/proc/net/dev'))]"), json!([1, 3]));
        assert_eq!(ask(&server, "[@file_get_contents('/etc/secret'), @scandir('/')]"), json!([false, false]));
        let write = "[file_put_contents('/srv/var/x', 'x'), file_put_contents('/tmp/x', 'x'), \
                     @file_put_contents('/srv/www/x', 'x')]";
        assert_eq!(ask(&server, write), json!([1, 1, false]));
        assert_eq!(root.read("srv/var/x"), "x");
        server.expect_processes("\"app\" worker", 2);
    }
}
