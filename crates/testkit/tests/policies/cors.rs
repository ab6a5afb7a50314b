//! `cors`: what browsers are told about pages of other sites. The browser itself is asked in `browser`.

use corral_testkit::{Daemon, Origin, Request, Response, daemon, php_app, site};
use serde_json::{Value, json};

use crate::{put_action, refuse_action};

const OURS: &str = "https://app.example.org";
const THEIRS: &str = "https://evil.test";

const ORIGIN: &str = "Access-Control-Allow-Origin";
const CREDENTIALS: &str = "Access-Control-Allow-Credentials";
const METHODS: &str = "Access-Control-Allow-Methods";
const HEADERS: &str = "Access-Control-Allow-Headers";
const EXPOSE: &str = "Access-Control-Expose-Headers";
const MAX_AGE: &str = "Access-Control-Max-Age";

/// A daemon whose only action answers 200, with this `cors`.
fn with(cors: Value) -> Daemon {
    daemon().routes(json!([{ "action": { "return": 200, "cors": cors } }])).start()
}

fn named(origins: Value) -> Value {
    json!({ "origins": origins })
}

fn from(origin: &str) -> Request {
    Request::get("/").field("Origin", origin)
}

fn preflight(origin: &str) -> Request {
    let request = Request::new("OPTIONS", "/").field("Origin", origin);
    request.field("Access-Control-Request-Method", "PUT")
}

/// The value of the field, of which there is at most one.
#[track_caller]
fn only<'r>(reply: &'r Response, name: &str) -> Option<&'r str> {
    assert!(reply.all(name).count() <= 1, "{name}\n{reply}");
    reply.field(name)
}

/// The fields of `Vary`, one by one.
fn vary(reply: &Response) -> Vec<&str> {
    reply.all("Vary").flat_map(|value| value.split(", ")).collect()
}

/// Options: routes[].action.cors
#[test]
fn true_lets_any_site_read() {
    let server = with(json!(true));
    for reply in [server.get("/"), server.send(&from(THEIRS)), server.send(&from("null"))] {
        let reply = reply.expect(200);
        assert_eq!(
            (only(&reply, ORIGIN), only(&reply, CREDENTIALS), vary(&reply)),
            (Some("*"), None, vec![])
        );
    }
    let asked = preflight(THEIRS).field("Access-Control-Request-Headers", "content-type,x-own");
    let reply = server.send(&asked).expect(204).expect_body("").expect_field(ORIGIN, "*");
    assert_eq!(only(&reply, METHODS), Some("GET, HEAD, POST, PUT, PATCH, DELETE"));
    assert_eq!((only(&reply, HEADERS), only(&reply, MAX_AGE)), (Some("content-type,x-own"), None));
    assert_eq!(vary(&reply), ["Access-Control-Request-Headers"]);
    put_action(&server, json!({ "return": 200, "cors": false }));
    server.send(&from(THEIRS)).expect(200).expect_no_field(ORIGIN);
    server.send(&preflight(THEIRS)).expect(200).expect_no_field(ORIGIN);
}

/// Options: …action.cors.origins
#[test]
fn named_sites_alone_read() {
    let server = with(named(json!([OURS, "https://*.example.net", "http://localhost:*"])));
    for origin in [OURS, "https://a.b.example.net", "http://localhost:5173", "http://localhost"] {
        let reply = server.send(&from(origin)).expect(200);
        assert_eq!((only(&reply, ORIGIN), vary(&reply)), (Some(origin), vec!["Origin"]));
        let reply = server.send(&preflight(origin)).expect(204);
        assert_eq!((only(&reply, ORIGIN), only(&reply, METHODS).is_some()), (Some(origin), true));
    }
    for origin in
        [THEIRS, "http://app.example.org", "https://example.net", "null", "", "https://app.example.org:8443"]
    {
        for request in [from(origin), preflight(origin)] {
            let reply = server.send(&request);
            assert_eq!((only(&reply, ORIGIN), only(&reply, METHODS)), (None, None), "{origin}\n{reply}");
            assert_eq!(vary(&reply), ["Origin"], "{reply}");
        }
    }
    server.send(&preflight(THEIRS)).expect(204);
    // Caches must not give every client the reply to one without an origin.
    assert_eq!(vary(&server.get("/").expect(200).expect_no_field(ORIGIN)), ["Origin"]);
    // Nobody's browser sends two.
    server.send(&from(OURS).field("Origin", OURS)).expect(200).expect_no_field(ORIGIN);
    put_action(&server, json!({ "return": 200, "cors": named(json!("null")) }));
    server.send(&from("null")).expect(200).expect_field(ORIGIN, "null");
    put_action(&server, json!({ "return": 200, "cors": named(json!([OURS, "*"])) }));
    server.send(&from(THEIRS)).expect(200).expect_field(ORIGIN, "*");
}

