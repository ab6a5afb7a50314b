//! Percent-decoding of pieces of a configuration: pattern texts, segments of `pass`, request paths
//! of the control API.

use std::borrow::Cow;

use corral_syntax::escaped_byte;

/// Decodes every `%XX`; nothing is copied when there is none.
///
/// `None` when a percent sign is not followed by two hexadecimal digits.
#[must_use]
pub fn decode(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    if !text.contains(&b'%') {
        return Some(Cow::Borrowed(text));
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        if byte != b'%' {
            out.push(byte);
            rest = tail;
            continue;
        }
        out.push(escaped_byte(tail)?);
        rest = &tail[2..];
    }
    Some(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[track_caller]
    fn check(text: &str, expect: Option<&[u8]>) {
        assert_eq!(decode(text.as_bytes()).as_deref(), expect, "{text}");
    }

    #[test]
    fn escapes_are_decoded_once() {
        check("", Some(b""));
        check("plain", Some(b"plain"));
        check("%41%62", Some(b"Ab"));
        check("a%2fb%2Fc", Some(b"a/b/c"));
        check("%2541", Some(b"%41"));
        check("%00%ff", Some(b"\x00\xff"));
    }

    #[test]
    fn broken_escapes_are_refused() {
        check("%", None);
        check("a%4", None);
        check("%zz", None);
        check("%4g", None);
        check("%+1", None);
    }
}
