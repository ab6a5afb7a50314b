//! The pattern of a request's path, for people: `/users/123/x` is `/users/:n/x`. Without the query, and without the
//! numbers and keys that tell one request from another, or a secret.

/// Longest pattern, in bytes.
const LONGEST: usize = 100;

/// The end of a pattern that was longer.
const CUT: &str = "...";

/// Hexadecimal digits of a key, at least.
const KEY_DIGITS: usize = 16;

/// Letters and digits of another key, at least.
const KEY_LETTERS: usize = 20;

/// Longest ending of a file's name.
const LONGEST_ENDING: usize = 8;

/// The pattern of a target's path: ASCII, of at most about a hundred bytes.
pub(crate) fn path_pattern(target: &[u8]) -> String {
    let end = target.iter().position(|byte| matches!(byte, b'?' | b'#'));
    let path = without_authority(target.get(..end.unwrap_or(target.len())).unwrap_or_default());
    let mut pattern = String::with_capacity(LONGEST);
    for (place, segment) in path.split(|byte| *byte == b'/').enumerate() {
        if place > 0 {
            pattern.push('/');
        }
        push_segment(&mut pattern, segment);
        if pattern.len() > LONGEST {
            pattern.truncate(LONGEST - CUT.len());
            pattern.push_str(CUT);
            break;
        }
    }
    pattern
}

/// The path of `http://host/path`.
fn without_authority(path: &[u8]) -> &[u8] {
    let scheme = path.windows(3).position(|part| part == b"://").filter(|_| path.first() != Some(&b'/'));
    let Some(rest) = scheme.and_then(|at| path.get(at + 3..)) else { return path };
    rest.iter().position(|byte| *byte == b'/').and_then(|at| rest.get(at..)).unwrap_or(b"/")
}

fn push_segment(pattern: &mut String, segment: &[u8]) {
    // Parameters of a segment name sessions.
    let name = segment.split(|byte| *byte == b';').next().unwrap_or_default();
    if is_mail_address(name) {
        return pattern.push_str(":id");
    }
    let (stem, ending) = split_ending(name);
    let placeholder = if is_number(stem) {
        ":n"
    } else if is_key(stem) {
        ":id"
    } else {
        return push_text(pattern, name);
    };
    pattern.push_str(placeholder);
    push_text(pattern, ending);
}

/// A name and the ending behind it, with its dot: `7.jpg` is `7` and `.jpg`.
fn split_ending(name: &[u8]) -> (&[u8], &[u8]) {
    let at = name.iter().rposition(|byte| *byte == b'.').unwrap_or(name.len());
    let (stem, ending) = name.split_at(at);
    let letters = ending.get(1..).unwrap_or_default();
    let is_ending = letters.len() <= LONGEST_ENDING
        && letters.first().is_some_and(u8::is_ascii_alphabetic)
        && letters.iter().all(u8::is_ascii_alphanumeric);
    if is_ending { (stem, ending) } else { (name, b"") }
}

/// Digits, perhaps with marks between them, as in a date.
fn is_number(stem: &[u8]) -> bool {
    stem.iter().any(u8::is_ascii_digit)
        && stem.iter().all(|byte| byte.is_ascii_digit() || b"-._,:".contains(byte))
}

/// `ann@example.org`, while `@ann` is a name that its owner shows.
fn is_mail_address(name: &[u8]) -> bool {
    name.iter().skip(1).any(|byte| *byte == b'@') || name.windows(3).skip(1).any(|part| part == b"%40")
}

/// A digest or UUID, or a token.
fn is_key(stem: &[u8]) -> bool {
    let count = |is_it: fn(&u8) -> bool| stem.iter().filter(|byte| is_it(byte)).count();
    let n_digits = count(u8::is_ascii_digit);
    let is_hexadecimal = stem.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    if is_hexadecimal && n_digits > 0 && count(u8::is_ascii_hexdigit) >= KEY_DIGITS {
        return true;
    }
    // Words of a title have marks between them, and few digits or capitals among their letters.
    let is_one_word = stem.iter().all(u8::is_ascii_alphanumeric) && n_digits > 1;
    let is_mixed = n_digits > 0
        && count(u8::is_ascii_uppercase) > 1
        && count(u8::is_ascii_lowercase) > 1
        && stem.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_~=.%+".contains(byte));
    stem.len() >= KEY_LETTERS && (is_one_word || is_mixed)
}

/// Adds what can be seen of a name, and as much of it as there may be at all.
fn push_text(pattern: &mut String, text: &[u8]) {
    let seen = text.iter().take(LONGEST + 1);
    pattern.extend(seen.map(|byte| if byte.is_ascii_graphic() { char::from(*byte) } else { '?' }));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(target: &str, expect: &str) {
        assert_eq!(path_pattern(target.as_bytes()), expect, "{target}");
    }

    #[test]
    fn names_stay_as_they_are() {
        for same in ["/", "", "*", "/index.php", "/wp-admin/admin-ajax.php", "/a//b/", "/v1/me", "/@corral"] {
            check(same, same);
        }
        check("/how-to-upgrade-from-php-7-to-php-8-in-2026", "/how-to-upgrade-from-php-7-to-php-8-in-2026");
    }

    #[test]
    fn numbers_are_one() {
        check("/users/123/x", "/users/:n/x");
        check("/users/1", "/users/:n");
        check("/2026/11/27/news", "/:n/:n/:n/news");
        check("/archive/2026-11-27", "/archive/:n");
        check("/images/77.jpg", "/images/:n.jpg");
        check("/release/1.2.3", "/release/:n");
    }

    #[test]
    fn keys_are_one() {
        check("/orders/0b9f8a3e-1c2d-4e5f-8a9b-0c1d2e3f4a5b/items", "/orders/:id/items");
        check("/assets/d41d8cd98f00b204.css", "/assets/:id.css");
        check("/reset/Zm9vYmFyYmF6cXV4MTIz-x_y", "/reset/:id");
        check("/files/01arz3ndektsv4rrffq69g5fav", "/files/:id");
        check("/people/ann@example.org", "/people/:id");
        check("/people/ann%40example.org/mail", "/people/:id/mail");
        // Too short, or words.
        check("/colours/deadbeef1", "/colours/deadbeef1");
        check("/internationalisation", "/internationalisation");
    }

    #[test]
    fn queries_and_sessions_are_left_out() {
        check("/search?q=secret", "/search");
        check("/search#part", "/search");
        check("/cart;jsessionid=0123456789abcdef/pay?x", "/cart/pay");
        check("http://example.org/users/5?x", "/users/:n");
        check("http://example.org", "/");
        check("/redirect/http://example.org/7", "/redirect/http://example.org/:n");
    }

    #[test]
    fn bytes_that_cannot_be_seen_are_not() {
        assert_eq!(path_pattern(b"/a\x1b[2J\xff b"), "/a?[2J??b");
    }

    #[test]
    fn long_paths_are_cut() {
        let pattern = path_pattern(format!("/{}", "name/".repeat(1000)).as_bytes());
        assert_eq!((pattern.len(), pattern.ends_with("...")), (LONGEST, true), "{pattern}");
        let pattern = path_pattern(format!("/{}", "a-".repeat(1000)).as_bytes());
        assert_eq!((pattern.len(), pattern.ends_with("...")), (LONGEST, true), "{pattern}");
    }

    proptest! {
        #[test]
        fn every_target_has_a_pattern(target: Vec<u8>) {
            let pattern = path_pattern(&target);
            prop_assert!(pattern.len() <= LONGEST && pattern.bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
}
