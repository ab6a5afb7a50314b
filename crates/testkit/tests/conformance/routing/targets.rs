//! A target has one representation: whatever `rewrite` makes of it was decoded once, and is written anew where it is
//! used.

use corral_testkit::{Daemon, Origin, Site, daemon, php_app, site};
use serde_json::{Value, json};

use super::steps::put_step;

const SECRET: &str = "behind the guard";

/// A public folder, and what a client must not get by it.
fn files() -> Site {
    site()
        .file("private/x", SECRET)
        .file("public/admin/x", SECRET)
        .file("public/x", "public")
        .file("public/100%.txt", "percent")
        .file("public/a?b.txt", "question")
        .file("public/a#b.txt", "number")
        .file("public/%61dmin/y", "not decoded")
        .file("public/é/ü", "beyond ASCII")
}

/// Names that are what they are, and paths that lead nowhere.
#[track_caller]
fn check_files(server: &Daemon) {
    for (target, content) in [
        ("/x", "public"),
        ("/100%25.txt", "percent"),
        ("/a%3Fb.txt?q", "question"),
        ("/a%23b.txt", "number"),
        ("/%2561dmin/y", "not decoded"),
        ("/%C3%A9/%c3%bc", "beyond ASCII"),
    ] {
        server.get(target).expect(200).expect_body(content);
    }
    server.get("/admin/x").expect(403);
    server.get("/%61dmin/x").expect(403);
    server.get("/x/%2e%2e/admin/x").expect(403);
    for target in [
        "/%252e%252e/private/x",
        "/%25252e%25252e/private/x",
        "/%252e%252e%252fprivate%252fx",
        "/%2561dmin/x",
        "/%252561dmin/x",
        "/x/%252e%252e/admin/x",
        "/x%3F",
        "/x%23",
    ] {
        let reply = server.get(target).expect(404);
        assert!(!reply.text().contains(SECRET), "{target}: {reply}");
    }
    server.get("/%2e%2e/private/x").expect(400);
}

/// Options: …action.rewrite
#[test]
fn what_was_decoded_is_not_decoded_again() {
    let files = files();
    let root = files.root();
    let share = format!("{root}$uri");
    let server = daemon().routes(json!([])).start();
    let guard = json!({ "match": { "uri": "/admin/*" }, "action": { "return": 403 } });
    let folder = format!("{root}/none$uri");
    for action in [
        json!({ "rewrite": "/public$uri", "share": share }),
        json!({ "rewrite": "`/public${uri}`", "share": share }),
        json!({ "rewrite": "public/${request_uri}", "share": share }),
        json!({ "share": folder, "fallback": { "rewrite": "/public$uri", "share": share } }),
        json!({ "return": 404, "errors": { "404": { "rewrite": "/public$uri", "share": share } } }),
        json!({ "rewrite": "/public$uri", "pass": "routes/files" }),
        json!({ "rewrite": "/none$uri", "pass": "routes/twice" }),
    ] {
        // The page of an error keeps its status.
        let is_error = action.get("errors").is_some();
        let routes = json!({
            "main": [guard, { "action": action }],
            "files": [{ "action": { "share": share } }],
            "twice": [{ "action": { "rewrite": "/public$request_uri", "share": share } }],
        });
        let config = json!({ "listeners": { server.address().to_string(): { "pass": "routes/main" } },
            "routes": routes });
        server.control().put("/config", &config).expect_done();
        if is_error {
            server.get("/100%25.txt").expect(404).expect_body("percent");
            server.get("/%2561dmin/x").expect(404).expect_text("Error 404");
            server.get("/%252e%252e/private/x").expect(404).expect_text("Error 404");
        } else {
            check_files(&server);
        }
    }
}

/// A target in the configuration itself is read as one: once.
#[test]
fn the_text_of_the_configuration_is_read_once() {
    let files = files();
    let server = daemon().routes(json!([])).start();
    let share = format!("{}$uri", files.root());
    for (rewrite, status) in [
        ("/public/100%25.txt", 200),
        ("public/x", 200),
        ("/public/a%3Fb.txt", 200),
        ("/public//none/../x", 200),
        ("/public/x?a=b", 200),
        ("/public/x#a?b", 200),
        ("/public/%2561dmin/y", 200),
        ("/public/%252561dmin/y", 404),
        ("/../x", 500),
        ("/%2e%2e/x", 500),
        ("/%zz", 500),
        ("/public/x%00", 404),
    ] {
        put_step(&server, &json!({ "action": { "rewrite": rewrite, "share": share } }));
        server.get("/").expect(status);
    }
}

