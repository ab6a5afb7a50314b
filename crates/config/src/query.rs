//! The query of a request target, as a form: `a=1&b=2` with `%XX` and `+`.

use std::borrow::Cow;

use corral_syntax::escaped_byte;

/// Parameters in the order of the query, names and values decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// All names and values, one behind the other.
    text: Vec<u8>,
    pairs: Vec<QueryPair>,
}

/// Where a parameter is in the text: its value is right behind its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct QueryPair {
    name_start: usize,
    value_start: usize,
    end: usize,
}

impl Arguments {
    /// Reads a query without its `?`. A parameter without `=` has an empty value; empty ones between
    /// two `&` are none.
    #[must_use]
    pub fn parse(query: &[u8]) -> Self {
        let mut arguments = Self { text: Vec::with_capacity(query.len()), pairs: Vec::new() };
        for parameter in query.split(|&byte| byte == b'&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = split_at_first(parameter, b'=').unwrap_or((parameter, b""));
            let name_start = arguments.text.len();
            append_decoded(name, &mut arguments.text);
            let value_start = arguments.text.len();
            append_decoded(value, &mut arguments.text);
            arguments.pairs.push(QueryPair { name_start, value_start, end: arguments.text.len() });
        }
        arguments
    }

    /// All parameters in order; a name may come several times.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[u8], &[u8])> {
        self.pairs.iter().map(|&QueryPair { name_start, value_start, end }| {
            (&self.text[name_start..value_start], &self.text[value_start..end])
        })
    }

    /// The value of the last parameter of this name.
    #[must_use]
    pub fn last(&self, name: &[u8]) -> Option<&[u8]> {
        self.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

/// Decodes `%XX`, and `+` as a space; nothing is copied when there is neither. A percent sign that
/// starts no escape stands for itself.
#[must_use]
pub fn decode(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr2(b'%', b'+', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    append_decoded(text, &mut out);
    Cow::Owned(out)
}

fn append_decoded(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        match (byte, escaped_byte(tail)) {
            (b'%', Some(decoded)) => {
                out.push(decoded);
                rest = &tail[2..];
            }
            (b'+', _) => out.push(b' '),
            _ => out.push(byte),
        }
    }
}

fn split_at_first(text: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(separator, text)?;
    Some((&text[..at], &text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Arguments, decode};

    /// `expect` has `name=value` separated by blanks, decoded.
    #[track_caller]
    fn check(query: &str, expect: &[(&str, &str)]) {
        let arguments = Arguments::parse(query.as_bytes());
        let pairs: Vec<_> = arguments
            .iter()
            .map(|(name, value)| (String::from_utf8_lossy(name), String::from_utf8_lossy(value)))
            .collect();
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(pairs, expect, "{query}");
    }

    #[test]
    fn parameters_in_order() {
        check("", &[]);
        check("a=1&b=2&a=3", &[("a", "1"), ("b", "2"), ("a", "3")]);
        check("a", &[("a", "")]);
        check("a=", &[("a", "")]);
        check("=a", &[("", "a")]);
        check("&&a=1&", &[("a", "1")]);
        check("a=b=c", &[("a", "b=c")]);
        check("a%3D1=2", &[("a=1", "2")]);
        check("a=1%262", &[("a", "1&2")]);
        check("a+b=c+%2B", &[("a b", "c +")]);
        check("a=?/;x", &[("a", "?/;x")]);
    }

    #[test]
    fn broken_escapes_stand_for_themselves() {
        for (text, expect) in [
            ("%", "%"),
            ("%4", "%4"),
            ("%zz%41", "%zzA"),
            ("100%+x", "100% x"),
            ("%%41", "%A"),
            ("%+1", "% 1"),
        ] {
            assert_eq!(decode(text.as_bytes()), expect.as_bytes(), "{text}");
        }
    }

    #[test]
    fn the_last_of_a_name() {
        let arguments = Arguments::parse(b"a=1&A=2&a=3");
        assert_eq!(arguments.last(b"a"), Some(&b"3"[..]));
        assert_eq!(arguments.last(b"A"), Some(&b"2"[..]));
        assert_eq!(arguments.last(b"b"), None);
    }

    proptest! {
        #[test]
        fn what_was_encoded_comes_back(value: Vec<u8>) {
            let encoded: String = value.iter().map(|byte| format!("%{byte:02x}")).collect();
            prop_assert_eq!(decode(encoded.as_bytes()), &value[..]);
        }

        #[test]
        fn no_query_panics(query in "[a%+&=0-9]{0,30}") {
            let arguments = Arguments::parse(query.as_bytes());
            prop_assert!(arguments.iter().count() <= query.len());
        }
    }
}
