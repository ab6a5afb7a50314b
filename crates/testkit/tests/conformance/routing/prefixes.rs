//! `strip_prefix` and `add_prefix`.

use corral_testkit::{Daemon, Origin, daemon, php_app, python_app, site};
use serde_json::{Value, json};

use super::steps::{put_step, refuse_step};

/// Asks for the new path by a redirection.
#[track_caller]
fn check(server: &Daemon, options: &Value, cases: &[(&str, &str)]) {
    let mut action = options.clone();
    action["return"] = json!(200);
    action["response_headers"] = json!({ "X-Path": "$uri", "X-Target": "$request_uri" });
    put_step(server, &json!({ "action": action }));
    for (target, path) in cases {
        let reply = server.get(target).expect(200);
        reply.expect_field("X-Path", path).expect_field("X-Target", target);
    }
}

/// Options: …action.strip_prefix
#[test]
fn whole_segments_are_taken_away() {
    let server = daemon().routes(json!([])).start();
    let cases = [
        ("/api", "/"),
        ("/api/", "/"),
        ("/api?a=/api", "/"),
        ("/api/v1/x", "/v1/x"),
        ("/api/api/x", "/api/x"),
        ("//api//x", "/x"),
        ("/%61pi/x", "/x"),
        ("/x/../api/x", "/x"),
        ("/apix", "/apix"),
        ("/api.json", "/api.json"),
        ("/x/api", "/x/api"),
        ("/API/x", "/API/x"),
        ("/api%2Fx", "/x"),
        ("/", "/"),
    ];
    for prefix in ["/api", "/api/", "/%61pi"] {
        check(&server, &json!({ "strip_prefix": prefix }), &cases);
    }
    check(&server, &json!({ "strip_prefix": "/a b" }), &[("/a%20b/c", "/c"), ("/a%20bc", "/a bc")]);
}

/// Options: …action.add_prefix
#[test]
fn segments_are_put_in_front() {
    let server = daemon().routes(json!([])).start();
    check(
        &server,
        &json!({ "add_prefix": "/app" }),
        &[("/", "/app/"), ("/x", "/app/x"), ("/app", "/app/app")],
    );
    let both = json!({ "strip_prefix": "/old", "add_prefix": "/new" });
    check(&server, &both, &[("/old/x", "/new/x"), ("/older", "/new/older"), ("/old", "/new/")]);
}

#[test]
fn a_rewrite_sees_the_path_behind_its_prefix() {
    let server = daemon().routes(json!([])).start();
    let options = json!({ "strip_prefix": "/api", "add_prefix": "/v2", "rewrite": "/x$uri?p=$uri" });
    check(&server, &options, &[("/api/a?b", "/x/v2/a")]);
}

#[test]
fn routes_and_servers_get_the_path_without_it() {
    let origin = Origin::echo();
    let routes = json!({
        "main": [{ "match": { "uri": "/api/*" }, "action": { "strip_prefix": "/api", "pass": "routes/api" } }],
        "api": [
            { "match": { "uri": "/v1/*" }, "action": { "strip_prefix": "/v1", "proxy": origin.url() } },
            { "match": { "uri": "/" }, "action": { "return": 204 } }
        ],
    });
    let server = daemon().config(json!({ "routes": routes })).start();
    let text = server.get("/api/v1/a%3Fb?c=%26").expect(200).text();
    assert!(text.starts_with("GET /a%3Fb?c=%26 HTTP/1.1\r\n"), "{text}");
    server.get("/api/").expect(204);
    server.get("/api/v2/x").expect(404);
}

/// A client that is told of the slash keeps the prefix.
#[test]
fn a_folder_s_redirection_keeps_what_was_taken_away() {
    let files = site().file("d/e/index.html", "index").file("new/d/index.html", "new");
    let server = daemon().routes(json!([])).start();
    let share = format!("{}$uri", files.root());
    put_step(&server, &json!({ "action": { "strip_prefix": "/a/b", "share": share } }));
    server.get("/a/b/d/e?q").expect(301).expect_field("Location", "/a/b/d/e/?q");
    server.get("/a/b/d/e/").expect(200).expect_body("index");
    let both = json!({ "strip_prefix": "/old", "add_prefix": "/new", "share": share });
    put_step(&server, &json!({ "action": both }));
    server.get("/old/d").expect(301).expect_field("Location", "/old/d/");
    // A path that was rewritten beside that has no such form.
    let rewritten = json!({ "strip_prefix": "/a", "rewrite": "/d$uri", "share": share });
    put_step(&server, &json!({ "action": rewritten }));
    server.get("/a/e").expect(301).expect_field("Location", "/d/e/");
}

#[test]
fn applications_see_the_target_as_it_was() {
    let scripts = site().file(
        "i.php",
        "<?php echo $_SERVER['SCRIPT_NAME'], ' ', $_SERVER['PATH_INFO'] ?? '', ' ', $_SERVER['REQUEST_URI'];",
    );
    let routes = json!([{ "action": { "strip_prefix": "/php", "pass": "applications/php" } }]);
    let server = daemon().routes(routes).application(php_app(&scripts)).start();
    server.get("/php/i.php/x?y").expect(200).expect_body("/i.php /x /php/i.php/x?y");
}

/// `prefix` of a target is what makes `SCRIPT_NAME`; a prefix that was taken away is not known to the application.
#[test]
fn the_prefix_of_a_target_is_another_thing() {
    let scripts = site().file(
        "app.py",
        "def application(environ, start):\n    start('200 OK', [])\n    return [(environ['SCRIPT_NAME'] + ' ' + \
         environ['PATH_INFO']).encode()]\n",
    );
    let steps = json!([
        { "match": { "uri": "/stripped/*" }, "action": { "strip_prefix": "/stripped", "pass": "applications/python" } },
        { "action": { "pass": "applications/python" } }
    ]);
    let app = python_app(&scripts).with("prefix", json!("/mounted"));
    let config = json!({ "routes": steps, "applications": { "python": app.value() } });
    let server = daemon().config(config).start();
    server.get("/mounted/x").expect(200).expect_body("/mounted /x");
    server.get("/stripped/x").expect(200).expect_body(" /x");
}

#[test]
fn what_is_no_prefix_is_refused() {
    let server = daemon().routes(json!([])).start();
    for option in ["strip_prefix", "add_prefix"] {
        for value in
            ["", "api", "/", "//", "/a//b", "/a/../b", "/./a", "/%2e%2e", "/%zz", "/a?b", "/a#b", "/a%00"]
        {
            let action = json!({ "return": 200, option: value });
            refuse_step(&server, &json!({ "action": action }), &format!("The \"{option}\" value must "));
        }
        for value in ["/$host", "`/x`", "$uri"] {
            let action = json!({ "return": 200, option: value });
            refuse_step(
                &server,
                &json!({ "action": action }),
                "must not have variables. A text with variables is",
            );
        }
    }
}

/// Routes that pass to themselves come to an end.
#[test]
fn a_path_that_grows_has_a_bound() {
    let prefix = format!("/{}", "x".repeat(16_000));
    let action = json!({ "add_prefix": prefix, "pass": "routes" });
    let server = daemon().routes(json!([{ "action": action }])).start();
    server.get("/").expect(500);
    server.expect_log("rewrite: the result has more than 1048576 bytes");
}
