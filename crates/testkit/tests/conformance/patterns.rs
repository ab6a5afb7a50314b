//! Section 10: string patterns, encoded patterns, address patterns.

use corral_testkit::{Daemon, Request, daemon};
use serde_json::{Value, json};

#[track_caller]
fn put(server: &Daemon, conditions: &Value) {
    let steps = json!([{ "match": conditions, "action": { "return": 200 } }]);
    server.control().put("/config/routes", &steps).expect_done();
}

/// Tests `pattern` on values of a request field.
#[track_caller]
fn check(server: &Daemon, pattern: Value, matching: &[&str], others: &[&str]) {
    put(server, &json!({ "headers": { "X-A": pattern } }));
    for (values, status) in [(matching, 200), (others, 404)] {
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
        put(&server, &json!({ "uri": pattern }));
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
        put(&server, &json!({ "query": pattern }));
        server.get(target).expect(status);
    };
    query("a+b", "/?a%20b", 200);
    query("a%2Bb", "/?a%2Bb", 200);
    query("a%2Bb", "/?a+b", 404);
}

#[track_caller]
fn refused(server: &Daemon, conditions: &Value, detail: &str) {
    let steps = json!([{ "match": conditions, "action": { "return": 200 } }]);
    let found = server.control().put("/config/routes", &steps).expect_refused(400, "Invalid configuration.");
    assert!(found.contains(detail), "{conditions}: {found}");
}

#[test]
fn bad_patterns_are_refused() {
    let server = daemon().routes(json!([])).start();
    let double = "The \"match\" pattern must not contain double \"*\" markers.";
    refused(&server, &json!({ "uri": "/**" }), double);
    refused(&server, &json!({ "host": ["a", "!**"] }), double);
    for (pattern, message) in [
        ("~(", "Invalid regular expression: missing closing parenthesis"),
        ("~a)b", "Invalid regular expression: unmatched closing parenthesis at offset 1"),
        ("!~[", "Invalid regular expression: missing terminating ] for character class"),
    ] {
        refused(&server, &json!({ "headers": { "a": pattern } }), message);
    }
    for name in ["uri", "query"] {
        let message = format!("The \"match\" pattern for \"{name}\" is encoded but is invalid.");
        refused(&server, &json!({ name: "/%" }), &message);
        refused(&server, &json!({ name: "~%g0" }), &message);
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
        refused(&server, &json!({ "source": pattern }), message);
        refused(&server, &json!({ "destination": ["unix", format!("!{pattern}")] }), message);
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
