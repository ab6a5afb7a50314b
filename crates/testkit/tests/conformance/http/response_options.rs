//! Options of actions about responses: `expires`, `charset` and `limit_rate`, for files, applications and servers.

use std::time::{Duration, Instant};

use corral_testkit::{Daemon, Origin, Request, daemon, site};
use serde_json::{Value, json};

fn serve(routes: Value) -> Daemon {
    daemon().routes(routes).start()
}

/// The value of Cache-Control in a reply.
#[track_caller]
fn check_cache(server: &Daemon, request: &Request, status: u16, expect: Option<&str>) {
    let reply = server.send(request);
    assert_eq!((reply.status, reply.field("Cache-Control")), (status, expect), "{reply}");
    assert_eq!(reply.all("Cache-Control").count(), usize::from(expect.is_some()), "{reply}");
}

/// Options: routes[].action.expires
#[test]
fn expires_says_how_long_by_path_and_type() {
    let site = site()
        .file("index.html", "x")
        .file("a/a.png", "0123456789")
        .file("b.png", "x")
        .file("c.css", "x")
        .file("d", "x");
    let server = serve(json!([{ "action": {
        "share": format!("{}$uri", site.root()),
        "expires": { "/a/*": "1y immutable", "image/*": "30d", "*.css": 60, "text/html": "no-cache", "/*": "off" },
    } }]));
    let get = Request::get;
    for (target, expect) in [
        ("/a/a.png", Some("max-age=31536000, immutable")),
        ("/b.png", Some("max-age=2592000")),
        ("/c.css", Some("max-age=60")),
        ("/", Some("no-cache")),
        ("/d", None),
    ] {
        check_cache(&server, &get(target), 200, expect);
        check_cache(&server, &Request::new("HEAD", target), 200, expect);
        let etag = server.get(target).field("ETag").expect("a tag").to_owned();
        check_cache(&server, &get(target).field("If-None-Match", &etag), 304, expect);
    }
    let immutable = Some("max-age=31536000, immutable");
    check_cache(&server, &get("/a/a.png").field("Range", "bytes=0-1"), 206, immutable);
    check_cache(&server, &get("/a/a.png").field("Range", "bytes=0-1,9-9"), 206, immutable);
    check_cache(&server, &get("/a/a.png").field("Range", "bytes=99-"), 416, None);
    check_cache(&server, &get("/a/none.png"), 404, None);
}

