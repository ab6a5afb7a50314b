//! Section 9: routes, their steps and conditions.

use corral_testkit::{Client, Daemon, Request, Response, daemon, site};
use serde_json::{Value, json};

use super::steps::{matching, put_step, refuse_step};

/// Puts `conditions` on the only step of one daemon after the other; what does not match is 404.
struct Conditions {
    server: Daemon,
}

impl Conditions {
    fn start() -> Self {
        Self { server: daemon().routes(json!([])).start() }
    }

    /// Each request that begins with `+` must match, each with `-` must not.
    #[track_caller]
    fn check(&self, conditions: Value, requests: &[(char, Request)]) {
        put_step(&self.server, &matching(&conditions));
        for (sign, request) in requests {
            let status = self.server.send(request).status;
            let expect = if *sign == '+' { 200 } else { 404 };
            assert_eq!(status, expect, "{conditions} {request:?}");
        }
    }
}

fn yes(target: &str) -> (char, Request) {
    ('+', Request::get(target))
}

fn no(target: &str) -> (char, Request) {
    ('-', Request::get(target))
}

/// A GET with fields, written `name: value`.
fn with(sign: char, fields: &[&str]) -> (char, Request) {
    let add = |request: Request, field: &&str| {
        let (name, value) = field.split_once(": ").expect("a field");
        request.field(name, value)
    };
    (sign, fields.iter().fold(Request::get("/"), add))
}

fn named(server: &Daemon, target: &str) -> Response {
    server.get(target)
}

/// Options: routes[], routes[].match.method
#[test]
fn methods() {
    let conditions = Conditions::start();
    let post = |sign| (sign, Request::post("/"));
    conditions.check(json!({ "method": "get" }), &[yes("/"), post('-')]);
    conditions
        .check(json!({ "method": ["P*", "!PUT"] }), &[no("/"), post('+'), ('-', Request::new("PUT", "/"))]);
    conditions.check(json!({ "method": "!GET" }), &[no("/"), ('+', Request::new("ANY-THING_", "/"))]);
    conditions.check(
        json!({ "method": "~^(GET|HEAD)$" }),
        &[yes("/"), post('-'), ('+', Request::new("HEAD", "/"))],
    );
    conditions.check(json!({ "method": [] }), &[yes("/"), post('+')]);
}

/// Only HTTP/1.0 has requests whose host is nothing.
#[track_caller]
fn expect_without_host(server: &Daemon) {
    let mut client = server.connect();
    client.write("GET / HTTP/1.0\r\n\r\n");
    client.read_response().expect(200);
}

/// Options: routes[].match.uri, routes[].match.query
#[test]
fn paths_and_queries() {
    let conditions = Conditions::start();
    conditions.check(
        json!({ "uri": "/a b/%2A*" }),
        &[yes("/a%20b/*"), yes("/x/../a%20b//%2Ac?q"), no("/a%20b/c"), no("/A%20b/*")],
    );
    conditions.check(json!({ "uri": "/+" }), &[yes("/+"), no("/%20")]);
    conditions.check(
        json!({ "query": ["a=b c*", "!*x*"] }),
        &[yes("/?a=b+c"), yes("/?a=b%20cd"), no("/?a=b%2Bc"), no("/?a=b+cx"), no("/")],
    );
    conditions.check(json!({ "query": "" }), &[yes("/"), yes("/?"), no("/?a")]);
    conditions.check(json!({ "query": "~^\\d+$" }), &[yes("/?12"), yes("/?%31"), no("/?a")]);
}

/// Options: routes[].match.arguments
#[test]
fn arguments() {
    let conditions = Conditions::start();
    conditions.check(
        json!({ "arguments": { "a b": "1*", "c": "!2" } }),
        &[
            yes("/?a+b=1&c=1"),
            yes("/?c&a%20b=12"),
            no("/?a+b=1"),
            no("/?a+b=1&c=2"),
            no("/?A+b=1&c=1"),
            no("/"),
        ],
    );
    conditions
        .check(json!({ "arguments": { "a%20b": "x%2By z" } }), &[yes("/?a+b=x%2By+z"), no("/?a+b=x+y+z")]);
    conditions.check(json!({ "arguments": { "a": "1" } }), &[yes("/?a=1&a=1"), no("/?a=1&a=2"), no("/?a")]);
    conditions.check(json!({ "arguments": { "a": "" } }), &[yes("/?a"), yes("/?a="), no("/?b")]);
    conditions.check(
        json!({ "arguments": [{ "a": "1", "b": "1" }, { "c": ["1", "2"] }] }),
        &[yes("/?a=1&b=1"), yes("/?c=2"), no("/?a=1"), no("/?c=3")],
    );
    for everything in [json!({}), json!([]), json!([{}])] {
        conditions.check(json!({ "arguments": everything }), &[yes("/"), yes("/?a=1")]);
    }
}

