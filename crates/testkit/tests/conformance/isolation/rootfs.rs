//! `isolation.rootfs`: a root of an application's own, and what is mounted there.

use std::path::Path;

use corral_testkit::{PhpApp, Site, daemon, eventually, site};
use serde_json::{Value, json};

use super::{EVAL, app_in, app_of, ask, eval, is_root, with_and_without_privileges};

/// A root with a site in it, and nothing else.
fn root() -> Site {
    site().file("srv/www/index.php", EVAL).writable_folder("")
}

fn app_in_root(site: &Site, isolation: Value) -> PhpApp {
    let mut isolation = isolation;
    isolation["rootfs"] = json!(site.root());
    app_in("/srv/www".as_ref(), isolation)
}

/// Options: applications.{N}.isolation.rootfs, applications.{N}.isolation.automount.language_deps,
/// applications.{N}.isolation.automount.procfs, applications.{N}.isolation.automount.tmpfs
#[test]
fn in_a_rootfs_there_is_only_what_the_language_needs() {
    with_and_without_privileges(|daemon| {
        for namespaces in
            [json!({ "credential": true }), json!({ "credential": true, "mount": true, "pid": true })]
        {
            let site = root();
            let app = app_in_root(&site, json!({ "namespaces": namespaces }));
            let server = daemon().application(app).start();
            let expected = json!([".", "..", "dev", "etc", "lib", "lib64", "proc", "srv", "tmp", "usr"]);
            assert_eq!(ask(&server, "scandir('/')"), expected);
            assert_eq!(
                ask(&server, "[__FILE__ != '', $_SERVER['DOCUMENT_ROOT']]"),
                json!([true, "/srv/www"])
            );
            assert_eq!(ask(&server, "file_exists('/etc/passwd') || file_exists('/bin/sh')"), json!(false));
            assert_eq!(
                ask(&server, "extension_loaded('mbstring') && (bool) opcache_get_status(false)"),
                true
            );
            assert_eq!(
                ask(&server, "(new DateTime('2020-06-01', new DateTimeZone('Europe/Berlin')))->getOffset()"),
                7200
            );
            assert_eq!(ask(&server, "(int) disk_total_space('/tmp')"), 1 << 20);
            assert_eq!(ask(&server, "file_put_contents('/tmp/x', 'x')"), 1);
            assert!(!site.path("tmp/x").exists(), "it is in memory");
            assert_eq!(ask(&server, "file_put_contents('/dev/null', 'x')"), 1);
            let sees_host = ask(&server, &format!("file_exists('/proc/{}')", server.pid()));
            assert_eq!(sees_host, json!(namespaces["pid"] != true));
            let options = "preg_match_all('~^\\S+ (\\S+) \\S+ (\\S+)~m', file_get_contents('/proc/self/mounts'), $m) \
                           ? array_combine($m[1], $m[2]) : []";
            let options = ask(&server, options);
            let extensions = ask(&server, "PHP_EXTENSION_DIR");
            for (point, expected) in [
                ("/proc", "nosuid,nodev,noexec"),
                ("/tmp", "nosuid,nodev,noexec"),
                (extensions.as_str().expect("a path"), "ro,nosuid,nodev"),
            ] {
                let found = options[point].as_str();
                assert!(found.is_some_and(|found| found.contains(expected)), "{point} in {options:#}");
            }
            assert!(!std::fs::read_to_string("/proc/self/mounts").expect("ours").contains(&site.root()));
        }
    });
}

/// Without a namespace of users, root mounts and another user runs.
///
/// Options: applications.{N}.isolation.rootfs
#[test]
fn root_needs_no_namespace_for_a_rootfs() {
    if !is_root() {
        return;
    }
    let site = root();
    let app = app_in_root(&site, json!({})).with("user", json!("4001"));
    let server = daemon().application(app).start();
    assert_eq!(ask(&server, "[posix_getuid(), file_exists('/etc/passwd')]"), json!([4001, false]));
    assert!(!std::fs::read_to_string("/proc/self/mounts").expect("ours").contains(&site.root()));
    let bare = json!({ "automount": { "procfs": false, "tmpfs": false } });
    // Opcache makes a file for its locks.
    let site = root().writable_folder("tmp");
    let server = daemon().application(app_in_root(&site, bare).processes(2)).start();
    assert_eq!(ask(&server, "[file_exists('/proc'), file_put_contents('/tmp/x', 'x')]"), json!([false, 1]));
    assert!(site.path("tmp/x").exists(), "no memory takes its place");
}

/// Options: applications.{N}.isolation.automount.tmpfs
#[test]
fn no_folder_for_temporary_files_is_needed() {
    with_and_without_privileges(|daemon| {
        let site = root();
        let isolation = json!({ "namespaces": { "credential": true }, "automount": { "tmpfs": false } });
        let server = daemon().application(app_in_root(&site, isolation)).start();
        assert_eq!(ask(&server, "[file_exists('/tmp'), @opcache_get_status(false)]"), json!([false, false]));
        server.expect_log("opcache is off, as it cannot make a file for its locks in /tmp");
    });
}

