//! Groups of a step's regular expression, as variables of its action.

use corral_testkit::{Daemon, Origin, Request, daemon, site};
use serde_json::{Value, json};

use super::steps::{put_step, refuse_step};

/// Puts a step in force that says in a header what it makes of a text.
#[track_caller]
fn put(server: &Daemon, conditions: &Value, text: &str) {
    let action = json!({ "return": 200, "response_headers": { "X-Text": format!("[{text}]") } });
    put_step(server, &json!({ "match": conditions, "action": action }));
}

#[track_caller]
fn check(server: &Daemon, target: &str, expect: &str) {
    server.get(target).expect(200).expect_field("X-Text", expect);
}

#[test]
fn groups_have_numbers_and_names() {
    let server = daemon().routes(json!([])).start();
    put(&server, &json!({ "uri": "~^/article-(\\d+)$" }), "$1|$0|${1}0");
    check(&server, "/article-17", "[17|/article-17|170]");
    check(&server, "/article-1%37?id=5", "[17|/article-17|170]");
    server.get("/article-x").expect(404);
    put(&server, &json!({ "uri": "~^/(?<year>\\d+)/(?<name>[^/]+)(/x)?$" }), "$name,$year,$1,$3");
    check(&server, "/2026/caf%C3%A9", "[caf\u{e9},2026,2026,]");
    check(&server, "/2026/a/x", "[a,2026,2026,/x]");
    put(&server, &json!({ "uri": "~/b" }), "$0");
    check(&server, "/a/b", "[/b]");
}

/// In a list the pattern that matches counts; one that is not an expression has no groups.
#[test]
fn of_a_list_the_one_that_has_matched_counts() {
    let server = daemon().routes(json!([])).start();
    let list = json!(["/plain", "~^/a/(?<id>.)$", "!~^/(no)", "~^/b/(.)/(?<id>.)/(.)$"]);
    put(&server, &json!({ "uri": list }), "$1,$2,$3,$id");
    check(&server, "/plain", "[,,,]");
    check(&server, "/a/x", "[x,,,x]");
    check(&server, "/b/x/y/z", "[x,y,z,y]");
    server.get("/no").expect(404);
}

#[test]
fn groups_of_the_host_count_where_the_path_has_none() {
    let server = daemon().routes(json!([])).start();
    let host = "~^(?<tenant>[a-z]+)\\.example\\.com$";
    let get = |target: &str| server.send(&Request::get(target).field("Host", "Blue.example.com:8080"));
    put(&server, &json!({ "host": host, "uri": "/a*" }), "$tenant,$1");
    get("/ab").expect(200).expect_field("X-Text", "[blue,blue]");
    server.get("/ab").expect(404);
    put(&server, &json!({ "host": host, "uri": "~^/(.)" }), "$1");
    get("/ab").expect(200).expect_field("X-Text", "[a]");
    let unknown =
        json!({ "match": { "host": host, "uri": "~^/(.)" }, "action": { "return": 200, "body": "$tenant" } });
    refuse_step(&server, &unknown, "Unknown variable \"tenant\"");
}

