//! Paths without what tells one thing from another of its kind, so that requests of one kind look the same: that of
//! `/users/42/avatar.png` is `/users/:n/avatar.png`. Pure.

use corral_http::path::append_encoded_path;

/// Longest pattern, in bytes.
pub(crate) const MAX_PATTERN: usize = 100;

/// The end of a pattern that was cut off.
const CUT: &[u8] = b"...";

/// Stands for a segment that names one thing.
const NAME: &[u8] = b":n";

/// Least hexadecimal digits that are a name and not a word, if one of them is a digit.
const MIN_HEX: usize = 8;

/// Least letters and digits in a row that are a name.
const MIN_CODE: usize = 20;

/// Longest extension of a file, with its dot.
const MAX_EXTENSION: usize = 6;

/// The pattern of a decoded path, in printable ASCII: numbers, UUIDs and long codes are `:n`.
pub(crate) fn path_pattern(path: &[u8]) -> String {
    let mut pattern = Vec::with_capacity(MAX_PATTERN);
    for (idx, segment) in path.split(|&byte| byte == b'/').enumerate() {
        if idx > 0 {
            pattern.push(b'/');
        }
        append_segment(segment, &mut pattern);
        if pattern.len() > MAX_PATTERN {
            pattern.truncate(MAX_PATTERN - CUT.len());
            pattern.extend_from_slice(CUT);
            break;
        }
    }
    String::from_utf8_lossy(&pattern).into_owned()
}

fn append_segment(segment: &[u8], out: &mut Vec<u8>) {
    let (stem, extension) = split_extension(segment);
    if is_name(stem) {
        out.extend_from_slice(NAME);
        return append_encoded_path(extension, out);
    }
    append_encoded_path(segment.get(..=MAX_PATTERN).unwrap_or(segment), out);
}

/// The segment without the extension of a file, and that.
fn split_extension(segment: &[u8]) -> (&[u8], &[u8]) {
    let dot =
        segment.iter().rposition(|&byte| byte == b'.').filter(|dot| segment.len() - dot <= MAX_EXTENSION);
    segment.split_at(dot.unwrap_or(segment.len()))
}

/// Whether a segment is the name of one thing of many.
fn is_name(segment: &[u8]) -> bool {
    let has_digit = segment.iter().any(u8::is_ascii_digit);
    let is_number = !segment.is_empty() && segment.iter().all(u8::is_ascii_digit);
    let is_hex = segment.len() >= MIN_HEX && segment.iter().all(u8::is_ascii_hexdigit);
    let is_code = segment.len() >= MIN_CODE && segment.iter().all(u8::is_ascii_alphanumeric);
    is_number || (has_digit && (is_hex || is_code)) || is_uuid(segment)
}

fn is_uuid(segment: &[u8]) -> bool {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    let is_right = |(place, byte): (usize, &u8)| match DASHES.contains(&place) {
        true => *byte == b'-',
        false => byte.is_ascii_hexdigit(),
    };
    segment.len() == 36 && segment.iter().enumerate().all(is_right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expect: &str) {
        assert_eq!(path_pattern(path.as_bytes()), expect, "{path}");
    }

    #[test]
    fn what_names_one_thing_is_left_out() {
        check("/users/42", "/users/:n");
        check("/users/42/avatar.png", "/users/:n/avatar.png");
        check("/img/0017.jpeg", "/img/:n.jpeg");
        check("/a/123e4567-e89b-12d3-a456-426614174000/b", "/a/:n/b");
        check("/blob/9f86d081884c7d659a2feaa0c55ad015", "/blob/:n");
        check("/commit/9f86d081", "/commit/:n");
        check("/s/01ARZ3NDEKTSV4RRFFQ69G5FAV", "/s/:n");
        check("/7/8/", "/:n/:n/");
        check("*", "*");
        check("", "");
    }

    #[test]
    fn words_stay() {
        for path in ["/", "/feedface", "/v2/items", "/2026-plan", "/a.b/c.tar.gz", "/cafe", "/x1y2", "//"] {
            check(path, path);
        }
        check("/an-uuid-that-is-none-0123456789abcdef", "/an-uuid-that-is-none-0123456789abcdef");
        check("/123e4567-e89b-12d3-a456-42661417400g", "/123e4567-e89b-12d3-a456-42661417400g");
    }

    #[test]
    fn nothing_but_printable_ascii_is_shown() {
        check("/caf\u{e9} \u{7}\"<", "/caf%C3%A9%20%07%22%3C");
        check("/a?b#c", "/a%3Fb%23c");
        assert_eq!(path_pattern(b"/\xff\x00"), "/%FF%00");
    }

    #[test]
    fn a_long_path_is_cut_off() {
        let (long, many) = ("/".to_owned() + &"word-".repeat(1000), "/word".repeat(1000));
        for path in [long, many, "\u{e9}".repeat(4000)] {
            let pattern = path_pattern(path.as_bytes());
            assert!(pattern.len() == MAX_PATTERN && pattern.ends_with("..."), "{pattern}");
        }
        check(&"/word".repeat(20), &"/word".repeat(20));
    }
}
