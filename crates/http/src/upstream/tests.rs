//! Responses as servers send them, right and wrong, whole and in pieces.

use super::*;

/// Compares what is passed on of a response to GET: `STATUS BODY KEPT name=value;…`, or the error.
#[track_caller]
fn check(text: &str, expect: &str) {
    check_method(text, false, expect);
}

#[track_caller]
fn check_method(text: &str, to_head: bool, expect: &str) {
    let mut head = ResponseHead::default();
    let described = match parse_response(&mut head, text.as_bytes()) {
        Ok(true) => describe(&head, text.as_bytes(), to_head),
        Ok(false) => "partial".to_owned(),
        Err(error) => error.to_string(),
    };
    assert_eq!(described, expect, "{text:?}");
}

fn describe(head: &ResponseHead, buf: &[u8], to_head: bool) -> String {
    let kept = if head.keep_alive(to_head) { "kept" } else { "closed" };
    let mut text = format!("{} {:?} {kept}", head.status(), head.body(to_head));
    for (name, value) in head.fields(buf) {
        text += &format!(" {}={};", String::from_utf8_lossy(name), String::from_utf8_lossy(value));
    }
    text
}

#[test]
fn ordinary_responses() {
    check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "200 Length(5) kept");
    check("HTTP/1.1 200\r\nX: 1\r\nx:2\r\n\r\n", "200 UntilClose closed X=1; x=2;");
    check("HTTP/1.1 404 Not Found\r\nTransfer-Encoding: Chunked\r\n\r\n", "404 Chunked kept");
    check("HTTP/1.0 200 OK\nContent-Length: 0\n\n", "200 Length(0) closed");
    check("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive\r\n\r\n", "200 Length(0) kept");
    check("HTTP/1.1 999 \r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "999 Length(0) closed");
    check(
        "HTTP/1.1 200 OK\r\nX:\r\nY: \t a b \t\r\nContent-Length: 0\r\n\r\n",
        "200 Length(0) kept X=; Y=a b;",
    );
}

#[test]
fn fields_about_the_connection_end_here() {
    check(
        "HTTP/1.1 200 OK\r\nServer: x\r\nDate: d\r\nConnection: X-Hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: \
        timeout=5\r\nUpgrade: h2c\r\nTrailer: t\r\nProxy-Connection: close\r\nContent-Length: 0\r\nSet-Cookie: \
        a\r\nSet-Cookie: b\r\n\r\n",
        "200 Length(0) kept Date=d; Set-Cookie=a; Set-Cookie=b;",
    );
}

