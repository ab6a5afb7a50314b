//! `limit_requests`: how many requests of one client are answered in a time. Rates of one request in an hour make sure
//! that nothing depends on how fast a test runs.

use std::net::{IpAddr, Ipv4Addr};
use std::thread;
use std::time::{Duration, Instant};

use corral_testkit::{Client, Daemon, Request, daemon, eventually, php_app, resident_memory, site};
use serde_json::{Value, json};

use super::status_of;
use crate::tool::{Tool, text};

/// A route whose only action has this limit; two event loops.
fn config(limit: Value) -> Value {
    let action = json!({ "return": 200, "limit_requests": limit });
    json!({ "settings": { "listen_threads": 2 }, "routes": [{ "action": action }] })
}

fn with(limit: Value) -> Daemon {
    daemon().config(config(limit)).start()
}

/// Statuses of `n` requests, each on a connection of its own.
#[track_caller]
fn statuses(server: &Daemon, request: &Request, n: usize) -> Vec<u16> {
    (0..n).map(|_| server.send(request).status).collect()
}

#[track_caller]
fn expect(server: &Daemon, request: &Request, expected: &[u16]) {
    assert_eq!(statuses(server, request, expected.len()), expected, "{request:?}");
}

fn keyed(value: &str) -> Request {
    Request::get("/").field("X-Key", value)
}

fn elsewhere(server: &Daemon) -> Client {
    Client::connect_from(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 77)), server.address().socket())
}

/// Options: …action.limit_requests, …action.limit_requests.rate, …action.limit_requests.burst
#[test]
fn what_is_beyond_the_burst_is_refused() {
    let server = with(json!({ "rate": "1/h", "burst": 2 }));
    expect(&server, &Request::get("/"), &[200, 200, 200, 429, 429]);
    let refused = server.get("/").expect(429).expect_field("RateLimit-Policy", "\"requests\";q=3;w=10800");
    let retry_after: u64 = refused.field("Retry-After").expect("it is told").parse().expect("seconds");
    assert!((3000..=3600).contains(&retry_after), "{retry_after}");
    assert!(
        refused.field("RateLimit").expect("it is told").starts_with("\"requests\";r=0;t=10"),
        "{refused:?}"
    );
    assert!(refused.text().contains("429"), "{refused:?}");
    elsewhere(&server).get("/").expect(200).expect_no_field("RateLimit").expect_no_field("Retry-After");
    server.expect_log(
        "/routes/0/action/limit_requests: refused, \"127.0.0.1\" has too many requests in a time",
    );
}

#[test]
fn time_gives_requests_back() {
    let server = with(json!({ "rate": "50/s" }));
    let mut client = server.connect();
    client.get("/").expect(200);
    eventually("the next one is due", || (client.get("/").status == 200).then_some(()));
}

#[test]
fn event_loops_share_a_limit() {
    let server = with(json!({ "rate": "1/h", "burst": 99 }));
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let address = server.address().socket();
            thread::spawn(move || {
                let passed = (0..50).filter(|_| Client::connect(address).get("/").status == 200);
                passed.count()
            })
        })
        .collect();
    let passed: usize = clients.into_iter().map(|client| client.join().expect("it asks")).sum();
    assert_eq!(passed, 100);
    let limits = server.control().get("/status/limits").json();
    let expected = json!({ "passed": 100, "delayed": 0, "refused": 300, "keys": 1 });
    assert_eq!(limits["/routes/0/action/limit_requests"], expected);
}

/// Options: …action.limit_requests.key
#[test]
fn requests_are_counted_by_a_text() {
    let server = with(json!({ "rate": "1/h", "key": "$header_x_key" }));
    expect(&server, &keyed("a"), &[200, 429]);
    expect(&server, &keyed("b"), &[200, 429]);
    expect(&server, &Request::get("/"), &[200, 200, 200]);
    let server = with(json!({ "rate": "1/h", "key": "$cookie_session$method" }));
    let cookie = |value: &str| Request::get("/").field("Cookie", value);
    expect(&server, &cookie("session=1"), &[200, 429]);
    expect(&server, &cookie("other=1; session=2"), &[200, 429]);
    expect(&server, &Request::post("/").field("Cookie", "session=1"), &[200, 429]);
    let server = with(json!({ "rate": "1/h", "key": "`${nothing.at.all}`" }));
    expect(&server, &Request::get("/"), &[500, 500]);
}

