//! Bounds that an action has for its requests in the place of `settings.http`: sizes and times, from the outside in.

use std::time::{Duration, Instant};

use corral_testkit::{Client, Daemon, Http2, Origin, Request, Site, daemon, eventually, php_app, site};
use serde_json::{Value, json};

/// Tells how long the body is that it has got.
const LENGTH: &str = "<?php echo strlen(file_get_contents('php://input'));";

/// Actions that pass to such an application, with a limit of 1000 bytes for all that say nothing else.
fn serve(routes: Value) -> (Daemon, Site) {
    let site = site().file("index.php", LENGTH);
    let server = daemon().start_unconfigured();
    let config = json!({
        "listeners": { server.address().to_string(): { "pass": "routes/main", "http2": "prior_knowledge" } },
        "routes": routes,
        "applications": { "php": php_app(&site).script("index.php").value() },
        "settings": { "http": { "max_body_size": 1000 } },
    });
    server.control().put("/config", &config).expect_done();
    (server, site)
}

fn http1(server: &Daemon) -> Client {
    Client::try_connect_http1(server.address().socket()).expect("it listens")
}

/// The status for a body of so many bytes, whichever way it comes.
#[track_caller]
fn check(server: &Daemon, target: &str, len: usize, status: u16) {
    let body = "x".repeat(len);
    let expect = |way: &str, reply: corral_testkit::Response| {
        assert_eq!(reply.status, status, "{way} {target} {len}");
        if status == 200 {
            assert_eq!(reply.text(), len.to_string(), "{way} {target}");
        }
    };
    expect("announced", http1(server).send(&Request::post(target).body(&body)));
    let chunks = format!("{len:x}\r\n{body}\r\n0\r\n\r\n");
    let mut client = http1(server);
    client.write(format!("POST {target} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"));
    expect("in chunks", client.read_response());
    let mut client = Http2::connect(server.address().socket());
    expect("HTTP/2", client.send(&Request::post(target).body(&body)));
    let mut stream = client.open(&Request::post(target));
    stream.write(&body);
    stream.finish();
    expect("HTTP/2, not announced", stream.response());
}

/// Options: routes[].action.max_body_size
#[test]
fn the_innermost_limit_of_a_body_counts() {
    let php = "applications/php";
    let (server, _site) = serve(json!({
        "main": [
            { "match": { "uri": "/more" }, "action": { "pass": php, "max_body_size": 5000 } },
            { "match": { "uri": "/less" }, "action": { "pass": php, "max_body_size": 10 } },
            { "match": { "uri": "/none" }, "action": { "pass": php, "max_body_size": 0 } },
            { "match": { "uri": "/in/*" }, "action": { "pass": "routes/in", "max_body_size": 10 } },
            {
                "match": { "uri": "/fallback" },
                "action": {
                    "share": "/nonexistent", "max_body_size": 10,
                    "fallback": { "pass": php, "max_body_size": 5000 }
                }
            },
            { "action": { "pass": php } },
        ],
        "in": [
            { "match": { "uri": "/in/more" }, "action": { "pass": php, "max_body_size": 5000 } },
            { "action": { "pass": php } },
        ],
    }));
    for (target, most) in
        [("/more", 5000), ("/less", 10), ("/in/more", 5000), ("/in/", 10), ("/fallback", 5000), ("/", 1000)]
    {
        check(&server, target, most, 200);
        check(&server, target, most + 1, 413);
    }
    check(&server, "/none", 1, 413);
    http1(&server).get("/none").expect(200);
}

/// A client that asks first is told before it has sent anything, and its connection is of no further use.
#[test]
fn a_body_that_is_too_large_is_refused_before_it_comes() {
    let (server, _site) = serve(json!({
        "main": [
            { "match": { "uri": "/more" }, "action": { "pass": "applications/php", "max_body_size": 5000 } },
            { "action": { "pass": "applications/php" } },
        ],
    }));
    let ask = |target: &str| {
        let mut client = http1(&server);
        client.write(format!(
            "POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\nExpect: 100-continue\r\n\r\n"
        ));
        client
    };
    let mut client = ask("/");
    client.read_response().expect(413).expect_field("Connection", "close");
    assert!(client.is_closed());
    let mut client = ask("/more");
    client.read_response().expect(100);
    client.write("x".repeat(2000));
    client.read_response().expect(200).expect_body("2000");
    // Far more than the server would read to keep the connection.
    http1(&server).send(&Request::post("/").body("x".repeat(2_000_000))).expect(413);
}

