//! Section 11: actions.

use corral_testkit::{Daemon, Request, daemon, php_app, site};
use serde_json::{Value, json};

use super::steps::{put_step, refuse_step};

fn action(action: Value) -> Daemon {
    daemon().routes(json!([{ "action": action }])).start()
}

/// Values are text of a page, whatever is in them.
#[test]
fn values_in_a_page_of_html_are_escaped() {
    let server = daemon().start_unconfigured();
    let target = "/?a=%3Cscript%3E%22%27%26";
    for (content_type, expected) in [
        ("text/html", "<p>&lt;script&gt;&quot;&#39;&amp;</p>"),
        ("Text/HTML; charset=utf-8", "<p>&lt;script&gt;&quot;&#39;&amp;</p>"),
        ("image/svg+xml", "<p>&lt;script&gt;&quot;&#39;&amp;</p>"),
        ("text/plain", "<p><script>\"'&</p>"),
    ] {
        let action = json!({ "return": 200, "body": "<p>$arg_a</p>", "content_type": content_type });
        let config = json!({ "routes": [{ "action": action }] });
        server.control().put("/config", &server.with_listener(config)).expect_done();
        server.get(target).expect(200).expect_body(expected);
    }
}

/// Options: routes[].action.body, routes[].action.content_type
#[test]
fn a_return_may_have_a_body() {
    let server = daemon().start_unconfigured();
    let put = |action: Value| {
        let config = json!({ "routes": [{ "action": action }] });
        server.control().put("/config", &server.with_listener(config)).expect_done();
    };
    put(json!({ "return": 200, "body": "$method $arg_name\n" }));
    let plain = "text/plain; charset=utf-8";
    server.get("/?name=A").expect(200).expect_body("GET A\n").expect_field("Content-Type", plain);
    server.send(&Request::post("/").body("x")).expect(200).expect_body("POST \n");
    let head = server.send(&Request::new("HEAD", "/?name=A")).expect(200).expect_body("");
    head.expect_field("Content-Length", "7");
    put(json!({ "return": 503, "body": "{}", "content_type": "application/json" }));
    server.get("/").expect(503).expect_body("{}").expect_field("Content-Type", "application/json");
    put(json!({ "return": 302, "location": "/x", "body": "" }));
    server.get("/").expect(302).expect_field("Location", "/x").expect_field("Content-Length", "0");
    put(json!({ "return": 200, "body": "`${nothing.at.all}`" }));
    server.get("/").expect(500);
    // In the place of an error; what is not said is not changed.
    let fields = json!({ "X-A": "1", "Content-Type": "text/x-own" });
    let page = json!({ "return": 410, "body": "gone: $status", "response_headers": fields });
    put(json!({ "share": "/nonexistent", "errors": { "404": page } }));
    server
        .get("/")
        .expect(410)
        .expect_body("gone: ")
        .expect_field("X-A", "1")
        .expect_field("Content-Type", plain);
}

#[test]
fn bodies_that_cannot_be_are_refused() {
    let server = daemon().routes(json!([])).start();
    for (action, detail) in [
        (json!({ "return": 204, "body": "x" }), "A response with the status 204 has no body."),
        (json!({ "return": 101, "body": "x" }), "A response with the status 101 has no body."),
        (
            json!({ "return": 200, "content_type": "text/html" }),
            "The \"content_type\" is that of a \"body\", which is missing.",
        ),
        (
            json!({ "return": 200, "body": "x", "content_type": "" }),
            "The \"content_type\" string must not be empty.",
        ),
        (
            json!({ "return": 200, "body": "x", "content_type": "a\r\nb: c" }),
            "The \"content_type\" string must not contain control characters.",
        ),
        (json!({ "return": 200, "body": "$nothing" }), "Unknown variable \"nothing\" in the \"body\" value."),
    ] {
        refuse_step(&server, &json!({ "action": action }), detail);
    }
}

