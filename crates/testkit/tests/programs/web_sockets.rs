//! WebSockets of programs that were written for Unit: what clients may do there is what they may do at any application.

use std::thread;

use corral_testkit::websocket::rules;
use corral_testkit::{Daemon, Http2, Request, Site, WebSocket};
use serde_json::json;

use crate::external::{open_web_socket, unit};
use crate::{program, with_app};

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

/// As large as the settings allow: the package itself takes 64 KiB unless it is told.
#[test]
fn large_messages_come_in_one_frame() {
    let (_site, app) = unit("unit.mjs", json!({}));
    let server = with_app(&app).start();
    let mut socket = open_web_socket(&server);
    for size in [65_536, 65_537, (1 << 20) - WebSocket::LONGEST_HEAD] {
        let text = "x".repeat(size);
        socket.send_text(&text);
        socket.expect_text(&text);
    }
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

/// A program that speaks as the path says, with its site.
fn raw() -> (Site, Daemon) {
    let site = program("sockets.py");
    let app = json!({
        "type": "external", "executable": "/usr/bin/env", "arguments": ["python3", "sockets.py"],
        "working_directory": site.root()
    });
    let server = with_app(&app).start();
    (site, server)
}

#[track_caller]
fn open(server: &Daemon, target: &str) -> WebSocket {
    WebSocket::open(server.connect(), &WebSocket::request(target))
}

#[test]
fn frames_go_through_as_they_are() {
    let (_site, server) = raw();
    let mut socket = open(&server, "/shown");
    let frame = WebSocket::frame(LAST | TEXT, b"Hello");
    socket.client.write(&frame);
    socket.expect_text(&frame.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
}

#[test]
fn programs_that_break_the_rules_end_their_connection_alone() {
    let (_site, server) = raw();
    let mut good = open(&server, "/shown");
    // Its frame has begun, so that no close can be said.
    assert!(open(&server, "/masked").client.is_closed());
    server.expect_log("\"app\": the program sends what is not a frame of a WebSocket connection");
    open(&server, "/end").expect_close(1011);
    // It has ended within a frame.
    let mut cut = open(&server, "/half");
    assert_eq!(cut.client.read_until_text("he").as_bytes().last(), Some(&b'e'));
    assert!(cut.client.is_closed());
    // It does not answer a close, and is not waited for longer than for silence.
    let settings = json!({ "keepalive_interval": 1, "read_timeout": 2 });
    server.control().put("/config/settings", &json!({ "http": { "websocket": settings } })).expect_done();
    let mut silent = open(&server, "/silent");
    silent.send(LAST | WebSocket::CLOSE, &1000_u16.to_be_bytes());
    assert_eq!(silent.receive().0, WebSocket::PING);
    silent.expect_close(1001);
    good.send_text("Hello");
    assert_eq!(good.receive().0, TEXT);
}

#[test]
fn a_program_that_takes_nothing_makes_its_client_wait() {
    let (site, server) = raw();
    let mut socket = open(&server, "/late");
    let sending = thread::spawn(move || {
        for _ in 0..200 {
            socket.send(LAST | WebSocket::BINARY, &[0; 100_000]);
        }
        socket
    });
    for _ in 0..10 {
        server.get("/").expect(200);
    }
    assert!(!sending.is_finished(), "twenty megabytes were taken that the program does not want");
    site.write("go", "");
    sending.join().expect("it was taken").expect_text("20002800");
}

/// RFC 8441.
#[test]
fn a_stream_of_http_2_is_held_to_the_rules_too() {
    let (_site, server) = raw();
    let listener = json!({ "pass": "applications/app", "http2": "prior_knowledge" });
    let listeners = json!({ server.address().to_string(): listener });
    server.control().put("/config/listeners", &listeners).expect_done();
    let mut client = Http2::connect(server.address().socket());
    let request = Request::get("/shown").field("Sec-WebSocket-Version", "13");
    let mut socket = client.connect_protocol("websocket", &request);
    socket.head().expect(200).expect_no_field("sec-websocket-accept");
    socket.write(WebSocket::frame(LAST | WebSocket::PING, b"?"));
    assert_eq!(socket.read_some(), b"\x8a\x01?");
    socket.write(b"\x81\x01x");
    assert!(socket.read_some().starts_with(b"\x88"));
    let other = client.connect_protocol("websocket", &Request::get("/shown")).response();
    other.expect(426);
}
