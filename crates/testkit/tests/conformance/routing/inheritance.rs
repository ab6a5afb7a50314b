//! Options of an outer action hold inside, unless an inner one has its own: for whatever it leads to by `pass`, as its
//! `fallback`, in the place of an error or of an answer that redirects.

use corral_testkit::{Daemon, Origin, Request, daemon, site};
use serde_json::{Value, json};

/// The fields of a reply whose names begin with `X-`, or are in question, as `name: value`.
#[track_caller]
fn said(server: &Daemon, target: &str, status: u16) -> Vec<String> {
    let reply = server.get(target).expect(status);
    let names = ["X-Out", "X-Both", "X-In", "X-Gone", "X-Stand-In", "Cache-Control", "X-Frame-Options"];
    let fields = names.into_iter().filter_map(|name| Some(format!("{name}: {}", reply.field(name)?)));
    fields.collect()
}

/// An action that says something of its own, as one that stands outside of others.
fn outer(mut action: Value) -> Value {
    action["response_headers"] =
        json!({ "X-Out": "1", "X-Both": "out", "X-Gone": "x", "Cache-Control": "no-store" });
    action["headers"] = json!("secure");
    action
}

/// The same of one inside.
fn inner(mut action: Value) -> Value {
    action["response_headers"] = json!({ "X-In": "1", "x-both": "in", "X-Gone": null });
    action
}

fn serve(routes: Value) -> Daemon {
    daemon().routes(routes).start()
}

/// Options: routes[].action.response_headers, routes[].action.headers
#[test]
fn fields_hold_behind_a_pass() {
    let server = serve(json!({
        "main": [
            { "match": { "uri": "/plain" }, "action": outer(json!({ "pass": "routes/plain" })) },
            { "match": { "uri": "/missing" }, "action": outer(json!({ "pass": "routes/missing" })) },
            { "match": { "uri": "/named" }, "action": outer(json!({ "pass": "routes/$arg_to" })) },
            { "action": outer(json!({ "pass": "routes/in" })) },
        ],
        "in": [{ "action": inner(json!({ "pass": "routes/plain" })) }],
        "plain": [{ "action": { "return": 200 } }],
        "missing": [],
    }));
    let all = ["X-Out: 1", "X-Both: in", "X-In: 1", "Cache-Control: no-store", "X-Frame-Options: SAMEORIGIN"];
    assert_eq!(said(&server, "/", 200), all);
    assert_eq!(said(&server, "/named?to=in", 200), all);
    let outer =
        ["X-Out: 1", "X-Both: out", "X-Gone: x", "Cache-Control: no-store", "X-Frame-Options: SAMEORIGIN"];
    assert_eq!(said(&server, "/plain", 200), outer);
    let error = ["X-Out: 1", "X-Both: out", "X-Gone: x", "X-Frame-Options: SAMEORIGIN"];
    assert_eq!(said(&server, "/missing", 404), error);
}

/// But what a `share` says of its files is not said of what answers in their place.
///
/// Options: routes[].action.fallback
#[test]
fn fields_hold_for_a_fallback() {
    let files = site().file("file.txt", "found");
    let share = format!("{}$uri", files.root());
    let action = |fallback: Value| json!({ "share": share, "fallback": fallback });
    let server = serve(json!([{ "action": outer(action(inner(action(json!({ "return": 200 }))))) }]));
    assert!(said(&server, "/file.txt", 200).contains(&"Cache-Control: no-store".to_owned()));
    let fallback = ["X-Out: 1", "X-Both: in", "X-In: 1", "X-Frame-Options: SAMEORIGIN"];
    assert_eq!(said(&server, "/none", 200), fallback);
    let posted = server.send(&Request::post("/file.txt").body("x")).expect(200);
    posted.expect_field("X-Out", "1").expect_no_field("Cache-Control");
}

/// The action in the place of an error is inside of the one that has `errors`, and not of what has failed.
#[test]
fn fields_hold_in_the_place_of_an_error() {
    let page = json!({ "return": 200, "response_headers": { "X-Stand-In": "1" } });
    let mut action = outer(json!({ "pass": "routes/in" }));
    action["errors"] = json!({ "404": page });
    let server = serve(json!({
        "main": [{ "action": action }],
        "in": [{ "action": inner(json!({ "share": "/nonexistent" })) }],
    }));
    let expected = [
        "X-Out: 1",
        "X-Both: out",
        "X-Gone: x",
        "X-Stand-In: 1",
        "Cache-Control: no-store",
        "X-Frame-Options: SAMEORIGIN",
    ];
    assert_eq!(said(&server, "/", 200), expected);
}

