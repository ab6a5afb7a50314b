//! `defaults` of listeners and of named routes: an action around all others.

use corral_testkit::{Address, Client, Daemon, Http2, Origin, Request, daemon, eventually, site};
use serde_json::{Value, json};

/// Puts a configuration whose listener has these defaults into force.
fn configure(server: &Daemon, listener_defaults: Value, routes: Value) {
    let pass = if routes.is_object() { "routes/main" } else { "routes" };
    let listener = json!({ "pass": pass, "defaults": listener_defaults, "http2": "prior_knowledge" });
    let config = json!({ "listeners": { server.address().to_string(): listener }, "routes": routes });
    server.control().put("/config", &config).expect_done();
}

fn headers(pairs: &[(&str, &str)]) -> Value {
    let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), json!(value)));
    json!({ "response_headers": Value::Object(pairs.collect()) })
}

/// Options: listeners.{addr}.defaults, routes.defaults
#[test]
fn inner_words_go_before_outer_ones() {
    let server = daemon().start_unconfigured();
    let mut step = headers(&[("X-Step", "1"), ("X-All", "step")]);
    step["return"] = json!(200);
    let mut of_routes = headers(&[("X-Routes", "1"), ("X-All", "routes"), ("X-Both", "routes")]);
    of_routes["response_headers"]["X-Gone"] = Value::Null;
    configure(
        &server,
        headers(&[("X-Listener", "1"), ("X-All", "listener"), ("X-Both", "listener"), ("X-Gone", "x")]),
        json!({
            "defaults": of_routes,
            "main": [
                { "match": { "uri": "/again" }, "action": { "pass": "routes/main2" } },
                { "match": { "uri": "/plain" }, "action": { "return": 204 } },
                { "action": step },
            ],
            "main2": [{ "action": { "pass": "routes/last" } }],
            "last": [{ "action": { "return": 200 } }],
        }),
    );
    let check = |target: &str, status: u16, all: &str, step: Option<&str>| {
        for reply in [server.get(target), Http2::connect(server.address().socket()).get(target)] {
            let reply = reply.expect(status).expect_field("X-Listener", "1").expect_field("X-Routes", "1");
            let reply =
                reply.expect_field("X-Both", "routes").expect_no_field("X-Gone").expect_field("X-All", all);
            assert_eq!(reply.field("X-Step"), step, "{target}");
        }
    };
    check("/", 200, "step", Some("1"));
    check("/plain", 204, "routes", None);
    check("/again", 200, "routes", None);
    // Before there is a request, there are no defaults.
    server.send(&Request::get("/%zz")).expect(400).expect_no_field("X-Listener");
}

/// A route may be called so, as in Unit.
#[test]
fn an_array_is_a_route() {
    let server = daemon().start_unconfigured();
    let config = json!({
        "listeners": { server.address().to_string(): { "pass": "routes/defaults" } },
        "routes": { "a": [], "defaults": [{ "action": { "return": 204 } }], "b": [] },
    });
    server.control().put("/config", &config).expect_done();
    server.get("/").expect(204);
    let config = json!({
        "listeners": { server.address().to_string(): { "pass": "routes/defaults" } },
        "routes": { "a": [], "defaults": {} },
    });
    let detail = server.control().put("/config", &config).expect_refused(400, "Invalid configuration.");
    assert!(detail.contains("routes/defaults"), "{detail}");
}

/// The number of a route does not depend on where the defaults stand.
#[test]
fn defaults_may_stand_between_routes() {
    let server = daemon().start_unconfigured();
    let returned = |status: u16| json!([{ "action": { "return": status } }]);
    for pass in ["routes/b", "routes/$arg_to"] {
        let config = json!({
            "listeners": { server.address().to_string(): { "pass": pass } },
            "routes": { "a": returned(201), "defaults": { "headers": "secure" }, "b": returned(202), "c": returned(203) },
        });
        server.control().put("/config", &config).expect_done();
        server.get("/?to=b").expect(202).expect_field("X-Frame-Options", "SAMEORIGIN");
    }
    server.get("/?to=defaults").expect(404);
}