#[test]
fn rewrites_have_them_in_path_and_query() {
    let origin = Origin::echo();
    let server = daemon().routes(json!([])).start();
    let check = |pattern: &str, rewrite: &str, target: &str, expect: Option<&str>| {
        let action = json!({ "rewrite": rewrite, "proxy": origin.url() });
        put_step(&server, &json!({ "match": { "uri": pattern }, "action": action }));
        let reply = server.get(target);
        match expect {
            Some(expect) => {
                let text = reply.expect(200).text();
                assert!(
                    text.starts_with(&format!("GET {expect} HTTP/1.1\r\n")),
                    "{rewrite} {target}: {text}"
                );
            }
            None => _ = reply.expect(404),
        }
    };
    check("~^/article-(\\d+)$", "/a.php?id=$1", "/article-7?x=y", Some("/a.php?id=7&x=y"));
    check("~^/article-(\\d+)$", "/a.php?id=$1?", "/article-7?x=y", Some("/a.php?id=7"));
    check("~^/old/(.*)$", "/new/$1", "/old/a%20b/c%3Fd", Some("/new/a%20b/c%3Fd"));
    check("~^/old/(.*)$", "/new/$1", "/old/", Some("/new/"));
    check("~^/old(/.*)?$", "/new$1", "/old", Some("/new"));
    check("~^/old(/.*)?$", "/new$1", "/old/x", Some("/new/x"));
    check("~^/(.*)$", "/q?p=$1", "/a%26b%2Bc", Some("/q?p=a%26b%2Bc"));
    check("~^/(.*)$", "/%2e%2e%2e/$1", "/x", Some("/.../x"));
    // A part of a path may be what a whole one is not.
    check("~^/a(.*)b$", "/x/$1/y", "/a..b", None);
    check("~^/a(.*)b$", "/x/$1/y", "/ab", None);
    check("~^/a(.*)b$", "/x/$1", "/a.b", None);
    check("~^/a(.*)b$", "/x-$1", "/a/b", None);
}

/// In every place a value is written as that place wants it.
#[test]
fn each_place_writes_them_in_its_way() {
    let files = site().file("users/ann/a.txt", "ann's").file("secret.txt", "SECRET");
    let server = daemon().routes(json!([])).start();
    let put = |pattern: &str, action: Value| {
        put_step(&server, &json!({ "match": { "uri": pattern }, "action": action }));
    };
    put("~^/~([a-z.]+)/(.*)$", json!({ "share": format!("{}/users/$1/$2", files.root()) }));
    server.get("/~ann/a.txt").expect(200).expect_body("ann's");
    server.get("/~../secret.txt").expect(404);
    server.get("/~./ann/a.txt").expect(404);
    server.get("/~ann/%2e%2e/secret.txt").expect(404);
    put("~^/to/(.*)$", json!({ "return": 302, "location": "https://example.org/$1?from=$1" }));
    let encoded = "https://example.org/a%3Fb%23c%25?from=a%3Fb%23c%25";
    server.get("/to/a%3Fb%23c%25").expect(302).expect_field("Location", encoded);
    put("~(?s)^/to/(.*)$", json!({ "return": 302, "location": "$1" }));
    server.get("/to/x%0d%0aY:%20z").expect(302).expect_field("Location", "x%0D%0AY:%20z");
    put("~^/h/(.*)$", json!({ "return": 302, "location": "https://$1.example.org/" }));
    server
        .get("/h/evil.example%2f")
        .expect(302)
        .expect_field("Location", "https://evil.example%2F.example.org/");
    put("~^/(.*)$", json!({ "return": 200, "body": "<p>$1</p>", "content_type": "text/html" }));
    server.get("/%3Cb%3E").expect(200).expect_body("<p>&lt;b&gt;</p>");
    put("~(?s)^/(.*)$", json!({ "return": 200, "response_headers": { "X-A": "$1" } }));
    server.get("/a%0d%0aB:%20c").expect(200).expect_field("X-A", "a  B: c").expect_no_field("B");
}

#[test]
fn applications_are_told_of_them() {
    let scripts = site().file("a.php", "<?php echo $_GET['id'] ?? '', ' ', $_SERVER['HTTP_X_ID'] ?? '';");
    let targets = json!({ "one": { "root": scripts.root() } });
    let config = json!({
        "applications": { "php": { "type": "php", "targets": targets } },
        "routes": [{
            "match": { "uri": "~^/(?<target>one|two)/(?<id>\\d+)$" },
            "action": {
                "pass": "applications/php/$target", "rewrite": "/a.php?id=$id", "request_headers": { "X-Id": "$2" }
            },
        }],
    });
    let server = daemon().config(config).start();
    server.get("/one/7").expect(200).expect_body("7 7");
    server.get("/two/7").expect(404);
}