/// Options: routes[].action.headers
#[test]
fn fields_that_make_browsers_careful() {
    const SECURE: [(&str, &str); 4] = [
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "SAMEORIGIN"),
        ("Referrer-Policy", "strict-origin-when-cross-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
    ];
    let site = site().file("index.php", "<?php header('X-Frame-Options: DENY'); echo 'x';");
    let config = json!({ "applications": { "php": php_app(&site).value() }, "routes": [] });
    let server = daemon().config(config).start();
    let expect = |step: Value, status: u16, changed: &[(&str, Option<&str>)]| {
        put_step(&server, &step);
        let reply = server.get("/").expect(status);
        for (name, value) in SECURE {
            let changed = changed.iter().find(|(other, _)| *other == name);
            assert_eq!(reply.field(name), changed.map_or(Some(value), |(_, value)| *value), "{step}: {name}");
        }
        assert!(reply.all("X-Frame-Options").count() <= 1);
        reply.expect_no_field("Strict-Transport-Security");
    };
    expect(json!({ "action": { "return": 200, "headers": "secure" } }), 200, &[]);
    expect(json!({ "action": { "return": 404, "headers": "secure" } }), 404, &[]);
    let own = json!({ "pass": "applications/php", "headers": "secure" });
    expect(json!({ "action": own }), 200, &[("X-Frame-Options", Some("DENY"))]);
    let changes = json!({ "X-Frame-Options": null, "Referrer-Policy": "no-referrer" });
    expect(
        json!({ "action": { "return": 200, "headers": "secure", "response_headers": changes } }),
        200,
        &[("X-Frame-Options", None), ("Referrer-Policy", Some("no-referrer"))],
    );
    refuse_step(
        &server,
        &json!({ "action": { "return": 200, "headers": "safe" } }),
        "The \"headers\" value must be \"secure\". Headers of your own are set by \"response_headers\".",
    );
}

#[test]
fn over_tls_browsers_are_told_to_stay_there() {
    let server = daemon().start_unconfigured();
    let forwarded = json!({ "source": "127.0.0.1", "protocol": "X-Forwarded-Proto" });
    let listener = json!({ "pass": "routes", "forwarded": forwarded });
    let config = json!({
        "listeners": { server.address().to_string(): listener },
        "routes": [{ "action": { "return": 200, "headers": "secure" } }],
    });
    server.control().put("/config", &config).expect_done();
    let by_tls = server.send(&Request::get("/").field("X-Forwarded-Proto", "https")).expect(200);
    by_tls.expect_field("Strict-Transport-Security", "max-age=31536000");
    server.get("/").expect(200).expect_no_field("Strict-Transport-Security");
}

/// Options: routes[].action.pass
#[test]
fn passes_to_targets() {
    let scripts = site().file("a/index.php", "<?php echo 'a';").file("b/index.php", "<?php echo 'b';");
    let target = |folder: &str| json!({ "root": scripts.path(folder), "script": "index.php" });
    let targets = json!({ "one": target("a"), "two": target("b") });
    let server = daemon()
        .config(json!({
            "applications": { "x": { "type": "php", "targets": targets } },
            "routes": [
                { "match": { "uri": "/t*" }, "action": { "pass": "applications/x/$arg_to" } },
                { "match": { "uri": "/two*" }, "action": { "pass": "applications/x/two" } },
                { "action": { "pass": "applications/x" } }
            ]
        }))
        .start();
    server.get("/").expect(200).expect_body("a");
    server.get("/t?to=two").expect(200).expect_body("b");
    server.get("/t?to=none").expect(404);
    server.get("/t?to=").expect(404);
}

/// Options: routes[].action.rewrite
#[test]
fn rewrites() {
    let files = site().file("new/file.txt", "found");
    let share = format!("{}$uri", files.root());
    let server = daemon()
        .config(json!({
            "routes": {
                "main": [
                    { "match": { "uri": "/old/*" }, "action": { "rewrite": "/new/../new//file.txt", "share": share } },
                    { "match": { "uri": "/chain" }, "action": { "rewrite": "/second?x=1", "pass": "routes/second" } },
                    { "match": { "uri": "/above" }, "action": { "rewrite": "/../x", "return": 200 } },
                    { "match": { "uri": "/escape" }, "action": { "rewrite": "/%zz", "return": 200 } },
                    { "match": { "uri": "/show*" },
                      "action": { "rewrite": "/a%20b$uri#c", "return": 200, "location": "$uri|$request_uri" } }
                ],
                "second": [
                    { "match": { "uri": "/second", "query": "x=1&q=1" },
                      "action": { "rewrite": "$uri/third", "return": 200, "location": "$uri?$arg_q" } }
                ]
            }
        }))
        .start();
    server.get("/old/x").expect(200).expect_body("found");
    server.get("/chain?q=1").expect(200).expect_field("Location", "/second/third?1");
    server.get("/chain?q=2").expect(404);
    server.get("/above").expect(500);
    server.get("/escape").expect(500);
    server.get("/show?q").expect(200).expect_field("Location", "/a%20b/show%7C/show?q");
}