/// Options: …action.limit_requests.exempt
#[test]
fn some_clients_have_no_limit() {
    let server = with(json!({ "rate": "1/h", "exempt": ["10.0.0.0/8", "127.0.0.1"] }));
    expect(&server, &Request::get("/"), &[200, 200, 200]);
    elsewhere(&server).get("/").expect(200);
    elsewhere(&server).get("/").expect(429);
}

/// Options: …action.limit_requests.dry_run
#[test]
fn a_dry_run_only_tells() {
    let server = with(json!({ "rate": "1/h", "burst": 1, "delay": false, "headers": true, "dry_run": true }));
    expect(&server, &Request::get("/"), &[200; 5]);
    server.get("/").expect(200).expect_no_field("RateLimit");
    server.expect_log(
        "limit_requests: would be refused (dry_run), \"127.0.0.1\" has too many requests in a time",
    );
    let expected = json!({ "passed": 6, "would_delay": 0, "would_refuse": 4, "keys": 1 });
    assert_eq!(status_of(&server, "/routes/0/action/limit_requests"), expected);
}

/// Options: …action.limit_requests.status
#[test]
fn refusals_are_errors_like_others() {
    let site = site().file("busy.html", "come back later");
    let share = json!({ "share": site.path("busy.html") });
    let limit = json!({ "rate": "1/h", "status": 503 });
    let action = json!({ "return": 200, "limit_requests": limit, "errors": { "503": share } });
    let server = daemon().routes(json!([{ "action": action }])).start();
    server.get("/").expect(200);
    let refused = server.get("/").expect(503).expect_text("come back later");
    assert!(refused.field("Retry-After").is_some() && refused.field("RateLimit").is_some(), "{refused:?}");
}

/// Options: …action.limit_requests.headers
#[test]
fn replies_tell_how_much_is_left() {
    let server = with(json!({ "rate": "1/h", "burst": 2, "headers": true }));
    for left in [2, 1, 0] {
        let reply = server.get("/").expect(200).expect_field("RateLimit-Policy", "\"requests\";q=3;w=10800");
        let limit = reply.field("RateLimit").expect("it is told");
        assert!(limit.starts_with(&format!("\"requests\";r={left};t=")), "{limit}");
        reply.expect_no_field("Retry-After");
    }
    server.get("/").expect(429);
}

/// Options: …action.limit_requests.delay
#[test]
fn what_is_ahead_of_the_pace_waits() {
    let server = with(json!({ "rate": "20/s", "burst": 20, "delay": true }));
    let mut client = server.connect();
    let begin = Instant::now();
    for _ in 0..6 {
        client.get("/").expect(200);
    }
    // The event loop's clock is a little behind.
    assert!(begin.elapsed() > Duration::from_millis(225), "{:?}", begin.elapsed());
}

/// Options: …action.limit_requests.delay
#[test]
fn a_part_of_the_burst_is_answered_at_once() {
    let server = with(json!({ "rate": "1/m", "burst": 3, "delay": 2 }));
    let mut client = server.connect();
    for _ in 0..3 {
        client.get("/").expect(200);
    }
    client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let limit = || status_of(&server, "/routes/0/action/limit_requests");
    eventually("the fourth waits", || (limit()["delayed"] == 1).then_some(()));
    server.get("/").expect(429);
}

