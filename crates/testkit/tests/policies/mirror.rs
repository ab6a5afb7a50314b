//! `mirror`: the copies that other servers get of a request, and that no client waits for them.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use corral_testkit::{
    Authority, Daemon, Origin, PATIENCE, Request, daemon, eventually, php_app, python_app, site,
};
use serde_json::{Value, json};

use crate::{put_action, refuse_action};

/// A server that notes the requests that it gets, and answers with these bytes.
fn listening(answer: &'static [u8]) -> (Origin, Receiver<String>) {
    let (sender, received) = channel();
    let sender = Mutex::new(sender);
    let origin = Origin::start(move |peer| {
        while let Some(request) = peer.read_request() {
            let note = String::from_utf8_lossy(&request).into_owned();
            // The receiving test may be gone.
            let _ = sender.lock().expect("nobody panics").send(note);
            if !peer.write(answer) {
                return;
            }
        }
    });
    (origin, received)
}

const FINE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ncopy";

#[track_caller]
fn next(received: &Receiver<String>) -> String {
    received.recv_timeout(PATIENCE).expect("a copy comes")
}

/// A daemon whose only action answers "original", with this `mirror`.
fn with(mirror: Value) -> Daemon {
    daemon().routes(json!([{ "action": { "return": 200, "body": "original", "mirror": mirror } }])).start()
}

/// Waits until the figures of the only mirror are these: answered, failed and dropped.
#[track_caller]
fn expect_figures(server: &Daemon, answered: u64, failed: u64, dropped: u64) {
    let expected = json!({ "answered": answered, "failed": failed, "dropped": dropped });
    let mut last = Value::Null;
    let found = corral_testkit::within(PATIENCE, || {
        last = server.control().get("/status/mirrors").json()["/routes/0/action/mirror"].clone();
        (last == expected).then_some(())
    });
    assert!(found.is_some(), "{last}\n{}", server.log());
}

/// Changes that an action makes of a request count for copies, too.
#[test]
fn copies_are_those_of_the_request_as_it_goes_on() {
    let (origin, received) = listening(FINE);
    let server = daemon().start_unconfigured();
    let action = json!({
        "return": 200, "mirror": origin.url(), "rewrite": "/rewritten", "request_headers": { "X-Own": "changed" },
    });
    let config = server.with_listener(json!({ "routes": [{ "action": action }] }));
    server.control().put("/config", &config).expect_done();
    server.send(&Request::get("/?q=1").field("X-Own", "1")).expect(200);
    let copy = next(&received);
    assert!(
        copy.starts_with("GET /rewritten?q=1 HTTP/1.1\r\n") && copy.contains("X-Own: changed\r\n"),
        "{copy}"
    );
}

/// A copy names the path that was rewritten, encoded anew.
#[test]
fn the_path_of_a_copy_is_not_decoded_again() {
    let (origin, received) = listening(FINE);
    let action = json!({ "return": 200, "mirror": origin.url(), "rewrite": "/p$uri?x=$arg_q" });
    let server = daemon().routes(json!([{ "action": action }])).start();
    for (target, expect) in [
        ("/%252e%252e/a?q=%26", "/p/%252e%252e/a?x=%26&q=%26"),
        ("/a%3Fb%23c%25", "/p/a%3Fb%23c%25?x="),
        ("/a/%2e%2e/b", "/p/b?x="),
    ] {
        server.get(target).expect(200);
        let copy = next(&received);
        assert!(copy.starts_with(&format!("GET {expect} HTTP/1.1\r\n")), "{target}: {copy}");
    }
}

