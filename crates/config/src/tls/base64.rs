//! Base64 of RFC 4648 section 4; the padding may be left out.

/// What the text stands for; `None` when it is not Base64.
pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let unpadded = match text {
        [rest @ .., b'=', b'='] | [rest @ .., b'='] if text.len().is_multiple_of(4) => rest,
        other => other,
    };
    if unpadded.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(unpadded.len() / 4 * 3 + 2);
    for group in unpadded.chunks(4) {
        let mut bits = 0;
        for position in 0..4 {
            bits = bits << 6 | group.get(position).map_or(Some(0), |byte| value(*byte))?;
        }
        bytes.extend_from_slice(&u32::to_be_bytes(bits)[1..group.len()]);
    }
    Some(bytes)
}

fn value(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[track_caller]
    fn check(text: &str, expect: Option<&[u8]>) {
        assert_eq!(decode(text.as_bytes()).as_deref(), expect, "{text}");
    }

    #[test]
    fn the_examples_of_the_rfc() {
        check("", Some(b""));
        check("Zg==", Some(b"f"));
        check("Zm8=", Some(b"fo"));
        check("Zm9v", Some(b"foo"));
        check("Zm9vYg==", Some(b"foob"));
        check("Zm9vYmE", Some(b"fooba"));
        check("Zm9vYmFy", Some(b"foobar"));
        check("+/+/", Some(&[0xfb, 0xff, 0xbf]));
    }

    #[test]
    fn everything_else_is_refused() {
        for text in ["=", "Z", "Zg=", "Zg===", "Zm9v=", "Zm9v====", "Zm 9v", "Zm9v\n", "Zm-_", "Z=g=", "é==="]
        {
            check(text, None);
        }
    }
}
