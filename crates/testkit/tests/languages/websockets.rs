//! WebSocket (RFC 6455) through to the application and back, by a client that writes its own frames.

use corral_testkit::WebSocket;

use crate::runtime::{Runtime, Served};

const CONTINUATION: u8 = WebSocket::CONTINUATION;
const TEXT: u8 = WebSocket::TEXT;
const BINARY: u8 = WebSocket::BINARY;
const CLOSE: u8 = WebSocket::CLOSE;
const PING: u8 = WebSocket::PING;
const PONG: u8 = WebSocket::PONG;
const LAST: u8 = WebSocket::LAST;

#[track_caller]
fn open(server: &Served) -> WebSocket {
    WebSocket::open(server.connect(), &WebSocket::request("/ws"))
}

pub(crate) fn echo(runtime: &Runtime) {
    let server = runtime.serve();
    let mut socket = open(&server);
    for text in ["hello", "", "ü"] {
        socket.send(LAST | TEXT, text.as_bytes());
        assert_eq!(socket.receive(), (TEXT, text.into()));
    }
    let all: Vec<u8> = (0..=255).collect();
    socket.send(LAST | BINARY, &all);
    assert_eq!(socket.receive(), (BINARY, all));
    // Requests go beside it.
    server.get("/pid").expect(200);
    drop(socket);
    server.get("/pid").expect(200);
}

pub(crate) fn fragments(runtime: &Runtime) {
    let server = runtime.serve();
    let mut socket = open(&server);
    socket.send(TEXT, b"in ");
    // Control frames may come between the parts of a message.
    socket.send(LAST | PING, b"now");
    socket.send(CONTINUATION, b"");
    socket.send(LAST | CONTINUATION, b"parts");
    assert_eq!(socket.receive(), (PONG, b"now".to_vec()));
    assert_eq!(socket.receive(), (TEXT, b"in parts".to_vec()));
}

pub(crate) fn ping(runtime: &Runtime) {
    let server = runtime.serve();
    let mut socket = open(&server);
    for payload in [&b""[..], b"are you there?"] {
        socket.send(LAST | PING, payload);
        assert_eq!(socket.receive(), (PONG, payload.to_vec()));
    }
    // An unsolicited pong is not a message.
    socket.send(LAST | PONG, b"");
    socket.send(LAST | TEXT, b"next");
    assert_eq!(socket.receive(), (TEXT, b"next".to_vec()));
}

pub(crate) fn close(runtime: &Runtime) {
    let server = runtime.serve();
    for code in [1000_u16, 1001, 4321] {
        let mut socket = open(&server);
        socket.send(LAST | CLOSE, &code.to_be_bytes());
        let (kind, payload) = socket.receive();
        assert_eq!((kind, &payload[..2]), (CLOSE, &code.to_be_bytes()[..]));
        assert!(socket.client.is_closed());
    }
}

pub(crate) fn large_messages(runtime: &Runtime) {
    let server = runtime.serve();
    let mut socket = open(&server);
    for n in [125, 126, 65_535, 65_536, 1_000_000] {
        let message: Vec<u8> = (0..n).map(|at| (at % 251) as u8).collect();
        socket.send(LAST | BINARY, &message);
        let (kind, payload) = socket.receive();
        assert!(kind == BINARY && payload == message, "{n} bytes come back as {}", payload.len());
    }
}
