//! Section 10: string patterns, encoded patterns, address patterns.

use corral_testkit::{Daemon, Request, daemon};
use serde_json::{Value, json};

use crate::steps::{matching, put_step, refuse_step};

/// Tests `pattern` on values of a request field.
#[track_caller]
fn check(server: &Daemon, pattern: Value, good: &[&str], bad: &[&str]) {
    put_step(server, &matching(&json!({ "headers": { "X-A": pattern } })));
    for (values, status) in [(good, 200), (bad, 404)] {
        for value in values {
            let found = server.send(&Request::get("/").field("X-A", value)).status;
            assert_eq!(found, status, "{pattern} {value:?}");
        }
    }
}

#[test]
fn string_patterns() {
    let server = daemon().routes(json!([])).start();
    check(&server, json!("text"), &["text", "TEXT"], &["", "texts", "a text"]);
    check(&server, json!("a*"), &["a", "abc"], &["", "ba"]);
    check(&server, json!("*a"), &["a", "cba"], &["", "ab"]);
    check(&server, json!("a*b"), &["ab", "axb"], &["a", "b", "ba", "axbx"]);
    check(&server, json!("*a*b*"), &["ab", "xaxbx"], &["ba", "a"]);
    check(&server, json!("ab*ba"), &["abba", "abxba"], &["aba", "ab"]);
    check(&server, json!("*"), &["", "a"], &[]);
    check(&server, json!(""), &[""], &["a"]);
    check(&server, json!("~b+"), &["b", "abbc"], &["", "B"]);
    check(&server, json!("~"), &["", "a"], &[]);
    check(&server, json!("!a"), &["b", ""], &["a", "A"]);
    check(&server, json!("!"), &["a"], &[""]);
    check(&server, json!("!*x"), &["xy"], &["x", "yx"]);
    check(&server, json!("!~^a"), &["b", ""], &["ab"]);
    check(&server, json!("!!a"), &["a"], &["!a"]);
}

#[test]
fn arrays_of_patterns() {
    let server = daemon().routes(json!([])).start();
    check(&server, json!(["a", "b"]), &["a", "b"], &["c", ""]);
    check(&server, json!(["a*", "!ab"]), &["a", "ac"], &["ab", "b"]);
    check(&server, json!(["!a", "!b"]), &["c"], &["a", "b"]);
    check(&server, json!([]), &["", "a"], &[]);
}

#[test]
fn encoded_patterns() {
    let server = daemon().routes(json!([])).start();
    let uri = |pattern: &str, target: &str, status: u16| {
        put_step(&server, &matching(&json!({ "uri": pattern })));
        server.get(target).expect(status);
    };
    uri("/a%2Ab", "/a*b", 200);
    uri("/a%2Ab", "/axb", 404);
    uri("/%61*", "/abc", 200);
    uri("/a+b", "/a+b", 200);
    uri("/a+b", "/a%20b", 404);
    uri("~^/%41", "/%2541", 200);
    uri("~^/%41", "/A", 404);
    let query = |pattern: &str, target: &str, status: u16| {
        put_step(&server, &matching(&json!({ "query": pattern })));
        server.get(target).expect(status);
    };
    query("a+b", "/?a%20b", 200);
    query("a%2Bb", "/?a%2Bb", 200);
    query("a%2Bb", "/?a+b", 404);
}

#[test]
fn bad_patterns_are_refused() {
    let server = daemon().routes(json!([])).start();
    let double = "The \"match\" pattern must not contain double \"*\" markers.";
    refuse_step(&server, &matching(&json!({ "uri": "/**" })), double);
    refuse_step(&server, &matching(&json!({ "host": ["a", "!**"] })), double);
    for (pattern, message) in [
        ("~(", "Invalid regular expression: missing closing parenthesis"),
        ("~a)b", "Invalid regular expression: unmatched closing parenthesis at offset 1"),
        ("!~[", "Invalid regular expression: missing terminating ] for character class"),
    ] {
        refuse_step(&server, &matching(&json!({ "headers": { "a": pattern } })), message);
    }
    for name in ["uri", "query"] {
        let message = format!("The \"match\" pattern for \"{name}\" is encoded but is invalid.");
        refuse_step(&server, &matching(&json!({ name: "/%" })), &message);
        refuse_step(&server, &matching(&json!({ name: "~%g0" })), &message);
    }
}

#[test]
fn bad_addresses_are_refused() {
    let server = daemon().routes(json!([])).start();
    for (pattern, message) in [
        ("1", "The \"address\" is too short."),
        ("localhost", "The \"address\" format is invalid."),
        ("10.0.0", "The \"address\" format is invalid."),
        ("[::1]", "The \"address\" format is invalid."),
        ("10.0.0.9-10.0.0.1", "The \"address\" range is overlapping."),
        ("::2-::1", "The \"address\" range is overlapping."),
        ("10.0.0.0/33", "The \"address\" has an invalid CIDR prefix."),
        ("::/129", "The \"address\" has an invalid CIDR prefix."),
        ("*:65536", "The \"address\" port an invalid port."),
        ("10.0.0.1:9-1", "The \"address\" port an invalid port."),
    ] {
        refuse_step(&server, &matching(&json!({ "source": pattern })), message);
        refuse_step(&server, &matching(&json!({ "destination": ["unix", format!("!{pattern}")] })), message);
    }
}

/// A pattern that would search for years neither matches nor holds the server.
#[test]
fn catastrophic_expressions_end() {
    let server =
        daemon().routes(json!([{ "match": { "uri": "~^/(a+)+$" }, "action": { "return": 200 } }])).start();
    server.get("/aaaa").expect(200);
    server.get(&format!("/{}!", "a".repeat(2000))).expect(404);
    server.expect_log("was given up on a value");
}
