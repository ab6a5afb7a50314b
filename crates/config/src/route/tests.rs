//! Conditions, as they are written in a document, against requests.

use super::Match;
use super::sample::Sample;
use crate::json::parse;
use crate::{Known, validate};

/// The conditions of a `match` object.
#[track_caller]
fn conditions(text: &str) -> Match {
    let document = format!(r#"{{"routes": [{{"match": {text}, "action": {{"return": 200}}}}]}}"#);
    let document = parse(document.as_bytes()).unwrap();
    let config = validate(&document, &Known::validated_elsewhere()).unwrap_or_else(|problems| {
        panic!("{text}: {problems:#?}");
    });
    config.routes.values()[0].steps()[0].conditions.clone()
}

#[track_caller]
fn check(text: &str, matching: &[Sample], others: &[Sample]) {
    let conditions = conditions(text);
    for sample in matching {
        assert_eq!(conditions.matches(&mut sample.clone()), Ok(true), "{text} must match {sample:#?}");
    }
    for sample in others {
        assert_eq!(conditions.matches(&mut sample.clone()), Ok(false), "{text} must not match {sample:#?}");
    }
}

fn query(text: &str) -> Sample {
    Sample::get("x", "/").with_query(text)
}

fn fields(fields: &[&str]) -> Sample {
    Sample::get("x", "/").with_fields(fields)
}

fn cookies(cookies: &[&str]) -> Sample {
    Sample::get("x", "/").with_cookies(cookies)
}

#[test]
fn without_conditions_everything_matches() {
    for text in [
        "{}",
        r#"{"arguments": {}, "headers": [], "cookies": [{}]}"#,
        r#"{"uri": [], "host": [], "method": [], "query": []}"#,
    ] {
        check(text, &[Sample::get("x", "/")], &[]);
    }
}

#[test]
fn all_conditions_must_hold() {
    let text = r#"{"method": "get", "host": "a", "uri": "/x", "query": "q"}"#;
    let right = Sample::get("a", "/x").with_query("q");
    let wrong = [
        Sample { method: "POST".to_owned(), ..right.clone() },
        Sample { method: "get".to_owned(), ..right.clone() },
        Sample { host: "b".to_owned(), ..right.clone() },
        Sample { path: "/y".to_owned(), ..right.clone() },
        right.clone().with_query("r"),
    ];
    check(text, &[right], &wrong);
}

#[test]
fn queries_are_decoded() {
    check(
        r#"{"query": "a=b c"}"#,
        &[query("a=b+c"), query("a=b%20c"), query("%61=b c")],
        &[query("a=b%2Bc")],
    );
    check(r#"{"query": "a=b+c"}"#, &[query("a=b+c")], &[query("a=b%2Bc")]);
    check(r#"{"query": "a%2Bb"}"#, &[query("a%2Bb")], &[query("a+b")]);
    check(r#"{"query": ""}"#, &[query("")], &[query("a")]);
    check(
        r#"{"query": ["*a=1*", "!*b*"]}"#,
        &[query("x&a=1&y"), query("a=1")],
        &[query("a=1&b"), query("a=2")],
    );
    check(r#"{"query": "~^a b$"}"#, &[query("a+b")], &[query("a%2Bb")]);
}

#[test]
fn arguments_are_named() {
    check(
        r#"{"arguments": {"a": "1", "b": "*"}}"#,
        &[query("a=1&b=2"), query("b&a=1"), query("%61=%31&b=")],
        &[query("a=1"), query("a=2&b"), query("A=1&b"), query("")],
    );
    check(
        r#"{"arguments": {"a b": "c d", "e%20f": "g%20h"}}"#,
        &[query("a+b=c+d&e+f=g+h")],
        &[query("a=c d")],
    );
    check(r#"{"arguments": {"a+b": "1"}}"#, &[query("a%20b=1")], &[query("a%2Bb=1")]);
    check(r#"{"arguments": {"a": ""}}"#, &[query("a"), query("a=")], &[query("a=1"), query("b")]);
    check(
        r#"{"arguments": {"a": ["!x", "!y"]}}"#,
        &[query("a=z"), query("a")],
        &[query("a=x"), query("b=z"), query("")],
    );
    check(r#"{"arguments": {"a": "1"}}"#, &[query("a=1&a=1")], &[query("a=1&a=2"), query("a=2&a=1")]);
    check(
        r#"{"arguments": [{"a": "1", "b": "1"}, {"c": "1"}]}"#,
        &[query("a=1&b=1"), query("c=1"), query("a=1&c=1")],
        &[query("a=1"), query("b=1"), query("c=2")],
    );
}

#[test]
fn header_names_and_values_ignore_case() {
    check(
        r#"{"headers": {"X-A": "one*"}}"#,
        &[fields(&["x-a: ONE two"]), fields(&["X-A: one", "X-a: ONEtwo"])],
        &[fields(&["x-a: two"]), fields(&["x-a: one", "x-a: two"]), fields(&["x-b: one"]), fields(&[])],
    );
    check(r#"{"headers": {"x-a": "~^one"}}"#, &[fields(&["X-A: one"])], &[fields(&["X-A: ONE"])]);
    check(r#"{"headers": {"x-a": "!one"}}"#, &[fields(&["x-a: two"])], &[fields(&["x-a: ONE"]), fields(&[])]);
    check(r#"{"headers": {"x-a": ["!a", "*"]}}"#, &[fields(&["x-a: b"])], &[fields(&["x-b: b"])]);
    check(r#"{"headers": {"x-a": []}}"#, &[fields(&["x-a: b"])], &[fields(&["x-b: b"])]);
    check(
        r#"{"headers": [{"x-a": "1", "x-b": "1"}, {"x-c": "*"}]}"#,
        &[fields(&["x-a: 1", "x-b: 1"]), fields(&["x-c: 2"])],
        &[fields(&["x-a: 1"])],
    );
}

#[test]
fn cookies_are_compared_with_case() {
    check(
        r#"{"cookies": {"a": "One"}}"#,
        &[cookies(&["a=One"]), cookies(&["b=x", "a=One"])],
        &[cookies(&["a=one"]), cookies(&["A=One"]), cookies(&["a=One", "a=two"]), cookies(&[])],
    );
    check(
        r#"{"cookies": [{"a": "1"}, {"b": "!1"}]}"#,
        &[cookies(&["b=2"])],
        &[cookies(&["b=1"]), cookies(&["c=1"])],
    );
    check(r#"{"cookies": {"a%62": "%31"}}"#, &[cookies(&["a%62=%31"])], &[cookies(&["ab=1"])]);
}

#[test]
fn the_connection_counts() {
    let tls = Sample { tls: true, ..Sample::get("x", "/") };
    check(r#"{"scheme": "https"}"#, std::slice::from_ref(&tls), &[Sample::get("x", "/")]);
    check(r#"{"scheme": "HtTp"}"#, &[Sample::get("x", "/")], &[tls]);
    let from = |source: &str| Sample { source: source.parse().ok(), ..Sample::get("x", "/") };
    check(r#"{"source": "10.0.0.0/8:1-9"}"#, &[from("10.1.1.1:5")], &[from("10.1.1.1:10"), from("unix")]);
    check(r#"{"source": ["unix", "!::1"]}"#, &[from("unix")], &[from("[::1]:1"), from("1.1.1.1:1")]);
    check(r#"{"source": []}"#, &[], &[from("10.1.1.1:5"), from("unix")]);
    let to = |local: &str| Sample { destination: local.parse().ok(), ..Sample::get("x", "/") };
    check(
        r#"{"destination": "*:80"}"#,
        &[to("10.1.1.1:80"), to("[::1]:80")],
        &[to("10.1.1.1:81"), to("unix")],
    );
}

#[test]
fn texts_say_yes_or_no() {
    check(r#"{"if": "$host"}"#, &[Sample::get("x", "/")], &[Sample::get("", "/"), Sample::get("0", "/")]);
    check(r#"{"if": "!$host"}"#, &[Sample::get("", "/")], &[Sample::get("x", "/")]);
    check(r#"{"if": "1"}"#, &[Sample::get("", "/")], &[]);
    check(r#"{"if": ""}"#, &[], &[Sample::get("", "/")]);
    check(r#"{"if": "!"}"#, &[Sample::get("", "/")], &[]);
    check(
        r#"{"if": "$host", "uri": "/a"}"#,
        &[Sample::get("x", "/a")],
        &[Sample::get("x", "/"), Sample::get("", "/a")],
    );
}