/// Options: …action.limit_requests
#[test]
fn several_limits_of_one_place_are_all_asked() {
    let server = with(json!([
        { "rate": "1/h", "burst": 3, "status": 420 },
        { "rate": "1/h", "burst": 1, "key": "$header_x_key" },
    ]));
    expect(&server, &keyed("a"), &[200, 200, 429]);
    // The refusal before was counted by the first limit.
    expect(&server, &keyed("b"), &[200, 420]);
    status_of(&server, "/routes/0/action/limit_requests/0");
    status_of(&server, "/routes/0/action/limit_requests/1");
}

/// Options: limit_zones
#[test]
fn a_zone_is_one_limit_for_all_places_that_name_it() {
    let config = |burst: u32| {
        json!({
            "limit_zones": { "log-in": { "rate": "1/h", "burst": burst }, "few": { "connections": 9 } },
            "routes": [
                { "match": { "uri": "/a" }, "action": { "return": 200, "limit_requests": "log-in" } },
                { "match": { "uri": "/b" }, "action": { "return": 200, "limit_requests": ["log-in"] } },
                { "action": { "return": 200, "limit_connections": "few" } },
            ],
        })
    };
    let server = daemon().config(config(2)).start();
    let get = |path: &str| server.get(path).status;
    assert_eq!([get("/a"), get("/b"), get("/a"), get("/b"), get("/a")], [200, 200, 200, 429, 429]);
    server.get("/c").expect(200);
    assert_eq!(status_of(&server, "/limit_zones/log-in")["refused"], 2);
    assert_eq!(status_of(&server, "/limit_zones/few")["passed"], 1);
    server.expect_log("/limit_zones/log-in: refused, \"127.0.0.1\" has too many requests in a time");
    // A change elsewhere leaves it as it is, also where a place that names it goes or moves.
    server.control().delete("/config/routes/0").expect_done();
    server.get("/b").expect(429);
    server.control().put("/config/limit_zones/log-in/burst", &json!(3)).expect_done();
    server.get("/b").expect(200);
    // A zone that is still named cannot go.
    server.control().delete("/config/limit_zones/log-in").0.expect(400);
    server.get("/b").expect(200);
}

#[test]
fn a_request_that_waits_leaves_with_its_client() {
    let server = with(json!({ "rate": "1/m", "burst": 1, "delay": true }));
    server.get("/").expect(200);
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let limit = || status_of(&server, "/routes/0/action/limit_requests");
    eventually("it waits", || (limit()["delayed"] == 1).then_some(()));
    server.get("/").expect(429);
    let is_active = |n: u64| server.control().get("/status/connections/active").json() == n;
    eventually("it alone is left", || is_active(1).then_some(()));
    drop(client);
    eventually("it is gone", || is_active(0).then_some(()));
}

/// Options: listeners.{addr}.limit_requests, applications.{N}.limit_requests
#[test]
fn listeners_and_applications_have_limits_of_their_own() {
    let site = site().file("index.php", "<?php echo getmypid();");
    let app = php_app(&site)
        .script("index.php")
        .with("limit_requests", json!({ "rate": "1/h", "burst": 1, "status": 420 }));
    let server = daemon().start_unconfigured();
    let listener = |burst: u32| {
        let limit = json!({ "rate": "1/h", "burst": burst, "exempt": "127.0.0.77" });
        json!({ "pass": "routes", "limit_requests": limit })
    };
    let routes = json!([
        { "match": { "uri": "/nothing" }, "action": { "return": 204 } },
        { "match": { "uri": "/a" }, "action": { "pass": "applications/php" } },
        { "action": { "share": "/nonexistent", "fallback": { "pass": "applications/php" } } },
    ]);
    let config = json!({
        "listeners": { server.address().to_string(): listener(4) },
        "applications": { "php": app.value() },
        "routes": routes,
    });
    server.control().put("/config", &config).expect_done();
    let worker = server.get("/a").expect(200).text();
    server.get("/b").expect(200);
    server.get("/a").expect(420);
    server.get("/nothing").expect(204);
    server.get("/nothing").expect(204);
    server.get("/nothing").expect(429);
    elsewhere(&server).get("/nothing").expect(204);
    // Another limit needs no other process.
    server.control().put("/config/applications/php/limit_requests/burst", &json!(9)).expect_done();
    assert_eq!(elsewhere(&server).get("/a").expect(200).text(), worker);
}

