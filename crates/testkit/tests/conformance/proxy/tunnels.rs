//! Connections that are upgraded to another protocol.

use corral_testkit::{Authority, Client, Daemon, Origin, daemon};
use serde_json::{Value, json};

use super::proxy_with;

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

/// Options: …action.proxy_options.timeouts.tunnel
#[test]
fn silent_tunnels_end() {
    let (_server, _origin, mut client) = tunnel(json!({ "timeouts": { "tunnel": 1 } }));
    client.read_until_text("helloEARLY");
    assert!(client.is_closed());
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

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
}