/// Options: …action.mirror.to
#[test]
fn several_servers_each_get_a_copy() {
    let ((one, of_one), (two, of_two)) = (listening(FINE), listening(FINE));
    let server = daemon().start_unconfigured();
    let put = |mirror: Value| {
        let config = json!({
            "upstreams": { "shadow": { "servers": { one.address(): {} } } },
            "routes": [{ "action": { "return": 200, "mirror": mirror } }],
        });
        server.control().put("/config", &server.with_listener(config)).expect_done();
    };
    for mirror in [json!(["upstreams/shadow", two.url()]), json!({ "to": ["upstreams/shadow", two.url()] })] {
        put(mirror);
        server.send(&Request::post("/x").body("content")).expect(200);
        assert!(next(&of_one).ends_with("content") && next(&of_two).ends_with("content"));
    }
    let figures = server.control().get("/status/upstreams/shadow/servers").json();
    assert_eq!(figures[one.address()]["requests"]["total"], 2);
}

/// The body goes to both, whichever answers and however it comes.
#[test]
fn bodies_go_to_who_answers_as_well() {
    let (origin, received) = listening(FINE);
    let php = site().file("index.php", "<?php echo strlen(file_get_contents('php://input'));");
    let python = site().file(
        "app.py",
        "async def application(scope, receive, send):
    n, more = 0, True
    while more:
        message = await receive()
        n, more = n + len(message.get('body', b'')), message.get('more_body', False)
    await send({'type': 'http.response.start', 'status': 200, 'headers': []})
    await send({'type': 'http.response.body', 'body': str(n).encode()})
",
    );
    let back = Origin::echo();
    let server = daemon().start_unconfigured();
    let step = |uri: &str, mut action: Value| {
        action["mirror"] = json!(origin.url());
        json!({ "match": { "uri": uri }, "action": action })
    };
    let config = json!({
        "applications": { "php": php_app(&php).value(), "python": python_app(&python).value() },
        "routes": [
            step("/php", json!({ "pass": "applications/php", "rewrite": "/" })),
            step("/python", json!({ "pass": "applications/python" })),
            step("/proxy", json!({ "proxy": back.url() })),
        ],
    });
    server.control().put("/config", &server.with_listener(config)).expect_done();
    for length in [1, 5000, 100_000, 1_048_576] {
        let body = "x".repeat(length);
        for path in ["/php", "/python", "/proxy"] {
            let reply = server.send(&Request::post(path).body(&body)).expect(200);
            if path == "/proxy" {
                assert!(reply.text().ends_with(&format!("\r\n\r\n{body}")));
            } else {
                reply.expect_body(length.to_string());
            }
            let copy = next(&received);
            assert!(copy.ends_with(&format!("\r\n\r\n{body}")), "{path} {length}");
        }
        // Without a length.
        let chunked = format!("{length:x}\r\n{body}\r\n0\r\n\r\n");
        let request = Request::post("/php").field("Transfer-Encoding", "chunked").body(chunked);
        server.send(&request).expect(200).expect_body(length.to_string());
        assert!(next(&received).ends_with(&format!("\r\n\r\n{body}")), "{length}");
    }
}

/// Options: …action.mirror.body
#[test]
fn large_bodies_are_not_copied() {
    let (origin, received) = listening(FINE);
    let site = site().file("index.php", "<?php echo strlen(file_get_contents('php://input'));");
    let server = daemon().application(php_app(&site)).start();
    let put = |mirror: Value| {
        put_action(&server, json!({ "pass": "applications/php", "mirror": mirror }));
        let listeners = json!({ server.address().to_string(): { "pass": "routes" } });
        server.control().put("/config/listeners", &listeners).expect_done();
    };
    put(json!(origin.url()));
    let body = "x".repeat(1_048_577);
    server.send(&Request::post("/").body(&body)).expect(200).expect_body("1048577");
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let request = Request::post("/").field("Transfer-Encoding", "chunked").body(chunked);
    server.send(&request).expect(200).expect_body("1048577");
    expect_figures(&server, 0, 0, 2);
    server.expect_log("/routes/0/action/mirror: not sent, the body is too large for a copy, request \"/\"");
    put(json!({ "to": origin.url(), "body": false }));
    server.send(&Request::post("/").body(&body)).expect(200).expect_body("1048577");
    let copy = next(&received);
    assert!(copy.starts_with("POST / HTTP/1.1\r\n") && copy.ends_with("\r\n\r\n"), "{copy}");
    assert!(!copy.to_lowercase().contains("content-length"), "{copy}");
    expect_figures(&server, 1, 0, 2);
}

