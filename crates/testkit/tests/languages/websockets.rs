//! WebSocket (RFC 6455) through to the application and back, by a client that writes its own frames.

use corral_testkit::Client;

use crate::runtime::{Runtime, Served};

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
/// A frame that ends a message.
const LAST: u8 = 0x80;

struct Socket {
    client: Client,
    received: Vec<u8>,
}

/// What RFC 6455 section 1.3 asks and answers.
#[track_caller]
fn open(server: &Served) -> Socket {
    let mut client = server.connect();
    client.write(
        "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    );
    let head = client.read_until_text("\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert!(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
    Socket { client, received: Vec::new() }
}

impl Socket {
    fn send(&mut self, first: u8, payload: &[u8]) {
        let mut frame = vec![first];
        match payload.len() {
            n @ 0..126 => frame.push(0x80 | n as u8),
            n @ 126..65_536 => {
                frame.push(0x80 | 126);
                frame.extend((n as u16).to_be_bytes());
            }
            n => {
                frame.push(0x80 | 127);
                frame.extend((n as u64).to_be_bytes());
            }
        }
        let mask = [0x37, 0xfa, 0x21, 0x3d];
        frame.extend(mask);
        frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        self.client.write(frame);
    }

    /// The next message; control frames are messages of their own.
    #[track_caller]
    fn receive(&mut self) -> (u8, Vec<u8>) {
        let (first, mut payload) = self.receive_frame();
        let mut is_last = first & LAST != 0;
        while !is_last {
            let (next, more) = self.receive_frame();
            assert_eq!(next & 15, CONTINUATION);
            payload.extend(more);
            is_last = next & LAST != 0;
        }
        (first & 15, payload)
    }

    #[track_caller]
    fn receive_frame(&mut self) -> (u8, Vec<u8>) {
        let [first, length] = self.take_array();
        assert_eq!(length & 0x80, 0, "a server does not mask");
        let length = match length {
            126 => u16::from_be_bytes(self.take_array()).into(),
            127 => u64::from_be_bytes(self.take_array()) as usize,
            n => n.into(),
        };
        (first, self.take(length))
    }

    #[track_caller]
    fn take_array<const N: usize>(&mut self) -> [u8; N] {
        self.take(N).try_into().expect("as many as were asked for")
    }

    #[track_caller]
    fn take(&mut self, n: usize) -> Vec<u8> {
        while self.received.len() < n {
            let more = self.client.read_some();
            assert!(!more.is_empty(), "closed after {:?}", self.received);
            self.received.extend(more);
        }
        let rest = self.received.split_off(n);
        std::mem::replace(&mut self.received, rest)
    }
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
    // A pong that nobody asked for is no message.
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
