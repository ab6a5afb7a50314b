//! Section 10: string patterns, encoded patterns, address patterns.

use corral_testkit::{Daemon, Request, daemon};
use serde_json::{Value, json};

use super::steps::{matching, put_step, refuse_step};

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

/// An expression that would search for years, and a value that it would do so on.
const CATASTROPHE: &str = "(a+)+$";

fn hard_value() -> String {
    "a".repeat(2000) + "!"
}

/// A pattern that would search for years neither matches nor holds the server, and lets nothing through.
#[test]
fn expressions_that_are_given_up_are_a_500() {
    let server = daemon().routes(json!([])).start();
    let (hard, positive, negative) = (hard_value(), format!("~^{CATASTROPHE}"), format!("!~^{CATASTROPHE}"));
    let requests = [
        ("headers", Request::get("/").field("X-A", &hard)),
        ("cookies", Request::get("/").field("Cookie", &format!("X-A={hard}"))),
        ("arguments", Request::get(&format!("/?X-A={hard}"))),
    ];
    for pattern in [json!(positive), json!(negative), json!([positive, "b"]), json!(["*", negative])] {
        for (option, request) in &requests {
            for conditions in [json!({ "X-A": pattern }), json!([{ "X-A": pattern }, { "none": "" }])] {
                put_step(&server, &matching(&json!({ (*option): conditions })));
                server.send(request).expect(500);
            }
        }
        put_step(&server, &matching(&json!({ "query": pattern })));
        server.get(&format!("/?{hard}")).expect(500);
    }
    put_step(&server, &matching(&json!({ "uri": format!("!~^/{CATASTROPHE}") })));
    server.get(&format!("/{hard}")).expect(500);
    server.get("/aaaa").expect(404);
    server.get("/b").expect(200);
    let log = server.log();
    let line =
        log.lines().find(|line| line.contains("gave up the regular expression")).expect("it is logged");
    assert!(line.contains(" [error] ") && line.contains(&format!("\"^{CATASTROPHE}\"")), "{line}");
}

#[test]
fn an_expression_that_is_given_up_counts_where_it_stands_in_a_route() {
    let undecided = json!({ "match": { "uri": format!("~^/{CATASTROPHE}") }, "action": { "return": 201 } });
    let step = |host: &str, status: u16| json!({ "match": { "host": host }, "action": { "return": status } });
    let others = |n: usize| (0..n).map(move |n| step(&format!("h{n}"), 202));
    let path = format!("/{}", hard_value());
    // Short routes are tried step by step, long ones have an index.
    for n in [0, 20] {
        let steps: Vec<_> = others(n).chain([step("a", 204), undecided.clone(), step("b", 203)]).collect();
        let server = daemon().routes(json!(steps)).start();
        for (host, status) in [("a", 204), ("b", 500), ("c", 500)] {
            server.send(&Request::get(&path).field("Host", host)).expect(status);
        }
        server.send(&Request::get("/x").field("Host", "b")).expect(203);
    }
}

#[test]
fn a_file_is_not_served_when_its_pattern_is_given_up() {
    let extension = hard_value();
    let site = corral_testkit::site().file(&format!("f.{}", &extension[1800..]), "secret");
    let target = format!("/f.{}", &extension[1800..]);
    let rule = json!({ format!("~{CATASTROPHE}"): "no-store" });
    let share = json!({ "share": format!("{}$uri", site.root()), "cache_control": rule });
    let server = daemon().routes(json!([{ "action": share }])).start();
    let reply = server.get(&target).expect(500);
    assert!(!reply.text().contains("secret"), "{reply}");
}
