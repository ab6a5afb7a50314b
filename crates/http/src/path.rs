//! Paths of request targets: decoding and dot segments one way, percent-encoding the other.

use std::iter;

use corral_syntax::hex_digit;

/// Why a path of a request target is refused (400).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// `%` without two hexadecimal digits.
    #[error("invalid percent escape in the path")]
    BadEscape,
    /// A NUL byte, escaped or not: no file name holds one.
    #[error("NUL in the path")]
    Nul,
    /// More `..` than folders.
    #[error("the path climbs above the root")]
    AboveRoot,
}

/// Whether `normalise` could change this path. Quick, and true a little too often (`/.well-known`).
pub fn needs_normalising(raw: &[u8]) -> bool {
    let mut after_slash = false;
    raw.iter().any(|&b| {
        let stop = b == b'%' || (after_slash && (b == b'/' || b == b'.'));
        after_slash = b == b'/';
        stop
    })
}

/// Puts the path into `out` with escapes decoded, `.` and `..` resolved and `//` merged.
///
/// Escapes are decoded first, so that `%2e%2e` and `%2F` are what they stand for. `raw` ends before
/// `?` and `#`; it usually begins with `/`, which is not enforced.
/// `out` is emptied first, and holds no `.` or `..` segment afterwards, also not after an error.
pub fn normalise(raw: &[u8], out: &mut Vec<u8>) -> Result<(), PathError> {
    resolve(Escapes(raw), out)
}

/// The same for what holds no escapes, as it was decoded already: every byte stands for itself.
///
/// `out` begins with a slash afterwards, whatever `path` begins with.
pub fn normalise_decoded(path: &[u8], out: &mut Vec<u8>) -> Result<(), PathError> {
    resolve(iter::once(b'/').chain(path.iter().copied()).map(Ok), out)
}

fn resolve(bytes: impl Iterator<Item = Result<u8, PathError>>, out: &mut Vec<u8>) -> Result<(), PathError> {
    out.clear();
    let result = append_resolved(bytes, out);
    if result.is_err() {
        out.clear();
    }
    result
}

fn append_resolved(
    bytes: impl Iterator<Item = Result<u8, PathError>>,
    out: &mut Vec<u8>,
) -> Result<(), PathError> {
    for byte in bytes {
        match byte? {
            0 => return Err(PathError::Nul),
            b'/' => {
                close_segment(out)?;
                if out.last() != Some(&b'/') {
                    out.push(b'/');
                }
            }
            byte => out.push(byte),
        }
    }
    close_segment(out)
}

/// The bytes of a text whose escapes are decoded on the way.
struct Escapes<'t>(&'t [u8]);

impl Iterator for Escapes<'_> {
    type Item = Result<u8, PathError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (&first, tail) = self.0.split_first()?;
        self.0 = tail;
        if first != b'%' {
            return Some(Ok(first));
        }
        let decoded = escape(tail);
        self.0 = decoded.map_or(&b""[..], |(_, rest)| rest);
        Some(decoded.map(|(byte, _)| byte))
    }
}

/// The byte that the two digits at the start of `digits` stand for, and what follows them.
fn escape(digits: &[u8]) -> Result<(u8, &[u8]), PathError> {
    let (pair, rest) = digits.split_first_chunk::<2>().ok_or(PathError::BadEscape)?;
    let high = hex_digit(pair[0]).ok_or(PathError::BadEscape)?;
    let low = hex_digit(pair[1]).ok_or(PathError::BadEscape)?;
    Ok((high << 4 | low, rest))
}

/// Resolves the last segment of `out` when it is `.` or `..`.
fn close_segment(out: &mut Vec<u8>) -> Result<(), PathError> {
    let start = memchr::memrchr(b'/', out).map_or(0, |slash| slash + 1);
    match &out[start..] {
        b"." => out.truncate(start),
        b".." => {
            out.truncate(start);
            let parent = out.strip_suffix(b"/").filter(|parent| !parent.is_empty());
            let parent = parent.ok_or(PathError::AboveRoot)?;
            let keep = memchr::memrchr(b'/', parent).map_or(0, |slash| slash + 1);
            out.truncate(keep);
        }
        _ => {}
    }
    Ok(())
}

/// Appends a decoded path with everything escaped that has no place in the path of a URI.
pub fn append_encoded_path(path: &[u8], out: &mut Vec<u8>) {
    for &b in path {
        append_escaped(b, is_reserved(b) && !matches!(b, b'?' | b'#' | b'[' | b']'), out);
    }
}

/// Appends a host with everything escaped that has no place in the host of a URI; escapes stay what they are.
pub fn append_encoded_host(host: &[u8], out: &mut Vec<u8>) {
    for &b in host {
        append_escaped(b, b == b'%' || is_reserved(b) && !matches!(b, b'/' | b'?' | b'#' | b'@'), out);
    }
}

/// Appends a value as a part of a query: everything is escaped that could end it, or be read as an escape.
pub fn append_encoded_value(value: &[u8], out: &mut Vec<u8>) {
    for &b in value {
        append_escaped(b, b == b'/', out);
    }
}

/// Appends a text as a reference to a URI: escapes stay what they are, and what cannot stand in a URI where it stands
/// is escaped, a `%` that begins no escape too.
///
/// The first `#` begins the fragment; later ones are data.
pub fn append_location(text: &[u8], out: &mut Vec<u8>) {
    append_repaired(text, ReferencePart::BeforeFragment, out);
}

/// Appends a text as a query, without its `?`: as `append_location` does, but a `#` is data.
pub fn append_query(text: &[u8], out: &mut Vec<u8>) {
    append_repaired(text, ReferencePart::Fragment, out);
}

fn append_repaired(text: &[u8], mut part: ReferencePart, out: &mut Vec<u8>) {
    for (idx, &b) in text.iter().enumerate() {
        let plain = match b {
            b'%' => escape(&text[idx + 1..]).is_ok(),
            b'#' => part == ReferencePart::BeforeFragment,
            _ => is_reserved(b),
        };
        if b == b'#' {
            part = ReferencePart::Fragment;
        }
        append_escaped(b, plain, out);
    }
}

/// The part of a reference that is being written.
#[derive(Clone, Copy, PartialEq)]
enum ReferencePart {
    BeforeFragment,
    Fragment,
}

fn append_escaped(b: u8, plain: bool, out: &mut Vec<u8>) {
    if plain || is_unreserved(b) {
        out.push(b);
        return;
    }
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(&[b'%', HEX[usize::from(b >> 4)], HEX[usize::from(b & 15)]]);
}

/// RFC 3986 section 2.3.
fn is_unreserved(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~')
}

/// RFC 3986 section 2.2, without `$`'s special handling anywhere: it is an ordinary sub-delimiter.
fn is_reserved(b: u8) -> bool {
    matches!(b, b':' | b'/' | b'?' | b'#' | b'[' | b']' | b'@' | b'!' | b'$')
        || matches!(b, b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=')
}

#[cfg(test)]
mod tests;
