//! Bodies of all sizes, both ways, as they come.

use std::time::{Duration, Instant};

use corral_testkit::{Request, daemon};
use serde_json::json;

use super::{probe, serve};

#[test]
fn bodies_of_any_size_arrive() {
    let applications = json!({ "app": probe() });
    let server = daemon()
        .config(json!({ "applications": applications }))
        .http(json!({ "max_body_size": 30_000_000 }))
        .start();
    for length in [0, 1, 5_000, 200_000, 20_000_000] {
        let body: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
        let sum: u64 = body.iter().map(|byte| u64::from(*byte)).sum();
        let response = server.send(&Request::post("/count").body(body)).expect(200);
        assert_eq!(response.text(), format!("{length} {sum}"));
    }
}

#[test]
fn bodies_that_come_in_chunks_arrive() {
    let applications = json!({ "app": probe() });
    let server = daemon()
        .config(json!({ "applications": applications }))
        .http(json!({ "chunked_transform": true }))
        .start();
    let mut client = server.connect();
    client
        .write("POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n\x01\x02\x03\r\n");
    client.write("2\r\n\x04\x05\r\n0\r\n\r\n");
    client.read_response().expect(200).expect_body("5 15");
}

#[test]
fn a_body_comes_back_while_it_is_read() {
    let server = serve(&probe());
    let body: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 253) as u8).collect();
    let response = server.send(&Request::post("/echo").body(&body)).expect(200);
    assert!(response.body == body);
    server.send(&Request::post("/echo").body("")).expect(200).expect_body("");
}

/// A body that a component does not read does no harm.
#[test]
fn a_body_may_be_left_alone() {
    let server = serve(&probe());
    let mut client = server.connect();
    for _ in 0..3 {
        client.send(&Request::post("/hello").body(vec![b'x'; 1_000_000])).expect(200);
    }
}

#[test]
fn long_responses_arrive() {
    let server = serve(&probe());
    for length in [0, 1, 9_999, 10_000, 30_000_000] {
        let response = server.get(&format!("/produce?bytes={length}")).expect(200);
        assert_eq!(response.body.len(), length);
    }
}

#[test]
fn a_response_is_sent_as_it_is_written() {
    let server = serve(&probe());
    let mut client = server.connect();
    let begun = Instant::now();
    client.write(Request::get("/ticks?n=3&ms=700").encode());
    client.read_until_text("tick 0\n");
    assert!(begun.elapsed() < Duration::from_millis(600), "the first line was held back");
    client.read_until_text("tick 1\n");
    assert!(begun.elapsed() < Duration::from_millis(1300), "the second line was held back");
    client.read_until_text("tick 2\n");
}

/// The client has all of it; what the component does then costs it nothing.
#[test]
fn a_component_may_go_on_after_its_response() {
    let server = serve(&probe());
    let begun = Instant::now();
    server.get("/after").expect(200).expect_body("soon\n");
    assert!(begun.elapsed() < Duration::from_millis(400), "the response was held back");
    server.expect_log("done after the response");
}

/// The response is not read: the component hears that its stream is closed, and ends.
#[test]
fn a_client_that_leaves_does_not_hold_the_worker() {
    let server = serve(&probe());
    let mut client = server.connect();
    client.write(Request::get("/ticks?n=1000000&ms=5").encode());
    client.read_until_text("tick 1\n");
    drop(client);
    server.get("/hello").expect(200);
}