/// Actions within an action have the groups of its step, whatever came in between.
#[test]
fn actions_inside_have_the_groups_of_their_own_step() {
    let page = |text: &str| json!({ "return": 200, "body": text });
    let routes = json!({
        "main": [
            { "match": { "uri": "~^/share/(.)" }, "action": { "share": "/none/$1", "fallback": page("fallback $1") } },
            { "match": { "uri": "~^/(?<a>.)(?<b>.)" }, "action": {
                "pass": "routes/inner", "errors": { "404": page("outer $a $2"), "intercept": true }
            } }
        ],
        "inner": [
            { "match": { "uri": "~(?<c>x)$" }, "action": { "return": 200, "response_headers": { "X-C": "$c $1" } } },
            { "match": { "uri": "~(?<c>y)$" }, "action": { "return": 404, "response_headers": { "X-C": "$c" } } },
            { "match": { "uri": "~(?<c>z)$" }, "action": { "pass": "routes/main" } }
        ],
    });
    let server = daemon().config(json!({ "routes": routes })).start();
    server.get("/share/q").expect(200).expect_body("fallback q");
    server.get("/abx").expect(200).expect_field("X-C", "x x");
    server.get("/cdy").expect(200).expect_body("outer c d");
    // Routes in a circle.
    server.get("/cdz").expect(500);
}

#[test]
fn long_routes_keep_the_groups_of_the_step_that_is_found() {
    let mut steps: Vec<_> = (0..20)
        .map(|n| {
            let action = json!({ "return": 200, "body": format!("{n} $1") });
            json!({ "match": { "uri": format!("~^/{n}/(.*)$") }, "action": action })
        })
        .collect();
    steps.push(json!({ "match": { "uri": "/plain" }, "action": { "return": 200, "body": "plain" } }));
    let server = daemon().routes(json!(steps)).start();
    for n in [0, 7, 19] {
        server.get(&format!("/{n}/x")).expect(200).expect_body(format!("{n} x"));
    }
    server.get("/plain").expect(200).expect_body("plain");
}

#[test]
fn files_are_tried_by_them() {
    let files = site().file("img/a.png", "png").file("img/none.png", "none");
    let server = daemon().routes(json!([])).start();
    let tried = json!({ "root": files.root(), "paths": ["/img/$name.png", "/img/none.png", "=404"] });
    let step = json!({ "match": { "uri": "~^/i/(?<name>.*)$" }, "action": { "return": 500, "try": tried } });
    put_step(&server, &step);
    server.get("/i/a").expect(200).expect_body("png");
    server.get("/i/b").expect(200).expect_body("none");
    server.get("/i/x/../a").expect(200).expect_body("png");
}

#[test]
fn a_search_that_is_given_up_is_an_error() {
    let server = daemon().routes(json!([])).start();
    put(&server, &json!({ "uri": "~^/(a+)+$" }), "$1");
    server.get(&format!("/{}!", "a".repeat(64))).expect(500);
}

#[test]
fn groups_that_are_not_there_are_refused() {
    let server = daemon().routes(json!([])).start();
    for (conditions, text, detail) in [
        (json!({ "uri": "~^/a-(\\d+)$" }), "$2", "\"~^/a-(\\d+)$\" has $0, $1."),
        (json!({ "uri": "~^/(?<id>.)$" }), "$slug", "\"~^/(?<id>.)$\" has $0, $1, $id."),
        (json!({ "uri": ["~^/(.)$", "~^/b"] }), "${12}", "\"~^/(.)$\", \"~^/b\" has $0, $1."),
        (json!({ "uri": "/a*" }), "$1", "There is no regular expression here with a group 1"),
        (json!({ "uri": "!~^/(.)" }), "$1", "There is no regular expression here with a group 1"),
        (json!({ "query": "~(.)" }), "$1", "There is no regular expression here with a group 1"),
        (json!({}), "$0", "There is no regular expression here with a group 0"),
    ] {
        let step = json!({ "match": conditions, "action": { "return": 200, "body": text } });
        refuse_step(&server, &step, detail);
    }
    // Conditions are asked before there are groups.
    let step = json!({ "match": { "uri": "~^/(.)", "if": "$1" }, "action": { "return": 200 } });
    refuse_step(&server, &step, "There is no regular expression here");
}
