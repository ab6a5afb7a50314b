//! The choice of a content coding by `Accept-Encoding` (RFC 9110 section 12.5.3).

mod negotiate;

pub use self::negotiate::negotiate;

use corral_syntax::is_token;

use crate::chars::{self, trim};

/// A content coding, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContentCoding {
    /// Brotli.
    Br,
    /// Zstandard.
    Zstd,
    /// Gzip.
    Gzip,
    /// The zlib format; files do not come in it.
    Deflate,
    /// The file itself.
    Identity,
}

impl ContentCoding {
    /// The codings that precompressed files come in, best first.
    pub const COMPRESSED: [ContentCoding; 3] = [ContentCoding::Br, ContentCoding::Zstd, ContentCoding::Gzip];

    /// The value of `Content-Encoding`; not sent for `Identity`.
    pub fn name(self) -> &'static str {
        match self {
            ContentCoding::Br => "br",
            ContentCoding::Zstd => "zstd",
            ContentCoding::Gzip => "gzip",
            ContentCoding::Deflate => "deflate",
            ContentCoding::Identity => "identity",
        }
    }

    /// Ending that a file's name gets for its sibling in that coding.
    pub fn suffix(self) -> &'static str {
        match self {
            ContentCoding::Br => ".br",
            ContentCoding::Zstd => ".zst",
            ContentCoding::Gzip => ".gz",
            ContentCoding::Deflate | ContentCoding::Identity => "",
        }
    }

    fn of(name: &[u8]) -> Option<ContentCoding> {
        let name = if name.eq_ignore_ascii_case(b"x-gzip") { b"gzip" } else { name };
        [
            ContentCoding::Br,
            ContentCoding::Zstd,
            ContentCoding::Gzip,
            ContentCoding::Deflate,
            ContentCoding::Identity,
        ]
        .into_iter()
        .find(|coding| name.eq_ignore_ascii_case(coding.name().as_bytes()))
    }
}

/// The codings that a request accepts, as a weight in thousandths for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    weights: [u16; 5],
}

impl Accepted {
    /// Reads the values of all `Accept-Encoding` fields of a request. Malformed elements count for nothing.
    ///
    /// Without a field everything would be acceptable; only the file itself is what clients then expect.
    pub fn parse<'v>(values: impl Iterator<Item = &'v [u8]>) -> Accepted {
        let mut named = [None; 5];
        let mut others = None;
        for (name, weight) in values.flat_map(chars::list).filter_map(element) {
            match ContentCoding::of(name) {
                Some(coding) => named[coding as usize] = Some(weight),
                None if name == b"*" => others = Some(weight),
                None => {}
            }
        }
        let mut weights = named.map(|weight| weight.or(others).unwrap_or(0));
        if named[ContentCoding::Identity as usize].is_none() && others != Some(0) {
            // Acceptable, but not asked for: anything that was asked for is better.
            weights[ContentCoding::Identity as usize] = 1;
        }
        Accepted { weights }
    }

    /// Whether a reply in that coding is acceptable.
    pub fn accepts(&self, coding: ContentCoding) -> bool {
        self.weight(coding) > 0
    }

    /// How much a reply in that coding is wanted, in thousandths.
    pub fn weight(&self, coding: ContentCoding) -> u16 {
        self.weights[coding as usize]
    }

    /// Whether it is worth looking for compressed siblings at all.
    pub fn accepts_compressed(&self) -> bool {
        ContentCoding::COMPRESSED.iter().any(|&coding| self.accepts(coding))
    }

    /// The codings to be tried, best first; empty when nothing is acceptable. Among equal weights the order
    /// is that of `ContentCoding`, with the file itself last.
    pub fn preferred(&self) -> impl Iterator<Item = ContentCoding> + use<> {
        let mut codings =
            [ContentCoding::Br, ContentCoding::Zstd, ContentCoding::Gzip, ContentCoding::Identity];
        let weights = self.weights;
        codings.sort_by_key(|&coding| std::cmp::Reverse(weights[coding as usize]));
        codings.into_iter().filter(move |&coding| weights[coding as usize] > 0)
    }

    /// The best of the available codings, `None` when none of them is acceptable.
    pub fn choose(&self, available: &[ContentCoding]) -> Option<ContentCoding> {
        self.preferred().find(|coding| available.contains(coding))
    }
}

/// Name and weight of one element, `None` when it is malformed.
fn element(text: &[u8]) -> Option<(&[u8], u16)> {
    let mut parts = text.split(|&b| b == b';').map(trim);
    let name = parts.next().filter(|name| is_token(name))?;
    let weight = match parts.next() {
        None => 1000,
        Some(parameter) => weight(parameter)?,
    };
    parts.next().is_none().then_some((name, weight))
}

/// `q=0.5` in thousandths (RFC 9110 section 12.4.2).
fn weight(parameter: &[u8]) -> Option<u16> {
    let [b'q' | b'Q', b'=', digits @ ..] = parameter else { return None };
    let (whole, fraction) = match digits {
        [whole @ (b'0' | b'1')] => (whole, &[][..]),
        [whole @ (b'0' | b'1'), b'.', fraction @ ..] if fraction.len() <= 3 => (whole, fraction),
        _ => return None,
    };
    let mut thousandths = u16::from(whole - b'0') * 1000;
    for (&digit, scale) in fraction.iter().zip([100, 10, 1]) {
        if !digit.is_ascii_digit() {
            return None;
        }
        thousandths += u16::from(digit - b'0') * scale;
    }
    (thousandths <= 1000).then_some(thousandths)
}

#[cfg(test)]
mod tests;