#[test]
fn each_action_on_the_way_has_its_limit() {
    let limit = |burst: u32| json!({ "rate": "1/h", "burst": burst, "key": "$header_x_key" });
    let routes = json!({
        "main": [{ "action": { "pass": "routes/next", "limit_requests": limit(3) } }],
        "next": [
            { "match": { "uri": "/a" }, "action": { "return": 200, "limit_requests": limit(1) } },
            { "match": { "uri": "/" }, "action": { "share": "/nonexistent", "fallback": { "return": 200,
            "limit_requests": limit(0) } } },
            { "action": { "return": 204 } },
        ],
    });
    let server = daemon().start_unconfigured();
    let listeners = json!({ server.address().to_string(): { "pass": "routes/main" } });
    server.control().put("/config", &json!({ "listeners": listeners, "routes": routes })).expect_done();
    let ask = |path: &str, key: &str| server.send(&Request::get(path).field("X-Key", key)).status;
    assert_eq!(["/a", "/a", "/a", "/b", "/b"].map(|path| ask(path, "x")), [200, 200, 429, 204, 429]);
    assert_eq!(["/", "/", "/b"].map(|path| ask(path, "y")), [200, 429, 204]);
}

/// The listener would have the request wait for a minute before the route refuses it.
#[test]
fn a_refusal_does_not_wait() {
    let mut config = config(json!({ "rate": "1/h" }));
    let server = daemon().start_unconfigured();
    let delayed = json!({ "rate": "1/m", "burst": 1, "delay": true });
    config["listeners"] =
        json!({ server.address().to_string(): { "pass": "routes", "limit_requests": delayed } });
    server.control().put("/config", &config).expect_done();
    expect(&server, &Request::get("/"), &[200, 429]);
}

#[test]
fn a_body_is_not_waited_for() {
    let server = with(json!({ "rate": "1/h" }));
    server.get("/").expect(200);
    let mut client = server.connect();
    client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
    client.read_response().expect(429);
}

#[test]
fn a_limit_that_stays_as_it_is_goes_on() {
    let server = with(json!({ "rate": "1/h" }));
    expect(&server, &Request::get("/"), &[200, 429]);
    server.control().put("/config/settings/http", &json!({ "idle_timeout": 7 })).expect_done();
    expect(&server, &Request::get("/"), &[429]);
    server.control().put("/config/routes/0/action/limit_requests/burst", &json!(1)).expect_done();
    expect(&server, &Request::get("/"), &[200, 200, 429]);
    server.control().delete("/config/routes/0/action/limit_requests").expect_done();
    expect(&server, &Request::get("/"), &[200, 200]);
    assert!(server.control().get("/status").json()["limits"].is_null());
}

#[test]
fn a_flood_is_told_of_once_in_a_second() {
    let server = with(json!({ "rate": "1/h" }));
    let mut client = server.connect();
    client.get("/").expect(200);
    for _ in 0..300 {
        client.get("/").expect(429);
    }
    let n_lines = server.log().matches("has too many requests in a time").count();
    assert!((1..30).contains(&n_lines), "{n_lines} lines");
}

/// A client must not write lines into the log.
#[test]
fn keys_are_harmless_in_the_log() {
    let server = with(json!({ "rate": "1/h", "key": "$arg_key" }));
    let request = Request::get(&format!("/?key=a%0Ab%1B{}", "x".repeat(500)));
    expect(&server, &request, &[200, 429]);
    server.expect_log("refused, \"a\\nb\\x1bxx");
    assert!(!server.log().contains(&"x".repeat(101)));
}

