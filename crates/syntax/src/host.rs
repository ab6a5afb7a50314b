//! Names of hosts (RFC 1123 section 2.1) and addresses in their place.

use std::net::Ipv6Addr;

/// Bytes of a name, and of one of its labels (RFC 1035 section 2.3.4).
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// Whether a text is a host name: labels of letters, digits, `-` and `_`. The last one is not a number, or else a
/// mistyped address would be a name.
#[must_use]
pub fn is_host_name(name: &str) -> bool {
    let top = name.rsplit('.').next().unwrap_or_default();
    let is_number = top.bytes().all(|byte| byte.is_ascii_digit());
    !is_number && has_host_labels(name, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Whether a name, in lower case, may be one of the public DNS, so that an authority could certify it: labels of
/// letters, digits and hyphens, at least two.
#[must_use]
pub fn is_public_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.contains('.') && is_host_name(name) && has_host_labels(name, is_plain)
}

/// Whether a text consists of labels as host names do, each of bytes that are `plain`, without `-` at either end.
fn has_host_labels(name: &str, plain: impl Fn(u8) -> bool) -> bool {
    let is_label = |label: &str| {
        (1..=LONGEST_LABEL).contains(&label.len())
            && label.bytes().all(&plain)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= LONGEST_NAME && name.split('.').all(is_label)
}

/// Whether a text is an address of version 6 in brackets, without a zone: only one machine knows that.
#[must_use]
pub fn is_ipv6_literal(text: &[u8]) -> bool {
    let address = text.strip_prefix(b"[").and_then(|text| text.strip_suffix(b"]"));
    let address = address.and_then(|address| str::from_utf8(address).ok());
    address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_labels() {
        let longest = [&"a.".repeat(95), &*"b".repeat(63)].concat();
        for name in
            ["a", "a.example", "A-1.b_2.example", "_dmarc.example", "1.example", "xn--nxasmq6b", &longest]
        {
            assert!(is_host_name(name), "{name}");
        }
        let long_label = "a".repeat(64);
        let too_long = format!("{longest}.");
        for name in [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "-a",
            "a-",
            "a.-b",
            "1.2.3.4",
            "a.1",
            "a b",
            "a/b",
            "ü",
            &long_label,
            &too_long,
        ] {
            assert!(!is_host_name(name), "{name}");
        }
    }

    #[test]
    fn literals_are_addresses_in_brackets() {
        assert!(is_ipv6_literal(b"[::1]") && is_ipv6_literal(b"[2001:db8::1]"));
        for wrong in [&b"::1"[..], b"[]", b"[::1", b"[::1%eth0]", b"[127.0.0.1]", b"[g::1]", b"[\xff]"] {
            assert!(!is_ipv6_literal(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn authorities_know_host_names() {
        for name in ["a.b", "xn--bcher-kva.example", "0.1.example", "a.".repeat(120).trim_end_matches('.')] {
            assert!(is_public_name(name), "{name}");
        }
        let long = format!("{}.example", "a".repeat(64));
        let longer = "a.".repeat(127) + "aa";
        for name in
            ["", ".", "a", "a.", ".a", "a..b", "a_b.example", "-a.example", "a-.b", "A.b", "a b.c", "é.b"]
                .into_iter()
                .chain([&*long, &longer])
        {
            assert!(!is_public_name(name), "{name}");
        }
    }
}