/// Options: routes[].match.headers
#[test]
fn headers() {
    let conditions = Conditions::start();
    conditions.check(
        json!({ "headers": { "x-a": "One*" } }),
        &[
            with('+', &["X-A: ONE two"]),
            with('-', &["X-A: two"]),
            with('-', &[]),
            with('-', &["X-A: one", "X-A: two"]),
        ],
    );
    conditions.check(
        json!({ "headers": { "X-A": "~^one$" } }),
        &[with('+', &["x-a: one"]), with('-', &["x-a: One"])],
    );
    conditions.check(
        json!({ "headers": { "X-A": "!one" } }),
        &[with('+', &["x-a: two"]), with('-', &["x-a: ONE"]), with('-', &["x-b: two"])],
    );
    conditions.check(
        json!({ "headers": [{ "X-A": "1", "X-B": "1" }, { "Host": "only" }] }),
        &[with('+', &["X-B: 1", "X-A: 1"]), with('+', &["Host: only"]), with('-', &["X-A: 1"])],
    );
    conditions.check(json!({ "headers": { "X-A": [] } }), &[with('+', &["X-A: "]), with('-', &[])]);
}

/// Options: routes[].match.cookies
#[test]
fn cookies() {
    let conditions = Conditions::start();
    conditions.check(
        json!({ "cookies": { "a": "One" } }),
        &[
            with('+', &["Cookie: b=2;  a=One "]),
            with('+', &["Cookie: b=2", "Cookie: a=One"]),
            with('-', &["Cookie: a=one"]),
            with('-', &["Cookie: A=One"]),
            with('-', &["Cookie: a=One; a=Two"]),
            with('-', &[]),
        ],
    );
    conditions.check(
        json!({ "cookies": [{ "a": "1", "b": "*" }, { "c": "!1" }] }),
        &[with('+', &["Cookie: a=1; b="]), with('+', &["Cookie: c=2"]), with('-', &["Cookie: a=1"])],
    );
}

/// Options: routes[].match.scheme
#[test]
fn schemes() {
    let conditions = Conditions::start();
    conditions.check(json!({ "scheme": "HTTP" }), &[yes("/")]);
    conditions.check(json!({ "scheme": "https" }), &[no("/")]);
}

/// Options: routes[].match.source, routes[].match.destination
#[test]
fn addresses() {
    let conditions = Conditions::start();
    let port = conditions.server.address().port();
    for (source, matches) in [
        (json!("127.0.0.1"), true),
        (json!("127.0.0.0/8"), true),
        (json!(["10.0.0.0/8", "127.0.0.0-127.0.0.1"]), true),
        (json!("!127.0.0.1"), false),
        (json!(["127.0.0.0/8", "!127.0.0.1"]), false),
        (json!("*:1-65535"), true),
        (json!(format!("*:{port}")), false),
        (json!("::1"), false),
        (json!("unix"), false),
        (json!("!unix"), true),
        (json!([]), false),
    ] {
        conditions.check(json!({ "source": source }), &[if matches { yes("/") } else { no("/") }]);
    }
    conditions.check(json!({ "destination": format!("*:{port}") }), &[yes("/")]);
    conditions.check(json!({ "destination": conditions.server.address().to_string() }), &[yes("/")]);
    conditions.check(json!({ "destination": ["!127.0.0.0/8"] }), &[no("/")]);
    conditions.check(json!({ "destination": [] }), &[no("/")]);
}

