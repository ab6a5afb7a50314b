//! A WebSocket client (RFC 6455) that sends the very frames that a test wants.

pub mod rules;

use crate::client::Client;
use crate::request::Request;

/// One connection, which was accepted.
#[derive(Debug)]
pub struct WebSocket {
    /// The connection that carries the frames.
    pub client: Client,
    /// The head of the acceptance.
    pub accepted: String,
    received: Vec<u8>,
}

impl WebSocket {
    /// Opcodes of frames.
    pub const CONTINUATION: u8 = 0;
    /// A message of text.
    pub const TEXT: u8 = 1;
    /// A message of bytes.
    pub const BINARY: u8 = 2;
    /// The last frame of a side.
    pub const CLOSE: u8 = 8;
    /// Asks for a pong.
    pub const PING: u8 = 9;
    /// Answers a ping.
    pub const PONG: u8 = 10;
    /// To be added to the opcode of a frame that ends a message.
    pub const LAST: u8 = 0x80;

    /// Bytes in front of the payload of a client's longest frames, which count for `max_frame_size`.
    pub const LONGEST_HEAD: usize = 14;

    /// The request for a connection, as in RFC 6455 section 1.3.
    #[must_use]
    pub fn request(target: &str) -> Request {
        Request::get(target)
            .field("Upgrade", "websocket")
            .field("Connection", "Upgrade")
            .field("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
            .field("Sec-WebSocket-Version", "13")
    }

    /// Asks for a connection by a request as [`WebSocket::request`] makes it.
    #[must_use]
    #[track_caller]
    pub fn open(mut client: Client, request: &Request) -> Self {
        client.write(request.encode());
        let accepted = client.read_until_text("\r\n\r\n");
        assert!(accepted.starts_with("HTTP/1.1 101 "), "{accepted}");
        assert!(accepted.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{accepted}");
        Self { client, accepted, received: Vec::new() }
    }

    /// Sends a whole message.
    pub fn send_text(&mut self, text: &str) {
        self.send(Self::LAST | Self::TEXT, text.as_bytes());
    }

    /// Sends a frame that begins with this byte.
    pub fn send(&mut self, first: u8, payload: &[u8]) {
        self.client.write(Self::frame(first, payload));
    }

    /// A frame as a client sends it.
    #[must_use]
    pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
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
        frame
    }

    /// The next message; control frames are messages of their own.
    #[must_use]
    #[track_caller]
    pub fn receive(&mut self) -> (u8, Vec<u8>) {
        let (first, mut payload) = self.receive_frame();
        let mut is_last = first & Self::LAST != 0;
        while !is_last {
            let (next, more) = self.receive_frame();
            assert_eq!(next & 15, Self::CONTINUATION);
            payload.extend(more);
            is_last = next & Self::LAST != 0;
        }
        (first & 15, payload)
    }

    /// As `receive`, without the pings of a server that has heard nothing for long, as on a busy machine.
    #[track_caller]
    fn receive_past_pings(&mut self) -> (u8, Vec<u8>) {
        loop {
            let received = self.receive();
            if received.0 != Self::PING {
                return received;
            }
        }
    }

    /// The next message, which is to be this text.
    #[track_caller]
    pub fn expect_text(&mut self, text: &str) {
        let (kind, payload) = self.receive_past_pings();
        assert_eq!((kind, &*String::from_utf8_lossy(&payload)), (Self::TEXT, text));
    }

    /// The next message, which is to be a close with this code. Returns the reason.
    #[track_caller]
    pub fn expect_close(&mut self, code: u16) -> String {
        let (kind, payload) = self.receive_past_pings();
        assert_eq!((kind, payload.get(..2)), (Self::CLOSE, Some(&code.to_be_bytes()[..])), "{payload:?}");
        String::from_utf8_lossy(&payload[2..]).into_owned()
    }

    /// The next frame: its first byte, and its payload.
    #[track_caller]
    pub fn receive_frame(&mut self) -> (u8, Vec<u8>) {
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
