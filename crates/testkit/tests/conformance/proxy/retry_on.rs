//! `retry_on`: answers and failures after which a request goes on to another server.

use std::time::{Duration, Instant};

use corral_testkit::{Daemon, Origin, Request, assert_says, daemon, eventually};
use serde_json::{Value, json};

use super::upstreams::{answers, servers, start};

/// A server that answers everything with this status.
fn failing(status: u16) -> Origin {
    Origin::answering(format!("HTTP/1.1 {status} x\r\nContent-Length: 4\r\n\r\nfail"))
}

/// A group in which the failing server comes first, and is not avoided.
fn pool(first: &Origin, second: &Origin, retry_on: Value) -> Value {
    let mut pool = servers(&[(first, 1.0), (second, 1.0)]);
    pool["max_fails"] = json!(0);
    if !retry_on.is_null() {
        pool["retry_on"] = retry_on;
    }
    pool
}

/// The statuses of four requests, sorted.
fn statuses(server: &Daemon, request: &Request) -> Vec<u16> {
    let mut statuses: Vec<_> = (0..4).map(|_| server.send(request).status).collect();
    statuses.sort_unstable();
    statuses
}

#[track_caller]
fn check(first: &Origin, retry_on: Value, request: &Request, expect: [u16; 4]) {
    let second = Origin::saying("b");
    let server = start(&pool(first, &second, retry_on.clone()));
    assert_eq!(statuses(&server, request), expect, "{retry_on}, {request:?}");
}

/// Options: upstreams.{N}.retry_on
#[test]
fn a_status_leads_to_the_next_server() {
    let get = Request::get("/");
    for (status, retry_on) in [
        (503, json!(503)),
        (502, json!([500, 502])),
        (504, json!("500-599")),
        (429, json!(["429", "timeout"])),
        (404, json!(404)),
    ] {
        check(&failing(status), retry_on, &get, [200; 4]);
    }
    check(&failing(503), json!(null), &get, [200, 200, 503, 503]);
    check(&failing(503), json!([502, "504-599"]), &get, [200, 200, 503, 503]);
}

#[test]
fn what_must_not_be_repeated_is_answered_as_the_server_says() {
    let post = Request::post("/").body("x");
    check(&failing(503), json!(503), &post, [200, 200, 503, 503]);
    check(&failing(503), json!([503, "non_idempotent"]), &post, [200; 4]);
    check(&failing(503), json!(503), &Request::new("PUT", "/").body("x"), [200; 4]);
    // A server that has ended the connection may have acted on it.
    let dead = Origin::start(|peer| {
        peer.read_request();
    });
    check(&dead, json!(503), &post, [200, 200, 502, 502]);
    check(&dead, json!("non_idempotent"), &post, [200; 4]);
}

#[test]
fn a_body_goes_along() {
    let second = Origin::echo();
    for size in [0, 10, 60_000] {
        let server = start(&pool(&failing(503), &second, json!([503, "non_idempotent"])));
        let body = "x".repeat(size);
        for _ in 0..2 {
            let text = server.send(&Request::post("/").body(&*body)).expect(200).text();
            assert!(text.ends_with(&body) && text.contains(&format!("Content-Length: {size}\r\n")), "{size}");
        }
    }
}

#[test]
fn the_last_answer_is_that_of_the_client() {
    let (a, b) = (failing(503), failing(502));
    let server = start(&pool(&a, &b, json!("500-599")));
    for _ in 0..4 {
        let reply = server.get("/");
        assert!(matches!(reply.status, 502 | 503), "{reply}");
        reply.expect_body("fail");
    }
    let good = Origin::saying("b");
    let mut limited = pool(&a, &good, json!(503));
    limited["retries"] = json!(0);
    assert_eq!(statuses(&start(&limited), &Request::get("/")), [200, 200, 503, 503]);
    let alone = json!({ "servers": { a.address(): {} }, "retry_on": 503 });
    start(&alone).get("/").expect(503).expect_body("fail");
}

#[test]
fn what_is_not_a_response_leads_to_the_next_server() {
    let get = Request::get("/");
    for nonsense in [
        "nonsense\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 101 x\r\nUpgrade: y\r\n\r\n",
    ] {
        check(&Origin::answering(nonsense), json!("invalid_response"), &get, [200; 4]);
        check(&Origin::answering(nonsense), json!(503), &get, [200, 200, 502, 502]);
    }
    let cut = Origin::start(|peer| {
        peer.read_request();
        peer.write(b"HTTP/1.1 200 OK\r\nConte");
    });
    check(&cut, json!("invalid_response"), &get, [200; 4]);
}

