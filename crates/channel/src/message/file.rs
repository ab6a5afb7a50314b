//! The part of a file with which a response's body ends: the last bytes of a payload with `Flags::FILE`.
//!
//! | offset | size | |
//! | --- | --- | --- |
//! | 0 | 4 | number of the file |
//! | 4 | 4 | zero |
//! | 8 | 8 | offset of the part in the file |
//! | 16 | 8 | bytes of it |

use crate::message::Malformed;

/// A part of a file that was sent beside the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePart {
    /// Which one: they are counted in the order in which they are sent.
    pub number: u32,
    /// Where in it the part begins.
    pub offset: u64,
    /// Bytes of the part; not zero.
    pub len: u64,
}

impl FilePart {
    /// Bytes that it takes behind a payload.
    pub const SIZE: usize = 24;

    /// The bytes that are put behind a payload.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..4].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.offset.to_le_bytes());
        bytes[16..].copy_from_slice(&self.len.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; Self::SIZE]) -> Result<Self, Malformed> {
        let [n0, n1, n2, n3, _, _, _, _, rest @ ..] = *bytes;
        let [o0, o1, o2, o3, o4, o5, o6, o7, len @ ..] = rest;
        let part = Self {
            number: u32::from_le_bytes([n0, n1, n2, n3]),
            offset: u64::from_le_bytes([o0, o1, o2, o3, o4, o5, o6, o7]),
            len: u64::from_le_bytes(len),
        };
        let end = part.offset.checked_add(part.len).filter(|end| i64::try_from(*end).is_ok());
        match end {
            Some(_) if part.len > 0 => Ok(part),
            _ => Err(Malformed::FilePart { offset: part.offset, len: part.len }),
        }
    }
}

/// Reads the end of a payload, and says how long the rest of it is.
///
/// # Errors
/// When the payload is too short, or no file can have such a part.
pub fn split_file(payload: &[u8]) -> Result<(usize, FilePart), Malformed> {
    let (rest, bytes) = payload.split_last_chunk().ok_or(Malformed::Truncated)?;
    Ok((rest.len(), FilePart::from_bytes(bytes)?))
}