/// Options: listeners.{addr}.defaults.errors, routes.defaults.errors
#[test]
fn errors_of_defaults_stand_in_for_whatever_fails() {
    let server = daemon().start_unconfigured();
    let says = |text: &str| json!({ "return": 410, "body": text });
    configure(
        &server,
        json!({ "errors": { "404": says("listener 404"), "5xx": says("listener 5xx"), "413": { "return": "close" } },
                "max_body_size": 10, "response_headers": { "X-A": "1" } }),
        json!({
            "defaults": { "errors": { "404": { "pass": "routes/page" } } },
            "main": [
                { "match": { "uri": "/500" }, "action": { "return": 500 } },
                { "match": { "uri": "/step" }, "action": { "return": 404, "errors": { "4xx": says("step") } } },
                { "match": { "uri": "/known" }, "action": { "return": 404 } },
            ],
            "page": [{ "action": says("page") }],
        }),
    );
    let check = |target: &str, text: &str| {
        server.get(target).expect(410).expect_body(text).expect_field("X-A", "1");
    };
    check("/500", "listener 5xx");
    check("/step", "step");
    check("/known", "page");
    check("/none", "page");
    let mut client = server.connect();
    assert!(client.try_send(&Request::post("/").body("more than ten")).is_err());
}

/// A listener's own checks come first, and their refusals have what the defaults say; a preflight request comes before
/// all of it.
///
/// Options: listeners.{addr}.defaults.cors, listeners.{addr}.defaults.headers
#[test]
fn defaults_are_around_a_listener_s_own_checks() {
    let site = site().file("users", "");
    let server = daemon().start_unconfigured();
    let listener = json!({
        "pass": "routes",
        "authenticate": { "basic": { "file": site.path("users") } },
        "defaults": { "cors": { "origins": "https://a.example" }, "headers": "secure" },
    });
    let config = json!({ "listeners": { server.address().to_string(): listener }, "routes": [] });
    server.control().put("/config", &config).expect_done();
    let origin = "https://a.example";
    let refused = server.send(&Request::get("/").field("Origin", origin)).expect(401);
    refused
        .expect_field("Access-Control-Allow-Origin", origin)
        .expect_field("X-Content-Type-Options", "nosniff");
    let asked =
        Request::new("OPTIONS", "/").field("Origin", origin).field("Access-Control-Request-Method", "GET");
    server.send(&asked).expect(204).expect_field("Access-Control-Allow-Origin", origin);
}

/// A closed listener refuses before its own checks, whatever it passes to; others go on.
///
/// Options: listeners.{addr}.defaults.maintenance, routes.defaults.maintenance
#[test]
fn listeners_and_routes_are_closed_as_a_whole() {
    let site = site().file("users", "");
    let server = daemon().start_unconfigured();
    let other = Address::fresh();
    let authentication = json!({ "basic": { "file": site.path("users") } });
    let config = json!({
        "listeners": {
            server.address().to_string(): {
                "pass": "routes/main",
                "authenticate": authentication,
                "defaults": { "maintenance": { "retry_after": 60, "allow": "127.9.0.0/16" }, "headers": "secure" },
            },
            other.to_string(): { "pass": "routes/main" },
        },
        "routes": { "main": [{ "action": { "return": 204 } }] },
    });
    let at_other = || Client::connect(other.socket()).get("/");
    let control = server.control();
    control.put("/config", &config).expect_done();
    let closed = server.get("/").expect(503).expect_field("Retry-After", "60");
    closed.expect_field("X-Content-Type-Options", "nosniff").expect_no_field("WWW-Authenticate");
    at_other().expect(204);

    control.put("/config/routes/defaults", &json!({ "maintenance": true })).expect_done();
    at_other().expect(503).expect_no_field("Retry-After");
    control.delete("/config/routes/defaults/maintenance").expect_done();
    at_other().expect(204);
    control
        .put(&format!("/config/listeners/{}/defaults/maintenance", server.address()), &json!(false))
        .expect_done();
    server.get("/").expect(401);
}

