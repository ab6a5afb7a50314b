//! The opcodes of WebSocket messages.

/// The kind of a WebSocket message. The numbers are the protocol's (RFC 6455 section 5.2) and the wire's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Opcode {
    /// A text in UTF-8.
    Text = 1,
    /// Bytes.
    Binary = 2,
    /// The last message of a side: a code and a reason, or nothing.
    Close = 8,
}

impl Opcode {
    const ALL: [Self; 3] = [Self::Text, Self::Binary, Self::Close];

    /// The opcode with this number, which is the `aux` of a [`Kind::Message`](crate::FrameKind::Message) frame.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|opcode| *opcode as u32 == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opcode_is_known_by_its_number() {
        assert_eq!(Opcode::ALL.map(|opcode| Opcode::from_number(opcode as u32)), Opcode::ALL.map(Some));
        assert_eq!([0, 3, 9, 10, 257].map(Opcode::from_number), [None; 5]);
    }
}
