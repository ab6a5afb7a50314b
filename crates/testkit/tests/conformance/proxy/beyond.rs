//! Proxying beyond Unit: kept connections, timeouts, streams, upgrades, TLS, who the client is.

use std::sync::mpsc;

use corral_testkit::{Authority, Bundle, Client, Daemon, Origin, Request, daemon, eventually};
use serde_json::{Value, json};

fn proxy(origin: &Origin) -> Daemon {
    proxy_with(origin, json!({}))
}

/// A daemon with one event loop that passes everything on.
fn proxy_with(origin: &Origin, options: Value) -> Daemon {
    let action = json!({ "proxy": origin.url(), "proxy_options": options });
    let routes = json!([{ "action": action }]);
    daemon().config(json!({ "settings": { "listen_threads": 1 }, "routes": routes })).start()
}

/// Connections that a server sees for three requests on as many client connections.
#[track_caller]
fn check_connections(response: &str, options: Value, expect: usize) {
    let origin = Origin::answering(response);
    let server = proxy_with(&origin, options);
    for _ in 0..3 {
        server.get("/").expect(200);
    }
    assert_eq!(origin.n_connections(), expect, "{response:?}");
}

/// Options: …action.proxy_options.keepalive.connections, …action.proxy_options.keepalive.requests
#[test]
fn connections_are_used_again() {
    let plain = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    check_connections(plain, json!({}), 1);
    check_connections(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        json!({}),
        1,
    );
    check_connections(plain, json!({ "keepalive": { "connections": 0 } }), 3);
    check_connections(plain, json!({ "keepalive": { "requests": 2 } }), 2);
    check_connections("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", json!({}), 3);
    check_connections("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", json!({}), 3);
    check_connections(
        "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok",
        json!({}),
        3,
    );
}

/// Options: …action.proxy_options.keepalive.idle_timeout
#[test]
fn idle_connections_are_closed_in_time() {
    let (ended, end) = mpsc::channel();
    let origin = Origin::start(move |peer| {
        peer.read_request();
        peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        peer.read();
        let _ = ended.send(());
    });
    let server = proxy_with(&origin, json!({ "keepalive": { "idle_timeout": 1 } }));
    server.get("/").expect(200);
    end.recv_timeout(corral_testkit::PATIENCE).expect("the connection ends");
}

#[test]
fn a_kept_connection_that_the_server_has_closed_is_replaced() {
    // Each connection answers once and dies with the second request.
    let origin = Origin::start(|peer| {
        peer.read_request();
        peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        peer.read_request();
    });
    let server = proxy(&origin);
    let mut client = server.connect();
    for _ in 0..5 {
        client.get("/").expect(200).expect_body("ok");
    }
}

/// Options: …action.proxy_options.timeouts.response
#[test]
fn a_server_that_does_not_answer_is_504() {
    let origin = Origin::start(|peer| {
        peer.read_request();
        peer.read();
    });
    proxy_with(&origin, json!({ "timeouts": { "response": 1 } })).get("/").expect(504);
}

/// Options: …action.proxy_options.timeouts.read
#[test]
fn a_server_that_stops_within_a_body_is_cut_off() {
    let origin = Origin::start(|peer| {
        peer.read_request();
        peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
        peer.read();
    });
    let server = proxy_with(&origin, json!({ "timeouts": { "read": 1 } }));
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(client.read_to_end().ends_with(b"abc"));
}

/// Options: …action.proxy_options.timeouts.send
#[test]
fn a_server_that_takes_nothing_is_504() {
    let origin = Origin::start(|peer| {
        peer.read_head();
        std::thread::park();
    });
    let server = daemon()
        .http(json!({ "max_body_size": 200_000_000 }))
        .routes(
            json!([{ "action": { "proxy": origin.url(), "proxy_options": { "timeouts": { "send": 1 } } } }]),
        )
        .start();
    let mut client = server.connect();
    client.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n");
    let piece = vec![0; 1 << 20];
    // Until nothing more goes through, since the server reads none of it.
    while client.try_write(&piece).is_ok() {}
    server.expect_log("it took nothing of the request for 1s");
}

