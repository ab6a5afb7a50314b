//! Failures of components, and files that are not components.

use corral_testkit::{component, daemon, site};
use serde_json::json;

use super::{probe, serve};

/// One request fails; the next one, in the same worker, does not.
#[track_caller]
fn check(target: &str, status: u16, log: &[&str]) {
    let server = serve(&probe());
    let worker = server.expect_processes("\"app\" worker", 1);
    server.get(target).expect(status);
    for text in log {
        server.expect_log(text);
    }
    server.get("/hello").expect(200);
    assert_eq!(server.expect_processes("\"app\" worker", 1), worker);
}

#[test]
fn a_trap_is_told_with_its_backtrace() {
    let component = component("probe");
    check(
        "/trap?q=1",
        500,
        &[
            &format!("GET /trap?q=1: the component \"{}\" has failed: wasm trap: ", component.display()),
            "`unreachable` instruction executed",
            "trap_in_a_function_of_its_own",
        ],
    );
}

#[test]
fn other_ways_to_fail_are_told_too() {
    check("/exit", 500, &["it has called exit(1)"]);
    check("/silent", 500, &["it has ended without a response"]);
    check("/refuse", 500, &["LoopDetected"]);
}

/// A response that has begun is cut off, so that the client sees that there should be more.
#[test]
fn a_trap_within_a_response_breaks_it_off() {
    let server = serve(&probe());
    let mut client = server.connect();
    client.write("GET /trap-within HTTP/1.1\r\nHost: a\r\n\r\n");
    let text = String::from_utf8(client.read_to_end()).expect("text");
    assert!(text.contains("the begin") && !text.ends_with("0\r\n\r\n"), "{text}");
    server.expect_log("trap_in_a_function_of_its_own");
    server.get("/hello").expect(200);
}

#[track_caller]
fn refused(content: Option<&[u8]>, reason: &str) {
    let site = site();
    if let Some(content) = content {
        site.write("app.wasm", content);
    }
    let app = json!({ "type": "wasm-wasi-component", "component": site.path("app.wasm") });
    let detail = daemon().start_unconfigured().expect_refused(&app);
    assert!(detail.contains("app.wasm") && detail.contains(reason), "{detail}");
}

/// A module without anything in it.
const MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// A component without anything in it.
const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

#[test]
fn what_is_no_component_is_refused() {
    refused(None, "No such file or directory");
    refused(Some(b""), "it is not WebAssembly");
    refused(Some(b"#!/bin/sh\n"), "it is not WebAssembly");
    refused(Some(MODULE), "it is a core module, not a component");
    refused(Some(EMPTY), "it cannot answer HTTP requests");
    let whole = std::fs::read(component("older")).expect("the component");
    refused(Some(&whole[..whole.len() / 2]), "out of bounds");
}

#[test]
fn a_folder_that_is_not_there_is_refused() {
    let mut app = probe();
    app["access"] = json!({ "filesystem": ["/nowhere/at/all"] });
    let detail = daemon().start_unconfigured().expect_refused(&app);
    assert!(detail.contains("open the folder \"/nowhere/at/all\" of \"access.filesystem\""), "{detail}");
}