/// Options: …action.mirror.sample
#[test]
fn a_share_of_requests_is_copied() {
    let (origin, _received) = listening(FINE);
    let server = with(json!({ "to": origin.url(), "sample": 0.25 }));
    let mut client = server.connect();
    for _ in 0..400 {
        client.get("/").expect(200);
    }
    // All that were drawn have come to an end, and none is dropped: one client alone has few on their way.
    let figures = || server.control().get("/status/mirrors").json()["/routes/0/action/mirror"].clone();
    let n = eventually("a share of them is copied", || figures()["answered"].as_u64().filter(|n| *n >= 40));
    assert!(n <= 180, "{n}");
    put_action(&server, json!({ "return": 200, "mirror": { "to": origin.url(), "sample": 0 } }));
    let before = figures();
    client.get("/").expect(200);
    assert_eq!(figures()["dropped"], before["dropped"]);
    refuse_action(
        &server,
        json!({ "return": 200, "mirror": { "to": origin.url(), "sample": 1.5 } }),
        "The \"sample\" number must be between 0 and 1.",
    );
}

/// The original is as fast, and its answer the same, whatever the other server does.
/// Options: …action.mirror.timeout
#[test]
fn nobody_waits_for_a_copy() {
    let gone = Origin::saying("").url();
    let silent = Origin::start(|peer| while !peer.read().is_empty() {});
    let deaf = Origin::start(|_| std::thread::sleep(PATIENCE));
    let rude = Origin::start(|peer| drop(peer.read()));
    let (nonsense, _) = listening(b"nonsense\r\n\r\n");
    let (huge, _) = listening(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n");
    let endless = Origin::start(|peer| {
        peer.read_request();
        peer.write(b"HTTP/1.1 200 OK\r\n\r\n");
        let piece = vec![b'x'; 65536];
        while peer.write(&piece) {}
    });
    let urls = [gone, silent.url(), deaf.url(), rude.url(), nonsense.url(), huge.url()];
    let server = with(json!({ "to": urls, "timeout": 3600 }));
    let mut client = server.connect();
    let request = Request::post("/").body("x".repeat(300_000));
    let begun = Instant::now();
    for _ in 0..3 {
        client.send(&request).expect(200).expect_body("original");
    }
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
    // Nothing ever comes of three of them.
    expect_figures(&server, 0, 9, 0);
    put_action(&server, json!({ "return": 200, "body": "original", "mirror": { "to": urls, "timeout": 1 } }));
    client.send(&request).expect(200).expect_body("original");
    expect_figures(&server, 0, 15, 0);
    server.expect_log("/routes/0/action/mirror: proxy \"http://");
    put_action(&server, json!({ "return": 200, "body": "original", "mirror": endless.url() }));
    client.get("/").expect(200).expect_body("original");
    expect_figures(&server, 1, 15, 0);
}

/// More than an event loop has room for are dropped, and counted. The daemon's end waits for none of them.
#[test]
fn copies_on_their_way_are_bounded() {
    let silent = Origin::start(|peer| while !peer.read().is_empty() {});
    let mut server = daemon()
        .config(json!({
            "settings": { "listen_threads": 1 },
            "routes": [{ "action": { "return": 200, "mirror": { "to": silent.url(), "timeout": 3600 } } }],
        }))
        .start();
    let mut client = server.connect();
    for _ in 0..80 {
        client.get("/").expect(200);
    }
    expect_figures(&server, 0, 0, 16);
    server.expect_log("/routes/0/action/mirror: not sent, too many copies are on their way, request \"/\"");
    assert!(silent.n_connections() <= 64, "{}", silent.n_connections());
    drop(client);
    let begun = Instant::now();
    assert!(server.stop().success());
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
}

/// Connections are used again.
#[test]
fn copies_share_connections() {
    let (origin, received) = listening(FINE);
    let server = daemon()
        .config(json!({
            "settings": { "listen_threads": 1 },
            "routes": [{ "action": { "return": 200, "mirror": origin.url() } }],
        }))
        .start();
    let mut client = server.connect();
    let mut n_kept = 0;
    eventually("a connection is used again", || {
        client.get("/").expect(200);
        next(&received);
        n_kept += 1;
        (origin.n_connections() < n_kept).then_some(())
    });
}

#[test]
fn copies_go_over_tls_and_to_unix_sockets() {
    let authority = Authority::new("Testers");
    let bundle = authority.server("localhost", &["localhost"]);
    let received = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&received);
    let origin = Origin::start_tls(&bundle, move |peer| {
        while let Some(request) = peer.read_request() {
            notes.lock().expect("nobody panics").push(request);
            peer.write(FINE);
        }
    });
    let server = daemon().start_unconfigured();
    server.control().put_text("/certificates/ca?ca=true", &authority.bundle().pem()).0.expect(200);
    let name = format!("https://localhost:{}", origin.port());
    let config = json!({
        "upstreams": { "shadow": { "servers": { name: {} }, "tls": { "ca": "ca" } } },
        "routes": [{ "action": { "return": 200, "mirror": "upstreams/shadow" } }],
    });
    server.control().put("/config", &server.with_listener(config)).expect_done();
    let body = "x".repeat(200_000);
    server.send(&Request::post("/").body(&body)).expect(200);
    expect_figures(&server, 1, 0, 0);
    assert!(received.lock().expect("nobody panics")[0].ends_with(body.as_bytes()));
}

