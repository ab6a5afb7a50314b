//! Taking numbers and strings from the front of bytes that may end anywhere.

use crate::message::Malformed;

/// The rest of a payload.
#[derive(Debug, Clone, Copy)]
pub(super) struct PayloadReader<'a>(pub(super) &'a [u8]);

impl<'a> PayloadReader<'a> {
    pub(super) fn bytes(&mut self, len: u32) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(len as usize).ok_or(Malformed::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed::Truncated)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }
}

/// The first `len` bytes, given that the payload begins with a u32 that says how many are head; and
/// what follows them.
pub(super) fn split_head(payload: &[u8]) -> Result<(PayloadReader<'_>, usize), Malformed> {
    let mut reader = PayloadReader(payload);
    let len = reader.u32()? as usize;
    let head = payload.get(..len).ok_or(Malformed::Truncated)?;
    let behind_len = head.get(size_of::<u32>()..).ok_or(Malformed::Truncated)?;
    Ok((PayloadReader(behind_len), len))
}

/// The length of a part of a head.
pub(super) fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("a head is shorter than 4 GiB")
}

/// Writes at `start` how long the head has become.
pub(super) fn set_head_len(out: &mut [u8], start: usize) {
    let len = length(&out[start..]);
    out[start..start + size_of::<u32>()].copy_from_slice(&len.to_le_bytes());
}
