//! Which script a request runs, and what it is told about its path.

use corral_testkit::{Daemon, Request, daemon, php_app, site};
use serde_json::{Value, json};

const TELL: &str = "<?php
$keys = ['SCRIPT_NAME', 'PATH_INFO', 'PHP_SELF', 'REQUEST_URI', 'QUERY_STRING'];
echo json_encode(array_map(fn($key) => $_SERVER[$key] ?? null, array_combine($keys, $keys)));
";

#[track_caller]
fn check(server: &Daemon, target: &str, expected: &Value) {
    let told = server.get(target).expect(200).json();
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(&told[key], value, "{key} for {target} in {told}");
    }
}

#[test]
fn scripts_are_found_by_path() {
    let site = site().file("index.php", TELL).file("a/index.php", TELL).file("a/b.php", TELL);
    let server = daemon().application(php_app(&site)).start();
    check(&server, "/", &json!({ "SCRIPT_NAME": "/index.php", "PATH_INFO": null, "PHP_SELF": "/index.php" }));
    check(&server, "/a/", &json!({ "SCRIPT_NAME": "/a/index.php" }));
    check(
        &server,
        "/a/b.php?x=1&y=%20",
        &json!({
            "SCRIPT_NAME": "/a/b.php", "QUERY_STRING": "x=1&y=%20", "REQUEST_URI": "/a/b.php?x=1&y=%20"
        }),
    );
    check(
        &server,
        "/a/b.php/more/info",
        &json!({
            "SCRIPT_NAME": "/a/b.php", "PATH_INFO": "/more/info", "PHP_SELF": "/a/b.php/more/info"
        }),
    );
    check(&server, "/a/b.php/x%20y", &json!({ "PATH_INFO": "/x y", "REQUEST_URI": "/a/b.php/x%20y" }));
}

/// Options: applications.{N}.index
#[test]
fn another_index_is_run_for_folders() {
    let site = site().file("start.php", TELL).file("a/start.php", TELL).file("b/index.php", TELL);
    let server = daemon().application(php_app(&site).with("index", json!("start.php"))).start();
    check(&server, "/", &json!({ "SCRIPT_NAME": "/start.php" }));
    check(&server, "/a/", &json!({ "SCRIPT_NAME": "/a/start.php" }));
    server.get("/b/").expect(404);
}

#[test]
fn what_is_no_script_is_not_run_and_not_served() {
    let site = site().file("index.php", TELL).file("notes.txt", "secret").writable_folder("folder");
    let server = daemon().application(php_app(&site)).start();
    server.get("/nope.php").expect(404).expect_text("Error 404");
    server.get("/nope").expect(404);
    server.get("/nope/").expect(404);
    server.get("/folder?x=1").expect(301).expect_field("Location", "http://localhost/folder/?x=1");
    let response = server.get("/notes.txt");
    assert!(matches!(response.status, 403 | 404), "{response}");
    assert!(!response.text().contains("secret"), "{response}");
    server.get("/index.php%00.txt").expect(400);
}

#[test]
fn a_redirection_to_a_folder_names_the_port_that_was_asked() {
    let site = site().writable_folder("folder");
    let server = daemon().application(php_app(&site)).start();
    let request = Request::get("/folder").field("Host", &server.address().to_string());
    let location = format!("http://{}/folder/", server.address());
    server.send(&request).expect(301).expect_field("Location", &location);
    // It may be that of a port mapping in front of this server.
    for host in ["example.com:8443", "[2001:db8::1]:8443", "example.com"] {
        let location = format!("http://{host}/folder/?a=1");
        let request = Request::get("/folder?a=1").field("Host", host);
        server.send(&request).expect(301).expect_field("Location", &location);
    }
}

/// Options: applications.{N}.root, applications.{N}.script
#[test]
fn a_front_controller_runs_for_every_path() {
    let site = site().file("public/index.php", TELL).file("public/other.php", "<?php echo 'other';");
    let root = site.path("public");
    let server = daemon().application(php_app(&site).with("root", json!(root)).script("index.php")).start();
    for target in ["/", "/posts/1?x=2", "/other.php", "/index.php/x"] {
        check(
            &server,
            target,
            &json!({ "SCRIPT_NAME": "/index.php", "PATH_INFO": null, "REQUEST_URI": target }),
        );
    }
}