/// Options: …action.cors.methods, …action.cors.headers, …action.cors.expose, …action.cors.max_age
#[test]
fn preflight_requests_are_told_what_is_permitted() {
    let rules = json!({
        "origins": OURS, "methods": ["GET", "PROPFIND"], "headers": ["Content-Type", "X-Own"],
        "expose": ["X-Total", "ETag"], "max_age": 600,
    });
    let server = with(rules);
    // The browser compares, and says which name it is that is not permitted.
    let asked = preflight(OURS).field("Access-Control-Request-Headers", "x-other");
    let reply = server.send(&asked).expect(204);
    assert_eq!(only(&reply, METHODS), Some("GET, PROPFIND"));
    assert_eq!(only(&reply, HEADERS), Some("Content-Type, X-Own"));
    assert_eq!((only(&reply, MAX_AGE), only(&reply, EXPOSE)), (Some("600"), None));
    let reply = server.send(&from(OURS)).expect(200);
    assert_eq!(only(&reply, EXPOSE), Some("X-Total, ETag"));
    assert_eq!((only(&reply, METHODS), only(&reply, HEADERS), only(&reply, MAX_AGE)), (None, None, None));
    put_action(&server, json!({ "return": 200, "cors": { "methods": "*", "headers": [], "max_age": 0 } }));
    let reply = server.send(&asked).expect(204);
    assert_eq!(
        (only(&reply, METHODS), only(&reply, HEADERS), only(&reply, MAX_AGE)),
        (Some("PUT"), None, Some("0"))
    );
    assert_eq!(vary(&reply), ["Access-Control-Request-Method"]);
}

/// Options: …action.cors.credentials
#[test]
fn credentials_are_for_named_sites() {
    let server = with(json!({ "origins": [OURS], "credentials": true }));
    server.send(&from(OURS)).expect(200).expect_field(ORIGIN, OURS).expect_field(CREDENTIALS, "true");
    server.send(&preflight(OURS)).expect(204).expect_field(CREDENTIALS, "true");
    server.send(&from(THEIRS)).expect(200).expect_no_field(CREDENTIALS);
    for cors in [json!({ "credentials": true }), json!({ "origins": "*", "credentials": true })] {
        let remedy = "Name the sites that may: \"origins\": [\"https://app.example.org\"].";
        refuse_action(&server, json!({ "return": 200, "cors": cors }), remedy);
    }
}

/// Other requests by OPTIONS are the application's.
#[test]
fn only_preflight_requests_are_answered_here() {
    let site = site().file("index.php", "<?php echo $_SERVER['REQUEST_METHOD'];");
    let server = daemon().application(php_app(&site)).start();
    put_routes(&server, json!({ "pass": "applications/php", "cors": true }));
    server.send(&Request::new("OPTIONS", "/")).expect(200).expect_body("OPTIONS");
    let options = Request::new("OPTIONS", "/").field("Origin", OURS);
    server.send(&options).expect(200).expect_body("OPTIONS").expect_field(ORIGIN, "*");
    let method = Request::new("OPTIONS", "/").field("Access-Control-Request-Method", "PUT");
    server.send(&method).expect(200).expect_body("OPTIONS");
    let put = Request::new("PUT", "/").field("Origin", OURS).field("Access-Control-Request-Method", "PUT");
    server.send(&put).expect(200).expect_body("PUT");
    server.send(&preflight(OURS)).expect(204).expect_body("");
}

/// Leads the listener of a daemon with an application to a route with this action.
#[track_caller]
fn put_routes(server: &Daemon, action: Value) {
    put_action(server, action);
    let listeners = json!({ server.address().to_string(): { "pass": "routes" } });
    server.control().put("/config/listeners", &listeners).expect_done();
}

#[test]
fn fields_of_the_application_are_replaced() {
    let script = "<?php
        header('Access-Control-Allow-Origin: https://evil.test');
        header('Access-Control-Allow-Origin: *', false);
        header('Access-Control-Allow-Credentials: true');
        header('Access-Control-Expose-Headers: X-Theirs');
        header('Access-Control-Allow-Methods: TRACE');
        header('Vary: Accept, origin');
        echo 1;";
    let site = site().file("index.php", script);
    let server = daemon().application(php_app(&site)).start();
    put_routes(
        &server,
        json!({ "pass": "applications/php", "cors": { "origins": [OURS], "expose": "X-Ours" } }),
    );
    let reply = server.send(&from(OURS)).expect(200);
    assert_eq!((only(&reply, ORIGIN), only(&reply, CREDENTIALS)), (Some(OURS), None));
    assert_eq!((only(&reply, EXPOSE), only(&reply, METHODS)), (Some("X-Ours"), None));
    assert_eq!(vary(&reply), ["Accept", "origin"]);
    let reply = server.send(&from(THEIRS)).expect(200);
    assert_eq!((only(&reply, ORIGIN), only(&reply, CREDENTIALS), only(&reply, EXPOSE)), (None, None, None));
}

