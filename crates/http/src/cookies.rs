//! Cookies of a request, RFC 6265 section 5.4, as tolerant as NGINX Unit.

/// The names and values of one Cookie field in order. Names lose the blanks before them, values those
/// behind them; what has no `=` is not a cookie.
pub fn pairs(field: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    field.split(|&byte| byte == b';').filter_map(|pair| {
        let at = memchr::memchr(b'=', pair)?;
        Some((pair[..at].trim_ascii_start(), pair[at + 1..].trim_ascii_end()))
    })
}

#[cfg(test)]
mod tests {
    use super::pairs;

    #[track_caller]
    fn check(field: &str, expect: &[(&str, &str)]) {
        let found: Vec<_> = pairs(field.as_bytes()).collect();
        let expect: Vec<_> = expect.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        assert_eq!(found, expect, "{field}");
    }

    #[test]
    fn pairs_in_order() {
        check("", &[]);
        check("a=1", &[("a", "1")]);
        check("a=1; b=2;c=3", &[("a", "1"), ("b", "2"), ("c", "3")]);
        check("a=1; a=2", &[("a", "1"), ("a", "2")]);
        check("  a = 1  ; b=", &[("a ", " 1"), ("b", "")]);
        check("a=b=c", &[("a", "b=c")]);
        check("flag; a=1;; ;=x", &[("a", "1"), ("", "x")]);
        check("a=\"1;2\"", &[("a", "\"1")]);
    }
}