#[test]
fn unix_peers_match_unix() {
    let folder = site().writable_folder("run");
    let path = folder.path("run/web.sock");
    let server = daemon()
        .routes(json!([
            { "match": { "source": "unix", "destination": "unix" }, "action": { "return": 201 } },
            { "match": { "source": "!unix" }, "action": { "return": 202 } },
            { "action": { "return": 203 } }
        ]))
        .start();
    let mut listeners = server.control().get("/config/listeners").json();
    listeners[format!("unix:{}", path.display())] = json!({ "pass": "routes" });
    server.control().put("/config/listeners", &listeners).expect_done();
    Client::try_connect_unix(&path).expect("the socket accepts").get("/").expect(201);
    server.get("/").expect(202);
}

/// Options: routes[].match.if
#[test]
fn templates_as_conditions() {
    let conditions = Conditions::start();
    conditions.check(
        json!({ "if": "$arg_a" }),
        &[
            yes("/?a=1"),
            yes("/?a=x"),
            no("/"),
            no("/?a=0"),
            no("/?a=false"),
            no("/?a=null"),
            no("/?a=undefined"),
        ],
    );
    conditions.check(json!({ "if": "!$arg_a" }), &[yes("/"), yes("/?a=0"), no("/?a=1")]);
    conditions.check(json!({ "if": "1" }), &[yes("/")]);
    conditions.check(json!({ "if": "!1" }), &[no("/")]);
    conditions.check(json!({ "if": "$header_x_a", "uri": "/b" }), &[no("/b"), no("/")]);
}

#[test]
fn all_members_must_hold() {
    let conditions = Conditions::start();
    let all = json!({
        "method": "GET", "host": "localhost", "uri": "/a", "query": "b=1", "arguments": { "b": "1" },
        "scheme": "http", "source": "127.0.0.1", "if": "$host"
    });
    conditions.check(all, &[yes("/a?b=1"), no("/a?b=2"), no("/b?b=1"), ('-', Request::post("/a?b=1"))]);
}

/// Options: routes.{N}[]
#[test]
fn named_routes_and_chains() {
    let server = daemon()
        .config(json!({
            "routes": {
                "main": [
                    { "match": { "uri": "/a/*" }, "action": { "pass": "routes/a%2Fb" } },
                    { "match": { "uri": "/t" }, "action": { "pass": "routes/$arg_to" } },
                    { "match": { "uri": "/empty" }, "action": { "pass": "routes/empty" } },
                    { "match": { "uri": "/round" }, "action": { "pass": "routes/main" } },
                    { "action": { "return": 201 } }
                ],
                "a/b": [{ "match": { "uri": "/a/x" }, "action": { "return": 202 } }],
                "empty": []
            }
        }))
        .start();
    named(&server, "/").expect(201);
    named(&server, "/a/x").expect(202);
    named(&server, "/a/y").expect(404);
    named(&server, "/empty").expect(404);
    named(&server, "/round").expect(500).expect_text("Error 500");
    // The rendered text is read like a `pass`.
    named(&server, "/t?to=a%252Fb").expect(404);
    named(&server, "/t?to=empty").expect(404);
    named(&server, "/t?to=nowhere").expect(404);
    named(&server, "/t?to=").expect(404);
    named(&server, "/t?to=a/b/c").expect(404);
}

#[test]
fn chains_may_have_256_actions() {
    let chain = |n_actions: usize| {
        let mut routes = serde_json::Map::new();
        for idx in 1..n_actions {
            let next = format!("routes/{}", idx + 1);
            routes.insert(idx.to_string(), json!([{ "action": { "pass": next } }]));
        }
        routes.insert(n_actions.to_string(), json!([{ "action": { "return": 201 } }]));
        Value::Object(routes)
    };
    for (n_actions, status) in [(256, 201), (257, 500)] {
        let server = daemon().routes(json!([])).start();
        let config = json!({
            "listeners": { server.address().to_string(): { "pass": "routes/1" } }, "routes": chain(n_actions)
        });
        server.control().put("/config", &config).expect_done();
        server.get("/").expect(status);
    }
}

