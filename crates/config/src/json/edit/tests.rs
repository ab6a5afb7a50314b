//! Paths and the update rules of contract 3.5.

use super::{EditError, delete, get, post, put, segments};
use crate::json::{Bytes, Value, parse};

const DOC: &str = r#"{"a": {"b": [1, 2, [3]], "x/y": true, "": 0}, "n": 5}"#;

fn value(text: &str) -> Value {
    parse(text.as_bytes()).unwrap()
}

fn path(target: &str) -> Vec<Bytes> {
    segments(target.as_bytes()).expect("the path is well-formed")
}

#[track_caller]
fn check_segments(target: &str, expect: Option<&[&str]>) {
    let expect = expect.map(|names| names.iter().map(|name| Bytes::from(*name)).collect::<Vec<_>>());
    assert_eq!(segments(target.as_bytes()), expect, "{target}");
}

/// `expect` is the document after the change, or the error that leaves it unchanged.
#[track_caller]
fn check(change: impl FnOnce(&mut Value) -> Result<(), EditError>, expect: Result<&str, EditError>) {
    let mut root = value(DOC);
    let result = change(&mut root);
    match expect {
        Ok(after) => assert_eq!((result, root), (Ok(()), value(after))),
        Err(error) => assert_eq!((result, root), (Err(error), value(DOC))),
    }
}

#[track_caller]
fn check_get(target: &str, expect: Result<&str, EditError>) {
    let expect = expect.map(value);
    assert_eq!(get(&value(DOC), &path(target)), expect.as_ref().map_err(|error| *error), "{target}");
}

#[track_caller]
fn check_put(target: &str, expect: Result<&str, EditError>) {
    check(|root| put(root, &path(target), value("9")), expect);
}

#[track_caller]
fn check_post(target: &str, expect: Result<&str, EditError>) {
    check(|root| post(root, &path(target), value("9")), expect);
}

#[track_caller]
fn check_delete(target: &str, expect: Result<&str, EditError>) {
    check(|root| delete(root, &path(target)), expect);
}

#[test]
fn paths_are_split_and_decoded_twice() {
    check_segments("/", Some(&[]));
    check_segments("/config", Some(&["config"]));
    check_segments("/config/", Some(&["config"]));
    check_segments("/config/listeners/*:80/pass?x=/y#z", Some(&["config", "listeners", "*:80", "pass"]));
    check_segments("//a///b", Some(&["a", "b"]));
    check_segments("/a/./b/../c", Some(&["a", "c"]));
    check_segments("/a/%2e%2E/c", Some(&["c"]));
    check_segments("/a%2Fb", Some(&["a/b"]));
    check_segments("/unix:%2ftmp%2fx", Some(&["unix:/tmp/x"]));
    check_segments("/100%25", Some(&["100%"]));
    check_segments("/a%252Fb", Some(&["a%2Fb"]));
    check_segments("/%5b::1%5d:80", Some(&["[::1]:80"]));
    check_segments("/..%2F..", Some(&["../.."]));
    check_segments("", None);
    check_segments("*", None);
    check_segments("config", None);
    check_segments("/..", None);
    check_segments("/a/../../b", None);
    check_segments("/a%", None);
    check_segments("/a%zz", None);
}

#[test]
fn values_are_found_by_name_and_index() {
    check_get("/", Ok(DOC));
    check_get("/a/b/0", Ok("1"));
    check_get("/a/b/2/0", Ok("3"));
    check_get("/a/x%2Fy", Ok("true"));
    check_get("/z", Err(EditError::Missing));
    check_get("/a/b/3", Err(EditError::Missing));
    check_get("/a/b/-1", Err(EditError::Missing));
    check_get("/a/b/+1", Err(EditError::Missing));
    check_get("/a/b/99999999999", Err(EditError::Missing));
    check_get("/n/x", Err(EditError::Missing));
    check_get("/n/0", Err(EditError::Missing));
}

