//! Handshakes and frames that RFC 6455 forbids, and clients that the settings end: every application with WebSockets is
//! spared them.

use serde_json::json;

use crate::{Daemon, Request, WebSocket};

const TEXT: u8 = WebSocket::TEXT;
const BINARY: u8 = WebSocket::BINARY;
const PING: u8 = WebSocket::PING;
const LAST: u8 = WebSocket::LAST;

/// Handshakes are refused as they have to be, and one that is right is accepted.
#[track_caller]
pub fn expect_handshakes(server: &Daemon, target: &str) {
    let good = || WebSocket::request(target);
    let without = |name: &str| {
        let mut fields = vec![
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("Sec-WebSocket-Version", "13"),
        ];
        fields.retain(|(field, _)| *field != name);
        fields.iter().fold(Request::get(target), |request, (name, value)| request.field(name, value))
    };
    let version = server.send(&without("Sec-WebSocket-Version")).expect(426);
    version.expect_field("Sec-WebSocket-Version", "13");
    server.send(&without("Sec-WebSocket-Version").field("Sec-WebSocket-Version", "8")).expect(426);
    server.send(&without("Sec-WebSocket-Key")).expect(400);
    server.send(&without("Sec-WebSocket-Key").field("Sec-WebSocket-Key", "short")).expect(400);
    let text = String::from_utf8(good().encode()).expect("it is text");
    for wrong in [
        text.replacen("GET ", "POST ", 1),
        text.replacen("GET ", "HEAD ", 1),
        text.replacen("HTTP/1.1", "HTTP/1.0", 1),
        text.replacen("\r\n\r\n", "\r\nContent-Length: 1\r\n\r\nx", 1),
    ] {
        let mut client = server.connect();
        client.write(&wrong);
        let head = client.read_until_text("\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 400 "), "{head} to {wrong}");
    }
    let _ = WebSocket::open(server.connect(), &good());
}

/// Frames that break the rules end their connection, and no other. `open` makes one that sends messages back.
#[track_caller]
pub fn expect_frames(open: impl Fn() -> WebSocket) {
    let mut other = open();
    let long = [&[LAST | BINARY, 0x80 | 127, 0, 0, 0, 1, 0, 0, 0, 0], &[0; 4][..]].concat();
    let longest = [&[LAST | BINARY, 0x80 | 127][..], &[0xff; 8], &[0; 4]].concat();
    let wrong: [(&[u8], u16); 13] = [
        (b"\x81\x01x", 1002),         // not masked
        (b"\x81\x00", 1002),          // not masked, and empty
        (b"\xc1\x81\0\0\0\0x", 1002), // reserved bits
        (b"\xa1\x81\0\0\0\0x", 1002),
        (b"\x91\x81\0\0\0\0x", 1002),
        (b"\x83\x81\0\0\0\0x", 1002), // reserved opcodes
        (b"\x8b\x81\0\0\0\0x", 1002),
        (b"\x80\x81\0\0\0\0x", 1002),                  // nothing to continue
        (b"\x01\x81\0\0\0\0x\x81\x81\0\0\0\0y", 1002), // a message within another
        (b"\x09\x80\0\0\0\0", 1002),                   // a divided ping
        (b"\x89\xfe\x00\x7e\0\0\0\0", 1002),           // a long ping
        (&long, 1009),
        (&longest, 1009),
    ];
    for (bytes, code) in wrong {
        let mut socket = open();
        socket.client.write(bytes);
        assert_eq!(closing(&mut socket), code, "{bytes:?}");
        assert!(socket.client.is_closed(), "{bytes:?}");
    }
    for code in [0_u16, 999, 1004, 1005, 1006, 1015, 2999, 5000] {
        let mut socket = open();
        socket.send(LAST | WebSocket::CLOSE, &code.to_be_bytes());
        assert_eq!(closing(&mut socket), 1002, "close code {code}");
    }
    let mut socket = open();
    socket.send(LAST | WebSocket::CLOSE, b"\x03");
    assert_eq!(closing(&mut socket), 1002);
    other.send(LAST | PING, b"are you there?");
    assert_eq!(other.receive(), (WebSocket::PONG, b"are you there?".to_vec()));
    other.send_text("still here");
    other.expect_text("still here");
}

/// The code of the next close, behind messages that were sent before.
#[track_caller]
fn closing(socket: &mut WebSocket) -> u16 {
    loop {
        let (kind, payload) = socket.receive();
        if kind == WebSocket::CLOSE {
            let [high, low, ..] = payload[..] else { panic!("a close without a code") };
            return u16::from_be_bytes([high, low]);
        }
    }
}

/// Frames are as large as `settings.http.websocket` allows, and silent clients are asked and then closed.
#[track_caller]
pub fn expect_settings(server: &Daemon, open: impl Fn() -> WebSocket) {
    let settings = json!({ "max_frame_size": 1000, "keepalive_interval": 1, "read_timeout": 3 });
    server.control().put("/config/settings", &json!({ "http": { "websocket": settings } })).expect_done();
    let mut silent = open();
    let mut socket = open();
    // Two bytes of head, two of length and four of mask count.
    socket.send(LAST | TEXT, &[b'x'; 992]);
    socket.expect_text(&"x".repeat(992));
    socket.send(LAST | TEXT, &[b'x'; 993]);
    assert_eq!(closing(&mut socket), 1009);
    assert_eq!(silent.receive().0, PING);
    silent.send(LAST | WebSocket::PONG, b"");
    assert_eq!(silent.receive().0, PING);
    assert_eq!(silent.expect_close(1001), "silent for too long");
}
