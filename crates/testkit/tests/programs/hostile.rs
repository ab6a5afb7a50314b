//! A program that is out of step where it can be: its answer to one request is never that of another.

use corral_testkit::{Client, Daemon, Request};
use serde_json::json;

use crate::program;

const SMUGGLED: &str = "GET /evil HTTP/1.1\r\nHost: a\r\n\r\n";

fn upgrade(method: &str, target: &str) -> Request {
    Request::new(method, target).field("Connection", "upgrade").field("Upgrade", "x")
}

/// Asks a program, one of a single process, over and over on one connection.
fn with_program(act: impl Fn(&Daemon, &mut Client)) {
    let site = program("hostile.py");
    let app = json!({
        "type": "http",
        "executable": "/usr/bin/python3",
        "arguments": [site.path("hostile.py")],
        "processes": 1,
    });
    let mut config = json!({ "applications": { "app": app } });
    config["settings"]["listen_threads"] = json!(1);
    let server = corral_testkit::daemon().config(config).start();
    let mut client = server.connect();
    act(&server, &mut client);
}

/// The number of the program's connection that a request came over.
#[track_caller]
fn own(client: &mut Client) -> u32 {
    let text = client.get("/own").expect(200).text();
    assert!(text.starts_with("GET /own HTTP/1.1 on "), "{text}");
    crate::number_after(&text, " on ")
}

#[test]
fn a_body_that_comes_with_an_upgrade_is_no_request_of_its_own() {
    with_program(|_, client| {
        for method in ["POST", "GET", "PUT"] {
            let text = client.send(&upgrade(method, "/").body(SMUGGLED)).expect(200).text();
            assert!(text.starts_with(&format!("{method} / HTTP/1.1")) && text.ends_with("plain"), "{text}");
            own(client);
            own(client);
        }
    });
}

#[test]
fn a_connection_that_carried_an_upgrade_is_not_used_again() {
    with_program(|_, client| {
        let before = own(client);
        assert_eq!(own(client), before, "it is kept");
        let text = client.send(&upgrade("GET", "/")).expect(200).text();
        assert!(text.ends_with("upgrade"), "{text}");
        assert_ne!(own(client), crate::number_after(&text, " on "));
    });
}

#[test]
fn a_protocol_that_nobody_has_asked_for_is_not_spoken() {
    with_program(|server, client| {
        for request in [Request::get("/switch"), upgrade("POST", "/switch").body(SMUGGLED)] {
            let before = own(client);
            let status = client.send(&request).status;
            assert!((500..504).contains(&status), "{status}");
            server.expect_log("it switches to a protocol that was not asked for");
            *client = server.connect();
            assert_ne!(own(client), before);
        }
    });
}