/// Inside of an action with `authenticate` the limit may be another one: it is known when the client is.
#[test]
fn limits_of_bodies_are_behind_authentication() {
    let site = site().file("users", "");
    let action = json!({
        "return": 200, "max_body_size": 10,
        "authenticate": { "basic": { "file": site.path("users") } },
    });
    let server = daemon().routes(json!([{ "action": action }])).start();
    http1(&server).send(&Request::post("/").body("x".repeat(9))).expect(401);
    http1(&server).send(&Request::post("/").body("x".repeat(11))).expect(401);
}

/// Options: routes[].action.body_read_timeout
#[test]
fn clients_of_an_action_may_be_slower_or_have_to_be_faster() {
    let origin = Origin::saying("x");
    let action = json!({ "proxy": origin.url(), "body_read_timeout": 1, "request_buffering": true });
    let server = daemon().routes(json!([{ "action": action }])).start();
    let mut client = http1(&server);
    let began = Instant::now();
    client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
    client.read_response().expect(408);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

/// Options: routes[].action.send_timeout, routes[].action.access_log
#[test]
fn a_client_that_reads_nothing_is_given_up_sooner() {
    let site = site().writable_folder("").file("large", vec![b'x'; 40_000_000]);
    let log = json!({ "path": site.path("log"), "format": "$uri $status" });
    let action = json!({ "share": site.path("large"), "send_timeout": 1, "access_log": log });
    let server = daemon().routes(json!([{ "action": action }])).start();
    let mut client = http1(&server);
    client.write("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("the client is given up", || (site.read("log") == "/a 200\n").then_some(()));
}

/// Options: routes[].action.body_buffer_size
#[test]
fn an_action_may_keep_more_in_memory() {
    let origin = Origin::saying("x");
    let action =
        |size: u32| json!({ "proxy": origin.url(), "request_buffering": true, "body_buffer_size": size });
    let server = daemon()
        .http(json!({ "body_temp_path": "/nonexistent", "body_buffer_size": 10 }))
        .routes(json!([
            { "match": { "uri": "/memory" }, "action": action(10_000) },
            { "action": action(100) },
        ]))
        .start();
    let body = "x".repeat(5000);
    server.send(&Request::post("/memory").body(&body)).expect(200);
    server.send(&Request::post("/").body(&body)).expect(500);
}

/// Options: routes[].action.request_buffering, settings.http.request_buffering
#[test]
fn servers_get_requests_when_all_of_them_has_come() {
    for in_settings in [false, true] {
        let origin = Origin::echo();
        let outer = json!({ "pass": "routes/in", "request_buffering": true });
        let server = daemon()
            .http(json!({ "request_buffering": in_settings }))
            .routes(json!({
                "main": [
                    { "match": { "uri": "/whole" }, "action": outer },
                    { "match": { "uri": "/live" }, "action": { "proxy": origin.url(), "request_buffering": false } },
                    { "action": { "proxy": origin.url() } },
                ],
                "in": [{ "action": { "proxy": origin.url() } }],
            }))
            .start();
        let begin = |target: &str| {
            let mut client = http1(&server);
            client.write(format!("POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello"));
            client
        };
        let mut whole = begin("/whole");
        let mut other = begin(if in_settings { "/" } else { "/whole" });
        let mut live = begin("/live");
        eventually("one comes as it is", || (origin.n_connections() == 1).then_some(()));
        for client in [&mut whole, &mut other, &mut live] {
            client.write("world");
            assert!(client.read_response().expect(200).text().ends_with("helloworld"));
        }
    }
}

#[test]
fn bounds_that_cannot_be_are_refused() {
    let server = daemon().routes(json!([])).start();
    let refuse = |option: &str, value: Value, words: &str| {
        let routes = json!([{ "action": { "return": 200, option: value } }]);
        let detail =
            server.control().put("/config/routes", &routes).expect_refused(400, "Invalid configuration.");
        assert!(detail.contains(words), "{detail}");
    };
    refuse("max_body_size", json!(-1), "must not be negative");
    refuse("body_read_timeout", json!(0), "equal to or greater than 1");
    refuse("send_timeout", json!("30s"), "times are in seconds");
    refuse("body_buffer_size", json!(4_000_000_000_u32), "must not exceed");
    refuse("request_buffering", json!("on"), "true");
}
