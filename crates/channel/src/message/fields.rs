//! The fields of a head: `n` times the lengths of name and value (u32 each), then name and value.

use crate::message::Malformed;
use crate::message::reader::{PayloadReader, length};

/// The fields of a head in their order, names as they were received.
#[derive(Debug, Clone, Copy)]
pub struct HeadFields<'a> {
    rest: PayloadReader<'a>,
    n_left: u32,
}

impl<'a> HeadFields<'a> {
    /// Takes `n` fields from `reader`, each accepted by `check` (index, name, value), so that iterating
    /// cannot fail.
    pub(super) fn decode(
        reader: PayloadReader<'a>,
        n: u32,
        check: impl Fn(usize, &[u8], &[u8]) -> Result<(), Malformed>,
    ) -> Result<Self, Malformed> {
        let mut rest = reader;
        for index in 0..n as usize {
            let (name, value) = take_field(&mut rest)?;
            check(index, name, value)?;
        }
        Ok(Self { rest: reader, n_left: n })
    }
}

pub(super) fn take_field<'a>(reader: &mut PayloadReader<'a>) -> Result<(&'a [u8], &'a [u8]), Malformed> {
    let (name_len, value_len) = (reader.u32()?, reader.u32()?);
    Ok((reader.bytes(name_len)?, reader.bytes(value_len)?))
}

impl<'a> Iterator for HeadFields<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.n_left = self.n_left.checked_sub(1)?;
        take_field(&mut self.rest).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.n_left as usize, Some(self.n_left as usize))
    }
}

impl ExactSizeIterator for HeadFields<'_> {}

/// Appends fields and says how many they were.
pub(super) fn encode<'f>(out: &mut Vec<u8>, fields: impl IntoIterator<Item = (&'f [u8], &'f [u8])>) -> u32 {
    let mut n = 0;
    for (name, value) in fields {
        out.extend_from_slice(&length(name).to_le_bytes());
        out.extend_from_slice(&length(value).to_le_bytes());
        out.extend_from_slice(name);
        out.extend_from_slice(value);
        n += 1;
    }
    n
}

/// Refuses what would let a worker write its own lines into a response.
pub(super) fn check_response_field(index: usize, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
    // Folds without an early exit are vectorised or at least free of branches; nearly all fields are fine.
    let token = name.iter().fold(!name.is_empty(), |good, byte| good & TOKEN[usize::from(*byte)]);
    if !token {
        return Err(Malformed::FieldName { index });
    }
    let breaks = value.iter().fold(false, |bad, byte| bad | matches!(byte, b'\r' | b'\n' | 0));
    if breaks {
        return Err(Malformed::FieldValue { index });
    }
    Ok(())
}

/// `tchar` of RFC 9110 section 5.6.2.
const TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut rest: &[u8] = b"!#$%&'*+-.^_`|~";
    while let [first, others @ ..] = rest {
        table[*first as usize] = true;
        rest = others;
    }
    table
};
