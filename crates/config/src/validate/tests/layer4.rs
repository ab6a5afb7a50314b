//! Listeners that pass connections on.

use std::time::Duration;

use super::{check_problems, config};
use crate::layer4::{Layer4, ServerNames, SessionLimits};
use crate::listener::Listener;
use crate::table::Key;

fn document(members: &str) -> String {
    format!(
        r#"{{"listeners": {{"*:80": {{{members}}}}}, "upstreams": {{"a": {{"servers": {{}}}}, "b": {{"servers": {{}}}}}}}}"#
    )
}

#[track_caller]
fn listener(members: &str) -> Listener {
    config(&document(members)).listeners.remove(0)
}

/// `expect` are the problems of a listener with these members, with pointers relative to it.
#[track_caller]
fn check(members: &str, expect: &[(&str, &str)]) {
    let expect: Vec<_> =
        expect.iter().map(|(at, detail)| (format!("/listeners/*:80{at}"), *detail)).collect();
    let expect: Vec<_> = expect.iter().map(|(at, detail)| (at.as_str(), *detail)).collect();
    check_problems(&document(members), &expect);
}

#[test]
fn connections_have_timeouts() {
    let tcp = listener(r#""protocol": "tcp", "pass": "upstreams/b""#).layer4.unwrap();
    let seconds = Duration::from_secs;
    let expect = Layer4 {
        pass: Some(Key::nth(1)),
        sni: ServerNames::default(),
        idle_timeout: seconds(600),
        drain_timeout: seconds(3600),
        sessions: SessionLimits::default(),
    };
    assert_eq!(*tcp, expect);
    let members = r#""protocol": "tcp", "pass": "upstreams/a", "idle_timeout": 5, "drain_timeout": 0"#;
    let tcp = listener(members).layer4.unwrap();
    assert_eq!((tcp.idle_timeout, tcp.drain_timeout), (seconds(5), seconds(0)));
    assert_eq!(listener(r#""protocol": "http", "pass": "upstreams/a""#).layer4, None);
    assert_eq!(listener(r#""pass": "upstreams/a""#).layer4, None);
}

#[test]
fn the_others_options_are_refused_by_name() {
    let tcp = |members: &str| format!(r#""protocol": "tcp", "pass": "upstreams/a", {members}"#);
    for name in ["https_only", "http2", "forwarded", "limit_requests", "authenticate"] {
        let value = match name {
            "https_only" | "http2" => "true",
            "forwarded" => r#"{"source": [], "protocol": "X"}"#,
            "limit_requests" => r#"{"rate": "1/s"}"#,
            _ => r#"{"basic": {"file": "/x"}}"#,
        };
        let detail = format!(
            "The \"{name}\" option is for listeners whose \"protocol\" is \"http\", and that of this one is \"tcp\"."
        );
        check(&tcp(&format!(r#""{name}": {value}"#)), &[(&format!("/{name}"), &detail)]);
    }
    check(
        r#""pass": "upstreams/a", "drain_timeout": 1"#,
        &[(
            "/drain_timeout",
            "The \"drain_timeout\" option is for listeners whose \"protocol\" is \"tcp\", and that of this one is \
             \"http\".",
        )],
    );
    check(&tcp(r#""nonsense": 1"#), &[("/nonsense", "Unknown parameter \"nonsense\".")]);
}

#[test]
fn only_servers_are_passed_to() {
    let detail = "A listener whose \"protocol\" is \"tcp\" passes to servers alone.";
    check(r#""protocol": "tcp", "pass": "$host""#, &[("/pass", detail)]);
    check(r#""protocol": "tcp""#, &[("", "The listener must have the \"pass\" option set.")]);
}
