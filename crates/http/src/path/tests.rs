//! Normalising and encoding of paths.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(raw: &str, expect: Result<&str, PathError>) {
    let mut out = b"left over".to_vec();
    let result = normalise(raw.as_bytes(), &mut out);
    let seen = result.map(|()| std::str::from_utf8(&out).expect("ASCII"));
    assert_eq!(seen, expect, "{raw}");
    assert!(result.is_ok() || out.is_empty());
}

#[track_caller]
fn check_location(text: &str, expect: &str) {
    let mut out = Vec::new();
    append_location(text.as_bytes(), &mut out);
    assert_eq!(String::from_utf8_lossy(&out), expect, "{text}");
}

#[test]
fn dot_segments_and_double_slashes_go() {
    check("/", Ok("/"));
    check("/a/b", Ok("/a/b"));
    check("/a/./b/.", Ok("/a/b/"));
    check("/a/b/..", Ok("/a/"));
    check("/a/b/../c", Ok("/a/c"));
    check("/a/b/../../c", Ok("/c"));
    check("//a///b//", Ok("/a/b/"));
    check("/a//../b", Ok("/b"));
    check("/...", Ok("/..."));
    check("/.a/..b/c..", Ok("/.a/..b/c.."));
}

#[test]
fn escapes_are_what_they_stand_for() {
    check("/%41%7e%2F%2f", Ok("/A~/"));
    check("/a/%2e%2E/b", Ok("/b"));
    check("/a/%2e%2e%2fb", Ok("/b"));
    check("/a%2f..%2fb", Ok("/b"));
    check("/%252e%252e/a", Ok("/%2e%2e/a"));
    check("/%3f%23", Ok("/?#"));
}

#[test]
fn bad_escapes_are_refused() {
    for raw in ["/%", "/%4", "/%4g", "/%g4", "/%%41", "/a/%u0041", "/% 41", "/%+1"] {
        check(raw, Err(PathError::BadEscape));
    }
}

#[test]
fn nul_is_refused_in_any_form() {
    check("/a%00", Err(PathError::Nul));
    check("/a\0b", Err(PathError::Nul));
}

#[test]
fn nothing_is_above_the_root() {
    for raw in ["/..", "/../", "/a/../..", "/./..", "//..", "/%2e%2e", "/a/..//../b", ".."] {
        check(raw, Err(PathError::AboveRoot));
    }
}

#[test]
fn a_path_need_not_begin_with_a_slash() {
    check("", Ok(""));
    check("a/b", Ok("a/b"));
    check("./a", Ok("/a"));
    check("a/..", Ok(""));
}

#[track_caller]
fn check_decoded(path: &str, expect: Result<&str, PathError>) {
    let mut out = b"left over".to_vec();
    let result = normalise_decoded(path.as_bytes(), &mut out);
    assert_eq!(result.map(|()| str::from_utf8(&out).expect("ASCII")), expect, "{path}");
}

#[test]
fn what_is_decoded_is_taken_as_it_is() {
    check_decoded("/%2e%2e/a%", Ok("/%2e%2e/a%"));
    check_decoded("/a?b#c;d\\", Ok("/a?b#c;d\\"));
    check_decoded("", Ok("/"));
    check_decoded("a", Ok("/a"));
    check_decoded("//a//./b/../c", Ok("/a/c"));
    check_decoded("a/..", Ok("/"));
    check_decoded("../a", Err(PathError::AboveRoot));
    check_decoded("/a/../../b", Err(PathError::AboveRoot));
    check_decoded("/a\0", Err(PathError::Nul));
}

#[test]
fn what_is_encoded_in_a_location_stays_and_the_rest_is_encoded_once() {
    check_location("/a?b=c#d", "/a?b=c#d");
    check_location("https://a.example:81/%20?%41", "https://a.example:81/%20?%41");
    check_location(":/?#[]@!&'()*+,;=", ":/?#[]@!&'()*+,;=");
    check_location(" \"%<>\\^`{|}", "%20%22%25%3C%3E%5C%5E%60%7B%7C%7D");
    check_location(" %20", "%20%20");
    check_location("%20%", "%20%25");
    check_location("%%41%4%zz", "%25%41%254%25zz");
    check_location("/login?next=https://x/z?q=1&s=a%20b", "/login?next=https://x/z?q=1&s=a%20b");
    check_location("/a|b%7C?c^d%5E?\u{e9}%C3%A9", "/a%7Cb%7C?c%5Ed%5E?%C3%A9%C3%A9");
    check_location("/?#/?#", "/?#/?%23");
    check_location("??##", "??#%23");
    check_location("##?#?", "#%23?%23?");
    check_location("/a\r\nb\u{e9}", "/a%0D%0Ab%C3%A9");
    check_location("", "");
}

#[test]
fn a_query_holds_no_fragment() {
    let mut out = Vec::new();
    append_query("a=b?%20%&c d#e".as_bytes(), &mut out);
    assert_eq!(String::from_utf8_lossy(&out), "a=b?%20%25&c%20d%23e");
    out.clear();
    append_encoded_value("/a b&c=d+e%20#\u{e9}?".as_bytes(), &mut out);
    assert_eq!(String::from_utf8_lossy(&out), "/a%20b%26c%3Dd%2Be%2520%23%C3%A9%3F");
}

#[test]
fn a_path_is_encoded_for_a_location() {
    let mut out = Vec::new();
    append_encoded_path("/a b?c#d%e/\u{e9};:@&=[x]".as_bytes(), &mut out);
    assert_eq!(String::from_utf8_lossy(&out), "/a%20b%3Fc%23d%25e/%C3%A9;:@&=%5Bx%5D");
}

proptest! {
    #[test]
    fn any_path_becomes_clean(raw in "(/|\\.|\\.\\.|a|%2e|%2F|%|%25|\\?|é){0,20}") {
        crate::fuzz::fuzz_path(raw.as_bytes());
    }
}
