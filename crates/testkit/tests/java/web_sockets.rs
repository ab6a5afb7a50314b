//! WebSockets of servlets: large messages, and what the router spares them.

use corral_testkit::websocket::rules;
use corral_testkit::{Daemon, WebSocket};
use serde_json::json;

use crate::{Level, webapp, with_app};

const TEXT: u8 = WebSocket::TEXT;
const BINARY: u8 = WebSocket::BINARY;
const LAST: u8 = WebSocket::LAST;

#[track_caller]
fn open(server: &Daemon) -> WebSocket {
    WebSocket::open(server.connect(), &WebSocket::request("/chat"))
}

#[track_caller]
fn check(level: Level) {
    let site = webapp(level);
    let server = with_app(&site, json!({})).start();
    large_messages(&server);
    rules::expect_handshakes(&server, "/chat");
    rules::expect_frames(|| open(&server));
    rules::expect_settings(&server, || open(&server));
}

/// A message that is taken as a whole may be as large as a frame, and may come in many.
#[track_caller]
fn large_messages(server: &Daemon) {
    let mut socket = open(server);
    for size in [8192, 8193, 65_536, (1 << 20) - WebSocket::LONGEST_HEAD, 10] {
        for kind in [TEXT, BINARY] {
            let message = vec![b'x'; size];
            socket.send(LAST | kind, &message);
            let (kind_of_answer, answer) = socket.receive();
            assert!(
                kind_of_answer == kind && answer == message,
                "{size}: {} of {kind_of_answer}",
                answer.len()
            );
        }
    }
    let text = "\u{e4}\u{20ac}".repeat(100_000);
    socket.send_text(&text);
    socket.expect_text(&text);
    for kind in [TEXT, BINARY] {
        socket.send(kind, &[b'1'; 9000]);
        socket.send(0, &[b'2'; 9000]);
        socket.send(LAST, &[b'3'; 9000]);
        assert_eq!(socket.receive().1.len(), 27_000);
    }
    socket.send(BINARY, &[0; 600_000]);
    socket.send(LAST, &[0; 600_000]);
    socket.expect_close(1009);
}

#[test]
fn web_sockets_of_javax() {
    check(Level::Javax);
}

#[test]
fn web_sockets_of_jakarta() {
    check(Level::Jakarta);
}

/// Tomcat compresses messages for clients that offer it, and reserved bits say so.
#[test]
fn an_extension_that_both_sides_have_agreed_on_is_let_through() {
    let site = webapp(Level::Javax);
    let server = with_app(&site, json!({})).start();
    let request = WebSocket::request("/chat").field("Sec-WebSocket-Extensions", "permessage-deflate");
    let mut socket = WebSocket::open(server.connect(), &request);
    assert!(socket.accepted.contains("permessage-deflate"), "{}", socket.accepted);
    // "Hello", as in RFC 7692 section 7.2.3.1.
    socket.send(LAST | 0x40 | TEXT, b"\xf2\x48\xcd\xc9\xc9\x07\x00");
    let (first, answer) = socket.receive_frame();
    assert_eq!(first, LAST | 0x40 | TEXT, "{answer:?}");
}