#[test]
fn applications_see_the_new_path_and_the_old_target() {
    let script = "<?php echo $_SERVER['REQUEST_URI'], ' ', $_SERVER['PATH_INFO'] ?? '', ' ', $_SERVER['QUERY_STRING'];";
    let scripts = site().file("index.php", script);
    let server = daemon()
        .routes(json!([{ "action": { "rewrite": "/index.php/info", "pass": "applications/php" } }]))
        .application(php_app(&scripts))
        .start();
    server.get("/old?q=1").expect(200).expect_body("/old?q=1 /info q=1");
}

/// Options: routes[].action.response_headers.{name}
#[test]
fn response_headers() {
    let scripts = site().file(
        "index.php",
        "<?php header('X-App: 1'); header('X-Gone: 2'); http_response_code((int) $_GET['s']);",
    );
    let headers = json!({ "X-APP": "$host", "x-gone": null, "X-New": "", "Server": "mine", "Date": "never" });
    // Templates see the reply as the application has made it.
    let exchange = json!({ "X-App": "$response_header_x_gone", "X-Gone": "$response_header_x_app" });
    let server = daemon()
        .routes(json!([
            { "match": { "uri": "/app" }, "action": { "pass": "applications/php", "response_headers": headers } },
            { "match": { "uri": "/exchange" },
              "action": { "pass": "applications/php", "response_headers": exchange } },
            { "action": { "return": 200, "response_headers": { "X-A": "$arg_a" } } }
        ]))
        .application(php_app(&scripts).script("index.php"))
        .start();
    for status in [200, 299, 302, 399] {
        let reply = server.get(&format!("/app?s={status}")).expect(status);
        let reply =
            reply.expect_field("X-App", "localhost").expect_no_field("X-Gone").expect_field("X-New", "");
        assert_eq!(reply.all("Server").collect::<Vec<_>>(), ["mine"]);
        assert_eq!(reply.all("Date").count(), 1);
        assert_ne!(reply.field("Date"), Some("never"));
    }
    for status in [404, 500] {
        server
            .get(&format!("/app?s={status}"))
            .expect(status)
            .expect_field("X-App", "localhost")
            .expect_no_field("X-Gone")
            .expect_field("X-New", "");
    }
    server.get("/exchange?s=200").expect(200).expect_field("X-App", "2").expect_field("X-Gone", "1");
    put_step(&server, &json!({ "action": { "return": 207, "response_headers": { "X-A": "$status" } } }));
    server.get("/").expect(207).expect_field("X-A", "207");
    put_step(&server, &json!({ "action": { "return": 200, "response_headers": { "X-A": "$arg_a" } } }));
    // A field cannot be smuggled in.
    let reply = server.get("/?a=1%0d%0aX-B:%202").expect(200).expect_no_field("X-B");
    assert_eq!(reply.field("X-A"), Some("1  X-B: 2"));
}

/// Whatever becomes of a request: errors of the server, redirections, parts, and what the client has already.
#[test]
fn response_headers_are_in_replies_of_every_status() {
    let files = site().file("file.txt", "found").file("folder/index.html", "index");
    let headers = json!({
        "X-A": "$status", "Strict-Transport-Security": "max-age=1", "Content-Type": "text/x-own",
        "cache-control": "max-age=31536000"
    });
    let share = json!({ "share": format!("{}$uri", files.root()), "response_headers": headers });
    let server = daemon()
        .http(json!({ "max_body_size": 10 }))
        .routes(json!([
            { "match": { "uri": "/proxy" }, "action": { "proxy": "http://127.0.0.1:1", "response_headers": headers } },
            { "match": { "uri": "/502" }, "action": { "return": 502, "response_headers": headers } },
            { "action": share }
        ]))
        .start();
    let check = |request: Request, status: u16| {
        let reply = server.send(&request).expect(status).expect_field("X-A", &status.to_string());
        assert_eq!(reply.all("Strict-Transport-Security").collect::<Vec<_>>(), ["max-age=1"], "{status}");
        let is_error = status >= 400;
        let own = (!is_error).then_some("max-age=31536000");
        assert_eq!(reply.field("Cache-Control"), own, "{status}: an error is nothing to keep");
        if is_error {
            assert_eq!(reply.field("Content-Type"), Some("text/html"), "{status}: it is not a file");
        }
        reply.field("ETag").map(str::to_owned)
    };
    let tag = check(Request::get("/file.txt"), 200).expect("files have one");
    check(Request::get("/file.txt").field("If-None-Match", &tag), 304);
    check(Request::get("/file.txt").field("Range", "bytes=0-1"), 206);
    check(Request::get("/folder"), 301);
    check(Request::get("/none"), 404);
    check(Request::post("/file.txt"), 405);
    check(Request::get("/file.txt").field("If-Match", "\"other\""), 412);
    check(Request::post("/file.txt").body("more than ten"), 413);
    check(Request::get("/proxy"), 502);
    check(Request::get("/502"), 502);
    let missed = server.send(&Request::get("/file.txt").field("Range", "bytes=99-")).expect(416);
    assert_eq!((missed.field("X-A"), missed.field("Content-Range")), (Some("416"), Some("bytes */5")));
    // A request without an action, or an invalid one, has none of them.
    server.send(&Request::get("/%zz")).expect(400).expect_no_field("X-A");
}

