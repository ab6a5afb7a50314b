//! Connections that tell servers where they come from: `tls.certificate`, `bind` and `proxy_protocol`.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, mpsc};

use corral_testkit::{Authority, Origin, PATIENCE, Request, assert_says, daemon, eventually};
use serde_json::{Value, json};

use super::proxy_with;

/// Options: …action.proxy_options.tls.certificate, upstreams.{N}.tls.certificate
#[test]
fn servers_are_shown_a_certificate() {
    let (authority, other) = (Authority::new("our own"), Authority::new("another"));
    let bundle = authority.server("localhost", &["localhost"]);
    let origin = Origin::start_mutual_tls(&bundle, &authority, |peer| {
        while peer.read_request().is_some() {
            peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let bundles = [
        ("ours", authority.bundle()),
        ("client", authority.client("corral")),
        ("stranger", other.client("corral")),
    ];
    for (name, bundle) in &bundles {
        let upload = Request::new("PUT", &format!("/certificates/{name}")).body(bundle.pem());
        assert!(server.control().send(&upload).json()["success"].is_string());
    }
    let url = format!("https://localhost:{}", origin.port());
    let ask = |tls: Value| {
        let action = json!({ "proxy": url, "proxy_options": { "tls": tls } });
        server.control().put("/config/routes", &json!([{ "action": action }])).expect_done();
        server.get("/").status
    };
    assert_eq!(ask(json!({ "ca": "ours" })), 502, "it wants a certificate");
    assert_eq!(ask(json!({ "ca": "ours", "certificate": "client" })), 200);
    assert_eq!(ask(json!({ "verify": false, "certificate": "client" })), 200);
    assert_eq!(ask(json!({ "ca": "ours", "certificate": "stranger" })), 502);
    let pool =
        json!({ "pool": { "servers": { &url: {} }, "tls": { "ca": "ours", "certificate": "client" } } });
    server.control().put("/config/upstreams", &pool).expect_done();
    server
        .control()
        .put("/config/routes", &json!([{ "action": { "pass": "upstreams/pool" } }]))
        .expect_done();
    server.get("/").expect(200);
    let missing = json!({ "proxy": url, "proxy_options": { "tls": { "certificate": "nope" } } });
    let reply = server.control().put("/config/routes", &json!([{ "action": missing }]));
    assert_says(&reply.expect_refused(400, "Invalid configuration."), "Certificate \"nope\" is not found.");
}

/// The first bytes of each connection.
fn watching() -> (Origin, Arc<Mutex<Vec<Vec<u8>>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&seen);
    let origin = Origin::start(move |peer| {
        let mut received = Vec::new();
        // The header may itself have what ends a request's head.
        let is_whole = |bytes: &[u8]| {
            bytes.ends_with(b"\r\n\r\n") && bytes.windows(9).any(|window| window == b" HTTP/1.1")
        };
        while !is_whole(&received) {
            match peer.read() {
                bytes if bytes.is_empty() => return,
                bytes => received.extend(bytes),
            }
        }
        shared.lock().expect("no panic").push(received);
        peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        peer.read();
    });
    (origin, seen)
}

/// Options: …action.proxy_options.bind, upstreams.{N}.bind
#[test]
fn connections_come_from_the_address_that_is_wanted() {
    let origin = Origin::start(|peer| {
        let from = peer.client();
        while peer.read_request().is_some() {
            let body = from.ip().to_string();
            peer.write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
        }
    });
    for bind in ["127.0.0.1", "127.0.0.77"] {
        proxy_with(&origin, json!({ "bind": bind })).get("/").expect(200).expect_body(bind);
        let pool = json!({ "servers": { format!("localhost:{}", origin.port()): {} }, "bind": bind });
        super::upstreams::start(&pool).get("/").expect(200).expect_body(bind);
    }
    // No address of this machine.
    proxy_with(&origin, json!({ "bind": "192.0.2.1" })).get("/").expect(502);
}

/// The version and client of a header, and what is behind it.
fn read_header(bytes: &[u8]) -> ((u8, Option<SocketAddr>), String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if let Some(rest) = bytes.strip_prefix(b"PROXY ") {
        let end = rest.windows(2).position(|pair| pair == b"\r\n").expect("a line");
        let line = text(&rest[..end]);
        let words: Vec<_> = line.split(' ').collect();
        let client = (words[0] != "UNKNOWN").then(|| {
            SocketAddr::new(words[1].parse().expect("an address"), words[3].parse().expect("a port"))
        });
        return ((1, client), text(&rest[end + 2..]));
    }
    assert_eq!(&bytes[..12], b"\r\n\r\n\0\r\nQUIT\n");
    let len = usize::from(u16::from_be_bytes([bytes[14], bytes[15]]));
    let client = (bytes[12] == 0x21).then(|| {
        assert_eq!((bytes[13], len), (0x11, 12));
        let ip = [bytes[16], bytes[17], bytes[18], bytes[19]];
        SocketAddr::new(ip.into(), u16::from_be_bytes([bytes[24], bytes[25]]))
    });
    ((2, client), text(&bytes[16 + len..]))
}

/// Options: upstreams.{N}.proxy_protocol
#[test]
fn checks_speak_for_corral_itself() {
    let (origin, seen) = watching();
    let pool = json!({
        "servers": { origin.address(): {} },
        "proxy_protocol": 1,
        "health": { "path": "/up", "interval": 1 }
    });
    let _server = super::upstreams::start(&pool);
    let check = eventually("a check", || seen.lock().expect("no panic").first().cloned());
    let (header, rest) = read_header(&check);
    assert_eq!(header, (1, None));
    assert!(rest.starts_with("GET /up "), "{rest}");
}

/// In front of TLS.
#[test]
fn the_client_is_named_before_the_handshake() {
    let (told, beginning) = mpsc::channel();
    let origin = Origin::start(move |peer| {
        let mut received = Vec::new();
        while received.len() < 100 {
            match peer.read() {
                bytes if bytes.is_empty() => break,
                bytes => received.extend(bytes),
            }
        }
        let _ = told.send(received);
    });
    let action = json!({
        "proxy": format!("https://{}", origin.address()),
        "proxy_options": { "proxy_protocol": 1, "tls": { "verify": false } }
    });
    let server = daemon().routes(json!([{ "action": action }])).start();
    server.get("/").expect(502);
    let received = beginning.recv_timeout(PATIENCE).expect("a connection");
    let end = received.windows(2).position(|pair| pair == b"\r\n").expect("a line");
    assert!(received.starts_with(b"PROXY TCP4 127."), "{received:?}");
    assert_eq!(received[end + 2], 0x16, "a record with a handshake follows");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let server = daemon().routes(json!([])).start();
    let check = |pool: Value, detail: &str| {
        let reply = server.control().put("/config/upstreams", &json!({ "one": pool }));
        assert_says(&reply.expect_refused(400, "Invalid configuration."), detail);
    };
    let shared = "The \"proxy_protocol\" option is for HTTP/1: requests of several clients share a connection of HTTP/2.";
    check(json!({ "servers": { "127.0.0.1:1": {} }, "proxy_protocol": 1, "http2": true }), shared);
    check(json!({ "servers": { "127.0.0.1:1": { "http2": true } }, "proxy_protocol": 1 }), shared);
    check(json!({ "servers": {}, "proxy_protocol": 3 }), "The \"proxy_protocol\" number must be 1 or 2.");
    check(
        json!({ "servers": {}, "protocol": "fastcgi", "proxy_protocol": 1 }),
        "The \"proxy_protocol\" option is for servers of HTTP, and these speak fastcgi.",
    );
    let family = "The \"bind\" address must be of the same family as those of the servers.";
    check(json!({ "servers": { "127.0.0.1:1": {}, "[::1]:1": {} }, "bind": "127.0.0.1" }), family);
    check(json!({ "servers": { "unix:/s": {} }, "bind": "127.0.0.1" }), family);
    for bind in ["", "localhost", "127.0.0.1:80", "[::1]", "*"] {
        check(
            json!({ "servers": {}, "bind": bind }),
            "The \"bind\" string must be an IP address of this machine, without a port.",
        );
    }
}

/// The address of a client is known where each has a connection of its own.
mod http1_only {
    use super::*;

    /// Options: …action.proxy_options.proxy_protocol
    #[test]
    fn a_connection_begins_with_the_client() {
        for version in [1, 2] {
            let (origin, seen) = watching();
            let server = proxy_with(&origin, json!({ "proxy_protocol": version }));
            let mut client = server.connect();
            client.get("/a").expect(200);
            client.get("/b").expect(200);
            let seen = seen.lock().expect("no panic").clone();
            assert_eq!((seen.len(), origin.n_connections()), (2, 2), "none is used again");
            for (request, target) in seen.iter().zip(["/a", "/b"]) {
                let (header, rest) = read_header(request);
                assert_eq!(header, (version, Some(client.own_address())));
                assert!(rest.starts_with(&format!("GET {target} HTTP/1.1\r\n")), "{rest}");
                assert!(rest.contains("Connection: close\r\n"), "{rest}");
            }
        }
    }
}
