//! Which script answers a path.

use std::os::unix::fs::symlink;

use crate::host::{App, app};
use crate::messages::{Request, Response, get};

const SHOW: &str = "<?php echo basename(__FILE__), ' ', $_SERVER['SCRIPT_NAME'], ' ',
    $_SERVER['PATH_INFO'] ?? '-', ' ', basename(getcwd());";

fn site() -> App {
    app(&[
        ("index.php", SHOW),
        ("a.php", SHOW),
        ("sub/index.php", SHOW),
        ("sub/b.php", SHOW),
        ("empty/file.txt", "text"),
        ("secret.txt", "secret"),
    ])
}

#[track_caller]
fn ask(app: App, request: &Request) -> Response {
    let mut host = app.start();
    host.worker().ask(&host, request)
}

#[test]
fn paths_lead_to_scripts() {
    let mut host = site().start();
    let mut worker = host.worker();
    for (path, expected) in [
        ("/", "index.php /index.php - root"),
        ("/a.php", "a.php /a.php - root"),
        ("/a.php?x=/b.php", "a.php /a.php - root"),
        ("/sub/", "index.php /sub/index.php - sub"),
        ("/sub/b.php", "b.php /sub/b.php - sub"),
        ("/sub/b.php/", "b.php /sub/b.php / sub"),
        ("/sub/b.php/info/more", "b.php /sub/b.php /info/more sub"),
        ("/a.php/b.php", "a.php /a.php /b.php root"),
        ("/a.php", "a.php /a.php - root"),
    ] {
        assert_eq!(worker.ask(&host, &get(path)).text(), expected, "{path}");
    }
}

#[test]
fn everything_else_is_refused_without_a_word() {
    let mut host = site().start();
    let mut worker = host.worker();
    for path in [
        "/none.php",
        "/none/",
        "/none",
        "/empty/",
        "/secret.txt",
        "/secret.txt/x",
        "/a.php7",
        "/sub/none.php/x",
    ] {
        let response = worker.ask(&host, &get(path));
        assert_eq!((response.status, response.text()), (404, ""), "{path}");
    }
}

#[test]
fn folders_get_their_slash() {
    let mut host = site().start();
    let mut worker = host.worker();
    let mut check = |request: &Request, expected: &str| {
        let response = worker.ask(&host, request);
        assert_eq!((response.status, response.field("Location")), (301, Some(expected)));
    };
    check(&get("/sub"), "http://example.com:8080/sub/");
    check(&get("/sub?a=1&b"), "http://example.com:8080/sub/?a=1&b");
    check(&get("/sub").tls(), "https://example.com:8080/sub/");
    check(&get("/sub").without_fields(), "http://localhost:8080/sub/");
    check(&get("/sub").without_fields().port(80), "http://localhost/sub/");
    check(&get("/sub").without_fields().tls().port(443), "https://localhost/sub/");
}

#[test]
fn unreachable_files_are_forbidden() {
    let app = site();
    symlink("loop.php", app.root().join("loop.php")).unwrap();
    assert_eq!(ask(app, &get("/loop.php")).status, 403);
}

#[test]
fn one_script_can_answer_everything() {
    let mut host = site().script("sub/b.php").start();
    let mut worker = host.worker();
    for path in ["/", "/a.php", "/sub", "/x/y.php/z", "/secret.txt"] {
        assert_eq!(worker.ask(&host, &get(path)).text(), "b.php /sub/b.php - sub", "{path}");
    }
}

#[test]
fn targets_are_chosen_by_number() {
    let app = site().target("second", "sub", None).target("third", "", Some("/a.php"));
    let mut host = app.start();
    let mut worker = host.worker();
    assert_eq!(worker.ask(&host, &get("/b.php").to(1)).text(), "b.php /b.php - sub");
    assert_eq!(worker.ask(&host, &get("/b.php").to(2)).text(), "a.php /a.php - root");
    assert_eq!(worker.ask(&host, &get("/b.php")).status, 404);
    assert_eq!(worker.ask(&host, &get("/").to(3)).status, 404);
}

#[test]
fn a_script_can_appear_change_and_go() {
    let mut host = site().start();
    let mut worker = host.worker();
    assert_eq!(worker.ask(&host, &get("/new.php")).status, 404);
    host.app().write("new.php", "<?php echo 'new';");
    assert_eq!(worker.ask(&host, &get("/new.php")).text(), "new");
}

#[test]
fn without_opcache_a_script_is_gone_at_once() {
    let mut host = site().admin("opcache.enable", "0").start();
    let mut worker = host.worker();
    assert_eq!(worker.ask(&host, &get("/a.php")).text(), "a.php /a.php - root");
    std::fs::remove_file(host.app().root().join("a.php")).unwrap();
    assert_eq!(worker.ask(&host, &get("/a.php")).status, 404);
}

#[test]
fn the_directory_is_set_for_each_request() {
    let mut host = app(&[
        ("a.php", "<?php chdir('/'); echo getcwd();"),
        ("b.php", "<?php echo basename(getcwd());"),
        ("sub/c.php", "<?php echo basename(getcwd());"),
    ])
    .start();
    let mut worker = host.worker();
    for (path, expected) in
        [("/b.php", "root"), ("/a.php", "/"), ("/b.php", "root"), ("/sub/c.php", "sub"), ("/b.php", "root")]
    {
        assert_eq!(worker.ask(&host, &get(path)).text(), expected, "{path}");
    }
}

#[test]
fn wrong_targets_are_named() {
    let reason = site().script("none.php").fail();
    assert!(reason.contains("prepare application \"test\": find the script \"none.php\""), "{reason}");
    let reason = site().script("../root2/x.php").fail();
    assert!(reason.contains("find the script"), "{reason}");
    let reason = site().script("/sub").fail();
    assert!(reason.contains("is not a file in"), "{reason}");
    let reason = site().target("x", "none", None).fail();
    assert!(reason.contains("find the root") && reason.contains("No such file"), "{reason}");
    let app = site();
    std::fs::write(app.root().parent().unwrap().join("outside.php"), "").unwrap();
    let reason = app.script("../outside.php").fail();
    assert!(reason.contains("is not a file in"), "{reason}");
}