#[test]
fn mistakes_are_explained_by_corral_check() {
    let check = |limit: Value, words: &[&str]| {
        let site = site().file("site.json", config(limit).to_string());
        Tool::new(&["check", text(&site.path("site.json"))]).fails(words);
    };
    let rate = |rate: &str| json!({ "rate": rate });
    let place = "/routes/0/action/limit_requests/rate: ";
    let forms =
        "A rate is a number of requests in a second, a minute or an hour: \"10/s\", \"100/m\" or \"1000/h\".";
    check(
        rate("10/x"),
        &["site.json:1:", place, "The \"rate\" value \"10/x\" is not a number of requests in a time.", forms],
    );
    check(rate("10r/s"), &[place, "Did you mean \"10/s\"?"]);
    check(rate("0/s"), &[place, "\"0/s\" is not between 1 and 1000000 requests."]);
    check(rate("-1/s"), &[place, "\"-1/s\" is not a number of requests"]);
    check(json!({}), &["/routes/0/action/limit_requests: Required parameter \"rate\" is missing."]);
    check(json!({ "rate": "1/s", "burst": -1 }), &["limit_requests/burst: ", "must not be negative"]);
    check(
        json!({ "rate": "1/s", "status": 200 }),
        &["limit_requests/status: ", "equal to or greater than 400"],
    );
    check(
        json!({ "rate": "1/s", "key": "$nothing" }),
        &["limit_requests/key: ", "Unknown variable \"nothing\""],
    );
    check(
        json!({ "rate": "1/s", "exempt": "example.com" }),
        &["limit_requests/exempt: ", "a host name is not one"],
    );
    check(
        json!({ "rate": "1/s", "entries": 1 }),
        &["limit_requests/entries: ", "equal to or greater than 1000"],
    );
    check(
        json!({ "rate": "1/h", "burst": 20, "delay": true }),
        &["limit_requests/burst: ", "would wait for more than 60 seconds", "Lower \"burst\""],
    );
    check(json!({ "rate": "1/s", "nodelay": true }), &["Unknown parameter \"nodelay\""]);
}

/// A client that leaves the queue of a limit makes room for another.
#[test]
fn places_of_clients_that_left_are_given_back() {
    let server = with(json!({ "rate": "4/m", "burst": 3, "delay": true }));
    let n_delayed = |n: usize| status_of(&server, "/routes/0/action/limit_requests")["delayed"] == n;
    let is_active = |n: u64| server.control().get("/status/connections/active").json() == n;
    server.get("/").expect(200);
    for (n, fields) in ["", "Connection: close\r\n", ""].iter().enumerate() {
        let mut client = server.connect();
        client.write(format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n"));
        eventually("it waits", || n_delayed(n + 1).then_some(()));
        drop(client);
        eventually("it has gone", || is_active(0).then_some(()));
    }
    let waiting = server.begin_all("/", 3);
    eventually("there is room for all of them", || n_delayed(6).then_some(()));
    server.get("/").expect(429);
    drop(waiting);
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    /// Options: …action.limit_requests.entries
    #[test]
    fn a_flood_of_keys_takes_little_memory() {
        const N: usize = 40_000;
        let server = with(json!({ "rate": "1/h", "burst": 1, "key": "$header_x_key", "entries": 1000 }));
        expect(&server, &keyed("a"), &[200, 200, 429]);
        let router = server.expect_processes("router", 1)[0];
        let before = resident_memory(router).expect("it runs");
        let mut client = server.connect();
        for batch in 0..N / 100 {
            let requests =
                (0..100).map(|n| format!("GET / HTTP/1.1\r\nHost: a\r\nX-Key: {batch}-{n}\r\n\r\n"));
            client.write(requests.collect::<String>());
            for _ in 0..100 {
                client.read_response().expect(200);
            }
        }
        let limit = status_of(&server, "/routes/0/action/limit_requests");
        assert_eq!(limit["passed"], N + 2);
        assert!((500..=1024).contains(&limit["keys"].as_u64().expect("a number")), "{limit}");
        let grown = resident_memory(router).expect("it runs").saturating_sub(before);
        assert!(grown < 4_000_000, "{grown} bytes more");
        // Those that have used most are remembered longest.
        expect(&server, &keyed("a"), &[429]);
    }
}