#[test]
fn values_of_clients_lead_no_rewrite_astray() {
    let files = files().file("public-old/x", SECRET);
    let server = daemon().routes(json!([])).start();
    let root = files.root();
    for rewrite in ["$arg_p", "/$arg_p", "`${args.p}`", "$header_x_p", "/$cookie_p"] {
        put_step(
            &server,
            &json!({ "action": { "rewrite": rewrite, "share": format!("{root}/public$uri") } }),
        );
        let get = |value: &str| {
            let request = corral_testkit::Request::get(&format!("/?p={}", escaped(value)));
            server.send(&request.field("X-P", value).field("Cookie", &format!("p={value}")))
        };
        get("x").expect(200).expect_body("public");
        get("/x").expect(200).expect_body("public");
        get("a#b.txt").expect(200).expect_body("number");
        for value in
            ["-old/x", "../private/x", "x/../../private/x", "..", ".", "%2e%2e/private/x", "x/.", ".bak"]
        {
            let reply = get(value).expect(404);
            assert!(!reply.text().contains(SECRET), "{rewrite} {value}: {reply}");
        }
    }
}

/// Every byte as a client may hide it.
fn escaped(value: &str) -> String {
    value.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

#[test]
fn servers_get_what_was_rewritten_encoded_anew() {
    let (origin, copied) = (Origin::echo(), Origin::echo());
    let server = daemon().routes(json!([])).start();
    let check = |rewrite: &str, target: &str, expect: &str| {
        let action = json!({ "rewrite": rewrite, "proxy": origin.url(), "mirror": copied.url() });
        put_step(&server, &json!({ "action": action }));
        let text = server.get(target).expect(200).text();
        assert!(text.starts_with(&format!("GET {expect} HTTP/1.1\r\n")), "{rewrite} {target}: {text}");
    };
    check("/p$uri", "/%252e%252e/x?q", "/p/%252e%252e/x?q");
    check("/p$uri", "/a%3Fb%23c%25/%C3%A9;x=1", "/p/a%3Fb%23c%25/%C3%A9;x=1");
    check("/p$uri", "/a%20b", "/p/a%20b");
    check("/p$request_uri", "/a%2520b?c=%20", "/p/a%2520b?c=%20");
    check("`/p${uri}`", "/%25?x", "/p/%25?x");
    check("p", "/", "/p");
    check("?a=b", "/x%3F", "/x%3F?a=b");
    check("$uri", "/%2F%2Fevil.example/x", "/evil.example/x");
}

/// The query of the text, the client's, both or none.
#[test]
fn a_rewrite_says_what_the_query_is() {
    let origin = Origin::echo();
    let server = daemon().routes(json!([])).start();
    let check = |rewrite: Value, target: &str, expect: &str| {
        put_step(&server, &json!({ "action": { "rewrite": rewrite, "proxy": origin.url() } }));
        let text = server.get(target).expect(200).text();
        assert!(text.starts_with(&format!("GET {expect} HTTP/1.1\r\n")), "{rewrite} {target}: {text}");
    };
    check(json!("/i"), "/a?b=c", "/i?b=c");
    check(json!("/i?x=1"), "/a", "/i?x=1");
    check(json!("/i?x=1"), "/a?", "/i?x=1");
    check(json!("/i?x=1"), "/a?b=c", "/i?x=1&b=c");
    check(json!("/i?x=1?"), "/a?b=c", "/i?x=1");
    check(json!("/i?"), "/a?b=c", "/i");
    check(json!("/i?q=$uri"), "/a%26b%3D%25/%C3%A9?x", "/i?q=/a%26b%3D%25/%C3%A9&x");
    check(json!("/i?q=$arg_a?"), "/?a=1%262%23%20%2B", "/i?q=1%262%23%20%2B");
    check(json!("/i?q=$request_uri?"), "/a%20b?c=%26", "/i?q=/a%20b?c=%26");
    check(json!("/i?a b=\"é"), "/", "/i?a%20b=%22%C3%A9");
    check(json!("/i?q=$header_user_agent"), "/", "/i?q=");
}

/// A target that doubles each time comes to an end before the memory does.
#[test]
fn rewrites_of_rewrites_are_bounded() {
    let step = |rewrite: &str| json!([{ "action": { "rewrite": rewrite, "pass": "routes" } }]);
    for rewrite in ["/a$uri/a$uri", "?a=$arg_a$arg_a?"] {
        let server = daemon().routes(step(rewrite)).start();
        server.get("/abcdefgh?a=abcdefgh").expect(500);
        server.expect_log("rewrite: the result has more than 1048576 bytes");
    }
}

/// Options: …action.rewrite.path, …action.rewrite.query, …action.rewrite.append_query
#[test]
fn path_and_query_are_rewritten_one_by_one() {
    let origin = Origin::echo();
    let server = daemon().routes(json!([])).start();
    let check = |rewrite: Value, expect: &str| {
        put_step(&server, &json!({ "action": { "rewrite": rewrite, "proxy": origin.url() } }));
        let text = server.get("/a%3F?b=%26").expect(200).text();
        assert!(text.starts_with(&format!("GET {expect} HTTP/1.1\r\n")), "{rewrite}: {text}");
    };
    check(json!({}), "/a%3F?b=%26");
    check(json!({ "path": "/i" }), "/i?b=%26");
    check(json!({ "path": "/i?x=1?" }), "/i?x=1");
    check(json!({ "query": "" }), "/a%3F?b=%26");
    check(json!({ "append_query": false }), "/a%3F");
    check(json!({ "path": "/i", "query": "q=$arg_b" }), "/i?q=%26&b=%26");
    check(json!({ "path": "/i", "query": "q=$uri", "append_query": false }), "/i?q=/a%3F");
    let query = "`q=${encodeURIComponent(uri.slice(1))}&c=${args.b} `";
    check(json!({ "path": "`${uri}b`", "query": query, "append_query": false }), "/a%3Fb?q=a%3F&c=&%20");
}

#[test]
fn conditions_variables_and_applications_see_the_new_query() {
    let scripts = site().file(
        "index.php",
        "<?php echo $_SERVER['QUERY_STRING'], ' ', $_GET['x'] ?? '', ' ', $_SERVER['REQUEST_URI'];",
    );
    let routes = json!({
        "main": [{ "match": { "arguments": { "a": "1" } }, "action": { "rewrite": "/index.php?x=$arg_b&y=2?",
        "pass": "routes/next" } }],
        "next": [
            { "match": { "arguments": { "a": "1" } }, "action": { "return": 500 } },
            { "match": { "query": "x=7&y=2", "arguments": { "y": "2" } }, "action": {
                "pass": "applications/php", "response_headers": { "X-Args": "$arg_x,$arg_b,$request_uri",
                "X-Script": "`${args.x},${args.b},${vars.arg_y}`" },
            } },
        ],
    });
    let server = daemon().routes(routes).application(php_app(&scripts)).start();
    let reply = server.get("/a?a=1&b=7").expect(200).expect_body("x=7&y=2 7 /a?a=1&b=7");
    reply.expect_field("X-Args", "7,,/a?a=1&b=7").expect_field("X-Script", "7,undefined,2");
}

/// Scripts of PHP are found by what was decoded once.
#[test]
fn php_runs_what_the_path_names() {
    let code = "<?php echo 'ran ', $_SERVER['SCRIPT_NAME'], ' ', $_SERVER['PATH_INFO'] ?? '';";
    let scripts = site()
        .file("private/s.php", code)
        .file("public-old/s.php", code)
        .file("public/s.php", code)
        .file("public/100%.php", code)
        .file("public/a?b.php", code);
    let targets = json!({ "all": { "root": scripts.root() }, "public": { "root": scripts.path("public") } });
    let routes = json!([
        { "match": { "uri": "/value" }, "action": { "rewrite": "$arg_p", "pass": "applications/php/public" } },
        { "action": { "rewrite": "/public$uri", "pass": "applications/php/all" } }
    ]);
    let server = daemon()
        .config(json!({ "applications": { "php": { "type": "php", "targets": targets } }, "routes": routes }))
        .start();
    server.get("/s.php/x%2541").expect(200).expect_body("ran /public/s.php /x%41");
    server.get("/100%25.php").expect(200).expect_body("ran /public/100%.php ");
    server.get("/a%3Fb.php").expect(200).expect_body("ran /public/a?b.php ");
    for target in
        ["/%252e%252e/private/s.php", "/%2573.php", "/value?p=-old/s.php", "/value?p=../private/s.php"]
    {
        let reply = server.get(target).expect(404);
        assert!(!reply.text().contains("ran"), "{target}: {reply}");
    }
    server.get("/value?p=s.php").expect(200).expect_body("ran /s.php ");
}

/// Options: …action.location
#[test]
fn a_location_is_encoded_once() {
    let server = daemon().routes(json!([])).start();
    let check = |location: &str, target: &str, expect: &str| {
        put_step(&server, &json!({ "action": { "return": 302, "location": location } }));
        let reply = server.get(target).expect(302);
        assert_eq!(reply.field("Location"), Some(expect), "{location} {target}");
    };
    let whole = "https://localhost/login?next=https://x/z?q=1&s=a%20b";
    check("https://$host$request_uri", "/login?next=https://x/z?q=1&s=a%20b", whole);
    check("https://$host$request_uri", "/a|b%7C?{c}%7B", "https://localhost/a%7Cb%7C?%7Bc%7D%7B");
    check("https://$host$uri", "/%3F%23%25.html", "https://localhost/%3F%23%25.html");
    check("https://$host$uri", "/%2541?q", "https://localhost/%2541");
    check("/x?to=$uri", "/a%26b%3Dc%2520%C3%A9", "/x?to=/a%26b%3Dc%2520%C3%A9");
    check("/x?to=$arg_a&c=d", "/?a=1%262%23%25", "/x?to=1%262%23%25&c=d");
    check("/x#$arg_a", "/?a=1%23%20", "/x#1%23%20");
    check("$arg_a", "/?a=https://x/y%3Fz%3D1%26w%3Da%2520b", "https://x/y?z=1&w=a%20b");
    check("/%20 |é", "/", "/%20%20%7C%C3%A9");
    check("/100%", "/", "/100%25");
    check("`/${uri.slice(1)}?x=${encodeURIComponent(args.a)}`", "/b%20c?a=%26", "/b%20c?x=%26");
}

/// The header is the same, whichever option sets it.
#[test]
fn a_location_of_response_headers_is_one_too() {
    let server = daemon().routes(json!([])).start();
    for (location, target, expect) in [
        ("https://$host$uri", "/%3F%20%25?q", "https://localhost/%3F%20%25"),
        ("https://$host$request_uri", "/a%20b?c=%26", "https://localhost/a%20b?c=%26"),
        ("/$arg_a", "/?a=/evil.example", "/evil.example"),
        ("https://a.example$response_header_location", "/", "https://a.example/own?x=%20"),
    ] {
        let headers = json!({ "X-Before": "1", "location": location, "X-Behind": "$uri" });
        let action = json!({ "return": 302, "location": "/own?x=%20", "response_headers": headers });
        put_step(&server, &json!({ "action": action }));
        let reply = server.get(target).expect(302).expect_field("X-Before", "1");
        assert_eq!(reply.field("Location"), Some(expect), "{location} {target}");
        assert_eq!(reply.all("Location").count(), 1, "{reply}");
    }
}

/// A client's value makes no host of its own.
#[test]
fn a_location_leads_to_the_host_that_the_configuration_names() {
    let server = daemon().routes(json!([])).start();
    let check = |location: &str, value: &str, expect: Option<&str>| {
        put_step(&server, &json!({ "action": { "return": 302, "location": location } }));
        let reply = server.get(&format!("/?a={}", escaped(value))).expect(302);
        assert_eq!(reply.field("Location"), expect, "{location} {value}");
    };
    for value in ["/evil.example", "//evil.example", "///evil.example"] {
        check("/$arg_a", value, Some("/evil.example"));
        check("`/${args.a}`", value, Some("/evil.example"));
        check("$arg_a", value, Some("/evil.example"));
    }
    check("/$arg_a", "\\evil.example", Some("/%5Cevil.example"));
    check("https://a.example$arg_a", ".evil.example/x", Some("https://a.example/.evil.example/x"));
    check("https://a.example$arg_a", "@evil.example", Some("https://a.example/@evil.example"));
    check("https://a.example$arg_a", ":80@evil.example", Some("https://a.example/:80@evil.example"));
    check("https://a.example$arg_a", "/x", Some("https://a.example/x"));
    check("https://$arg_a.a.example/", "evil.example/", Some("https://evil.example%2F.a.example/"));
    check("https://$arg_a.a.example/", "b", Some("https://b.a.example/"));
    check("//a.example/$arg_a", "b", Some("//a.example/b"));
    check("$arg_a", "", None);
    check("`${''}`", "", None);
}
