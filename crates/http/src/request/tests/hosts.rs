//! `Host`, and the forms of targets that name a host, or none.

use super::{check_refused, read, rules};
use crate::request::{HeadRules, KnownField, ParsedHead, RequestHeadError, parse_head};

#[track_caller]
fn check_host(value: &str, expect: Result<&str, RequestHeadError>) {
    let text = format!("GET / HTTP/1.1\r\nHost: {value}\r\n\r\n");
    let mut head = ParsedHead::default();
    let seen = parse_head(&mut head, text.as_bytes(), &rules());
    let seen = seen.map(|_| std::str::from_utf8(head.host(text.as_bytes())).expect("ASCII"));
    assert_eq!(seen, expect, "{value:?}");
}

#[test]
fn a_host_is_normalised() {
    check_host("example.com", Ok("example.com"));
    check_host("Example.COM.", Ok("example.com"));
    check_host("EXAMPLE.com:8080", Ok("example.com"));
    check_host("example.com.:80", Ok("example.com"));
    check_host("example.com:", Ok("example.com"));
    check_host("a_b.example", Ok("a_b.example"));
    check_host("a%20b!$&'()*+,;=~", Ok("a%20b!$&'()*+,;=~"));
    check_host("[::1]", Ok("[::1]"));
    check_host("[2001:DB8::1]:443", Ok("[2001:db8::1]"));
    check_host("[::ffff:1.2.3.4]:65535", Ok("[::ffff:1.2.3.4]"));
}

#[test]
fn a_malformed_host_is_refused() {
    for value in [
        "a/b",
        "a..b",
        "..",
        "a b",
        "a, b",
        "a@b",
        "a\\b",
        "[::1",
        "[::1]x",
        "a:80/",
        "a?b",
        "a#b",
        "a\"b",
        "<a>",
        "{a}",
        "a|b",
        "a^b",
        "a`b",
        "a:b",
        "a:-1",
        "a:+1",
        "a: 1",
        "a:0x50",
        "a:65536",
        "1.2.3.4:9000:80",
        "a:80:80",
        "extra[x]:98",
        "a[::1]",
        "[]",
        "[g::1]",
        "[::1%25eth0]",
        "[1.2.3.4]",
        "[[::1]]",
        "::1",
        "a%",
        "a%2",
        "a%zz",
        "caf\u{e9}",
        "[::1].",
    ] {
        check_host(value, Err(RequestHeadError::BadHost));
    }
    check_refused("Host: a\r\nHost: a", RequestHeadError::DuplicateHost);
}

#[test]
fn an_empty_host_is_refused() {
    for value in ["", ".", ":80", ".:80", ":", "..", ".:"] {
        check_host(value, Err(RequestHeadError::BadHost));
    }
}

/// A head with this line and these fields: its target, path and host, and the value of `Host`.
#[track_caller]
fn check_absolute(line: &str, fields: &str, expect: Result<[&str; 4], RequestHeadError>) {
    let text = format!("{line}\r\n{fields}\r\n");
    let (mut head, buf) = (ParsedHead::default(), text.as_bytes());
    let seen = parse_head(&mut head, buf, &rules()).map(|_| {
        let hosts: Vec<_> = head
            .fields(buf)
            .filter(|(name, _)| name.eq_ignore_ascii_case(b"host"))
            .map(|(_, value)| value)
            .collect();
        assert_eq!(hosts, head.values(buf, KnownField::Host).collect::<Vec<_>>());
        assert_eq!(hosts.len(), 1, "{text:?}");
        [head.target(buf), head.path(buf), head.host(buf), hosts[0]]
            .map(|bytes| std::str::from_utf8(bytes).expect("text"))
    });
    assert_eq!(seen, expect, "{text:?}");
}

#[test]
fn the_host_of_a_target_takes_the_place_of_the_field() {
    check_absolute("GET http://b/ HTTP/1.1", "Host: a\r\n", Ok(["/", "/", "b", "b"]));
    let fields = "X: y\r\nHOST: a:81\r\nZ:\r\n";
    check_absolute(
        "GET HTTPS://B.c.:80/d%20e?f HTTP/1.1",
        fields,
        Ok(["/d%20e?f", "/d e", "b.c", "B.c.:80"]),
    );
    check_absolute("GET http://[::1]/ HTTP/1.1", "Host: a\r\n", Ok(["/", "/", "[::1]", "[::1]"]));
    check_absolute("GET http://b HTTP/1.1", "Host: b\r\n", Ok(["/", "/", "b", "b"]));
    check_absolute("GET http://b?c/d HTTP/1.1", "Host: b\r\n", Ok(["/?c/d", "/", "b", "b"]));
    check_absolute("GET http://b#c HTTP/1.1", "Host: b\r\n", Ok(["/", "/", "b", "b"]));
    check_absolute("GET http://b/c HTTP/1.0", "", Ok(["/c", "/c", "b", "b"]));
    check_absolute("OPTIONS http://b HTTP/1.1", "Host: b\r\n", Ok(["/", "/", "b", "b"]));
}

#[test]
fn a_target_with_a_host_excuses_no_field() {
    check_absolute("GET http://b/ HTTP/1.1", "", Err(RequestHeadError::MissingHost));
    check_absolute("GET http://b/ HTTP/1.1", "Host:\r\n", Err(RequestHeadError::BadHost));
    check_absolute("GET http://b/ HTTP/1.1", "Host: a/b\r\n", Err(RequestHeadError::BadHost));
    check_absolute("GET http://b/ HTTP/1.1", "Host: b\r\nHost: b\r\n", Err(RequestHeadError::DuplicateHost));
}

#[test]
fn a_stream_has_its_host_in_a_field() {
    let rules = HeadRules { is_stream: true, ..rules() };
    for (target, expect) in [
        ("http://b/", Err(RequestHeadError::BadTarget)),
        ("*", Err(RequestHeadError::BadTarget)),
        ("/", Ok(())),
    ] {
        let text = format!("GET {target} HTTP/2.0\r\nhost: a\r\n\r\n");
        assert_eq!(
            parse_head(&mut ParsedHead::default(), text.as_bytes(), &rules).map(drop),
            expect,
            "{target}"
        );
    }
}

#[test]
fn options_of_the_server_have_no_path_of_a_file() {
    let text = "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n";
    let (head, buf) = (read(text), text.as_bytes());
    assert!(head.is_for_server());
    assert_eq!((head.target(buf), head.path(buf), head.query(buf)), (&b"*"[..], &b"/"[..], None));
    assert!(!read("OPTIONS /* HTTP/1.1\r\nHost: a\r\n\r\n").is_for_server());
}

#[test]
fn a_host_has_to_be_there_since_http_1_1() {
    for (text, expect) in [
        ("GET / HTTP/1.1\r\n\r\n", Err(RequestHeadError::MissingHost)),
        ("GET / HTTP/1.2\r\nX-Host: a\r\n\r\n", Err(RequestHeadError::MissingHost)),
        ("GET / HTTP/1.1\r\nHost:\r\n\r\n", Err(RequestHeadError::BadHost)),
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", Ok(())),
        ("GET / HTTP/1.0\r\n\r\n", Ok(())),
    ] {
        let parsed = parse_head(&mut ParsedHead::default(), text.as_bytes(), &rules());
        assert_eq!(parsed.map(drop), expect, "{text:?}");
    }
    assert_eq!(RequestHeadError::MissingHost.status(), 400);
}
