//! Options of listeners beside `pass`: TLS, trusted peers, the PROXY protocol.

use std::time::Duration;

use super::{check_problems, config, known};
use crate::json::parse;
use crate::listener::Listener;
use crate::tls::{SessionSettings, Tickets, Verify};
use crate::validate::validate;
use crate::{Problem, Stage};

/// The only listener of a document, with these members beside `pass`.
#[track_caller]
fn listener(members: &str) -> Listener {
    config(&document(members)).listeners.remove(0)
}

fn document(members: &str) -> String {
    format!(r#"{{"listeners": {{"*:80": {{"pass": "routes", {members}}}}}, "routes": []}}"#)
}

/// `expect` are the problems of a listener with these members, with pointers relative to it.
#[track_caller]
fn check(members: &str, expect: &[(&str, &str)]) {
    let expect: Vec<_> =
        expect.iter().map(|(at, detail)| (format!("/listeners/*:80{at}"), *detail)).collect();
    let expect: Vec<_> = expect.iter().map(|(at, detail)| (at.as_str(), *detail)).collect();
    check_problems(&document(members), &expect);
}

/// As `check` for `tls` with a certificate and one more member.
#[track_caller]
fn check_tls(member: &str, at: &str, detail: &str) {
    check(&format!(r#""tls": {{"certificate": "a", {member}}}"#), &[(&format!("/tls{at}"), detail)]);
}

#[test]
fn tls_has_defaults() {
    let tls = listener(r#""tls": {"certificate": "a"}"#).tls.unwrap();
    assert_eq!(tls.certificates, ["a"]);
    assert_eq!(
        tls.session,
        SessionSettings { cache_size: 0, timeout: Duration::from_secs(300), tickets: Tickets::Off }
    );
    assert_eq!(tls.client, None);
}

#[test]
fn tls_in_full() {
    let key = "AAAA".repeat(16);
    let tls = listener(&format!(
        r#""tls": {{"certificate": ["b", "a"], "conf_commands": {{"minprotocol": "TLSv1.3", "Curves": "P-256"}},
            "session": {{"cache_size": 1e3, "timeout": 60, "tickets": ["{key}", "{key}"]}},
            "client": {{"ca": "b", "verify": "optional"}}}}"#,
    ));
    let tls = tls.tls.unwrap();
    assert_eq!(tls.certificates, ["b", "a"]);
    assert!(!tls.policy.tls12 && tls.policy.groups.len() == 1);
    assert_eq!((tls.session.cache_size, tls.session.timeout), (1000, Duration::from_secs(60)));
    assert!(matches!(&tls.session.tickets, Tickets::Keys(keys) if keys.len() == 2));
    let client = tls.client.unwrap();
    assert_eq!((client.ca, client.verify), (vec!["b".to_owned()], Verify::Optional));
}

#[test]
fn tickets_in_every_form() {
    let tickets = |value: &str| {
        let members = format!(r#""tls": {{"certificate": "a", "session": {{"tickets": {value}}}}}"#);
        listener(&members).tls.unwrap().session.tickets
    };
    assert_eq!(tickets("false"), Tickets::Off);
    assert_eq!(tickets("[]"), Tickets::Off);
    assert_eq!(tickets("true"), Tickets::Random);
    assert!(matches!(tickets(&format!("\"{}\"", "AAAA".repeat(16))), Tickets::Keys(keys) if keys.len() == 1));
}

#[test]
fn certificates_are_named_one_by_one() {
    check(r#""tls": {}"#, &[("/tls", "Required parameter \"certificate\" is missing.")]);
    check(
        r#""tls": {"certificate": []}"#,
        &[("/tls/certificate", "The \"certificate\" array must contain at least one element.")],
    );
    check(
        r#""tls": {"certificate": ["a", 1, null]}"#,
        &[
            ("/tls/certificate/1", "The \"certificate\" array must contain only string values."),
            ("/tls/certificate/2", "The \"certificate\" array must contain only string values."),
        ],
    );
    check(r#""tls": {"certificate": "none"}"#, &[("/tls/certificate", "Certificate \"none\" is not found.")]);
    check(
        r#""tls": {"certificate": ["a", "none"]}"#,
        &[("/tls/certificate/1", "Certificate \"none\" is not found.")],
    );
    check(
        r#""tls": {"certificate": true}"#,
        &[(
            "/tls/certificate",
            "The \"certificate\" value must be either a string or an array, but not a boolean.",
        )],
    );
    check_tls(r#""nonsense": 1"#, "/nonsense", "Unknown parameter \"nonsense\".");
}

#[test]
fn sessions_are_checked() {
    let session = |member: &str, at: &str, detail: &str| {
        check_tls(&format!(r#""session": {{{member}}}"#), &format!("/session{at}"), detail);
    };
    session(r#""cache_size": -1"#, "/cache_size", "The \"cache_size\" number must not be negative.");
    session(r#""timeout": 0"#, "/timeout", "The \"timeout\" number must be greater than zero.");
    session(r#""timeout": -5"#, "/timeout", "The \"timeout\" number must be greater than zero.");
    let detail = "The \"timeout\" value must be an integer number, but not a fractional number.";
    session(r#""timeout": 1.5"#, "/timeout", detail);
    session(r#""tickets": "!""#, "/tickets", "Invalid Base64 format for the ticket key \"!\".");
    let detail = "Invalid length 3 of the ticket key \"AAAA\".  Must be 48 or 80 bytes.";
    session(r#""tickets": "AAAA""#, "/tickets", detail);
    session(r#""tickets": ["AAAA"]"#, "/tickets/0", detail);
    session(r#""tickets": [true]"#, "/tickets/0", "The \"key\" array must contain only string values.");
    let detail =
        "The \"tickets\" value must be either a boolean, a string, or an array, but not an integer number.";
    session(r#""tickets": 1"#, "/tickets", detail);
}

#[test]
fn commands_that_cannot_be_obeyed_are_late_problems() {
    let problems = |commands: &str| -> Vec<Problem> {
        let document = document(&format!(r#""tls": {{"certificate": "a", "conf_commands": {commands}}}"#));
        validate(&parse(document.as_bytes()).unwrap(), &known()).unwrap_err()
    };
    for commands in [r#"{"nonsense": "x"}"#, r#"{"ciphers": "RC4"}"#, r#"{"maxprotocol": "TLSv1.1"}"#] {
        let problems = problems(commands);
        assert_eq!(problems.len(), 1, "{problems:#?}");
        assert_eq!(problems[0].stage, Stage::Application);
        assert!(problems[0].pointer.starts_with("/listeners/*:80/tls/conf_commands"));
    }
    let problem = problems(r#"{"ciphers": 1}"#).remove(0);
    assert_eq!(
        (problem.stage, problem.pointer.as_str()),
        (Stage::Validation, "/listeners/*:80/tls/conf_commands/ciphers")
    );
}

#[test]
fn client_certificates_are_checked() {
    check_tls(r#""client": {}"#, "/client", "Required parameter \"ca\" is missing.");
    check_tls(r#""client": {"ca": "none"}"#, "/client/ca", "Certificate \"none\" is not found.");
    check_tls(r#""client": {"ca": []}"#, "/client/ca", "The \"ca\" array must contain at least one element.");
    let detail = "The \"verify\" value must be either \"required\" or \"optional\".";
    check_tls(r#""client": {"ca": "a", "verify": "maybe"}"#, "/client/verify", detail);
}

#[test]
fn forwarded_is_read() {
    let found = listener(
        r#""forwarded": {"source": "10.0.0.0/8", "client_ip": "X-F", "protocol": "X-P", "recursive": true}"#,
    );
    let [forwarded] = found.forwarded.as_slice() else { panic!("{found:?}") };
    assert_eq!((forwarded.client_ip.as_deref(), forwarded.protocol.as_deref()), (Some("X-F"), Some("X-P")));
    assert!(forwarded.recursive && forwarded.source.matches("10.1.2.3:1".parse().ok()));
    assert!(!forwarded.source.matches(None));
}

#[test]
fn the_old_option_comes_after_the_new_one() {
    let found = listener(
        r#""client_ip": {"source": "unix", "header": "X-Old"}, "forwarded": {"source": [], "client_ip": "X-New"}"#,
    );
    let names: Vec<_> = found.forwarded.iter().map(|forwarded| forwarded.client_ip.as_deref()).collect();
    assert_eq!(names, [Some("X-New"), Some("X-Old")]);
    assert!(found.forwarded[1].source.matches(None) && !found.forwarded[0].source.matches(None));
}

#[test]
fn forwarded_is_checked() {
    let either = "The \"forwarded\" object must have either \"client_ip\" or \"protocol\" option set.";
    check(r#""forwarded": {"source": "*:80"}"#, &[("/forwarded", either)]);
    check(
        r#""forwarded": {"client_ip": "X"}"#,
        &[("/forwarded", "Required parameter \"source\" is missing.")],
    );
    check(
        r#""forwarded": {"source": ["10.0.0.1", "nonsense", 5], "protocol": "X"}"#,
        &[
            ("/forwarded/source/1", "The \"address\" format is invalid."),
            ("/forwarded/source/2", "The \"match\" pattern for \"address\" must be a string."),
        ],
    );
    check(
        r#""client_ip": {}"#,
        &[
            ("/client_ip", "Required parameter \"source\" is missing."),
            ("/client_ip", "Required parameter \"header\" is missing."),
        ],
    );
    check(
        r#""client_ip": {"source": [], "header": "X", "protocol": "Y"}"#,
        &[("/client_ip/protocol", "Unknown parameter \"protocol\".")],
    );
}

#[test]
fn proxy_protocol_is_checked() {
    let found = listener(r#""proxy_protocol": {"source": ["127.0.0.1"]}"#);
    assert!(found.proxy_protocol.unwrap().matches("127.0.0.1:5".parse().ok()));
    check(r#""proxy_protocol": {}"#, &[("/proxy_protocol", "Required parameter \"source\" is missing.")]);
    let detail = "The \"proxy_protocol\" value must be an object, but not a boolean.";
    check(r#""proxy_protocol": true"#, &[("/proxy_protocol", detail)]);
}

#[test]
fn http2_is_on_with_tls_unless_said_otherwise() {
    use crate::listener::Http2;
    for (members, expect) in [
        ("", Http2::WithTls),
        (r#""http2": true"#, Http2::WithTls),
        (r#""http2": false"#, Http2::Off),
        (r#""http2": "prior_knowledge""#, Http2::PriorKnowledge),
    ] {
        assert_eq!(listener(members).http2, expect, "{members}");
    }
    let detail = "The \"http2\" value must be true, false or \"prior_knowledge\".";
    check(r#""http2": "h2c""#, &[("/http2", detail)]);
}