/// A field that cannot be worked out costs a request its reply, and an error its field.
#[test]
fn response_headers_that_throw() {
    let headers = json!({ "X-A": "`${nothing}`" });
    for (status, expected) in [(200, 500), (404, 404)] {
        let server = action(json!({ "return": status, "response_headers": headers }));
        server.get("/").expect(expected).expect_no_field("X-A");
        server.expect_log("js exception: ReferenceError: nothing is not defined");
    }
}

#[test]
fn what_is_wrong_is_refused() {
    let server = action(json!({ "return": 200 }));
    let refused = |action: Value, detail: &str| refuse_step(&server, &json!({ "action": action }), detail);
    refused(
        json!({ "return": 1000 }),
        "The \"return\" value is out of allowed HTTP status code range 0-999.",
    );
    refused(json!({ "return": -1 }), "The \"return\" value is out of allowed HTTP status code range 0-999.");
    refused(json!({ "return": 200, "pass": "routes" }), "must have just one of");
    refused(json!({ "rewrite": "/" }), "must have either");
    refused(json!({ "pass": "routes", "location": "/" }), "Unknown parameter \"location\".");
    refused(json!({ "pass": "routes/none" }), "Request \"pass\" points to invalid location \"routes/none\".");
    refused(json!({ "pass": "routes//x" }), "Request \"pass\" value \"routes//x\" is invalid.");
    refused(
        json!({ "pass": "applications/a/b/c" }),
        "Request \"pass\" value \"applications/a/b/c\" is invalid.",
    );
    refused(json!({ "return": 200, "rewrite": "$x" }), "Unknown variable \"x\" in the \"rewrite\" value.");
    let headers = |headers: Value, detail: &str| {
        refused(json!({ "return": 200, "response_headers": headers }), detail);
    };
    headers(json!({ "": "x" }), "The response header name must not be empty.");
    headers(
        json!({ "Content-Length": "1" }),
        "The \"Content-Length\" response header value is not supported",
    );
    headers(json!({ "X": 1 }), "The \"X\" response header value must either be a string or a null");
    headers(json!({ "X": "a\nb" }), "control characters");
}

/// All lines about one request name its connection, in both forms of the log.
#[test]
fn lines_name_the_connection_that_they_are_about() {
    let server =
        daemon().http(json!({ "log_route": true })).routes(json!([{ "action": { "return": 204 } }])).start();
    let mut clients = [server.connect(), server.connect()];
    for (client, target) in clients.iter_mut().zip(["/first", "/second"]) {
        client.get(target).expect(204);
    }
    let line_of = |target: &str| {
        let line = format!("GET {target} ");
        server.expect_log(&line);
        server.log().lines().find(|found| found.contains(&line)).expect("it was there").to_owned()
    };
    let number = |target: &str| {
        let line = line_of(target);
        let word = line.split(' ').nth(4).and_then(|word| word.strip_prefix('*'));
        word.and_then(|word| word.parse::<u64>().ok()).unwrap_or_else(|| panic!("no number in {line:?}"))
    };
    let (first, second) = (number("/first"), number("/second"));
    assert_ne!(first, second);
    for id in [first, second] {
        server.expect_log(&format!("*{id} \"routes/0\" selected"));
    }
    let log = json!({ "format": "json" });
    server.control().put("/config/settings/log", &log).expect_done();
    clients[0].get("/third").expect(204);
    let line: Value = serde_json::from_str(&line_of("/third")).expect("a line is JSON");
    assert_eq!(line["connection"], first);
}

