//! Preconditions, alone and together.

use super::*;

const OLD: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
const SAME: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
const NEW: &str = "Sun, 06 Nov 1994 08:49:38 GMT";
const NOW: u64 = 784_111_777;

fn current() -> Validators<'static> {
    Validators { etag: Some(b"\"a\""), modified: Some(NOW) }
}

/// Field lines, the verdict for GET and that for other methods.
#[track_caller]
fn check(fields: &str, get: PreconditionResult, other: PreconditionResult) {
    for (method, expect) in [("GET", get), ("HEAD", get), ("POST", other)] {
        let text = format!("{method} / HTTP/1.0\r\n{fields}\r\n\r\n");
        let buf = text.as_bytes();
        let mut head = ParsedHead::default();
        let rules = crate::request::HeadRules::from_buffers(8192, 4);
        crate::request::parse_head(&mut head, buf, &rules).expect("a good head");
        let verdict = Preconditions::of_request(&head, buf).evaluate(head.method(buf), &current());
        assert_eq!(verdict, expect, "{text}");
    }
}

use PreconditionResult::{NotModified, PreconditionFailed, Proceed};

#[test]
fn if_none_match_compares_weakly() {
    check("If-None-Match: \"a\"", NotModified, PreconditionFailed);
    check("If-None-Match: W/\"a\"", NotModified, PreconditionFailed);
    check("If-None-Match: \"b\", \"x,y\" ,W/\"a\"", NotModified, PreconditionFailed);
    check("If-None-Match: *", NotModified, PreconditionFailed);
    check("If-None-Match: \"b\"", Proceed, Proceed);
    check("If-None-Match: a", Proceed, Proceed);
    check("If-None-Match: \"x, \"a\"\"", Proceed, Proceed);
    check("If-None-Match: \"a", Proceed, Proceed);
    check("If-None-Match:", Proceed, Proceed);
}

#[test]
fn if_match_compares_strongly() {
    check("If-Match: \"a\"", Proceed, Proceed);
    check("If-Match: \"b\", \"a\"", Proceed, Proceed);
    check("If-Match: *", Proceed, Proceed);
    check("If-Match: W/\"a\"", PreconditionFailed, PreconditionFailed);
    check("If-Match: \"b\"", PreconditionFailed, PreconditionFailed);
}

#[test]
fn dates_count_to_the_second() {
    check(&format!("If-Modified-Since: {OLD}"), Proceed, Proceed);
    check(&format!("If-Modified-Since: {SAME}"), NotModified, Proceed);
    check(&format!("If-Modified-Since: {NEW}"), NotModified, Proceed);
    check("If-Modified-Since: nonsense", Proceed, Proceed);
    check(&format!("If-Unmodified-Since: {OLD}"), PreconditionFailed, PreconditionFailed);
    check(&format!("If-Unmodified-Since: {SAME}"), Proceed, Proceed);
    check("If-Unmodified-Since: nonsense", Proceed, Proceed);
}

#[test]
fn tags_outrank_dates() {
    check(&format!("If-None-Match: \"b\"\r\nIf-Modified-Since: {NEW}"), Proceed, Proceed);
    check(&format!("If-Match: \"a\"\r\nIf-Unmodified-Since: {OLD}"), Proceed, Proceed);
    check("If-Match: \"b\"\r\nIf-None-Match: \"a\"", PreconditionFailed, PreconditionFailed);
    check("If-Match: \"a\"\r\nIf-None-Match: \"a\"", NotModified, PreconditionFailed);
}

#[test]
fn if_range_needs_exactly_the_current_representation() {
    #[track_caller]
    fn check(condition: &str, now: u64, expect: bool) {
        let preconditions =
            Preconditions { if_range: Some(condition.as_bytes()), ..Preconditions::default() };
        assert_eq!(preconditions.permit_range(&current(), now), expect, "{condition}");
    }
    check("\"a\"", NOW, true);
    check("W/\"a\"", NOW, false);
    check("\"b\"", NOW, false);
    check(SAME, NOW + 1, true);
    check(SAME, NOW, false);
    check(OLD, NOW + 1, false);
    check(NEW, NOW + 1, false);
    check("*", NOW, false);
    assert!(Preconditions::default().permit_range(&current(), NOW));
}

#[test]
fn a_representation_without_validators_is_always_sent() {
    let nothing = Validators { etag: None, modified: None };
    let preconditions = Preconditions {
        if_none_match: SmallVec::from_slice(&[&b"\"a\""[..]]),
        if_modified_since: Some(NEW.as_bytes()),
        ..Preconditions::default()
    };
    assert_eq!(preconditions.evaluate(b"GET", &nothing), Proceed);
}

#[test]
fn a_files_tag_has_a_part_of_a_second_if_the_file_system_knows_it() {
    let check = |modified, size, expect: &str| {
        assert_eq!(EntityTag::of_file(modified, size).as_bytes(), expect.as_bytes());
    };
    check((0x6650_a0e2, 0xabc), 8000, "\"6650a0e2.abc-1f40\"");
    check((-1, -1), u64::MAX, "\"ffffffffffffffff.ffffffffffffffff-ffffffffffffffff\"");
}

#[test]
fn a_files_tag_is_that_of_unit() {
    let check = |modified, size, expect: &str| {
        assert_eq!(EntityTag::of_file(modified, size).as_bytes(), expect.as_bytes());
    };
    check((0x6650_a0e2, 0), 8000, "\"6650a0e2-1f40\"");
    check((0, 0), 0, "\"0-0\"");
    check((-1, 0), u64::MAX, "\"ffffffffffffffff-ffffffffffffffff\"");
}