/// The mount point of an earlier start is root's.
///
/// Options: applications.{N}.isolation.automount.tmpfs
#[test]
fn no_folder_for_temporary_files_has_to_be_writable() {
    if !is_root() {
        return;
    }
    let site = root();
    std::fs::create_dir(site.path("tmp")).expect("make the folder");
    let bare = json!({ "automount": { "tmpfs": false } });
    let app = app_in_root(&site, bare).with("user", json!("4001"));
    let server = daemon().application(app).start();
    assert_eq!(ask(&server, "[is_writable('/tmp'), @opcache_get_status(false)]"), json!([false, false]));
    server.expect_log("opcache is off");
}

/// Copies the libraries of the PHP module to a root, with the links that lead to them.
fn copy_libraries(site: &Site) {
    let module = corral_testkit::executables().dir.join("corral-php");
    let listed =
        std::process::Command::new("ldd").arg(module).output().expect("ldd belongs to the C library");
    let listed = String::from_utf8(listed.stdout).expect("ldd prints text");
    for path in listed.split_whitespace().filter(|word| word.starts_with('/')).map(Path::new) {
        let real = path.canonicalize().expect("the loader found it");
        let place =
            |path: &Path| site.path(path.strip_prefix("/").expect("it is absolute").to_str().expect("text"));
        for path in [path, &real] {
            std::fs::create_dir_all(place(path).parent().expect("it is in a folder"))
                .expect("make the folder");
        }
        std::fs::copy(&real, place(&real)).expect("copy the library");
        if path != real && !place(path).exists() {
            std::os::unix::fs::symlink(&real, place(path)).expect("make a link");
        }
    }
}

/// A root that has all by itself: nothing is mounted, not even `/proc`.
///
/// Options: applications.{N}.isolation.rootfs, applications.{N}.isolation.automount.language_deps,
/// applications.{N}.isolation.automount.procfs, applications.{N}.isolation.automount.tmpfs
#[test]
fn without_mounts_the_root_is_only_changed() {
    let site = root();
    copy_libraries(&site);
    let automount = json!({ "language_deps": false, "procfs": false, "tmpfs": false });
    with_and_without_privileges(|daemon| {
        for mount in [false, true] {
            let namespaces = json!({ "credential": true, "mount": mount });
            let isolation = json!({ "automount": automount, "namespaces": namespaces });
            let server = daemon().application(app_in_root(&site, isolation).processes(2)).start();
            assert_eq!(
                ask(&server, "file_exists('/proc') || file_exists('/usr/bin')"),
                json!(false),
                "{mount}"
            );
        }
    });
}

/// Options: applications.{N}.isolation.rootfs, applications.{N}.isolation.automount.language_deps
#[test]
fn a_root_that_cannot_be_used_is_refused_and_nothing_changes() {
    let site = eval();
    let server = daemon().application(app_of(&site, json!({}))).start();
    let worker = server.expect_processes("\"php\" worker", 1);
    let refused = |isolation: Value| {
        let app = json!({ "type": "php", "root": "/srv/www", "isolation": isolation });
        let reply = server.control().put("/config/applications/php", &app);
        reply.expect_refused(500, "Failed to apply new configuration.")
    };
    let detail = refused(json!({ "namespaces": { "credential": true }, "rootfs": "/no/such/root" }));
    assert!(
        detail.starts_with("application \"php\": open the rootfs /no/such/root: No such file"),
        "{detail}"
    );
    let root = root();
    let automount = json!({ "language_deps": false });
    let isolation =
        json!({ "namespaces": { "credential": true }, "rootfs": root.root(), "automount": automount });
    let detail = refused(isolation);
    let expected = "application \"php\": run the executable: No such file or directory (os error 2); the rootfs lacks \
                    the loader of shared libraries";
    assert!(detail.starts_with(expected), "{detail}");
    assert_eq!(server.expect_processes("\"php\" worker", 1), worker);
    assert_eq!(ask(&server, "1"), 1);
}

/// At the start of the daemon the application is done without, and tried again.
///
/// Options: applications.{N}.isolation.rootfs
#[test]
fn an_application_without_its_root_waits_for_it() {
    let site = root();
    let app = app_in_root(&site, json!({ "namespaces": { "credential": true } }));
    let mut server = daemon().application(app).start();
    assert_eq!(ask(&server, "1"), 1);
    server.stop();
    let moved = format!("{}-moved", site.root());
    std::fs::rename(site.path(""), &moved).expect("rename the folder");
    server.restart();
    eventually("it listens", || (server.connect().get("/").status == 503).then_some(()));
    let status = server.control().get("/status/applications/php").json();
    let reason = status["last_error"].as_str().expect("it says why");
    assert!(reason.contains("open the rootfs") && reason.contains("No such file"), "{reason}");
    std::fs::rename(&moved, site.path("")).expect("rename the folder back");
    eventually("it is tried again", || (server.get("/?q=1").status == 200).then_some(()));
}