#[test]
fn returned_statuses_and_locations() {
    let server = daemon().routes(json!([
        { "match": { "uri": "/moved" }, "action": { "return": 301, "location": "https://$host/new$uri" } },
        { "match": { "uri": "/created" }, "action": { "return": 201, "location": "/x y" } },
        { "match": { "uri": "/error" }, "action": { "return": 503, "location": "/ignored" } },
        { "match": { "uri": "/odd" }, "action": { "return": 799 } },
        { "action": { "return": 204 } }
    ]))
    .start();
    let moved = server.send(&Request::get("/moved").field("Host", "Example.com"));
    moved
        .expect(301)
        .expect_field("Location", "https://example.com/new/moved")
        .expect_field("Content-Length", "0");
    server.get("/created").expect(201).expect_field("Location", "/x%20y");
    server.get("/error").expect(503).expect_no_field("Location").expect_text("Error 503");
    server.get("/odd").expect(799).expect_body("");
    server.get("/").expect(204).expect_no_field("Transfer-Encoding");
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    /// The host of a request is one value, which stands in a URL as it is: a text that cannot is not a host.
    #[test]
    fn a_host_in_a_location_is_encoded() {
        let server = daemon().start_unconfigured();
        for (location, host, expected) in [
            ("/#$host", "%23foo%3Fbar", "/#%23foo%3fbar"),
            ("https://$host/", "a%23b", "https://a%23b/"),
            ("https://$host/", "A_%3Cb%3E.:81", "https://a_%3cb%3e/"),
            ("https://$host/", "a%20b", "https://a%20b/"),
            ("https://$host/", "[::1]:81", "https://[::1]/"),
            ("https://$host/", "a!$&'()*+,;=~", "https://a!$&'()*+,;=~/"),
        ] {
            let config = json!({ "routes": [{ "action": { "return": 301, "location": location } }] });
            server.control().put("/config", &server.with_listener(config)).expect_done();
            let reply = server.send(&Request::get("/").field("Host", host)).expect(301);
            assert_eq!(reply.field("Location"), Some(expected), "{host}");
        }
        for host in ["#foo?bar", "a#b", "A<b>:81", "\u{e9}"] {
            server.send(&Request::get("/").field("Host", host)).expect(400).expect_no_field("Location");
        }
    }

    /// Options: routes[].action, routes[].action.return, routes[].action.location
    #[test]
    fn returns() {
        let server = daemon()
        .routes(json!([
            { "match": { "uri": "/page" }, "action": { "return": 404, "location": "/ignored" } },
            { "match": { "uri": "/moved" }, "action": { "return": 301, "location": "http://$host/a b$uri" } },
            { "match": { "uri": "/encoded" }, "action": { "return": 302, "location": "/a%20b?c=d" } },
            { "match": { "uri": "/any" }, "action": { "return": 200, "location": "/x" } },
            { "match": { "uri": "/zero" }, "action": { "return": 0 } },
            { "match": { "uri": "/odd" }, "action": { "return": 777, "location": "" } },
            { "action": { "return": 599 } }
        ]))
        .start();
        let page = "<!DOCTYPE html><title>Error 404</title><p>Error 404.\r\n";
        server.get("/page").expect(404).expect_no_field("Location").expect_body(page);
        server
            .get("/moved")
            .expect(301)
            .expect_field("Location", "http://localhost/a%20b/moved")
            .expect_body("");
        server
            .get("/encoded")
            .expect(302)
            .expect_field("Location", "/a%20b?c=d")
            .expect_field("Content-Length", "0");
        server.get("/any").expect(200).expect_field("Location", "/x");
        server.get("/odd").expect(777).expect_field("Location", "");
        server.get("/").expect(599).expect_text("Error 599");
        let mut client = server.connect();
        client.write("GET /zero HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let head = String::from_utf8(client.read_to_end()).expect("ASCII");
        assert!(head.starts_with("HTTP/1.1 000 \r\n"), "{head}");
    }

    /// A client takes 1xx for the announcement of a reply: the end of the connection tells it that none follows.
    #[test]
    fn what_is_no_final_status_ends_the_connection() {
        let server = action(json!({ "return": 200 }));
        for status in [100, 101, 103, 199] {
            put_step(&server, &json!({ "action": { "return": status } }));
            let mut client = server.connect();
            client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
            let reply = String::from_utf8(client.read_to_end()).expect("ASCII");
            assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{reply}");
            assert!(reply.contains("\r\nConnection: close\r\n") && reply.ends_with("\r\n\r\n"), "{reply}");
        }
    }

    /// Options: settings.http.log_route
    #[test]
    fn the_way_of_a_request_is_logged() {
        let server = daemon()
            .http(json!({ "log_route": true }))
            .routes(json!([
                { "match": { "uri": "/never" }, "action": { "return": 200 } },
                { "action": { "rewrite": "/r", "share": "/nonexistent$uri", "fallback": { "return": 204 } } }
            ]))
            .start();
        server.get("/some?where").expect(204);
        for line in [
            "[notice] ",
            "http request line \"GET /some?where HTTP/1.1\"",
            "\"routes/0\" discarded",
            "\"routes/1\" selected",
            "URI rewritten to \"/r\"",
            "\"fallback\" taken",
        ] {
            server.expect_log(line);
        }
    }
}
