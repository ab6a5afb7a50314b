//! Warnings of `corral check`: what is valid, and probably not what is meant.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use corral_testkit::{daemon, site};
use serde_json::{Value, json};

use crate::tool::{Ended, Tool, text};

/// The warnings about a document.
#[track_caller]
fn warnings(document: &Value) -> Ended {
    let ended = Tool::new(&["check", "--strict", "-"]).input(document.to_string()).run();
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:#?}");
    ended
}

/// `expected` are the warnings in order, each by a part of its words.
#[track_caller]
fn check(document: Value, expected: &[&str]) {
    let ended = warnings(&document);
    let lines: Vec<_> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{ended:#?}");
    for (line, words) in lines.iter().zip(expected) {
        assert!(line.contains(words), "{words:?} is not in {line}");
    }
}

#[test]
fn steps_that_no_request_gets_to() {
    let answer = json!({ "return": 200 });
    check(
        json!({ "listeners": { "unix:@check": { "pass": "routes" } }, "routes": [
            { "match": { "uri": "/a/*" }, "action": answer },
            { "match": { "uri": "/a/*", "method": "POST" }, "action": answer },
            { "action": answer },
            { "match": { "uri": "/b" }, "action": answer }
        ] }),
        &[
            "/routes/1: No request gets to this step: /routes/0",
            "/routes/3: No request gets to this step: /routes/2",
        ],
    );
}

#[test]
fn addresses_that_another_program_has() {
    let holder = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = holder.local_addr().expect("it has an address").to_string();
    let document = |address: &str| json!({ "listeners": { address: { "pass": "routes" } }, "routes": [] });
    let pid = std::process::id();
    check(document(&address), &[&format!("(process {pid})")]);
    let any = format!("*:{}", holder.local_addr().expect("it has an address").port());
    check(document(&any), &[&format!("\"{any}\" is in use by")]);
    drop(holder);
    check(document(&address), &[]);
    // The Corral that runs is most likely the one that the configuration is for.
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    server.get("/").expect(200);
    check(document(&server.address().to_string()), &[]);
}

#[test]
fn names_that_have_no_address() {
    check(
        json!({
            "listeners": { "unix:@check": { "pass": "routes" } },
            "routes": [
                { "match": { "uri": "/a" }, "action": { "proxy": "http://no-such-host.invalid:80" } },
                { "match": { "uri": "/b" }, "action": { "proxy": "http://127.0.0.1:80" } },
                { "action": { "pass": "upstreams/pool" } }
            ],
            "upstreams": { "pool": { "servers": { "other-host.invalid:80": {}, "localhost:80": {} } } }
        }),
        &[
            "/routes/0/action/proxy: The name \"no-such-host.invalid\" has no address",
            "/upstreams/pool/servers/other-host.invalid:80: The name \"other-host.invalid\" has no address",
        ],
    );
}

#[test]
fn patterns_that_no_path_matches() {
    let step = |pattern: &str, expected: &[&str]| {
        check(
            json!({ "listeners": { "unix:@check": { "pass": "routes" } },
                    "routes": [{ "match": { "uri": pattern }, "action": { "return": 200 } }] }),
            expected,
        );
    };
    step("api/*", &["Write \"/api/*\"."]);
    step("= /api", &["Write \"/api\"."]);
    step("~^/a%20b", &["has no \"%20\""]);
    step("/a%20b", &[]);
}

#[test]
fn folders_that_the_user_may_not_enter() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let site = site().file("closed/public/index.php", "").file("closed/public/wsgi.py", "");
    let closed = site.path("closed");
    let document = |root: &str| {
        json!({
            "listeners": { "unix:@check": { "pass": "routes" } },
            "routes": [
                { "match": { "uri": "*.css" }, "action": { "share": format!("{root}$uri") } },
                { "action": { "pass": "applications/site" } }
            ],
            "applications": { "site": { "type": "php", "root": root, "user": "nobody" } }
        })
    };
    let root = site.path("closed/public");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("close it");
    let ended = warnings(&document(text(&root)));
    let sentence = format!("The user \"nobody\" may not enter \"{}\"", closed.display());
    assert!(ended.stderr.contains(&sentence), "{ended:#?}");
    assert!(ended.stderr.contains("/routes/0/action/share: The user"), "{ended:#?}");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o711)).expect("open it");
    check(document(text(&root)), &[]);
}

#[test]
fn modules_and_scripts_that_are_missing() {
    let site = site().file("python/wsgi.py", "").file("php/readme.txt", "");
    let document = |module: &str, root: &str| {
        json!({
            "listeners": {
                "unix:@one": { "pass": "applications/python" },
                "unix:@two": { "pass": "applications/php" }
            },
            "applications": {
                "python": { "type": "python", "path": site.path("python"), "module": module },
                "php": { "type": "php", "root": site.path(root) }
            }
        })
    };
    check(
        document("missing.wsgi", "php"),
        &["There is no module \"missing.wsgi\"", "There is neither \"index.php\" nor another script"],
    );
    site.write("php/other.php", "");
    check(document("wsgi", "php"), &[]);
}