/// Scripts may read what went wrong.
#[test]
fn errors_have_the_fields() {
    let server = daemon().start_unconfigured();
    let check = |action: Value, status: u16| {
        let mut action = action;
        action["cors"] = json!({ "origins": [OURS], "credentials": true });
        server
            .control()
            .put("/config", &server.with_listener(json!({ "routes": [{ "action": action }] })))
            .expect_done();
        let reply = server.send(&from(OURS)).expect(status);
        assert_eq!((only(&reply, ORIGIN), only(&reply, CREDENTIALS)), (Some(OURS), Some("true")), "{reply}");
        server.send(&preflight(OURS)).expect(204);
    };
    let gone = Origin::saying("").address();
    check(json!({ "return": 401 }), 401);
    check(json!({ "share": "/nonexistent" }), 404);
    check(json!({ "proxy": format!("http://{gone}") }), 502);
    check(json!({ "return": 200, "body": "`${nothing.at.all}`" }), 500);
    check(json!({ "return": 404, "errors": { "404": { "return": 410, "body": "gone" } } }), 410);
    check(json!({ "share": "/nonexistent", "fallback": { "return": 403 } }), 403);
    check(json!({ "return": 200, "limit_requests": { "rate": "1/h", "burst": 0 } }), 200);
    // The limit does not count preflight requests.
    for _ in 0..3 {
        server.send(&preflight(OURS)).expect(204);
    }
    server.send(&from(OURS)).expect(429).expect_field(ORIGIN, OURS);
}

/// Options of an outer action hold inside, unless an inner one has its own.
#[test]
fn the_innermost_action_with_a_word_counts() {
    let to = |route: &str| json!({ "pass": format!("routes/{route}") });
    let with_ours = |route: &str| {
        let mut action = to(route);
        action["cors"] = named(json!([OURS]));
        action
    };
    let users = site().file("users", "");
    let basic = json!({ "basic": { "file": users.path("users") } });
    let closed = json!({
        "return": 200, "authenticate": basic, "maintenance": true,
        "limit_requests": { "rate": "1/h", "burst": 0 },
    });
    let routes = json!({
        "main": [
            { "match": { "uri": "/silent" }, "action": with_ours("silent") },
            { "match": { "uri": "/own" }, "action": with_ours("own") },
            { "match": { "uri": "/off" }, "action": with_ours("off") },
            { "match": { "uri": "/closed" }, "action": with_ours("closed") },
            { "match": { "uri": "/none" }, "action": with_ours("none") },
            { "action": { "share": "/nonexistent", "cors": named(json!([OURS])), "fallback": { "return": 200 } } },
        ],
        "silent": [{ "action": { "return": 200 } }],
        "own": [{ "action": { "return": 200, "cors": true } }],
        "off": [{ "action": { "return": 200, "cors": false } }],
        "closed": [{ "action": closed }],
        "none": [],
    });
    let server = daemon().routes(routes).start();
    let check = |target: &str, origin: &str, expected: (u16, u16, Option<&str>)| {
        let (status, preflight_status, permitted) = expected;
        let request = Request::get(target).field("Origin", origin);
        assert_eq!(server.send(&request).expect(status).field(ORIGIN), permitted, "{target} {origin}");
        let asked = Request::new("OPTIONS", target).field("Origin", origin);
        let asked = asked.field("Access-Control-Request-Method", "PUT");
        let reply = server.send(&asked).expect(preflight_status);
        assert_eq!(reply.field(ORIGIN), permitted, "preflight of {target} {origin}");
    };
    for target in ["/silent", "/fallback"] {
        check(target, OURS, (200, 204, Some(OURS)));
        check(target, THEIRS, (200, 204, None));
    }
    check("/own", THEIRS, (200, 204, Some("*")));
    check("/off", OURS, (200, 200, None));
    check("/closed", OURS, (503, 204, Some(OURS)));
    check("/none", OURS, (404, 204, Some(OURS)));
}

#[test]
fn what_is_no_rule_is_refused() {
    let server = daemon().routes(json!([])).start();
    for (cors, detail) in [
        (named(json!("app.example.org")), "The \"origins\" value \"app.example.org\" is not an origin."),
        (named(json!(["https://app.example.org/"])), "is not an origin. The form is \"https://HOST\""),
        (named(json!(["https://*"])), "\"https://HOST\" as browsers write it"),
        (named(json!([1])), "The \"origins\" array must contain only string values."),
        (json!({ "methods": ["put"] }), "The \"methods\" value \"put\" is not a method of HTTP."),
        (json!({ "headers": "X-A, X-B" }), "Several names are an array of strings."),
        (json!({ "max_age": -1 }), "The \"max_age\" number must not be negative."),
        (json!({ "allow_credentials": true }), "Unknown parameter \"allow_credentials\"."),
    ] {
        refuse_action(&server, json!({ "return": 200, "cors": cors }), detail);
    }
}
