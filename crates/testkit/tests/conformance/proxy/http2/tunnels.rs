//! WebSocket connections to servers of HTTP/2 (RFC 8441).

use bytes::Bytes;
use corral_testkit::{Asked, Frame, Http2, Http2Origin, Origin, Request, flag, kind};
use h2::ext::Protocol;
use serde_json::json;

use super::{proxy, proxy_with};

/// Sends all bytes back behind the head, which shows what it was asked for.
async fn echo(mut asked: Asked) {
    let protocol = asked.request.extensions().get::<Protocol>().map_or("none", Protocol::as_str).to_owned();
    let shown = asked.shown().replace('\n', "; ");
    if asked.request.uri().path() == "/no" {
        return asked.answer(403, &[], "no").await;
    }
    let fields = [("x-protocol", protocol.as_str()), ("x-shown", &shown), ("sec-websocket-protocol", "chat")];
    let mut sending = asked.begin(200, &fields);
    while let Some(piece) = asked.read().await {
        sending.send_data(piece, false).expect("room");
    }
    sending.send_data("bye".into(), false).expect("room");
    sending.send_data(Bytes::new(), true).expect("room");
}

fn origin() -> Http2Origin {
    let settings = |settings: &mut h2::server::Builder| {
        settings.enable_connect_protocol();
    };
    Http2Origin::start_with(settings, None, echo)
}

/// With the key of RFC 6455 section 1.3.
const UPGRADE: &str = "Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

#[test]
fn clients_of_http1_upgrade() {
    let origin = origin();
    let server = proxy(&origin);
    let mut client = server.connect();
    client.write(format!("GET /chat HTTP/1.1\r\n{UPGRADE}"));
    let response = client
        .read_response()
        .expect(101)
        .expect_field("Upgrade", "websocket")
        .expect_field("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        .expect_field("Sec-WebSocket-Protocol", "chat")
        .expect_field("X-Protocol", "websocket");
    let shown = response.field("X-Shown").expect("a field");
    assert!(shown.starts_with("CONNECT http://x/chat; ") && !shown.contains("sec-websocket-key"), "{shown}");
    client.write("hello");
    assert_eq!(client.read_some(), b"hello");
    let large = vec![b'x'; 300_000];
    client.write(&large);
    let mut n = 0;
    while n < large.len() {
        n += client.read_some().len();
    }
    client.finish_writing();
    assert_eq!(client.read_to_end(), b"bye");
    server.get("/").expect(200);
    assert_eq!(origin.n_connections(), 1);
}

#[test]
fn clients_of_http2_connect() {
    let origin = origin();
    let server = proxy(&origin);
    let mut client = Http2::connect(server.address().socket());
    let request = Request::get("/chat").field("Sec-WebSocket-Version", "13");
    let mut stream = client.connect_protocol("websocket", &request);
    stream.head().expect(200).expect_field("X-Protocol", "websocket");
    for word in ["hello", "again"] {
        stream.write(word);
        assert_eq!(stream.read_some(), word.as_bytes());
    }
    stream.finish();
    assert_eq!(stream.read_some(), b"bye");
}

#[test]
fn a_server_may_refuse() {
    let origin = origin();
    let server = proxy(&origin);
    let mut client = server.connect();
    client.write(format!("GET /no HTTP/1.1\r\n{UPGRADE}"));
    client.read_response().expect(403).expect_body("no");
}

#[test]
fn a_server_that_knows_no_tunnels_is_named() {
    let origin = Http2Origin::start(echo);
    let server = proxy(&origin);
    let mut client = server.connect();
    client.write(format!("GET / HTTP/1.1\r\n{UPGRADE}"));
    client.read_response().expect(502);
    server.expect_log("it takes no WebSocket over HTTP/2 (RFC 8441)");
}

/// Options: …action.proxy_options.timeouts.tunnel
#[test]
fn silence_ends_a_tunnel() {
    let origin = origin();
    let server = proxy_with(&origin.url(), json!({ "timeouts": { "tunnel": 1 } }));
    let mut client = server.connect();
    client.write(format!("GET /chat HTTP/1.1\r\n{UPGRADE}"));
    client.read_response().expect(101);
    assert!(client.read_to_end().is_empty());
}

#[test]
fn a_server_that_breaks_off_ends_the_connection() {
    let origin = Origin::start(|peer| {
        // SETTINGS_ENABLE_CONNECT_PROTOCOL
        peer.greet(&[(8, 1)]);
        let Some(stream) = peer.read_stream() else { return };
        peer.write(&Frame::new(kind::HEADERS, flag::END_HEADERS, stream, [0x88]).encode());
        peer.write(&Frame::reset(stream, 2).encode());
        while peer.read_stream().is_some() {}
    });
    let server = proxy_with(&origin.url(), json!({}));
    let mut client = server.connect();
    client.write(format!("GET / HTTP/1.1\r\n{UPGRADE}"));
    // Whether the head or the reset is seen first.
    let _ = client.try_read_response_to("GET");
    assert!(client.read_to_end().is_empty());
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    /// Other protocols have no place in HTTP/2: a server may always ignore that a client would like one.
    #[test]
    fn other_upgrades_are_ignored() {
        let origin = Http2Origin::start(|mut asked| async move {
            let shown = asked.shown();
            asked.answer(200, &[], shown).await;
        });
        let server = proxy(&origin);
        let mut client = server.connect();
        client.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n");
        let text = client.read_response().expect(200).text();
        assert!(!text.contains("upgrade"), "{text}");
    }
}
