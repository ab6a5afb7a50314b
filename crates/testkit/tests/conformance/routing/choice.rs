//! Which action a request gets.

use corral_testkit::{Daemon, Request, daemon};
use serde_json::{Value, json};

/// Asks with `host` for `method target` and expects a status.
#[track_caller]
fn check(server: &Daemon, host: &str, line: &str, status: u16) {
    let (method, target) = line.split_once(' ').expect("METHOD TARGET");
    let response = server.send(&Request::new(method, target).field("Host", host));
    assert_eq!(response.status, status, "{host} {line}\n{response}");
}

fn routes(routes: Value) -> Daemon {
    daemon().routes(routes).start()
}

/// A step that answers `status` where `conditions` hold.
fn step(conditions: Value, status: u16) -> Value {
    let mut step = json!({ "action": { "return": status } });
    step["match"] = conditions;
    step
}

#[test]
fn the_first_step_that_matches_wins() {
    let server = routes(json!([
        step(json!({ "uri": "/a" }), 201),
        step(json!({ "uri": ["/a", "/b"] }), 202),
        step(json!({}), 203)
    ]));
    check(&server, "x", "GET /a", 201);
    check(&server, "x", "GET /b", 202);
    check(&server, "x", "GET /c", 203);
}

#[test]
fn without_a_matching_step_it_is_404() {
    check(&routes(json!([step(json!({ "uri": "/a" }), 201)])), "x", "GET /b", 404);
    check(&routes(json!([])), "x", "GET /b", 404);
}

#[test]
fn uri_patterns() {
    let server = routes(json!([
        step(json!({ "uri": "/exact" }), 201),
        step(json!({ "uri": "/start/*" }), 202),
        step(json!({ "uri": "*.php" }), 203),
        step(json!({ "uri": "/a*b*c" }), 204),
        step(json!({ "uri": "~^/n\\d+$" }), 205),
        step(json!({ "uri": ["!/no*", "!~^/never"] }), 206)
    ]));
    check(&server, "x", "GET /exact?q", 201);
    check(&server, "x", "GET /ex%61ct", 201);
    check(&server, "x", "GET /x/../exact", 201);
    check(&server, "x", "GET //exact", 201);
    check(&server, "x", "GET /start/", 202);
    check(&server, "x", "GET /start/a/b", 202);
    check(&server, "x", "GET /x/y.php", 203);
    check(&server, "x", "GET /a1b2c", 204);
    check(&server, "x", "GET /n42", 205);
    check(&server, "x", "GET /n42x", 206);
    check(&server, "x", "GET /none", 404);
    check(&server, "x", "GET /never", 404);
}

#[test]
fn hosts_are_compared_without_case_port_and_final_dot() {
    let server = routes(json!([
        step(json!({ "host": "example.com" }), 201),
        step(json!({ "host": "*.Example.com" }), 202),
        step(json!({ "host": "" }), 203)
    ]));
    check(&server, "EXAMPLE.com:8080", "GET /", 201);
    check(&server, "example.com.", "GET /", 201);
    check(&server, "a.b.example.com", "GET /", 202);
    check(&server, "", "GET /", 203);
    check(&server, "other", "GET /", 404);
}

#[test]
fn methods_and_several_conditions() {
    let server = routes(json!([
        step(json!({ "method": ["POST", "put"], "uri": "/a" }), 201),
        step(json!({ "method": "!GET" }), 202)
    ]));
    check(&server, "x", "POST /a", 201);
    check(&server, "x", "PUT /a", 201);
    check(&server, "x", "POST /b", 202);
    check(&server, "x", "GET /a", 404);
}

#[test]
fn named_routes_and_passes() {
    let server = daemon()
        .config(json!({
            "routes": {
                "main": [
                    { "match": { "uri": "/inner/*" }, "action": { "pass": "routes/inner" } },
                    { "match": { "uri": "/by-host" }, "action": { "pass": "routes/$host" } },
                    { "action": { "return": 201 } }
                ],
                "inner": [{ "match": { "uri": "/inner/a" }, "action": { "return": 202 } }],
                "by.name": [{ "action": { "return": 204 } }]
            }
        }))
        .start();
    check(&server, "x", "GET /", 201);
    check(&server, "x", "GET /inner/a", 202);
    // A pass does not come back.
    check(&server, "x", "GET /inner/b", 404);
    check(&server, "by.name", "GET /by-host", 204);
    check(&server, "unknown", "GET /by-host", 404);
}

#[test]
fn routes_in_a_circle_end() {
    let server = daemon()
        .config(json!({
            "routes": { "main": [{ "action": { "pass": "routes/b" } }], "b": [{ "action": { "pass": "routes/main" } }] }
        }))
        .start();
    check(&server, "x", "GET /", 500);
}

#[test]
fn returned_statuses_and_locations() {
    let server = routes(json!([
        { "match": { "uri": "/moved" }, "action": { "return": 301, "location": "https://$host/new$uri" } },
        { "match": { "uri": "/created" }, "action": { "return": 201, "location": "/x y" } },
        { "match": { "uri": "/error" }, "action": { "return": 503, "location": "/ignored" } },
        { "match": { "uri": "/odd" }, "action": { "return": 799 } },
        { "action": { "return": 204 } }
    ]));
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

#[test]
fn a_listener_may_pass_to_an_application_or_a_route_of_another_name() {
    let server = routes(json!([{ "action": { "return": 201 } }]));
    let other = corral_testkit::Address::fresh();
    let pointer = format!("/config/listeners/{other}");
    server.control().put(&pointer, &json!({ "pass": "routes" })).expect_done();
    corral_testkit::Client::connect(other.socket()).get("/").expect(201);
    server.control().delete(&pointer).expect_done();
    assert!(corral_testkit::Client::try_connect(other.socket()).is_err(), "the socket is closed");
    check(&server, "x", "GET /", 201);
}

#[test]
fn unix_listeners_are_served_and_removed() {
    let folder = corral_testkit::site().writable_folder("run");
    let path = folder.path("run/web.sock");
    let server = routes(json!([{ "action": { "return": 201 } }]));
    let name = format!("unix:{}", path.display());
    let mut listeners = server.control().get("/config/listeners").json();
    listeners[&name] = json!({ "pass": "routes" });
    server.control().put("/config/listeners", &listeners).expect_done();
    let mut client = corral_testkit::Client::try_connect_unix(&path).expect("the socket accepts");
    client.get("/").expect(201);
    listeners.as_object_mut().expect("an object").remove(&name);
    server.control().put("/config/listeners", &listeners).expect_done();
    assert!(!path.exists(), "the socket's file is removed");
}
