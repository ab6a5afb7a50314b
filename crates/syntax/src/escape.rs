//! Bytes that are written as `%XX` (RFC 3986 section 2.1).

/// The value of one hexadecimal digit.
#[must_use]
#[inline]
pub fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// The byte that the two hexadecimal digits at the start of `digits` stand for.
#[must_use]
#[inline]
pub fn escaped_byte(digits: &[u8]) -> Option<u8> {
    let [high, low] = *digits.first_chunk()?;
    Some(hex_digit(high)? << 4 | hex_digit(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_digits_are_a_byte() {
        assert_eq!(escaped_byte(b"2f"), Some(b'/'));
        assert_eq!(escaped_byte(b"2Fx"), Some(b'/'));
        assert_eq!(escaped_byte(b"ff"), Some(0xff));
        for wrong in [&b""[..], b"2", b"2g", b"g2", b"+2", b" 2", b"\xff2"] {
            assert_eq!(escaped_byte(wrong), None, "{wrong:?}");
        }
    }
}