#[test]
fn the_last_mirror_on_the_way_counts() {
    let ((outer, of_outer), (inner, of_inner)) = (listening(FINE), listening(FINE));
    let routes = json!({
        "main": [
            { "match": { "uri": "/inner" }, "action": { "pass": "routes/inner", "mirror": outer.url() } },
            { "action": { "pass": "routes/plain", "mirror": outer.url() } },
        ],
        "inner": [{ "action": { "return": 200, "mirror": inner.url() } }],
        "plain": [{ "action": { "return": 200 } }],
    });
    let server = daemon().routes(routes).start();
    server.get("/inner").expect(200);
    assert!(next(&of_inner).starts_with("GET /inner "));
    server.get("/outer").expect(200);
    assert!(next(&of_outer).starts_with("GET /outer "));
}

#[test]
fn what_is_no_server_is_refused() {
    let server = daemon().routes(json!([])).start();
    let upstreams = json!({
        "two": { "servers": { "127.0.0.1:9": { "http2": true } } },
        "fast": { "protocol": "fastcgi", "servers": { "127.0.0.1:9": {} } },
    });
    server.control().put("/config/upstreams", &upstreams).expect_done();
    for (mirror, detail) in [
        (json!("127.0.0.1:9000"), "The \"mirror\" address is invalid \"127.0.0.1:9000\"."),
        (json!("http://127.0.0.1:9000/path"), "and without a path"),
        (json!(["upstreams/tow"]), "There is no upstream \"upstreams/tow\"."),
        (json!("upstreams/two"), "Name an upstream without \"protocol\" and \"http2\"."),
        (json!({ "to": "upstreams/fast" }), "do not speak HTTP/1"),
        (json!({ "body": true }), "Required parameter \"to\" is missing."),
    ] {
        refuse_action(&server, json!({ "return": 200, "mirror": mirror }), detail);
    }
}

