//! Paths of request targets: decoding and dot segments one way, percent-encoding the other.

use crate::chars::hex_digit;

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
/// `?` and `#`; it usually begins with `/`, which is not enforced (rewritten paths need not).
/// `out` is emptied first, and holds no `.` or `..` segment afterwards, also not after an error.
pub fn normalise(raw: &[u8], out: &mut Vec<u8>) -> Result<(), PathError> {
    out.clear();
    let result = resolve(raw, out);
    if result.is_err() {
        out.clear();
    }
    result
}

fn resolve(raw: &[u8], out: &mut Vec<u8>) -> Result<(), PathError> {
    let mut rest = raw;
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        let mut byte = first;
        if first == b'%' {
            (byte, rest) = escape(tail)?;
        }
        match byte {
            0 => return Err(PathError::Nul),
            b'/' => {
                close_segment(out)?;
                if out.last() != Some(&b'/') {
                    out.push(b'/');
                }
            }
            _ => out.push(byte),
        }
    }
    close_segment(out)
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

/// Appends a `Location` value: as it is when it is already a well-formed URI reference, otherwise with
/// all of it escaped, `%` included (a text with a space in it was not encoded by anybody).
///
/// The first `?` and the first `#` keep their meaning; later ones are data.
pub fn append_location(text: &[u8], out: &mut Vec<u8>) {
    if is_encoded(text) {
        out.extend_from_slice(text);
        return;
    }
    let mut part = Part::Path;
    for &b in text {
        let plain = part.allows(b);
        part = part.after(b);
        append_escaped(b, plain, out);
    }
}

/// Whether every byte may stand in a URI where it stands, `%` only before two hexadecimal digits.
fn is_encoded(text: &[u8]) -> bool {
    let mut part = Part::Path;
    let mut rest = text;
    while let Some((&b, tail)) = rest.split_first() {
        rest = tail;
        if b == b'%' {
            let Some((pair, after)) = tail.split_first_chunk::<2>() else { return false };
            if pair.iter().any(|&digit| hex_digit(digit).is_none()) {
                return false;
            }
            rest = after;
        } else if !is_unreserved(b) && !part.allows(b) {
            return false;
        }
        part = part.after(b);
    }
    true
}

/// The part of a URI that is being written.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Path,
    Query,
    Fragment,
}

impl Part {
    /// Whether the reserved byte `b` may stand here unescaped.
    fn allows(self, b: u8) -> bool {
        match b {
            b'?' => self == Part::Path,
            b'#' => self != Part::Fragment,
            _ => is_reserved(b),
        }
    }

    fn after(self, b: u8) -> Part {
        match (self, b) {
            (Part::Path, b'?') => Part::Query,
            (Part::Path | Part::Query, b'#') => Part::Fragment,
            _ => self,
        }
    }
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
