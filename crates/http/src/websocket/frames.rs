//! Heads of frames (RFC 6455 section 5.2), and those frames that the router makes itself.

use std::io::Cursor;

use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::OpCode;

/// The kinds of control frames.
pub use tungstenite::protocol::frame::coding::Control;

/// Bytes of the longest head: length in eight bytes, and a mask.
pub(super) const LONGEST_HEAD: usize = 14;

/// Bytes of the longest payload of a control frame (RFC 6455 section 5.5).
pub(super) const LONGEST_CONTROL: u64 = 125;

/// Why the router closes a connection (RFC 6455 section 7.4.1), with a word for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloseReason {
    /// As the client gets it.
    pub code: u16,
    /// Short enough for a control frame.
    pub reason: &'static str,
}

/// A head, the length of its payload, and its own; nothing when more has to come.
pub(super) fn parse_head(bytes: &[u8]) -> Result<Option<(FrameHeader, u64, usize)>, CloseReason> {
    let mut cursor = Cursor::new(bytes);
    let parsed = FrameHeader::parse(&mut cursor).map_err(|_| CloseReason::protocol("unknown opcode"))?;
    Ok(parsed.map(|(head, len)| (head, len, cursor.position() as usize)))
}

/// Appends a control frame of the server.
pub(super) fn append_control(out: &mut Vec<u8>, kind: Control, payload: &[u8]) {
    let head = FrameHeader { opcode: OpCode::Control(kind), ..FrameHeader::default() };
    head.format(payload.len() as u64, out).expect("memory takes everything");
    out.extend_from_slice(payload);
}

impl CloseReason {
    pub(super) fn protocol(reason: &'static str) -> Self {
        Self { code: 1002, reason }
    }

    /// The payload of its frame.
    #[must_use]
    pub fn payload(self) -> Vec<u8> {
        let mut payload = self.code.to_be_bytes().to_vec();
        payload.extend_from_slice(self.reason.as_bytes());
        payload
    }
}
