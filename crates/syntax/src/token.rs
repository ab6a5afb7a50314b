//! Tokens: names of headers, methods, codings, parameters (RFC 9110 section 5.6.2).

/// The bytes that a token may have.
const TOKEN: [bool; 256] = table();

/// Whether `text` is a token: at least one byte, all of them `tchar`.
#[must_use]
#[inline]
pub fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|&byte| TOKEN[byte as usize])
}

const fn table() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(
            byte as u8,
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-'
                | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
        );
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_no_separators() {
        assert!(is_token(b"a") && is_token(b"!#$%&'*+-.^_`|~09AZaz"));
        for wrong in [&b""[..], b"a b", b"a:", b"a/b", b"(a)", b"\xe9", b"a\0"] {
            assert!(!is_token(wrong), "{wrong:?}");
        }
    }
}
