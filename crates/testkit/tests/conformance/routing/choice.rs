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

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

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
        check(&server, "other", "GET /", 404);
        check(&server, "", "GET /", 400);
        let mut client = server.connect();
        client.write("GET / HTTP/1.0\r\n\r\n");
        client.read_response().expect(203);
    }
}