#[test]
fn expires_gives_way_to_what_a_response_says_itself() {
    let says =
        |fields: &str| Origin::answering(format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 1\r\n\r\nx"));
    let (silent, own, old) = (
        says("Content-Type: text/html; charset=utf-8\r\n"),
        says("Content-Type: text/html\r\nCache-Control: private\r\n"),
        says("Content-Type: text/html\r\nExpires: Thu, 01 Jan 1970 00:00:00 GMT\r\n"),
    );
    let (unchanged, failing) = (
        Origin::answering("HTTP/1.1 304 Not Modified\r\n\r\n"),
        Origin::answering("HTTP/1.1 500 No\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n"),
    );
    let at = |path: &str, origin: &Origin| json!({ "match": { "uri": path }, "action": { "proxy": origin.url() } });
    let server = serve(json!({
        "main": [{ "action": { "pass": "routes/in", "expires": { "text/html": "1h" } } }],
        "in": [
            at("/silent", &silent), at("/own", &own), at("/old", &old), at("/unchanged.html", &unchanged),
            at("/unchanged", &unchanged), at("/failing", &failing),
            { "match": { "uri": "/header" }, "action": {
                "proxy": silent.url(), "response_headers": { "Cache-Control": "no-store" },
            } },
            { "match": { "uri": "/removed" }, "action": {
                "proxy": silent.url(), "response_headers": { "Cache-Control": null },
            } },
            { "match": { "uri": "/inner" }, "action": { "proxy": silent.url(), "expires": "5m" } },
            { "match": { "uri": "/off" }, "action": { "proxy": silent.url(), "expires": "off" } },
            { "match": { "uri": "/text" }, "action": { "return": 200, "body": "x" } },
            { "match": { "uri": "/moved" }, "action": { "return": 301, "location": "/" } },
        ],
    }));
    for (target, status, expect) in [
        ("/silent", 200, Some("max-age=3600")),
        ("/own", 200, Some("private")),
        ("/old", 200, None),
        ("/unchanged.html", 304, Some("max-age=3600")),
        ("/unchanged", 304, None),
        ("/failing", 500, None),
        ("/header", 200, Some("no-store")),
        ("/removed", 200, None),
        ("/inner", 200, Some("max-age=300")),
        ("/off", 200, None),
        ("/text", 200, None),
        ("/moved", 301, None),
        ("/none", 404, None),
    ] {
        check_cache(&server, &Request::get(target), status, expect);
    }
}

/// Headers of files are not those of answers in their place, whatever these say themselves.
#[test]
fn what_is_said_of_content_is_not_said_of_a_fallback() {
    let files = site().file("a.txt", "found");
    let share = format!("{}$uri", files.root());
    let fallback = json!({ "return": 200, "body": "x" });
    let server = serve(json!([
        { "match": { "uri": "/e/*" }, "action": {
            "share": share, "rewrite": "/$arg_f", "expires": "1h", "fallback": fallback,
        } },
        { "match": { "uri": "/h/*" }, "action": {
            "share": share, "rewrite": "/$arg_f", "response_headers": { "Cache-Control": "x" }, "fallback": fallback,
        } },
        { "match": { "uri": "/c/*" }, "action": {
            "share": share, "rewrite": "/$arg_f", "cache_control": "own", "expires": "1h", "fallback": fallback,
        } },
        { "match": { "uri": "/k/*" }, "action": {
            "share": share, "rewrite": "/$arg_f", "cache_control": { "/other": "own" }, "expires": "1h",
        } },
    ]));
    for (target, expect) in [
        ("/e/?f=a.txt", Some("max-age=3600")),
        ("/e/?f=none", None),
        ("/h/?f=a.txt", Some("x")),
        ("/h/?f=none", None),
        ("/c/?f=a.txt", Some("own")),
        ("/c/?f=none", None),
        ("/k/?f=a.txt", Some("max-age=3600")),
    ] {
        check_cache(&server, &Request::get(target), 200, expect);
    }
}

/// Options: routes[].action.charset
#[test]
fn a_charset_is_added_to_texts_that_have_none() {
    let site = site()
        .file("a.html", "<p>")
        .file("a.css", "p")
        .file("a.js", "1")
        .file("a.json", "1")
        .file("a.png", "1")
        .file("d", "1");
    let named = Origin::answering(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=koi8-r\r\nContent-Length: 0\r\n\r\n",
    );
    let server = serve(json!({
        "main": [
        { "match": { "uri": "/named" }, "action": { "proxy": named.url(), "charset": "utf-8" } },
        { "match": { "uri": "/error" }, "action": { "return": 404, "charset": "utf-8" } },
        { "action": { "pass": "routes/off", "charset": "utf-8" } },
        ],
        "off": [
            { "match": { "uri": "/a.css" }, "action": { "share": format!("{}$uri", site.root()), "charset": "off" } },
            { "match": { "uri": "/a.js" }, "action": { "share": format!("{}$uri", site.root()), "charset": "latin1" } },
            { "action": { "share": format!("{}$uri", site.root()) } },
        ],
    }));
    for (target, status, expect) in [
        ("/a.html", 200, Some("text/html; charset=utf-8")),
        ("/a.css", 200, Some("text/css")),
        ("/a.js", 200, Some("application/javascript; charset=latin1")),
        ("/a.json", 200, Some("application/json")),
        ("/a.png", 200, Some("image/png")),
        ("/d", 200, None),
        ("/named", 200, Some("text/html; charset=koi8-r")),
        ("/error", 404, Some("text/html; charset=utf-8")),
    ] {
        let reply = server.get(target).expect(status);
        assert_eq!(reply.field("Content-Type"), expect, "{target}\n{reply}");
    }
}

/// The time of a request, whose reply has a body of this length.
#[track_caller]
fn timed(server: &Daemon, request: &Request, status: u16, len: usize) -> Duration {
    let started = Instant::now();
    let reply = server.send(request).expect(status);
    assert_eq!(reply.body.len(), len, "{}", reply.status);
    started.elapsed()
}

/// Options: routes[].action.limit_rate, routes[].action.limit_rate.rate, routes[].action.limit_rate.burst
#[test]
fn bodies_are_sent_at_their_rate() {
    let body = "x".repeat(60_000);
    let site = site().file("small.txt", &body).file("large.bin", "y".repeat(600_000));
    let measured = Origin::answering(format!("HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n{body}"));
    let chunked = Origin::answering(format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nea60\r\n{body}\r\n0\r\n\r\n"
    ));
    let share = format!("{}$uri", site.root());
    let server = serve(json!({
        "main": [
        { "match": { "uri": "/measured" }, "action": { "proxy": measured.url(), "limit_rate": 40_000 } },
        { "match": { "uri": "/chunked" }, "action": { "proxy": chunked.url(), "limit_rate": 40_000 } },
        { "match": { "uri": "/text" }, "action": { "return": 200, "body": body, "limit_rate": 40_000 } },
        { "match": { "uri": "/error" }, "action": { "return": 404, "body": body, "limit_rate": 1 } },
        { "match": { "uri": "/free/*" }, "action": { "pass": "routes/free", "limit_rate": 1 } },
        { "match": { "uri": "/large.bin" }, "action": {
            "share": share, "limit_rate": { "rate": 200_000, "burst": 400_000 },
        } },
        { "action": { "share": share, "limit_rate": { "rate": 40_000 } } },
        ],
        "free": [{ "action": { "return": 200, "body": body, "limit_rate": 0 } }],
    }));
    let second = Duration::from_secs(1);
    for (target, len) in [
        ("/measured", 60_000),
        ("/chunked", 60_000),
        ("/text", 60_000),
        ("/small.txt", 60_000),
        ("/large.bin", 600_000),
    ] {
        let time = timed(&server, &Request::get(target), 200, len);
        assert!(time > second * 7 / 10, "{target} took {time:?}");
        assert!(time < second * 10, "{target} took {time:?}");
    }
    let part = Request::get("/small.txt").field("Range", "bytes=0-39999");
    assert!(timed(&server, &part, 206, 40_000) > second / 2);
    for (request, status, len) in [
        (Request::get("/free/x"), 200, 60_000),
        (Request::get("/error"), 404, 60_000),
        (Request::new("HEAD", "/small.txt"), 200, 0),
        (Request::get("/none"), 404, server.get("/none").body.len()),
    ] {
        let time = timed(&server, &request, status, len);
        assert!(time < second * 5, "{request:?} took {time:?}");
    }
}