#[test]
fn a_server_that_takes_too_long_is_left_for_another_one() {
    let silent = Origin::start(|peer| while !peer.read().is_empty() {});
    let second = Origin::saying("b");
    for (retry_on, expect) in [(json!("timeout"), "bb"), (json!(503), "!b")] {
        let mut pool = pool(&silent, &second, retry_on);
        pool["timeouts"] = json!({ "response": 1 });
        let mut found: Vec<_> = answers(&start(&pool), 2).chars().collect();
        found.sort_unstable();
        assert_eq!(found.into_iter().collect::<String>(), expect);
    }
}

/// Options: upstreams.{N}.retry_timeout
#[test]
fn retries_have_one_time_together() {
    let slow: Vec<_> = (0..6)
        .map(|_| {
            Origin::start(|peer| {
                while peer.read_request().is_some() {
                    std::thread::sleep(Duration::from_millis(700));
                    peer.write(b"HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n");
                }
            })
        })
        .collect();
    let all: Vec<_> = slow.iter().map(|origin| (origin, 1.0)).collect();
    let mut pool = servers(&all);
    (pool["max_fails"], pool["retry_on"], pool["retry_timeout"]) = (json!(0), json!(503), json!(1));
    let begun = Instant::now();
    start(&pool).get("/").expect(503);
    let asked: usize = slow.iter().map(Origin::n_connections).sum();
    assert_eq!(asked, 2, "after {:?}", begun.elapsed());
}

#[test]
fn a_status_counts_as_a_failure_of_the_server() {
    let (a, b) = (failing(503), Origin::saying("b"));
    let mut pool = servers(&[(&a, 1.0), (&b, 1.0)]);
    (pool["retry_on"], pool["fail_timeout"]) = (json!(503), json!(1000));
    let server = start(&pool);
    assert_eq!(answers(&server, 6), "bbbbbb");
    let state =
        || server.control().get("/status").json()["upstreams"]["pool"]["servers"][a.address()].clone();
    let state = eventually("the exchange is over", || Some(state()).filter(|s| s["requests"]["active"] == 0));
    assert_eq!((&state["state"], &state["requests"]["total"]), (&json!("avoided"), &json!(1)), "{state}");
    server.expect_log("it answers with status 503");
    // What is answered with 404 is not the server's fault.
    let (a, b) = (failing(404), Origin::saying("b"));
    let mut pool = servers(&[(&a, 1.0), (&b, 1.0)]);
    (pool["retry_on"], pool["fail_timeout"]) = (json!(404), json!(1000));
    let server = start(&pool);
    assert_eq!(answers(&server, 6), "bbbbbb");
    assert_eq!(
        server.control().get("/status").json()["upstreams"]["pool"]["servers"][a.address()]["state"],
        "up"
    );
}

#[test]
fn variables_know_the_statuses_of_all_servers() {
    let (a, b) = (failing(503), Origin::saying("b"));
    let config = json!({
        "settings": { "listen_threads": 1 },
        "upstreams": { "pool": pool(&a, &b, json!(503)) },
        "routes": [{ "action": {
            "pass": "upstreams/pool",
            "response_headers": { "X-Statuses": "$upstream_status" }
        }}]
    });
    let server = daemon().config(config).start();
    let statuses: Vec<_> =
        (0..2).map(|_| server.get("/").field("X-Statuses").expect("a header").to_owned()).collect();
    assert!(statuses.iter().any(|statuses| statuses == "503, 200"), "{statuses:?}");
}

#[test]
fn connections_of_declined_answers_are_kept() {
    let (a, b) = (failing(503), Origin::saying("b"));
    let server = start(&pool(&a, &b, json!(503)));
    assert_eq!(answers(&server, 8), "bbbbbbbb");
    assert_eq!(a.n_connections(), 1);
}

/// Error pages stand in for what the client gets, not for what is tried again.
#[test]
fn intercepted_errors_are_those_of_the_last_answer() {
    let (a, b) = (failing(503), failing(503));
    let config = json!({
        "upstreams": { "pool": pool(&a, &b, json!(503)) },
        "routes": [{ "action": {
            "pass": "upstreams/pool",
            "errors": { "intercept": true, "503": { "return": 503, "body": "page" } }
        }}]
    });
    let server = daemon().config(config).start();
    server.get("/").expect(503).expect_body("page");
    assert_eq!((a.n_connections(), b.n_connections()), (1, 1));
}

#[test]
fn wrong_rules_are_refused() {
    let server = daemon().routes(json!([])).start();
    for value in
        [json!("error"), json!(200), json!("100-599"), json!([503, "x"]), json!(1000), json!("599-500")]
    {
        let reply = server
            .control()
            .put("/config/upstreams", &json!({ "one": { "servers": {}, "retry_on": value } }));
        assert_says(
            &reply.expect_refused(400, "Invalid configuration."),
            "The \"retry_on\" values must be statuses from 300 to 999 like 503 or \"500-599\", \"timeout\", \
             \"invalid_response\", or \"non_idempotent\".",
        );
    }
}