#[test]
fn put_replaces_in_place_or_adds() {
    check_put("/", Ok("9"));
    check_put("/a", Ok(r#"{"a": 9, "n": 5}"#));
    check_put("/z", Ok(r#"{"a": {"b": [1, 2, [3]], "x/y": true, "": 0}, "n": 5, "z": 9}"#));
    check_put("/a/b/1", Ok(r#"{"a": {"b": [1, 9, [3]], "x/y": true, "": 0}, "n": 5}"#));
    check_put("/a/b/3", Ok(r#"{"a": {"b": [1, 2, [3], 9], "x/y": true, "": 0}, "n": 5}"#));
    check_put("/a/b/4", Err(EditError::Missing));
    check_put("/a/b/x", Err(EditError::Missing));
    check_put("/z/y", Err(EditError::Missing));
    check_put("/n/x", Err(EditError::Missing));
    check_put("/n/x/y", Err(EditError::Missing));
    let mut root = value(DOC);
    put(&mut root, &path("/a"), value("9")).unwrap();
    assert_eq!(root.compact(), br#"{"a":9,"n":5}"#, "a replaced member keeps its place");
}

#[test]
fn post_appends_to_arrays_only() {
    check_post("/a/b", Ok(r#"{"a": {"b": [1, 2, [3], 9], "x/y": true, "": 0}, "n": 5}"#));
    check_post("/a/b/2", Ok(r#"{"a": {"b": [1, 2, [3, 9]], "x/y": true, "": 0}, "n": 5}"#));
    check_post("/", Err(EditError::NotAllowed));
    check_post("/a", Err(EditError::NotAllowed));
    check_post("/n", Err(EditError::NotAllowed));
    check_post("/z", Err(EditError::Missing));
    check_post("/n/x", Err(EditError::Missing));
    let mut root = value("[1]");
    assert_eq!(post(&mut root, &[], value("2")), Err(EditError::NotAllowed), "even if the root is an array");
}

#[test]
fn delete_removes_and_shifts() {
    check_delete("/", Ok("{}"));
    check_delete("/a", Ok(r#"{"n": 5}"#));
    check_delete("/a/b/0", Ok(r#"{"a": {"b": [2, [3]], "x/y": true, "": 0}, "n": 5}"#));
    check_delete("/a/b/3", Err(EditError::Missing));
    check_delete("/z", Err(EditError::Missing));
    check_delete("/z/y", Err(EditError::Missing));
    check_delete("/n/x", Err(EditError::Missing));
}

#[test]
fn changes_cannot_nest_deeper_than_the_parser_reads() {
    let nested = |depth: usize| value(&("[".repeat(depth) + &"]".repeat(depth)));
    let mut root = nested(100);
    assert_eq!(put(&mut root, &vec![Bytes::from("0"); 99], nested(1)), Ok(()));
    assert_eq!(put(&mut root, &vec![Bytes::from("0"); 99], nested(2)), Err(EditError::TooDeep));
    assert_eq!(post(&mut root, &vec![Bytes::from("0"); 99], nested(1)), Err(EditError::TooDeep));
    assert_eq!(root.depth(), 100);
}

proptest::proptest! {
    #[test]
    fn no_path_and_document_contradict(
        target in "/([a-c]|[0-2]|%[0-9a-f]{2}|/|\\.){0,8}",
        text in "[\\[\\]{}:,\"ab01 ]{0,30}",
    ) {
        crate::fuzz::fuzz_edit(format!("{target}\n{text}").as_bytes());
    }

    #[test]
    fn edits_of_a_real_document_are_consistent(target in "/(a|b|0|1|2|/|%2[fF]){0,8}") {
        let text = r#"{"a": [1, {"b": [[], {"0": {}}]}, "x"], "b": {"a": {"b": 1}, "0": [0]}, "1": 2}"#;
        crate::fuzz::fuzz_edit(format!("{target}\n{text}").as_bytes());
    }
}