/// Options: routes[].action.errors
#[test]
fn errors_hold_inside_one_by_one() {
    let says = |text: &str| json!({ "return": 410, "body": text });
    let outer = json!({ "404": says("outer 404"), "5xx": says("outer 5xx"), "intercept": true });
    let inner = json!({ "404": says("inner 404"), "4xx": says("inner 4xx") });
    let origin = Origin::answering("HTTP/1.1 404 x\r\nContent-Length: 4\r\n\r\nsent");
    let server = serve(json!({
        "main": [{ "action": { "pass": "routes/in", "errors": outer } }],
        "in": [
            { "match": { "uri": "/origin" }, "action": { "proxy": origin.url(), "errors": inner } },
            { "match": { "uri": "/500" }, "action": { "return": 500, "errors": inner } },
            { "match": { "uri": "/403" }, "action": { "return": 403, "errors": inner } },
            { "match": { "uri": "/404" }, "action": { "return": 404, "errors": inner } },
            { "action": { "return": 404 } },
        ],
    }));
    let check = |target: &str, expected: &str| drop(server.get(target).expect(410).expect_body(expected));
    check("/500", "outer 5xx");
    check("/403", "inner 4xx");
    check("/404", "inner 404");
    check("/", "outer 404");
    // The inner action leaves other servers' errors alone; the outer one does not.
    check("/origin", "outer 404");
}

/// Options: routes[].action.internal_redirect
#[test]
fn fields_hold_in_the_place_of_an_answer_that_redirects() {
    let files = site().file("file.txt", "found");
    let origin =
        Origin::answering("HTTP/1.1 200 OK\r\nX-Accel-Redirect: /file.txt\r\nContent-Length: 0\r\n\r\n");
    let mut action = outer(json!({ "pass": "routes/in" }));
    action["internal_redirect"] = json!({ "share": format!("{}$uri", files.root()) });
    let server = serve(json!({
        "main": [{ "action": action }],
        "in": [{ "action": inner(json!({ "proxy": origin.url() })) }],
    }));
    let expected =
        ["X-Out: 1", "X-Both: out", "X-Gone: x", "Cache-Control: no-store", "X-Frame-Options: SAMEORIGIN"];
    assert_eq!(said(&server, "/", 200), expected);
    server.get("/").expect(200).expect_body("found");
}

/// A refusal on the way is a reply as well.
#[test]
fn fields_hold_for_refusals() {
    let files = site().file("passwords", "");
    let basic = json!({ "basic": { "file": files.path("passwords") } });
    let server = serve(json!({
        "main": [{ "action": outer(json!({ "pass": "routes/in" })) }],
        "in": [
            { "match": { "uri": "/401" }, "action": { "return": 200, "authenticate": basic } },
            { "match": { "uri": "/503" }, "action": { "return": 200, "maintenance": true } },
            { "action": { "return": 200, "limit_requests": { "rate": "1/h", "burst": 0 } } },
        ],
    }));
    server.get("/429").expect(200);
    for status in [401, 429, 503] {
        let expected = ["X-Out: 1", "X-Both: out", "X-Gone: x"];
        assert_eq!(said(&server, &format!("/{status}"), status)[..3], expected, "{status}");
    }
}

/// Options: routes[].action.request_headers, routes[].action.rewrite
#[test]
fn changes_of_the_request_add_up() {
    let origin = Origin::echo();
    let server = serve(json!({
        "main": [{ "action": {
            "pass": "routes/in", "rewrite": "/a$uri", "request_headers": { "X-Out": "1", "X-Both": "out" },
        } }],
        "in": [{ "action": {
            "proxy": origin.url(), "rewrite": "/b$uri", "request_headers": { "X-In": "1", "X-Both": "in" },
        } }],
    }));
    let text = server.get("/x").expect(200).text();
    assert!(text.starts_with("GET /b/a/x "), "{text}");
    for line in ["\r\nX-Out: 1\r\n", "\r\nX-In: 1\r\n", "\r\nX-Both: in\r\n"] {
        assert!(text.contains(line), "{text}");
    }
    assert!(!text.contains("out"), "{text}");
}
