//! `match.file`.

use std::os::unix::fs::symlink;

use corral_testkit::{Daemon, Request, Site, daemon, site};
use serde_json::{Value, json};

use super::steps::{matching, put_step, refuse_step};

fn files() -> Site {
    let site = site().file("w/a.txt", "a").file("w/d/b.txt", "b").file("secret", "s").file("w/%61", "odd");
    symlink(site.path("secret"), site.path("w/link")).expect("make a link");
    symlink(site.path("none"), site.path("w/broken")).expect("make a link");
    site
}

#[track_caller]
fn check(server: &Daemon, conditions: Value, cases: &[(&str, bool)]) {
    put_step(server, &matching(&json!({ "file": conditions })));
    for (target, expect) in cases {
        let status = if *expect { 200 } else { 404 };
        assert_eq!(server.get(target).status, status, "{conditions}: {target}");
    }
}

/// Options: …match.file, …match.file.path, …match.file.is
#[test]
fn what_is_there_decides() {
    let site = files();
    let server = daemon().routes(json!([])).start();
    let path = format!("{}/w$uri", site.root());
    let is = |kind: &str| json!({ "path": path, "is": kind });
    let (file, folder, none) = ("/a.txt", "/d/", "/none");
    let cases = |file_is, folder_is, none_is| {
        [(file, file_is), (folder, folder_is), ("/d", folder_is), (none, none_is)]
    };
    check(&server, json!(path), &cases(true, false, false));
    check(&server, json!(format!("!{path}")), &cases(false, true, true));
    check(&server, json!({ "path": path }), &cases(true, false, false));
    check(&server, is("file"), &cases(true, false, false));
    check(&server, is("!file"), &cases(false, true, true));
    check(&server, is("folder"), &cases(false, true, false));
    check(&server, is("!folder"), &cases(true, false, true));
    check(&server, is("exists"), &cases(true, true, false));
    check(&server, is("!exists"), &cases(false, false, true));
    check(&server, is("absent"), &cases(false, false, true));
    check(&server, is("!absent"), &cases(true, true, false));
    check(
        &server,
        json!(path),
        &[
            ("/link", true),
            ("/broken", false),
            ("/d/b.txt", true),
            ("/a.txt/", false),
            ("/a.txt/x", false),
            ("/a%2Etxt?q", true),
            ("/%2561", true),
            ("/a", false),
            ("/x/../a.txt", true),
        ],
    );
}

#[test]
fn of_a_list_one_is_enough_and_none_that_is_negated() {
    let site = files();
    let server = daemon().routes(json!([])).start();
    let (here, above) = (format!("{}/w$uri", site.root()), format!("{}$uri", site.root()));
    check(&server, json!([here, above]), &[("/a.txt", true), ("/secret", true), ("/none", false)]);
    check(
        &server,
        json!([format!("!{here}"), { "path": here, "is": "!folder" }]),
        &[("/a.txt", false), ("/d", false), ("/none", true)],
    );
    check(
        &server,
        json!([above, format!("!{here}")]),
        &[("/secret", true), ("/a.txt", false), ("/none", false)],
    );
}

/// The order of the steps counts, in routes that have an index as well.
#[test]
fn long_routes_find_the_same_step() {
    let site = files();
    let path = format!("{}/w$uri", site.root());
    let mut steps: Vec<_> = (0..20)
        .map(|n| json!({ "match": { "uri": format!("/other{n}") }, "action": { "return": 500 } }))
        .collect();
    steps.insert(
        3,
        json!({ "match": { "uri": "/a.txt", "file": format!("!{path}") }, "action": { "return": 201 } }),
    );
    steps.insert(9, json!({ "match": { "file": path }, "action": { "return": 202 } }));
    steps.insert(12, json!({ "match": { "uri": "/a.txt" }, "action": { "return": 203 } }));
    steps.push(json!({ "match": { "uri": "/n*", "file": format!("!{path}") }, "action": { "return": 204 } }));
    let server = daemon().routes(json!(steps)).start();
    server.get("/a.txt").expect(202);
    server.get("/d/b.txt").expect(202);
    server.get("/none").expect(204);
    server.get("/xone").expect(404);
    std::fs::remove_file(site.path("w/a.txt")).expect("remove the file");
    server.get("/a.txt").expect(201);
}

#[test]
fn other_conditions_come_first() {
    let server = daemon().routes(json!([])).start();
    put_step(&server, &matching(&json!({ "uri": "/a", "file": "`${nothing.at.all}`" })));
    server.get("/b").expect(404);
    server.get("/a").expect(500);
    server.expect_log("js exception");
}

/// A value that leads elsewhere leads to nothing, so that a negated condition holds.
#[test]
fn values_of_clients_ask_for_nothing_elsewhere() {
    let site = files();
    let server = daemon().routes(json!([])).start();
    for (condition, status) in [("", 404), ("!", 200)] {
        put_step(&server, &matching(&json!({ "file": format!("{condition}{}/w/$arg_f", site.root()) })));
        for value in ["../secret", "..%2fsecret", "/../secret", "d/../a.txt", "", "%00", "a.txt%00", ".."] {
            server.get(&format!("/?f={value}")).expect(status);
        }
        let found = if status == 404 { 200 } else { 404 };
        server.get("/?f=a.txt").expect(found);
        server.get("/?f=d/b.txt").expect(found);
        server.send(&Request::new("POST", "/?f=d/b.txt")).expect(found);
    }
}

/// Options: …match.file.chroot, …match.file.follow_symlinks, …match.file.traverse_mounts
#[test]
fn the_way_is_confined_as_that_of_a_share() {
    let site = files();
    let server = daemon().routes(json!([])).start();
    let path = format!("{}/w$uri", site.root());
    let folder = site.root() + "/w";
    for confined in [
        json!({ "path": path, "chroot": folder }),
        json!({ "path": path, "follow_symlinks": false }),
        json!({ "path": "$arg_f", "chroot": folder }),
    ] {
        let by_value = confined["path"] == "$arg_f";
        let target = |name: &str| if by_value { format!("/?f={folder}/{name}") } else { format!("/{name}") };
        put_step(&server, &matching(&json!({ "file": confined })));
        server.get(&target("a.txt")).expect(200);
        server.get(&target("link")).expect(404);
    }
    let mounts = json!({ "path": "/proc$uri", "is": "exists", "traverse_mounts": false });
    check(&server, mounts, &[("/self/status", false)]);
    check(&server, json!({ "path": "/proc$uri", "is": "exists" }), &[("/self/status", true)]);
}

#[test]
fn what_is_no_condition_is_refused() {
    let server = daemon().routes(json!([])).start();
    for (file, detail) in [
        (json!(""), "must not be empty"),
        (json!("!"), "must not be empty"),
        (json!([]), "The \"file\" array must contain at least one element."),
        (json!([1]), "The \"file\" must be a path, or an object with one."),
        (json!([["/a"]]), "The \"file\" must be a path, or an object with one."),
        (json!({}), "Required parameter \"path\" is missing."),
        (json!({ "path": "/a", "is": "directory" }), "It is \"file\", \"folder\", \"exists\" or \"absent\"."),
        (json!({ "path": "/a", "is": "" }), "not a kind of file"),
        (json!({ "path": "/a", "kind": "file" }), "Unknown parameter \"kind\"."),
        (json!("$arg_f"), "must not begin with what the client sends"),
        (json!("!$header_x/a"), "must not begin with what the client sends"),
        (json!("$document_root$uri"), "Unknown variable \"document_root\""),
    ] {
        refuse_step(&server, &matching(&json!({ "file": file })), detail);
    }
}
