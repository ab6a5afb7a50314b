//! Requests as a component sees them, and what becomes of its answers.

use corral_testkit::{Request, component, daemon};
use serde_json::json;

use super::{probe, serve};

/// Options: applications.{N}.component
#[test]
fn a_component_answers() {
    let server = serve(&probe());
    let response = server.get("/hello").expect(200).expect_body("Hello from a component\n");
    let response = response.expect_field("content-type", "text/plain");
    response.expect_field("content-length", "23");
    server.get("/nothing").expect(404);
}

#[test]
fn components_for_older_releases_of_wasi_run() {
    let app = json!({ "type": "wasm-wasi-component 0.2", "component": component("older") });
    serve(&app).get("/").expect(200).expect_body("Hello from WASI 0.2.0\n");
}

#[track_caller]
fn check(request: &Request, lines: &[&str]) {
    let server = serve(&probe());
    let told = server.send(request).expect(200).text();
    for line in lines {
        assert!(told.lines().any(|told| told == *line), "{line}: {told}");
    }
}

#[test]
fn the_request_is_told_as_it_was_sent() {
    check(
        &Request::get("/request?a=%20b&c=d").field("Host", "example.com:8080"),
        &[
            "method Method::Get",
            "scheme Some(Scheme::Http)",
            "authority example.com:8080",
            "target /request?a=%20b&c=d",
        ],
    );
    check(&Request::new("PURGE", "/request"), &["method Method::Other(\"PURGE\")", "authority localhost"]);
    check(
        &Request::post("/request")
            .body("12345")
            .field("X-One", "1")
            .field("Accept", "a/b")
            .field("x-one", "2"),
        &["method Method::Post", "x-one: 1", "x-one: 2", "accept: a/b", "content-length: 5"],
    );
}

#[test]
fn targets_that_uri_types_do_not_know_are_escaped() {
    check(&Request::get("/request?caf\u{e9}"), &["target /request?caf\u{e9}"]);
    check(&Request::get("/request?<a>"), &["target /request?%3Ca%3E"]);
}

#[test]
fn fields_of_the_response_are_sent_each_by_itself() {
    let response = serve(&probe()).get("/fields").expect(201).expect_body("created\n");
    assert_eq!(response.all("set-cookie").collect::<Vec<_>>(), ["a=1", "b=2"]);
}

#[test]
fn a_response_to_head_has_no_body() {
    let server = serve(&probe());
    let mut client = server.connect();
    client.write(Request::new("HEAD", "/hello").encode());
    let response = client.try_read_response_to("HEAD").expect("a response");
    response.expect(200).expect_body("");
    client.get("/hello").expect(200);
}

/// The next request does not find what one has left in memory.
#[test]
fn each_request_has_an_instance_of_its_own() {
    let server = serve(&probe());
    for _ in 0..20 {
        server.get("/state").expect(200).expect_body("1");
    }
}

/// Workers clear and use the same memory again.
#[test]
fn memory_is_empty_for_each_request() {
    let server = serve(&probe());
    for mib in [1, 1, 100, 100, 1, 20, 100] {
        server.get(&format!("/dirty?mib={mib}")).expect(200).expect_body("0 bytes of somebody else");
    }
}

/// Workers are forked: they must not have the same generator.
#[test]
fn random_numbers_are_random_in_all_workers() {
    let mut app = probe();
    app["processes"] = json!(4);
    let server = daemon().config(json!({ "applications": { "app": app } })).start();
    let mut seen = std::collections::BTreeSet::new();
    let mut clients: Vec<_> = (0..8).map(|_| server.connect()).collect();
    for _ in 0..8 {
        clients.iter_mut().for_each(|client| client.write(Request::get("/random").encode()));
        seen.extend(clients.iter_mut().map(|client| client.read_response().expect(200).text()));
    }
    assert_eq!(seen.len(), 64);
}