/// Our own pauses are none of the client's, and a client that leaves ends them.
#[test]
fn pauses_are_not_the_clients_fault() {
    let site = site().file("a.txt", "x".repeat(30_000));
    let server = daemon()
        .config(json!({
            "settings": { "http": { "send_timeout": 1 } },
            "routes": [
                { "match": { "uri": "/a.txt" }, "action": { "share": format!("{}$uri", site.root()), "limit_rate": 10_000 } },
                { "match": { "uri": "/slow" }, "action": { "share": format!("{}/a.txt", site.root()), "limit_rate": 1 } },
            ],
        }))
        .start();
    assert!(timed(&server, &Request::get("/a.txt"), 200, 30_000) > Duration::from_secs(2));
    let mut client = server.connect();
    client.write("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_some();
    drop(client);
    corral_testkit::eventually("the connection ends", || {
        let connections = server.control().get("/status").json()["connections"]["active"].as_u64();
        (connections == Some(0)).then_some(())
    });
}

#[test]
fn their_values_are_checked() {
    let control = daemon().start_unconfigured();
    let time = "A time is a number with \\\"s\\\"";
    for (option, value, detail) in [
        ("expires", json!("30 days"), "\"days\" in the \"expires\" value is neither a time nor a word"),
        ("expires", json!("access plus 1 month"), "\"access\" in the \"expires\" value"),
        ("expires", json!({ "image/*": "-1" }), "\"-1\" in the \"expires\" value"),
        ("expires", json!({ "image/*": true }), "value must be either an integer number or a string"),
        ("expires", json!({ "!image/*": "1d" }), "The \"expires\" patterns must not be negated"),
        ("expires", json!("99y"), "must not exceed 2147483647 seconds"),
        ("expires", json!([]), "The \"expires\" value must be"),
        ("charset", json!("utf 8"), "The \"charset\" value \"utf 8\" is not a name."),
        ("charset", json!(""), "The \"charset\" string must not be empty."),
        ("charset", json!("a\r\nX: y"), "is not a name."),
        (
            "limit_rate",
            json!("500k"),
            "The \"limit_rate\" value must be either an integer number or an object",
        ),
        ("limit_rate", json!(-1), "The \"limit_rate\" number must not be negative."),
        ("limit_rate", json!({}), "Required parameter \"rate\" is missing."),
        (
            "limit_rate",
            json!({ "rate": 1, "burst": 1_u64 << 41 }),
            "The \"burst\" number must not exceed 1099511627776.",
        ),
    ] {
        let mut action = json!({ "return": 200 });
        action[option] = value;
        let config = json!({ "routes": [{ "action": action }] });
        let reply = control.control().put("/config", &config);
        let text = reply.json().to_string();
        let refused = reply.expect_refused(400, "Invalid configuration.");
        assert!(refused.contains(detail), "{action}\n{refused}");
        assert!(option != "expires" || !detail.contains("neither") || text.contains(time), "{text}");
    }
}