#[test]
fn some_answers_have_no_body() {
    check("HTTP/1.1 204 No Content\r\n\r\n", "204 Absent kept");
    check("HTTP/1.1 304 Not Modified\r\n\r\n", "304 Absent kept");
    check("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "304 Absent closed");
    check("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", "204 Absent closed");
    check("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "204 Absent closed");
    check_method("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true, "200 Absent kept");
    check_method("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true, "200 Absent closed");
    check_method("HTTP/1.1 200 OK\r\n\r\n", true, "200 Absent kept");
    check_method("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true, "200 Absent closed");
}

#[test]
fn what_could_be_split_is_refused() {
    check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", "repeated Content-Length");
    check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", "repeated Content-Length");
    for length in ["", "-1", "+1", "5, 5", "0x5", "5 5", "18446744073709551616", "9223372036854775808", "5;"]
    {
        check(&format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"), "invalid Content-Length");
    }
    check(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "both Content-Length and Transfer-Encoding",
    );
    for coding in ["gzip", "gzip, chunked", "chunked, chunked", "identity", "", "\u{b}chunked"] {
        let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {coding}\r\n\r\n");
        let mut head = ResponseHead::default();
        assert!(parse_response(&mut head, text.as_bytes()).is_err(), "{text:?}");
    }
    let twice = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n";
    check(twice, "unsupported Transfer-Encoding");
    check(
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "Transfer-Encoding in a response of HTTP/1.0",
    );
}

#[test]
fn what_is_no_response_is_refused() {
    for text in [
        "\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.2 200 OK\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "SSH-2.0-x\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1  200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\n X: folded first\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: 1\r\n folded\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX : 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n",
    ] {
        let mut head = ResponseHead::default();
        assert!(parse_response(&mut head, text.as_bytes()).is_err(), "{text:?}");
    }
    let many = |n: usize| format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{}\r\n", "X: 1\r\n".repeat(n));
    let expect = format!("200 Length(0) kept{}", " X=1;".repeat(200));
    check(&many(200), &expect);
    let mut head = ResponseHead::default();
    assert!(parse_response(&mut head, many(MAX_FIELDS).as_bytes()).is_err());
}

#[test]
fn heads_may_come_in_pieces_of_any_size() {
    let text = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: yz\r\n\r\nab";
    for step in 1..text.len() {
        let mut head = ResponseHead::default();
        let mut end = step;
        while !parse_response(&mut head, &text[..end.min(text.len())]).unwrap() {
            end += step;
        }
        assert_eq!(head.len(), text.len() - 2, "in steps of {step}");
        assert_eq!(describe(&head, text, false), "200 Length(2) kept X=yz;");
    }
}

#[test]
fn interim_responses_and_upgrades_are_told_apart() {
    let mut head = ResponseHead::default();
    assert!(parse_response(&mut head, b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n").unwrap());
    assert!(head.is_interim());
    let switch = b"HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
    assert!(parse_response(&mut head, switch).unwrap());
    assert!(!head.is_interim());
    assert_eq!(head.upgrade(switch), Some(&b"websocket"[..]));
}

#[test]
fn servers_say_how_long_they_keep_a_connection() {
    for (value, expect) in
        [("timeout=5", Some(5)), ("max=3, Timeout=60", Some(60)), ("max=1", None), ("timeout=x", None)]
    {
        let text = format!("HTTP/1.1 200 OK\r\nKeep-Alive: {value}\r\n\r\n");
        let mut head = ResponseHead::default();
        assert!(parse_response(&mut head, text.as_bytes()).unwrap());
        assert_eq!(head.keep_alive_seconds(), expect, "{value}");
    }
}

#[test]
fn hop_by_hop_fields_of_requests() {
    for name in
        ["TE", "Proxy", "Expect", "Upgrade", "Trailer", "Connection", "Keep-Alive", "Transfer-Encoding"]
    {
        assert!(is_hop_by_hop(name.as_bytes()), "{name}");
    }
    for name in ["Host", "Cookie", "Authorization", "Content-Type", "X", "", "Proxy-Authenticate"] {
        assert!(!is_hop_by_hop(name.as_bytes()), "{name}");
    }
    let named = NamedFields::of([&b"close, X-A"[..], b"host"].into_iter());
    assert!(named.has(b"x-a") && !named.has(b"x-b") && !named.has(b"Host"));
}

#[test]
fn a_connection_field_has_few_options() {
    let head = |n: usize| {
        let options: String = (0..n).map(|n| format!("Connection: X-{n},\r\n")).collect();
        format!("HTTP/1.1 204 x\r\n{options}X-{}: 1\r\nX-{n}: 2\r\n\r\n", n - 1)
    };
    check(&head(MAX_OPTIONS), "204 Absent kept X-64=2;");
    check(&head(MAX_OPTIONS + 1), "too many options in Connection");
}

proptest::proptest! {
    /// The body of the fuzz target, in a form that runs everywhere.
    #[test]
    fn pieces_make_no_difference(step: u8, text in "(HTTP/1\\.[01] [0-9]{3}\r?\n)((Content-Length|Connection|X): ?[ \
        -~]{0,9}\r?\n){0,3}\r?\n?[a-c\r\n]{0,9}") {
        let mut data = vec![step];
        data.extend_from_slice(text.as_bytes());
        crate::fuzz::fuzz_upstream(&data);
    }
}
