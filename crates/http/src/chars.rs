//! Which bytes may stand where: RFC 9110 section 5.6, as one table of classes.

/// `tchar` of RFC 9110 section 5.6.2: field names, codings, parameters.
pub(crate) const TOKEN: u8 = 1;
/// Letters, digits and `-`: what a field name may hold under `discard_unsafe_fields`.
pub(crate) const SAFE_NAME: u8 = 2;
/// `A`–`Z`, `_`, `-`: what a method may hold.
pub(crate) const METHOD: u8 = 4;
/// Whether RFC 3986 section 3.2.2 permits the byte in the name of a host.
pub(crate) const HOST: u8 = 8;

/// The classes that each byte belongs to.
pub(crate) const CLASS: [u8; 256] = classes();

/// Whether nothing is among `bytes` that the name of a host must not have.
pub(crate) fn is_host(bytes: &[u8]) -> bool {
    bytes.iter().all(|&b| CLASS[b as usize] & HOST != 0)
}

/// Whether `bytes` may be sent or received as a field value: no control character but the tab.
pub fn is_field_value(bytes: &[u8]) -> bool {
    !any(bytes, |b| ((b < 0x20) & (b != b'\t')) | (b == 0x7f))
}

/// Whether a control character, the tab included, is among `bytes`.
pub(crate) fn has_control(bytes: &[u8]) -> bool {
    any(bytes, |b| (b < 0x20) | (b == 0x7f))
}

/// Whether any byte is of that kind. In blocks without an early exit, the last one overlapping the one
/// before it, so that the compiler uses vector instructions throughout.
fn any(bytes: &[u8], kind: impl Fn(u8) -> bool) -> bool {
    let among = |block: &[u8]| block.iter().fold(false, |found, &b| found | kind(b));
    if let Some(last) = bytes.last_chunk::<16>() {
        let (blocks, _) = bytes.as_chunks::<16>();
        return blocks.iter().fold(among(last), |found, block| found | among(block));
    }
    match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        (Some(first), Some(last)) => among(first) | among(last),
        _ => among(bytes),
    }
}

/// `bytes` without the spaces and tabs (OWS) around it.
pub fn trim(bytes: &[u8]) -> &[u8] {
    let Some(start) = bytes.iter().position(|&b| !is_blank(b)) else { return &[] };
    let end = bytes.iter().rposition(|&b| !is_blank(b)).map_or(start, |last| last + 1);
    &bytes[start..end]
}

/// The elements of a comma-separated list, trimmed, without the empty ones (RFC 9110 section 5.6.1.2).
pub fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&b| b == b',').map(trim).filter(|element| !element.is_empty())
}

/// Reads `1*DIGIT`; nothing else may be there. `None` also when the number does not fit.
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |n, &b| {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        n.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

fn is_blank(b: u8) -> bool {
    b == b' ' || b == b'\t'
}

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut b = 0;
    while b < 256 {
        table[b] = class(b as u8) | host_class(b as u8);
        b += 1;
    }
    table
}

const fn class(b: u8) -> u8 {
    match b {
        b'A'..=b'Z' | b'-' => TOKEN | SAFE_NAME | METHOD,
        b'a'..=b'z' | b'0'..=b'9' => TOKEN | SAFE_NAME,
        b'_' => TOKEN | METHOD,
        b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'.' | b'^' | b'`' | b'|' | b'~' => TOKEN,
        _ => 0,
    }
}

const fn host_class(b: u8) -> u8 {
    match b {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'%' => HOST,
        b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' => HOST,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_character_is_found_wherever_it_stands() {
        for len in 1..70 {
            for at in 0..len {
                let mut text = vec![b'~'; len];
                assert!(is_field_value(&text) && !has_control(&text));
                text[at] = b'\t';
                assert!(is_field_value(&text) && has_control(&text), "tab at {at} of {len}");
                for control in [0, b'\r', b'\n', 0x1f, 0x7f] {
                    text[at] = control;
                    assert!(!is_field_value(&text) && has_control(&text), "{control} at {at} of {len}");
                }
                text[at] = 0x80;
                assert!(is_field_value(&text) && !has_control(&text));
            }
        }
    }

    #[test]
    fn lists_lose_blanks_and_empty_elements() {
        let elements: Vec<_> = list(b" a ,,\tb c\t, ,").collect();
        assert_eq!(elements, [&b"a"[..], b"b c"]);
        assert_eq!((trim(b" \t "), trim(b"")), (&b""[..], &b""[..]));
    }

    #[test]
    fn numbers_are_digits_that_fit() {
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        for text in [&b""[..], b"18446744073709551616", b"1a", b"-1", b" 1", b"/", b":"] {
            assert_eq!(decimal(text), None);
        }
    }
}
