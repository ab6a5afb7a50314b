//! The layout of `multipart/byteranges` (RFC 9110 section 14.6): heads of parts, the end, the length.

use super::{ByteRange, Ranges};

/// Line between the parts; from a random number, so that no file can hold it on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boundary([u8; 20]);

impl Boundary {
    /// The boundary that a random number stands for.
    pub fn new(random: u64) -> Boundary {
        let mut text = [b'0'; 20];
        let mut rest = random;
        for digit in text.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        Boundary(text)
    }
}

/// A reply of several parts. Send for each range its `part_head` and its bytes, then `end`.
#[derive(Debug, Clone)]
pub struct Multipart<'a> {
    ranges: Ranges,
    size: u64,
    /// Type of the representation itself.
    content_type: Option<&'a [u8]>,
    boundary: Boundary,
}

impl<'a> Multipart<'a> {
    /// Parts of a representation of `size` bytes and that type.
    pub fn new(ranges: Ranges, size: u64, content_type: Option<&'a [u8]>, boundary: Boundary) -> Self {
        Multipart { ranges, size, content_type, boundary }
    }

    /// The parts, in order.
    pub fn ranges(&self) -> &[ByteRange] {
        &self.ranges
    }

    /// `Content-Type` of the reply.
    pub fn content_type(&self) -> Vec<u8> {
        [b"multipart/byteranges; boundary=", &self.boundary.0[..]].concat()
    }

    /// `Content-Length` of the reply.
    pub fn content_length(&self) -> u64 {
        let mut text = Vec::new();
        let heads: u64 = self
            .ranges
            .iter()
            .map(|range| {
                text.clear();
                self.append_part_head(range, &mut text);
                text.len() as u64 + range.len()
            })
            .sum();
        text.clear();
        self.append_end(&mut text);
        heads + text.len() as u64
    }

    /// Appends what stands before the bytes of one range. The first one begins with an empty line, which
    /// readers skip as preamble.
    pub fn append_part_head(&self, range: &ByteRange, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\r\n--");
        out.extend_from_slice(&self.boundary.0);
        if let Some(content_type) = self.content_type {
            out.extend_from_slice(b"\r\nContent-Type: ");
            out.extend_from_slice(content_type);
        }
        out.extend_from_slice(b"\r\nContent-Range: ");
        range.append_content_range(self.size, out);
        out.extend_from_slice(b"\r\n\r\n");
    }

    /// Appends what stands behind the last range.
    pub fn append_end(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\r\n--");
        out.extend_from_slice(&self.boundary.0);
        out.extend_from_slice(b"--\r\n");
    }
}