/// A mirror that leads back to itself copies a request a few times, and not for ever. No client can pretend to be a
/// copy.
#[test]
fn copies_of_copies_come_to_an_end() {
    let (origin, received) = listening(FINE);
    let server = daemon().start_unconfigured();
    let own = format!("http://{}", server.address());
    let action = json!({ "proxy": origin.url(), "mirror": own });
    server
        .control()
        .put("/config", &server.with_listener(json!({ "routes": [{ "action": action }] })))
        .expect_done();
    let forged =
        (0..9).fold(Request::get("/"), |request, _| request.field("Corral-Mirrored", "0123456789abcdef"));
    server.send(&forged).expect(200);
    // The request itself, and its copies.
    (0..4).for_each(|_| drop(next(&received)));
    expect_figures(&server, 3, 0, 1);
    assert!(received.try_recv().is_err());
    server.expect_log("it has come back as a copy, so its servers lead here");
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    /// Options: routes[].action.mirror
    #[test]
    fn copies_have_method_target_fields_and_body() {
        let (origin, received) = listening(FINE);
        let server = with(json!(origin.url()));
        let request = Request::new("PUT", "/a%20b?c=d")
            .field("Host", "example.org")
            .field("X-Own", "1")
            .body("content");
        server
            .send(&request.field("Connection", "close, X-Hop").field("X-Hop", "2"))
            .expect(200)
            .expect_body("original");
        let copy = next(&received);
        assert!(
            copy.starts_with("PUT /a%20b?c=d HTTP/1.1\r\n") && copy.ends_with("\r\n\r\ncontent"),
            "{copy}"
        );
        for line in ["Host: example.org", "X-Own: 1", "Content-Length: 7", "X-Forwarded-For: 127.0.0.1"] {
            assert!(
                copy.to_lowercase().contains(&format!("\r\n{}\r\n", line.to_lowercase())),
                "{line}\n{copy}"
            );
        }
        assert!(!copy.to_lowercase().contains("x-hop"), "{copy}");
        server.get("/").expect(200);
        assert!(next(&received).starts_with("GET / HTTP/1.1\r\n"));
        server.send(&Request::new("HEAD", "/head")).expect(200);
        assert!(next(&received).starts_with("HEAD /head HTTP/1.1\r\n"));
        server.send(&Request::post("/empty")).expect(200);
        assert!(next(&received).to_lowercase().contains("\r\ncontent-length: 0\r\n"));
        expect_figures(&server, 4, 0, 0);
    }

    /// Nothing that is refused before routing is copied, nor what answers in the place of an error, nor connections
    /// that are upgraded.
    #[test]
    fn what_is_let_in_is_copied() {
        let (origin, received) = listening(FINE);
        let server = daemon().start_unconfigured();
        let put = |action: Value| {
            let mut action = action;
            action["mirror"] = json!(origin.url());
            let config = json!({ "routes": [
            { "match": { "uri": "/last" }, "action": { "return": 200, "mirror": origin.url() } },
            { "action": action },
        ] });
            server.control().put("/config", &server.with_listener(config)).expect_done();
        };
        put(json!({ "return": 200, "maintenance": true }));
        server.get("/closed").expect(503);
        put(json!({ "return": 200, "cors": true }));
        let preflight = Request::new("OPTIONS", "/preflight").field("Origin", "https://a.example");
        server.send(&preflight.field("Access-Control-Request-Method", "PUT")).expect(204);
        put(json!({ "return": 200, "limit_requests": { "rate": "1/h" } }));
        server.get("/let-in").expect(200);
        server.get("/refused").expect(429);
        put(json!({ "return": 200 }));
        let upgrade = Request::get("/upgrade").field("Connection", "Upgrade").field("Upgrade", "other");
        server.send(&upgrade).expect(200);
        put(json!({ "return": 404, "errors": { "404": { "return": 410, "mirror": origin.url() } } }));
        server.get("/gone").expect(410);
        server.get("/last").expect(200);
        let target = |copy: String| copy.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut copied: Vec<_> = (0..3).map(|_| target(next(&received))).collect();
        copied.sort();
        assert_eq!(copied, ["/gone", "/last", "/let-in"]);
        assert!(received.try_recv().is_err());
    }
}