#[test]
fn what_is_wrong_is_refused() {
    let server = daemon().routes(json!([])).start();
    let conditions = |conditions: Value, detail: &str| {
        refuse_step(&server, &matching(&conditions), detail);
    };
    refuse_step(&server, &json!(1), "The \"routes\" array must contain only object values.");
    refuse_step(
        &server,
        &json!({ "action": {} }),
        "must have either \"pass\", \"return\", \"share\", or \"proxy\"",
    );
    conditions(json!({ "scheme": "ftp" }), "The \"scheme\" can either be \"http\" or \"https\".");
    conditions(json!({ "headers": [1] }), "The \"match\" patterns for \"headers\" must be objects.");
    conditions(json!({ "arguments": [1] }), "The \"match\" patterns for \"arguments\" must be an object.");
    conditions(json!({ "headers": { "a": 1 } }), "The \"match\" pattern for \"headers\" must be strings.");
    conditions(json!({ "cookies": { "": "a" } }), "must not contain empty member names.");
    conditions(
        json!({ "arguments": { "%": "a" } }),
        "The \"match\" pattern for \"arguments\" is encoded but is invalid.",
    );
    conditions(json!({ "host": [1] }), "The \"match\" pattern for \"host\" must be strings.");
    conditions(json!({ "uri": [1] }), "The \"match\" pattern for \"uri\" must be a string.");
    conditions(json!({ "source": [1] }), "The \"match\" pattern for \"address\" must be a string.");
    conditions(json!({ "if": "$nope" }), "Unknown variable \"nope\" in the \"if\" value.");
    conditions(json!({ "nope": "x" }), "Unknown parameter \"nope\".");
}

/// Unit takes a step without an action and fails when it applies it; so do we, and say why.
#[test]
fn a_step_needs_an_action() {
    let server = daemon().routes(json!([{ "action": { "return": 201 } }])).start();
    let reply = server.control().put("/config/routes", &json!([{ "match": { "uri": "/" } }]));
    reply.expect_refused(500, "Failed to apply new configuration.");
    server.get("/").expect(201);
}

/// A route that is long enough for an index answers as a short one does.
#[test]
fn long_routes_keep_their_order() {
    let mut steps =
        vec![json!({ "match": { "uri": "/first*", "if": "$arg_on" }, "action": { "return": 299 } })];
    for idx in 0..400 {
        let action = json!({ "return": 200 + idx % 99 });
        steps.push(match idx % 4 {
            0 => json!({ "match": { "host": format!("h{idx}.example.com") }, "action": action }),
            1 => json!({ "match": { "host": format!("*.h{idx}.example.com") }, "action": action }),
            2 => json!({ "match": { "uri": format!("/exact/{idx}") }, "action": action }),
            _ => json!({ "match": { "uri": [format!("/prefix/{idx}/*"), format!("*.{idx}")] }, "action": action }),
        });
    }
    steps.push(json!({ "action": { "return": 410 } }));
    let server = daemon().routes(json!(steps)).start();
    let check = |host: &str, target: &str, status: u16| {
        server.send(&Request::get(target).field("Host", host)).expect(status);
    };
    check("h8.example.com", "/", 208);
    check("x.h9.example.com", "/", 209);
    check("x", "/exact/10", 210);
    check("x", "/prefix/11/y", 211);
    check("x", "/y.11", 211);
    check("x", "/exact/11", 410);
    check("x", "/first", 410);
    check("h8.example.com", "/first?on=1", 299);
    // The earlier of two that match.
    check("h12.example.com", "/exact/10", 210);
    check("h8.example.com", "/exact/10", 208);
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    /// Options: routes[].match.host
    #[test]
    fn hosts() {
        let conditions = Conditions::start();
        let host = |sign, host: &str| (sign, Request::get("/").field("Host", host));
        conditions.check(
            json!({ "host": "Example.com" }),
            &[
                host('+', "example.COM"),
                host('+', "example.com:81"),
                host('+', "example.com."),
                host('-', "a.example.com"),
            ],
        );
        conditions.check(json!({ "host": "" }), &[host('-', "a")]);
        expect_without_host(&conditions.server);
        conditions.check(
            json!({ "host": ["*.example.com", "!no.*"] }),
            &[host('+', "a.b.example.com"), host('-', "example.com"), host('-', "no.example.com")],
        );
        conditions.check(json!({ "host": "~^[a-z]+$" }), &[host('+', "ABC"), host('-', "a1")]);
        put_step(&conditions.server, &matching(&json!({ "host": "!x" })));
        expect_without_host(&conditions.server);
    }
}