/// Changes of a request are made once, however many routes it comes through.
///
/// Options: routes.defaults.request_headers, listeners.{addr}.defaults.request_headers
#[test]
fn requests_are_changed_once() {
    let origin = Origin::echo();
    let server = daemon().start_unconfigured();
    configure(
        &server,
        json!({ "request_headers": { "X-A": "listener", "X-B": "listener" } }),
        json!({
            "defaults": { "request_headers": { "X-A": "routes" } },
            "main": [{ "action": { "pass": "routes/in", "request_headers": { "X-A": "step" } } }],
            "in": [{ "action": { "proxy": origin.url() } }],
        }),
    );
    let text = server.get("/").expect(200).text();
    assert!(text.contains("X-A: step\r\n") && text.contains("X-B: listener\r\n"), "{text}");
}

/// Options: routes[].action.access_log, listeners.{addr}.defaults.access_log
#[test]
fn requests_are_logged_where_the_innermost_action_says() {
    let site = site().writable_folder("");
    let log = |name: &str| json!({ "path": site.path(name), "format": format!("{name} $uri $status") });
    let server = daemon().start_unconfigured();
    let listener = json!({ "pass": "routes/main", "defaults": { "access_log": log("listener") } });
    let config = json!({
        "listeners": { server.address().to_string(): listener },
        "access_log": log("all"),
        "routes": {
            "main": [
                { "match": { "uri": "/off" }, "action": { "return": 200, "access_log": false } },
                { "match": { "uri": "/on" }, "action": { "return": 200, "access_log": true } },
                { "match": { "uri": "/own" }, "action": { "return": 200, "access_log": [log("a"), log("b"), log("a")] } },
                { "match": { "uri": "/in" }, "action": { "pass": "routes/in", "access_log": false } },
                { "action": { "return": 200 } },
            ],
            "in": [{ "action": { "return": 404, "access_log": log("a") } }],
        },
    });
    server.control().put("/config", &config).expect_done();
    for target in ["/off", "/on", "/own", "/in", "/"] {
        server.get(target);
    }
    server.send(&Request::get("/%zz")).expect(400);
    let read = |name: &str| std::fs::read_to_string(site.path(name)).unwrap_or_default();
    for (name, n) in [("all", 2), ("listener", 1), ("a", 3), ("b", 1)] {
        eventually(name, || (read(name).lines().count() == n).then_some(()));
    }
    assert!(
        read("all").starts_with("all /on 200\nall ") && read("all").ends_with(" 400\n"),
        "{}",
        read("all")
    );
    assert_eq!(read("listener"), "listener / 200\n");
    assert_eq!(read("a"), "a /own 200\na /own 200\na /in 404\n");
    assert_eq!(read("b"), "b /own 200\n");
}

#[test]
fn defaults_that_cannot_be_are_refused() {
    let server = daemon().start_unconfigured();
    let refuse = |defaults: Value, words: &str| {
        for config in [
            json!({ "listeners": { "*:8080": { "pass": "routes", "defaults": defaults } }, "routes": [] }),
            json!({ "routes": { "defaults": defaults } }),
        ] {
            let detail =
                server.control().put("/config", &config).expect_refused(400, "Invalid configuration.");
            assert!(detail.contains(words), "{detail}");
        }
    };
    refuse(json!({ "rewrite": "/a" }), "rewrite");
    refuse(json!({ "authenticate": {} }), "authenticate");
    refuse(json!({ "pass": "routes" }), "pass");
    refuse(json!({ "return": 404 }), "return");
    refuse(json!({ "errors": { "404": { "return": 1000 } } }), "out of allowed");
    refuse(json!({ "max_body_size": -1 }), "must not be negative");
}