/// Options: …action.proxy_options.timeouts.connect
#[test]
fn a_name_that_nobody_knows_is_an_error_in_time() {
    let options = json!({ "timeouts": { "connect": 1 } });
    let action = json!({ "proxy": "http://no-such-name.invalid:80", "proxy_options": options });
    let reply = daemon().routes(json!([{ "action": action }])).start().get("/");
    assert!(matches!(reply.status, 502 | 504), "{reply}");
}

#[test]
fn both_directions_stream_at_the_same_time() {
    const LENGTH: usize = 2_000_000;
    let origin = Origin::start(|peer| {
        peer.read_head();
        peer.write(format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n").as_bytes());
        loop {
            let piece = peer.read();
            if piece.is_empty() || !peer.write(&piece) {
                return;
            }
        }
    });
    let server = proxy(&origin);
    let mut client = server.connect();
    client.write(format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {LENGTH}\r\n\r\n"));
    client.write("begin");
    client.read_until_text("\r\n\r\nbegin");
    client.write(vec![b'x'; 1000]);
    client.read_until_text(&"x".repeat(1000));
}

#[test]
fn a_client_that_waits_for_100_gets_it() {
    let origin = Origin::echo();
    let server = proxy(&origin);
    let mut client = server.connect();
    client.write("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    client.read_response().expect(100);
    client.write("hello");
    let text = client.read_response().expect(200).text();
    assert!(text.ends_with("hello") && !text.contains("Expect"), "{text}");
}

#[test]
fn early_hints_are_passed_on() {
    let origin = Origin::answering(
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    );
    let server = proxy(&origin);
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    client.read_response().expect(103).expect_field("Link", "</a>");
    client.read_response().expect(200).expect_body("ok");
}

#[test]
fn the_server_learns_that_the_client_is_gone() {
    let (ended, end) = mpsc::channel();
    let origin = Origin::start(move |peer| {
        peer.read_request();
        let _ = ended.send(false);
        let _ = ended.send(peer.read().is_empty());
    });
    let server = proxy(&origin);
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    end.recv_timeout(corral_testkit::PATIENCE).expect("the request arrives");
    drop(client);
    assert_eq!(end.recv_timeout(corral_testkit::PATIENCE), Ok(true), "the connection ends");
}

#[test]
fn a_client_that_only_says_no_more_gets_its_answer() {
    let origin = Origin::saying("ok");
    let server = proxy(&origin);
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    client.finish_writing();
    client.read_response().expect(200).expect_body("ok");
}

/// Options: …action.proxy_options.forwarded_headers
#[test]
fn servers_learn_who_the_client_is() {
    let origin = Origin::echo();
    let server = proxy(&origin);
    let request = Request::get("/")
        .field("Host", "a.example")
        .field("X-Forwarded-For", "192.0.2.1")
        .field("X-Forwarded-Proto", "https");
    let text = server.send(&request).text();
    assert!(text.contains("X-Forwarded-For: 192.0.2.1, 127."), "{text}");
    assert!(text.contains("X-Forwarded-Proto: http\r\n"), "a client is not believed: {text}");
    assert!(text.contains("X-Forwarded-Host: a.example\r\n"), "{text}");
    let text = proxy_with(&origin, json!({ "forwarded_headers": false })).send(&request).text();
    assert!(text.contains("X-Forwarded-For: 192.0.2.1\r\n") && !text.contains("X-Forwarded-Host"), "{text}");
    let listener = json!({ "pass": "routes", "forwarded": { "source": "127.0.0.0/8", "protocol": "X-Forwarded-Proto" } });
    let listeners = json!({ server.address().to_string(): listener });
    server.control().put("/config/listeners", &listeners).expect_done();
    let text = server.send(&request).text();
    assert!(text.contains("X-Forwarded-Proto: https\r\n"), "a trusted proxy is: {text}");
    assert!(text.contains("X-Forwarded-Port: 443\r\n"), "that of the scheme: {text}");
}

/// The port is the one that the client's addresses have, whatever is listened on here.
#[test]
fn servers_learn_the_port_that_the_client_has_in_mind() {
    let origin = Origin::echo();
    let server = proxy(&origin);
    let port_of = |server: &Daemon, request: &Request| {
        let text = server.send(request).text();
        let ports: Vec<_> =
            text.lines().filter(|line| line.to_lowercase().starts_with("x-forwarded-port:")).collect();
        ports.join("|").replace("X-Forwarded-Port: ", "")
    };
    let ask = |host: &str| Request::get("/").field("Host", host).field("x-forwarded-port", "1");
    for (host, port) in
        [("a.example", "80"), ("a.example:8080", "8080"), ("[::1]:81", "81"), ("a.example:x", "80")]
    {
        assert_eq!(port_of(&server, &ask(host)), port, "{host}: a client is not believed");
    }
    let own = server.address().port().to_string();
    let mut client = server.connect();
    client.write("GET / HTTP/1.0\r\nX-Forwarded-Port: 1\r\n\r\n");
    let text = client.read_response().text();
    assert!(text.contains(&format!("X-Forwarded-Port: {own}\r\n")), "without a host: {text}");
    let kept = proxy_with(&origin, json!({ "forwarded_headers": false }));
    assert_eq!(port_of(&kept, &ask("a.example")), "x-forwarded-port: 1");
    let listener = json!({ "pass": "routes", "forwarded": { "source": "127.0.0.0/8", "protocol": "X-Forwarded-Proto" } });
    server
        .control()
        .put("/config/listeners", &json!({ server.address().to_string(): listener }))
        .expect_done();
    assert_eq!(port_of(&server, &ask("a.example:8080")), "1", "a trusted proxy is");
    let said = Request::get("/").field("Host", "inner").field("X-Forwarded-Host", "a.example:8443");
    assert_eq!(port_of(&server, &said), "8443");
    let action = json!({ "proxy": origin.url(), "request_headers": { "X-Forwarded-Port": "7" } });
    server.control().put("/config/routes", &json!([{ "action": action }])).expect_done();
    assert_eq!(port_of(&server, &ask("a.example")), "7", "the configuration has the last word");
}

/// Options: …action.request_headers.{name}
#[test]
fn what_the_configuration_says_of_a_field_is_the_last_word() {
    let origin = Origin::echo();
    let headers = json!({ "X-Forwarded-For": "$remote_addr", "x-forwarded-proto": null, "X-User": "nobody" });
    let server =
        daemon().routes(json!([{ "action": { "proxy": origin.url(), "request_headers": headers } }])).start();
    // A client that names a field in Connection has it removed, but not the one of this server.
    let request = Request::get("/")
        .field("Connection", "X-User, X-Own")
        .field("X-User", "root")
        .field("X-Own", "1")
        .field("X-Forwarded-For", "192.0.2.1")
        .field("X-Forwarded-Proto", "https");
    let text = server.send(&request).expect(200).text();
    assert!(text.contains("X-User: nobody\r\n") && !text.contains("X-Own"), "{text}");
    assert!(text.contains("X-Forwarded-For: 127.") && !text.contains("192.0.2.1"), "{text}");
    assert!(
        !text.to_lowercase().contains("x-forwarded-proto") && text.contains("X-Forwarded-Host: "),
        "{text}"
    );
}

/// A connection that is switched to another protocol, of a server that shouts back.
fn tunnel(options: Value) -> (Daemon, Origin, Client) {
    let origin = Origin::start(|peer| {
        let head = peer.read_head().unwrap_or_default();
        assert!(head.contains("Connection: Upgrade\r\nUpgrade: websocket\r\n"), "{head}");
        peer.write(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nhello",
        );
        loop {
            let piece = peer.read();
            if piece.is_empty() {
                peer.write(b"bye");
                return;
            }
            peer.write(&piece.to_ascii_uppercase());
        }
    });
    let server = proxy_with(&origin, options);
    let mut client = server.connect();
    client.write(
        "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\nearly",
    );
    client
        .read_response()
        .expect(101)
        .expect_field("Upgrade", "websocket")
        .expect_field("Connection", "Upgrade");
    (server, origin, client)
}

#[test]
fn upgraded_connections_are_passed_through() {
    let (_server, _origin, mut client) = tunnel(json!({}));
    client.read_until_text("helloEARLY");
    client.write("more");
    client.read_until_text("MORE");
    client.finish_writing();
    assert_eq!(client.read_to_end(), b"bye");
}

/// Bytes of the client that are encrypted already are sent on before the server says something.
#[test]
fn a_tunnel_by_tls_passes_on_everything_before_it_waits() {
    const LEN: usize = 16_000_000;
    let bundle = Authority::new("our own").server("localhost", &["localhost"]);
    let origin = Origin::start_tls(&bundle, |peer| {
        peer.read_head();
        peer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
        let mut left = LEN;
        while left > 0 {
            let n = peer.read().len();
            assert!((1..=left).contains(&n), "{n} of {left}");
            left -= n;
        }
        peer.write(b"all of it");
    });
    let url = format!("https://localhost:{}", origin.port());
    let action = json!({ "proxy": url, "proxy_options": { "tls": { "verify": false } } });
    let server = daemon().routes(json!([{ "action": action }])).start();
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
    client.read_response().expect(101);
    client.write(vec![b'x'; LEN]);
    client.read_until_text("all of it");
}

/// Options: …action.proxy_options.timeouts.tunnel
#[test]
fn silent_tunnels_end() {
    let (_server, _origin, mut client) = tunnel(json!({ "timeouts": { "tunnel": 1 } }));
    client.read_until_text("helloEARLY");
    assert!(client.is_closed());
}

/// Options: …action.proxy_options.tls.verify, …action.proxy_options.tls.ca, …action.proxy_options.tls.server_name
#[test]
fn servers_with_tls_have_to_prove_who_they_are() {
    let authority = Authority::new("our own");
    let bundle = authority.server("localhost", &["localhost", "other.example"]);
    let large = "x".repeat(1_000_000);
    let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{large}", large.len());
    let origin =
        Origin::start_tls(
            &bundle,
            move |peer| {
                while peer.read_request().is_some() && peer.write(response.as_bytes()) {}
            },
        );
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let upload = Request::new("PUT", "/certificates/ours").body(authority.bundle().pem());
    assert!(server.control().send(&upload).json()["success"].is_string());
    let ask = |host: &str, tls: Value| {
        let url = format!("https://{host}:{}", origin.port());
        let action = json!({ "proxy": url, "proxy_options": { "tls": tls } });
        server.control().put("/config/routes", &json!([{ "action": action }])).expect_done();
        server.get("/").status
    };
    assert_eq!(ask("localhost", json!({})), 502, "nobody knows this authority");
    server.expect_log("invalid peer certificate");
    assert_eq!(ask("localhost", json!({ "verify": false })), 200);
    assert_eq!(ask("localhost", json!({ "ca": "ours" })), 200);
    assert_eq!(ask("127.0.0.1", json!({ "ca": "ours" })), 502, "the certificate is for another name");
    assert_eq!(ask("127.0.0.1", json!({ "ca": "ours", "server_name": "other.example" })), 200);
    assert_eq!(server.get("/").expect(200).body.len(), large.len());
}

/// A certificate that is trusted itself; one of X.509 version 1, as `openssl x509` makes them; and one with a
/// common name alone.
#[test]
fn servers_show_what_openssl_makes() {
    let fixture = Bundle::of_version_1;
    let authority = Authority::new("origin.example");
    let named = authority.server("origin.example", &[]);
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    for (name, bundle) in [("ours", authority.bundle()), ("old", fixture("authority.pem"))] {
        let upload = Request::new("PUT", &format!("/certificates/{name}")).body(bundle.pem());
        assert!(server.control().send(&upload).json()["success"].is_string());
    }
    let ask = |bundle: &Bundle, ca: &str, name: &str| {
        let origin = Origin::start_tls(bundle, |peer| {
            peer.read_request();
            peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        });
        let url = format!("https://{}", origin.address());
        let tls = json!({ "ca": ca, "server_name": name });
        let action = json!({ "proxy": url, "proxy_options": { "tls": tls } });
        server.control().put("/config/routes", &json!([{ "action": action }])).expect_done();
        server.get("/").status
    };
    for (bundle, ca) in [(&authority.bundle(), "ours"), (&named, "ours"), (&fixture("signed.pem"), "old")] {
        assert_eq!(ask(bundle, ca, "origin.example"), 200, "{}", server.log());
        assert_eq!(ask(bundle, ca, "other.example"), 502);
    }
    assert_eq!(ask(&fixture("forged.pem"), "old", "origin.example"), 502);
    assert_eq!(ask(&fixture("signed.pem"), "ours", "origin.example"), 502);
    let alternative = authority.server("origin.example", &["other.example"]);
    assert_eq!(ask(&alternative, "ours", "origin.example"), 502, "the common name counts no more");
}

#[test]
fn a_large_response_waits_for_a_slow_client() {
    let large = "x".repeat(8_000_000);
    let origin = Origin::saying(&large);
    let server = proxy(&origin);
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    eventually("the server sends", || (origin.n_connections() == 1).then_some(()));
    client.read_response().expect(200).expect_body(&large);
}

#[test]
fn fields_behind_a_body_reach_who_asks_for_them() {
    let origin = Origin::start(|peer| {
        while let Some(request) = peer.read_request() {
            let body = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
            let end = "0\r\nX-Sum:  6 \r\nContent-Length: 7\r\nX-Last: \r\n\r\n";
            if request.starts_with(b"GET /late ") {
                peer.write(body.as_bytes());
                peer.write(end.as_bytes());
            } else {
                peer.write((body.to_owned() + end).as_bytes());
            }
        }
    });
    let server = proxy(&origin);
    let mut client = server.connect();
    for path in ["/", "/late"] {
        client.write(format!("GET {path} HTTP/1.1\r\nHost: a\r\nTE: gzip, trailers\r\n\r\n"));
        client.read_until_text("\r\n3\r\nabc\r\n0\r\nX-Sum: 6\r\nX-Last: \r\n\r\n");
        client.write(format!("GET {path} HTTP/1.1\r\nHost: a\r\nTE: gzip\r\n\r\n"));
        client.read_until_text("\r\n3\r\nabc\r\n0\r\n\r\n");
    }
    assert_eq!(origin.n_connections(), 1);
}

#[test]
fn servers_hear_that_fields_behind_a_body_are_welcome() {
    let origin = Origin::echo();
    let server = proxy(&origin);
    let request = Request::get("/").field("TE", "trailers, deflate").field("Connection", "TE");
    let text = server.send(&request).expect(200).text();
    assert!(text.contains("TE: trailers\r\nConnection: TE\r\n"), "{text}");
    let server = proxy_with(&origin, json!({ "keepalive": { "connections": 0 } }));
    let text = server.send(&request).expect(200).text();
    assert!(text.contains("TE: trailers\r\nConnection: close, TE\r\n"), "{text}");
}

/// A body of the size that is kept for another server, and is not when nobody else may get it.
#[test]
fn bodies_are_forgotten_when_they_were_sent() {
    let origin = Origin::echo();
    let server = proxy(&origin);
    let mut client = server.connect();
    for len in [0, 1, 4_000, 32_768, 65_535, 65_536, 65_537, 200_000] {
        let body = "x".repeat(len);
        for method in ["POST", "PUT"] {
            let text = client.send(&Request::new(method, "/").body(&body)).expect(200).text();
            assert!(text.ends_with(&format!("\r\n\r\n{body}")), "{method} {len}");
        }
    }
}
