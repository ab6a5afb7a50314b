//! Frames of HTTP/2 as bytes, right or wrong (RFC 9113 section 4), with fields that are written out (RFC 7541 section
//! 6.2).

/// Kinds of frames.
#[expect(missing_docs, reason = "they are named as in RFC 9113 section 6")]
pub mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const PRIORITY: u8 = 2;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// Flags of frames.
pub mod flag {
    /// A flag of SETTINGS and PING.
    pub const ACK: u8 = 1;
    /// A flag of DATA and HEADERS.
    pub const END_STREAM: u8 = 1;
    /// A flag of HEADERS and CONTINUATION.
    pub const END_HEADERS: u8 = 4;
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// One of [`kind`].
    pub kind: u8,
    /// Flags of [`flag`].
    pub flags: u8,
    /// 0 for the connection.
    pub stream: u32,
    /// Everything behind the nine bytes of its head.
    pub payload: Vec<u8>,
}

impl Frame {
    /// Any frame.
    #[must_use]
    pub fn new(kind: u8, flags: u8, stream: u32, payload: impl Into<Vec<u8>>) -> Self {
        Self { kind, flags, stream, payload: payload.into() }
    }

    /// Settings: number, value.
    #[must_use]
    pub fn settings(settings: &[(u16, u32)]) -> Self {
        let payload =
            settings.iter().flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat());
        Self::new(kind::SETTINGS, 0, 0, payload.collect::<Vec<_>>())
    }

    /// All of a head, which is all of a request.
    #[must_use]
    pub fn headers(stream: u32, fields: &[(&str, &str)]) -> Self {
        Self::new(kind::HEADERS, flag::END_STREAM | flag::END_HEADERS, stream, encode(fields))
    }

    /// A GET, which is all of a request.
    #[must_use]
    pub fn get(stream: u32, target: &str) -> Self {
        Self::headers(stream, &head("GET", target))
    }

    /// The head of a POST, whose body follows.
    #[must_use]
    pub fn post(stream: u32, target: &str) -> Self {
        Self::headers(stream, &head("POST", target)).without(flag::END_STREAM)
    }

    /// A piece of a body.
    #[must_use]
    pub fn data(stream: u32, piece: &[u8]) -> Self {
        Self::new(kind::DATA, 0, stream, piece)
    }

    /// The end of a stream.
    #[must_use]
    pub fn reset(stream: u32, code: u32) -> Self {
        Self::new(kind::RST_STREAM, 0, stream, code.to_be_bytes())
    }

    /// Room for more bytes, on a stream or, with 0, on the connection.
    #[must_use]
    pub fn window_update(stream: u32, increment: u32) -> Self {
        Self::new(kind::WINDOW_UPDATE, 0, stream, increment.to_be_bytes())
    }

    /// A question whose answer is the same.
    #[must_use]
    pub fn ping() -> Self {
        Self::new(kind::PING, 0, 0, *b"testping")
    }

    /// With a flag.
    #[must_use]
    pub fn with(mut self, flag: u8) -> Self {
        self.flags |= flag;
        self
    }

    /// Without a flag.
    #[must_use]
    pub fn without(mut self, flag: u8) -> Self {
        self.flags &= !flag;
        self
    }

    /// The number that the payload of RST_STREAM or of GOAWAY tells as the reason.
    #[must_use]
    pub fn code(&self) -> u32 {
        let at = if self.kind == kind::GOAWAY { 4 } else { 0 };
        let bytes = self.payload.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(u32::MAX, u32::from_be_bytes)
    }

    /// The bytes for the wire.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let length = u32::try_from(self.payload.len()).expect("three bytes are enough").to_be_bytes();
        let head = [&length[1..], &[self.kind, self.flags], &self.stream.to_be_bytes()].concat();
        [head, self.payload.clone()].concat()
    }

    /// Takes the first frame out of what was received, if all of it is there.
    pub(crate) fn take(received: &mut Vec<u8>) -> Option<Self> {
        let head: [u8; 9] = received.get(..9)?.try_into().ok()?;
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let payload = received.get(9..9 + length)?.to_vec();
        received.drain(..9 + length);
        let stream = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
        Some(Self { kind: head[3], flags: head[4], stream, payload })
    }
}

/// Fields of a request to `localhost`.
#[must_use]
fn head<'a>(method: &'a str, target: &'a str) -> [(&'a str, &'a str); 4] {
    [(":method", method), (":scheme", "http"), (":authority", "localhost"), (":path", target)]
}

/// Fields that no table remembers, written out.
fn encode(fields: &[(&str, &str)]) -> Vec<u8> {
    fields.iter().flat_map(|(name, value)| field(0, name, value)).collect()
}

/// A field that is written out, and that the table of the connection remembers from then on.
#[must_use]
pub fn remembered(name: &str, value: &str) -> Vec<u8> {
    field(0x40, name, value)
}

fn field(first: u8, name: &str, value: &str) -> Vec<u8> {
    let mut block = vec![first];
    for text in [name, value] {
        integer(&mut block, text.len());
        block.extend_from_slice(text.as_bytes());
    }
    block
}

/// A number with seven bits in its first byte (RFC 7541 section 5.1).
fn integer(block: &mut Vec<u8>, mut number: usize) {
    if number < 127 {
        return block.push(number as u8);
    }
    block.push(127);
    number -= 127;
    while number >= 128 {
        block.push(number as u8 | 128);
        number >>= 7;
    }
    block.push(number as u8);
}