/// Options: applications.{N}.targets.{N}.{root,script,index}
#[test]
fn targets_choose_root_script_and_index() {
    let site = site().file("a/index.php", TELL).file("b/start.php", TELL);
    let targets = json!({
        "direct": { "root": site.path("a") },
        "front": { "root": site.path("b"), "script": "start.php" },
        "indexed": { "root": site.path("b"), "index": "start.php" },
    });
    let server = daemon()
        .config(json!({
            "routes": [
                { "match": { "uri": "/front/*" }, "action": { "pass": "applications/php/front" } },
                { "match": { "host": "indexed" }, "action": { "pass": "applications/php/indexed" } },
                { "match": { "host": "first" }, "action": { "pass": "applications/php" } },
                { "action": { "pass": "applications/php/direct" } }
            ],
            "applications": { "php": { "type": "php", "targets": targets } }
        }))
        .start();
    check(&server, "/", &json!({ "SCRIPT_NAME": "/index.php" }));
    check(&server, "/front/x", &json!({ "SCRIPT_NAME": "/start.php" }));
    let indexed = server.send(&Request::get("/").field("Host", "indexed")).expect(200).json();
    assert_eq!(indexed["SCRIPT_NAME"], "/start.php");
    server.send(&Request::get("/index.php").field("Host", "first")).expect(200);
}

#[test]
fn the_working_directory_is_that_of_the_script_at_each_request() {
    let site = site()
        .file("a/cwd.php", "<?php echo getcwd(); chdir('/');")
        .file("a/rel.php", "<?php require 'part.inc';")
        .file("a/part.inc", "<?php echo 'part';");
    let server = daemon().application(php_app(&site)).start();
    for _ in 0..3 {
        server.get("/a/cwd.php").expect(200).expect_body(site.path("a").to_str().expect("text"));
        server.get("/a/rel.php").expect(200).expect_body("part");
    }
}

#[test]
fn a_changed_script_is_seen() {
    let site = site().file("a.php", "<?php echo 'first';");
    let app = php_app(&site).admin("opcache.revalidate_freq", "0");
    let server = daemon().application(app).start();
    server.get("/a.php").expect_body("first");
    // opcache compares times of whole seconds.
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    site.write("a.php", "<?php echo 'second';");
    let file = std::fs::File::options().write(true).open(site.path("a.php")).expect("open the script");
    file.set_modified(later).expect("set its time");
    server.get("/a.php").expect_body("second");
}

/// `Phar::webPhar()` finds its entry behind its own name, and the query is not a part of that.
#[test]
fn an_archive_serves_itself_with_a_query() {
    let site = site().file("run.php", "<?php echo 'ran ', $_GET['x'] ?? '-';").writable_folder("out");
    let archive = site.path("out/app.phar.php");
    let build = format!(
        "$p = new Phar('{0}'); $p->addFile('{1}', 'index.php'); $p->addFile('{1}', 'run.php'); $p->setStub('<?php \
        Phar::webPhar(); __HALT_COMPILER();');",
        archive.display(),
        site.path("run.php").display()
    );
    let status = std::process::Command::new("php").args(["-d", "phar.readonly=0", "-r", &build]).status();
    assert!(status.expect("php is installed").success());
    let server = daemon().application(php_app(&site)).start();
    server.get("/out/app.phar.php/run.php").expect(200).expect_body("ran -");
    server.get("/out/app.phar.php/run.php?x=1").expect(200).expect_body("ran 1");
}

/// Phar asks its server for the script's name where nothing has mentioned `$_SERVER`, and does not look what it gets.
#[test]
fn an_archive_is_shown_under_the_names_of_cgi() {
    let make = "<?php $phar = new Phar(__DIR__ . '/built.phar.php'); $phar['a.txt'] = 'from the archive';
        $phar->setStub(\"<?php Phar::webPhar(); echo 'not found'; __HALT_COMPILER();\");";
    for name in ["cgi-fcgi", "fpm-fcgi"] {
        let site = site().file("make.php", make).writable_folder("");
        let app = php_app(&site);
        let options = json!({ "admin": { "phar.readonly": "0" }, "sapi_name": name });
        let server = daemon().application(app.with("options", options)).start();
        server.get("/make.php").expect(200);
        server.get("/built.phar.php/a.txt").expect(200).expect_body("from the archive");
        server.get("/built.phar.php/nope.txt").expect(404);
    }
}

/// A folder that keeps an application from its files is named with its user, where a page would only say 403 or 404.
#[test]
fn a_folder_that_the_user_may_not_enter_is_named() {
    use std::os::unix::fs::PermissionsExt;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let site = site().file("closed/public/index.php", TELL);
    let closed = site.path("closed");
    let root = site.path("closed/public");
    let folder =
        |mode| std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(mode)).expect("set it");
    folder(0o700);
    let app = json!({ "php": { "type": "php", "root": root, "user": "nobody" } });
    let server = daemon().start_unconfigured();
    let reply = server.control().put("/config/applications", &app);
    let words = format!("the user \"nobody\" may not enter \"{}\"", closed.display());
    assert!(reply.0.text().contains(&words.replace('"', "\\\"")), "{reply:?}");
    folder(0o711);
    server.control().put("/config/applications", &app).expect_done();
}
