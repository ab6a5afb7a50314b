//! `"return": "close"`: requests that get no reply.

use corral_testkit::{Client, Daemon, Http2, daemon, eventually, site};
use h2::Reason;
use serde_json::{Value, json};

fn serve(action: Value) -> Daemon {
    let server = daemon().start_unconfigured();
    let config = json!({
        "listeners": { server.address().to_string(): { "pass": "routes", "http2": "prior_knowledge" } },
        "routes": [{ "match": { "uri": "/ok" }, "action": { "return": 200 } }, { "action": action }],
    });
    server.control().put("/config", &config).expect_done();
    server
}

fn http1(server: &Daemon) -> Client {
    Client::try_connect_http1(server.address().socket()).expect("it listens")
}

/// Options: routes[].action.return
#[test]
fn the_connection_is_closed() {
    let server = serve(json!({ "return": "close" }));
    for method in ["GET", "HEAD", "POST", "OPTIONS"] {
        let mut client = http1(&server);
        client.write(format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(client.read_to_end(), b"", "{method}");
    }
    // What came before is answered, what follows is not.
    let mut client = http1(&server);
    let request = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    client.write(request("/ok") + &request("/") + &request("/ok"));
    client.read_response().expect(200);
    assert_eq!(client.read_to_end(), b"");
    http1(&server).get("/ok").expect(200);
}

/// The others of the connection go on.
#[test]
fn the_stream_is_reset() {
    let server = serve(json!({ "return": "close" }));
    let mut client = Http2::connect(server.address().socket());
    for _ in 0..3 {
        client.begin_get("/").expect_reset(Reason::CANCEL);
        client.get("/ok").expect(200);
    }
}

#[test]
fn logs_have_a_number_for_it() {
    let site = site().writable_folder("");
    let log = json!({ "path": site.path("log"), "format": "$uri $status $body_bytes_sent" });
    let server = serve(json!({ "return": "close", "access_log": log }));
    http1(&server).write("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
    Http2::connect(server.address().socket()).begin_get("/b").expect_reset(Reason::CANCEL);
    let read = || {
        let mut lines: Vec<_> = site.read("log").lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    eventually("both are logged", || (read() == ["/a 444 0", "/b 444 0"]).then_some(()));
}

/// In the place of an error, behind a limit of bodies, and behind other actions.
#[test]
fn any_action_can_lead_to_it() {
    let close = json!({ "return": "close" });
    for action in [
        json!({ "return": 404, "errors": { "4xx": close } }),
        json!({ "share": "/nonexistent", "fallback": close }),
        json!({ "return": "close", "max_body_size": 1, "response_headers": { "A": "$uri" }, "cors": true }),
    ] {
        let server = serve(action.clone());
        let mut client = http1(&server);
        client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n");
        assert_eq!(client.read_to_end(), b"", "{action}");
    }
}

#[test]
fn other_words_are_refused() {
    let server = daemon().routes(json!([])).start();
    let refuse = |action: Value, words: &str| {
        let routes = json!([{ "action": action }]);
        let detail =
            server.control().put("/config/routes", &routes).expect_refused(400, "Invalid configuration.");
        assert!(detail.contains(words), "{detail}");
    };
    refuse(json!({ "return": "reset" }), "must be an integer number, but not a string");
    refuse(json!({ "return": "404" }), "Write it without quotes: 404.");
    for option in ["location", "body", "content_type"] {
        refuse(json!({ "return": "close", option: "x" }), "sends no reply");
    }
}
