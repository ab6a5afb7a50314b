//! WebSockets of programs that were written for Unit: what clients may do there is what they may do at any application.

use corral_testkit::WebSocket;
use corral_testkit::websocket::rules;
use serde_json::json;

use crate::external::{open_web_socket, unit};
use crate::with_app;

const TEXT: u8 = WebSocket::TEXT;
const LAST: u8 = WebSocket::LAST;

#[test]
fn handshakes_and_frames_are_held_to_the_rules() {
    let (_site, app) = unit("unit.mjs", json!({}));
    let server = with_app(&app).start();
    rules::expect_handshakes(&server, "/chat");
    rules::expect_frames(|| open_web_socket(&server));
    rules::expect_settings(&server, || open_web_socket(&server));
}

/// A message that arrives together with the request, and one that comes byte by byte.
#[test]
fn messages_may_come_in_any_pieces() {
    let (_site, app) = unit("unit.mjs", json!({}));
    let server = with_app(&app).start();
    let mut client = server.connect();
    client.write([WebSocket::request("/chat").encode(), WebSocket::frame(LAST | TEXT, b"early")].concat());
    client.read_until_text("\x05early");
    for byte in WebSocket::frame(LAST | TEXT, b"byte by byte") {
        client.write([byte]);
    }
    client.read_until_text("byte by byte");
}

#[test]
fn either_side_may_close() {
    let (_site, app) = unit("unit.mjs", json!({}));
    let server = with_app(&app).start();
    let mut socket = open_web_socket(&server);
    socket.send(LAST | WebSocket::CLOSE, b"\x10\x92bye");
    // The package answers with a code of its own.
    socket.expect_close(1000);
    assert!(socket.client.is_closed());
    // A process that dies takes its connections with it, and their clients are told.
    let mut socket = open_web_socket(&server);
    server.get("/crash").expect(503);
    socket.expect_close(1011);
    assert!(socket.client.is_closed());
}

/// The program is not told of pings, however many come, and a client that takes no answers does not fill its memory.
#[test]
fn endless_pings_do_not_reach_the_program() {
    let (_site, app) = unit("unit.mjs", json!({}));
    let server = with_app(&app).start();
    let mut socket = open_web_socket(&server);
    let pings = WebSocket::frame(LAST | WebSocket::PING, &[b'?'; 125]).repeat(1000);
    for _ in 0..100 {
        socket.client.write(&pings);
    }
    socket.send_text("done");
    loop {
        match socket.receive() {
            (WebSocket::PONG, _) => {}
            (_, text) => break assert_eq!(text, b"done"),
        }
    }
}
