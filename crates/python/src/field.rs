//! Fields of responses: what they must not hold, and what a `Content-Length` says.

/// Whether this is one line with a name.
pub(crate) fn is_sound(name: &[u8], value: &[u8]) -> bool {
    let is_of_name = |byte: &u8| !byte.is_ascii_control() && !matches!(byte, b' ' | b':');
    !name.is_empty() && name.iter().all(is_of_name) && memchr::memchr3(b'\r', b'\n', 0, value).is_none()
}

/// Bytes of a body, by a `Content-Length`.
pub(crate) fn length(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii();
    let is_number = digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, value: &str, expect: bool) {
        assert_eq!(is_sound(name.as_bytes(), value.as_bytes()), expect);
    }

    #[test]
    fn a_field_is_one_line() {
        check("X-A", "b", true);
        check("X-A", "", true);
        check("X_Ä", "ü\t b", true);
        for (name, value) in
            [("", "b"), ("X A", "b"), ("X-A:", "b"), ("X\r\nA", "b"), ("X\tA", "b"), ("X\0", "b")]
        {
            check(name, value, false);
        }
        for value in ["a\r\nb", "a\nb", "a\rb", "a\0b"] {
            check("X-A", value, false);
        }
    }

    #[test]
    fn a_length_is_a_number() {
        for (text, expect) in
            [("5", Some(5)), (" 5 ", Some(5)), ("007", Some(7)), ("18446744073709551616", None)]
        {
            assert_eq!(length(text.as_bytes()), expect);
        }
        for text in ["", " ", "five", "-5", "+5", "5 5", "5, 5", "0x5"] {
            assert_eq!(length(text.as_bytes()), None, "{text}");
        }
    }
}
