//! Bytes as text of JavaScript and back: those that are not UTF-8 are lone surrogates there, as in Python's
//! `surrogateescape`.
//!
//! On the way such a byte is a NUL with the character of the same number behind it, and a NUL is two.

/// A function that has strings from folded ones.
pub(crate) const UNFOLD: &str = r#"(text) => text.replace(/\0([^])/g, (_, character) =>
    character === "\0" ? character : String.fromCharCode(0xdc00 + character.charCodeAt(0)))"#;

/// The bytes as text for `UNFOLD`.
pub(crate) fn fold(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 2);
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\0', "\0\0"));
        for &byte in chunk.invalid() {
            text.extend(['\0', char::from(byte)]);
        }
    }
    text
}

/// The bytes that a folded text stands for.
pub(crate) fn unfold(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\0') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let mut characters = rest[at + 1..].chars();
        bytes.extend(characters.next().and_then(|character| u8::try_from(u32::from(character)).ok()));
        rest = characters.as_str();
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{fold, unfold};

    #[test]
    fn what_is_folded_is_text() {
        assert_eq!(fold(b"a\xe9\0b"), "a\0\u{e9}\0\0b");
        assert_eq!(unfold("a\0\u{e9}\0\0b\0"), b"a\xe9\0b");
    }

    proptest! {
        #[test]
        fn all_bytes_come_back(bytes: Vec<u8>) {
            prop_assert_eq!(unfold(&fold(&bytes)), bytes);
        }
    }
}
