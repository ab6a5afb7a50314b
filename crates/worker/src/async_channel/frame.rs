//! Heads of the frames that a server sends on a WebSocket connection (RFC 6455 section 5.2): whole messages, no masks.

use corral_channel::Opcode;

/// Bytes of a reason behind the code: a control frame has 125 at most.
pub(super) const LONGEST_REASON: usize = 123;

/// The head of a frame that is a message.
pub(super) struct FrameBegin {
    bytes: [u8; 10],
    len: usize,
}

impl AsRef<[u8]> for FrameBegin {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

pub(super) fn head(opcode: Opcode, len: usize) -> FrameBegin {
    const FINAL: u8 = 0x80;
    let mut bytes = [0; 10];
    bytes[0] = FINAL | opcode as u8;
    let n = match (u8::try_from(len), u16::try_from(len)) {
        (Ok(len), _) if len < 126 => {
            bytes[1] = len;
            2
        }
        (_, Ok(len)) => {
            bytes[1] = 126;
            bytes[2..4].copy_from_slice(&len.to_be_bytes());
            4
        }
        _ => {
            bytes[1] = 127;
            bytes[2..].copy_from_slice(&(len as u64).to_be_bytes());
            10
        }
    };
    FrameBegin { bytes, len: n }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_takes_as_many_bytes_as_it_needs() {
        assert_eq!(head(Opcode::Text, 0).as_ref(), [0x81, 0]);
        assert_eq!(head(Opcode::Binary, 125).as_ref(), [0x82, 125]);
        assert_eq!(head(Opcode::Text, 126).as_ref(), [0x81, 126, 0, 126]);
        assert_eq!(head(Opcode::Text, 65535).as_ref(), [0x81, 126, 255, 255]);
        assert_eq!(head(Opcode::Close, 65536).as_ref(), [0x88, 127, 0, 0, 0, 0, 0, 1, 0, 0]);
    }
}
