//! Byte ranges (RFC 9110 section 14): which parts of a file a request is answered with.

mod multipart;

use std::io::Write;

use smallvec::SmallVec;

pub use self::multipart::{Boundary, Multipart};

use crate::chars;

/// Bytes `first` to `last` of a representation, both included; `first <= last`, `last` below its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    /// Offset of the first byte.
    pub first: u64,
    /// Offset of the last byte.
    pub last: u64,
}

impl ByteRange {
    /// Bytes in it; never 0.
    #[expect(clippy::len_without_is_empty, reason = "a range is never empty")]
    pub fn len(&self) -> u64 {
        self.last - self.first + 1
    }

    /// Appends the value of `Content-Range` for a representation of `size` bytes.
    pub fn append_content_range(&self, size: u64, out: &mut Vec<u8>) {
        write!(out, "bytes {}-{}/{size}", self.first, self.last).expect("a vector takes everything");
    }
}

/// Ranges, few enough to be kept in place as a rule.
pub type Ranges = SmallVec<[ByteRange; 4]>;

/// The part of a representation that a `Range` field asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RangeSelection {
    /// The field is to be ignored: 200 with everything.
    Whole,
    /// 206 with `Content-Range`.
    One(ByteRange),
    /// 206 with `multipart/byteranges`; at least two, not overlapping, in the order asked for.
    Many(Ranges),
    /// 416 with `Content-Range: bytes */SIZE`.
    Unsatisfiable,
}

/// Evaluates a `Range` field for a representation of `size` bytes.
///
/// Fields of other units, malformed ones and those with more than `MAX_RANGES` ranges are ignored, as
/// RFC 9110 section 14.2 permits. Ranges that overlap, or whose gap is smaller than what a further part
/// costs, are joined, so the reply is never much larger than the file, whatever was asked for.
pub fn select(field: &[u8], size: u64) -> RangeSelection {
    let Some(specs) = specs(field) else { return RangeSelection::Whole };
    let mut ranges = Ranges::new();
    for (n, spec) in specs.split(|&b| b == b',').map(chars::trim).filter(|spec| !spec.is_empty()).enumerate()
    {
        let Some(spec) = RangeSpec::parse(spec) else { return RangeSelection::Whole };
        if n == MAX_RANGES {
            return RangeSelection::Whole;
        }
        ranges.extend(spec.within(size));
    }
    let asked_for_something = specs.iter().any(u8::is_ascii_digit);
    match join(&ranges).as_slice() {
        _ if !asked_for_something || size == 0 && ends_only(specs) => RangeSelection::Whole,
        [] => RangeSelection::Unsatisfiable,
        [one] => RangeSelection::One(*one),
        many => RangeSelection::Many(many.into()),
    }
}

/// Appends the `Content-Range` of a 416.
pub fn append_unsatisfied(size: u64, out: &mut Vec<u8>) {
    write!(out, "bytes */{size}").expect("a vector takes everything");
}

/// Most ranges of one field.
pub const MAX_RANGES: usize = 64;

/// Gaps up to this many bytes are sent rather than skipped: about what the head of a part takes.
const JOINED_GAP: u64 = 128;

/// One element of the field.
enum RangeSpec {
    From { first: u64, last: Option<u64> },
    Suffix { len: u64 },
}

impl RangeSpec {
    fn parse(text: &[u8]) -> Option<RangeSpec> {
        let dash = memchr::memchr(b'-', text)?;
        let (first, last) = (&text[..dash], &text[dash + 1..]);
        match (first.is_empty(), last.is_empty()) {
            (true, _) => Some(RangeSpec::Suffix { len: number(last)? }),
            (false, true) => Some(RangeSpec::From { first: number(first)?, last: None }),
            (false, false) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(RangeSpec::From { first, last: Some(last) })
            }
        }
    }

    /// The bytes that exist of this range; `None` when it cannot be satisfied.
    fn within(&self, size: u64) -> Option<ByteRange> {
        let end = size.checked_sub(1)?;
        match *self {
            RangeSpec::Suffix { len: 0 } => None,
            RangeSpec::Suffix { len } => Some(ByteRange { first: size.saturating_sub(len), last: end }),
            RangeSpec::From { first, .. } if first > end => None,
            RangeSpec::From { first, last } => Some(ByteRange { first, last: last.unwrap_or(end).min(end) }),
        }
    }
}

/// The text behind `bytes=`.
fn specs(field: &[u8]) -> Option<&[u8]> {
    let equals = memchr::memchr(b'=', field)?;
    field[..equals].eq_ignore_ascii_case(b"bytes").then_some(&field[equals + 1..])
}

/// Numbers beyond 64 bits are past the end of any file.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(chars::decimal(digits).unwrap_or(u64::MAX))
}

/// Whether all elements ask for the end of the representation: of an empty one that is all of it.
fn ends_only(specs: &[u8]) -> bool {
    chars::list(specs).all(|spec| spec.starts_with(b"-") && spec.iter().any(|b| (b'1'..=b'9').contains(b)))
}

/// Joins what overlaps or nearly touches; the result stands in the order of the first of each.
fn join(ranges: &[ByteRange]) -> Ranges {
    let mut sorted: SmallVec<[(usize, ByteRange); 4]> = ranges.iter().copied().enumerate().collect();
    sorted.sort_by_key(|&(_, range)| range.first);
    let mut joined: SmallVec<[(usize, ByteRange); 4]> = SmallVec::new();
    for (at, range) in sorted {
        match joined.last_mut() {
            Some((first_at, last)) if range.first <= last.last.saturating_add(JOINED_GAP) => {
                *first_at = at.min(*first_at);
                last.last = last.last.max(range.last);
            }
            _ => joined.push((at, range)),
        }
    }
    joined.sort_by_key(|&(at, _)| at);
    joined.into_iter().map(|(_, range)| range).collect()
}

#[cfg(test)]
mod tests;
