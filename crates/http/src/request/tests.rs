//! Request heads: what is read out of good ones, why bad ones are refused, how limits act.

mod hosts;

use proptest::prelude::*;

use super::*;
use crate::path::PathError;

fn rules() -> HeadRules {
    HeadRules { chunked_permitted: true, ..HeadRules::from_buffers(8192, 4) }
}

/// Reads a whole head, or panics.
#[track_caller]
fn read(text: &str) -> ParsedHead {
    let mut head = ParsedHead::default();
    let progress = parse_head(&mut head, text.as_bytes(), &rules());
    assert!(matches!(progress, Ok(HeadProgress::Complete { .. })), "{text:?}: {progress:?}");
    head
}

/// A request line, and `METHOD|path|query|version` or the error.
#[track_caller]
fn check_line(line: &str, expect: Result<&str, RequestHeadError>) {
    for (end, last) in [("\r\n", "\r\n"), ("\n", "\n"), ("\r\n", "\n")] {
        let text = format!("{line}{end}Host: a{end}{last}");
        let mut head = ParsedHead::default();
        let seen = parse_head(&mut head, text.as_bytes(), &rules()).map(|_| {
            let buf = text.as_bytes();
            let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let query = head.query(buf).map_or("-".into(), show);
            format!("{}|{}|{query}|{}", show(head.method(buf)), show(head.path(buf)), head.version() as u8)
        });
        assert_eq!(seen.as_deref(), expect.as_ref().copied(), "{text:?}");
    }
}

/// One field line after a request line, and the error that it leads to.
#[track_caller]
fn check_refused(fields: &str, expect: RequestHeadError) {
    let text = format!("POST / HTTP/1.1\r\n{fields}\r\n\r\n");
    let mut head = ParsedHead::default();
    assert_eq!(parse_head(&mut head, text.as_bytes(), &rules()), Err(expect), "{text:?}");
}

#[test]
fn a_request_line_is_taken_apart() {
    check_line("GET / HTTP/1.1", Ok("GET|/|-|1"));
    check_line("GET /a/b?c=d&e HTTP/1.0", Ok("GET|/a/b|c=d&e|0"));
    check_line("M-SEARCH /? HTTP/1.9", Ok("M-SEARCH|/||1"));
    check_line("X_Y / HTTP/1.1", Ok("X_Y|/|-|1"));
    check_line("GET   /a   HTTP/1.1", Ok("GET|/a|-|1"));
    check_line("GET /a b HTTP/1.1", Ok("GET|/a b|-|1"));
    check_line("GET /a?b c HTTP/1.1", Ok("GET|/a|b c|1"));
    check_line("GET /a#b?c HTTP/1.1", Ok("GET|/a|-|1"));
    check_line("GET /a?b#c?d HTTP/1.1", Ok("GET|/a|b|1"));
    check_line("GET /a?b?c HTTP/1.1", Ok("GET|/a|b?c|1"));
    check_line("GET /caf\u{e9} HTTP/1.1", Ok("GET|/caf\u{e9}|-|1"));
}

#[test]
fn a_path_is_decoded_and_resolved() {
    check_line("GET /a%20b/%2e%2e/c//d/./e HTTP/1.1", Ok("GET|/c/d/e|-|1"));
    check_line("GET /.well-known/x HTTP/1.1", Ok("GET|/.well-known/x|-|1"));
    check_line("GET /a%2Fb%3Fc%23d%25?x=%41 HTTP/1.1", Ok("GET|/a/b?c#d%|x=%41|1"));
    check_line("GET /%zz HTTP/1.1", Err(RequestHeadError::Path(PathError::BadEscape)));
    check_line("GET /%00 HTTP/1.1", Err(RequestHeadError::Path(PathError::Nul)));
    check_line("GET /a/../../b HTTP/1.1", Err(RequestHeadError::Path(PathError::AboveRoot)));
}

#[test]
fn a_bad_request_line_is_refused_for_its_reason() {
    check_line("get / HTTP/1.1", Err(RequestHeadError::BadMethod));
    check_line("GET: / HTTP/1.1", Err(RequestHeadError::BadMethod));
    check_line(" GET / HTTP/1.1", Err(RequestHeadError::BadMethod));
    check_line("G\u{e9}T / HTTP/1.1", Err(RequestHeadError::BadMethod));
    check_line("GET\t/ HTTP/1.1", Err(RequestHeadError::BadMethod));
    check_line("GET", Err(RequestHeadError::BadRequestLine));
    check_line("GET ", Err(RequestHeadError::BadRequestLine));
    check_line("GET /", Err(RequestHeadError::BadRequestLine));
    check_line("GET HTTP/1.1", Err(RequestHeadError::BadRequestLine));
    check_line("GET  HTTP/1.1", Err(RequestHeadError::BadRequestLine));
    check_line("GET / HTTP/1.1 ", Err(RequestHeadError::BadRequestLine));
    check_line("GET / http/1.1", Err(RequestHeadError::BadRequestLine));
    check_line("GET / HTTP/1.", Err(RequestHeadError::BadRequestLine));
    check_line("GET / HTTP/1", Err(RequestHeadError::BadRequestLine));
    check_line("GET / HTTP/1.1.1", Err(RequestHeadError::BadRequestLine));
    check_line("GET / HTTP/1,1", Err(RequestHeadError::BadRequestLine));
    check_line("GET / HTTP/1.10", Err(RequestHeadError::UnsupportedVersion));
    check_line("GET / HTTP/01.1", Err(RequestHeadError::UnsupportedVersion));
    check_line("GET / HTTP/2.0", Err(RequestHeadError::UnsupportedVersion));
    check_line("GET / HTTP/0.9", Err(RequestHeadError::UnsupportedVersion));
    check_line("PRI * HTTP/2.0", Err(RequestHeadError::UnsupportedVersion));
    check_line("GET ftp://a/ HTTP/1.1", Err(RequestHeadError::BadTarget));
    check_line("GET http:///a HTTP/1.1", Err(RequestHeadError::BadHost));
    check_line("GET http://a@b/ HTTP/1.1", Err(RequestHeadError::BadHost));
    check_line("GET http://a:b/ HTTP/1.1", Err(RequestHeadError::BadHost));
    check_line("GET http://a/../b HTTP/1.1", Err(RequestHeadError::Path(PathError::AboveRoot)));
    check_line("CONNECT a:443 HTTP/1.1", Err(RequestHeadError::Connect));
    check_line("CONNECT / HTTP/1.1", Err(RequestHeadError::Connect));
    check_line("GET * HTTP/1.1", Err(RequestHeadError::BadTarget));
    check_line("GET #/ HTTP/1.1", Err(RequestHeadError::BadTarget));
    check_line("GET /a\tb HTTP/1.1", Err(RequestHeadError::ControlInRequestLine));
    check_line("GET /a\rb HTTP/1.1", Err(RequestHeadError::ControlInRequestLine));
    check_line("GET /a\0 HTTP/1.1", Err(RequestHeadError::ControlInRequestLine));
    check_line("GET /a\x7f HTTP/1.1", Err(RequestHeadError::ControlInRequestLine));
}

#[test]
fn blank_lines_before_a_request_belong_to_its_head() {
    let text = b"\r\n\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nrest";
    let mut head = ParsedHead::default();
    assert_eq!(parse_head(&mut head, text, &rules()), Ok(HeadProgress::Complete { len: text.len() - 4 }));
    assert_eq!(head.request_line(text), b"GET / HTTP/1.1");
}

#[test]
fn blank_lines_alone_are_no_request() {
    let mut head = ParsedHead::default();
    assert!(!head.has_begun(b""));
    assert_eq!(parse_head(&mut head, b"\r\n", &rules()), Ok(HeadProgress::Partial));
    assert!(!head.has_begun(b"\r\n"));
    assert_eq!(parse_head(&mut head, b"\r\nG", &rules()), Ok(HeadProgress::Partial));
    assert!(head.has_begun(b"\r\nG"));
}

#[test]
fn fields_are_kept_in_order_and_trimmed() {
    let text = "GET / HTTP/1.0\r\nA: 1\r\nb:\t 2 \t\r\nA:\r\nX-Y:a  b\u{e9}\tc\n\r\n";
    let head = read(text);
    let seen: Vec<_> = head.fields(text.as_bytes()).collect();
    let expect: [(&[u8], &[u8]); 4] =
        [(b"A", b"1"), (b"b", b"2"), (b"A", b""), (b"X-Y", "a  b\u{e9}\tc".as_bytes())];
    assert_eq!(seen, expect);
}

#[test]
fn known_fields_are_found_in_any_case() {
    let text = "GET / HTTP/1.0\r\nACCEPT-encoding: br\r\nrange: bytes=0-\r\nAccept-Encoding: gzip\r\n\r\n";
    let (head, buf) = (read(text), text.as_bytes());
    assert_eq!(head.value(buf, KnownField::AcceptEncoding), Some(&b"br"[..]));
    assert_eq!(head.values(buf, KnownField::AcceptEncoding).count(), 2);
    assert_eq!(head.value(buf, KnownField::Range), Some(&b"bytes=0-"[..]));
    assert_eq!(head.value(buf, KnownField::IfRange), None);
    assert!(head.is_conditional());
}

#[test]
fn every_known_name_is_recognised() {
    let names = "accept-encoding authorization connection content-length content-type cookie expect host \
        if-match if-modified-since if-none-match if-range if-unmodified-since range referer \
        sec-websocket-key sec-websocket-version te trailer transfer-encoding upgrade user-agent";
    let mut bits = 0;
    for name in names.split_whitespace() {
        let known = KnownField::of(name.as_bytes());
        assert_eq!(format!("{known:?}").to_lowercase(), name.replace('-', ""));
        assert_eq!(bits & known.bit(), 0, "{name} shares its bit");
        bits |= known.bit();
        assert_eq!(KnownField::of(format!("{name}x").as_bytes()), KnownField::Other);
        assert_eq!(KnownField::of(format!("{}x", &name[..name.len() - 1]).as_bytes()), KnownField::Other);
    }
    assert_eq!(KnownField::of(b""), KnownField::Other);
}

#[test]
fn a_bad_field_is_refused_for_its_reason() {
    check_refused("A : b", RequestHeadError::SpaceBeforeColon);
    check_refused("A\t: b", RequestHeadError::SpaceBeforeColon);
    check_refused(" A: b", RequestHeadError::Folded);
    check_refused("A: b\r\n c", RequestHeadError::Folded);
    check_refused("A: b\r\n\tc: d", RequestHeadError::Folded);
    check_refused("A: b\r\n ", RequestHeadError::Folded);
    check_refused(": b", RequestHeadError::EmptyFieldName);
    check_refused("Ab", RequestHeadError::MissingColon);
    check_refused("A B: c", RequestHeadError::BadFieldName);
    check_refused("A(: c", RequestHeadError::BadFieldName);
    check_refused("A\0: c", RequestHeadError::BadFieldName);
    check_refused("A\r: c", RequestHeadError::BadFieldName);
    check_refused("\u{e9}: c", RequestHeadError::BadFieldName);
    check_refused("A: b\rc", RequestHeadError::ControlInValue);
    check_refused("A: b\r", RequestHeadError::ControlInValue);
    check_refused("A: \0", RequestHeadError::ControlInValue);
    check_refused("A: b\x7fc", RequestHeadError::ControlInValue);
    check_refused("A: 0123456789\x1b0123456789", RequestHeadError::ControlInValue);
    check_refused(&format!("{}: b", "n".repeat(256)), RequestHeadError::FieldNameTooLong);
    read(&format!("GET / HTTP/1.0\r\n{}: b\r\n\r\n", "n".repeat(255)));
}

#[test]
fn unsafe_names_are_dropped_or_kept_but_never_garbage() {
    let text = b"GET / HTTP/1.0\r\nA_B: 1\r\nA.B: 2\r\nA-B: 3\r\n\r\n";
    let mut head = ParsedHead::default();
    parse_head(&mut head, text, &rules()).expect("a good head");
    assert_eq!(head.fields(text).collect::<Vec<_>>(), [(&b"A-B"[..], &b"3"[..])]);
    let keeping = HeadRules { discard_unsafe_fields: false, ..rules() };
    parse_head(&mut head, text, &keeping).expect("a good head");
    assert_eq!(head.fields(text).count(), 3);
}

#[test]
fn the_target_as_it_was_sent_has_its_fragment() {
    for (line, target, sent) in [
        ("GET /a?b HTTP/1.1", "/a?b", "/a?b"),
        ("GET /a?b#c HTTP/1.1", "/a?b", "/a?b#c"),
        ("GET  /a#b c#d  HTTP/1.1", "/a", "/a#b c#d"),
        ("GET /# HTTP/1.1", "/", "/#"),
    ] {
        let text = format!("{line}\r\nHost: a\r\n\r\n");
        let mut head = ParsedHead::default();
        parse_head(&mut head, text.as_bytes(), &rules()).expect("it is right");
        let found =
            [head.target(text.as_bytes()), head.sent_target(text.as_bytes())].map(String::from_utf8_lossy);
        assert_eq!(found, [target, sent], "{line}");
    }
    assert_eq!(ParsedHead::default().sent_target(b""), b"");
}

#[test]
fn a_field_of_one_value_is_there_once() {
    for field in
        ["If-Match: \"a\"", "If-None-Match: *", "If-Range: \"a\"", "Range: bytes=0-", "Expect: 100-continue"]
    {
        read(&format!("GET / HTTP/1.0\r\n{field}\r\n\r\n"));
        check_refused(&format!("{field}\r\n{}", field.to_uppercase()), RequestHeadError::DuplicateField);
    }
    read("GET / HTTP/1.0\r\nIf-Match: \"a\"\r\nIf-None-Match: \"b\"\r\nRange: bytes=0-\r\n\r\n");
}

#[test]
fn a_connection_field_has_few_options() {
    let options = |n: usize| format!("Connection: {}close", "x, ".repeat(n - 1));
    assert!(!read(&format!("GET / HTTP/1.0\r\n{}\r\n\r\n", options(MAX_OPTIONS))).keep_alive());
    check_refused(&options(MAX_OPTIONS + 1), RequestHeadError::TooManyOptions);
    check_refused(&format!("{}\r\nConnection: y", options(MAX_OPTIONS)), RequestHeadError::TooManyOptions);
    assert_eq!(RequestHeadError::TooManyOptions.status(), 431);
}

#[test]
fn a_length_is_a_plain_number() {
    #[track_caller]
    fn check(value: &str, expect: Option<u64>) {
        let text = format!("POST / HTTP/1.0\r\nContent-Length: {value}\r\n\r\n");
        let mut head = ParsedHead::default();
        match parse_head(&mut head, text.as_bytes(), &rules()) {
            Ok(_) => assert_eq!(head.content_length(), expect, "{value:?}"),
            Err(error) => {
                assert_eq!((error, None), (RequestHeadError::BadContentLength, expect), "{value:?}");
            }
        }
    }
    check("0", Some(0));
    check("00017", Some(17));
    check(" 17\t", Some(17));
    check("9223372036854775807", Some(i64::MAX as u64));
    for bad in ["", "-1", "+1", "1.0", "0x10", "1 2", "1,1", "1, 1", "1;", "9223372036854775808", "１"] {
        check(bad, None);
    }
    check(&"9".repeat(40), None);
    check_refused("Content-Length: 1\r\nContent-Length: 1", RequestHeadError::DuplicateContentLength);
}

#[test]
fn framing_follows_from_the_fields() {
    assert_eq!(read("GET / HTTP/1.0\r\n\r\n").framing(), RequestFraming::Length(0));
    assert_eq!(read("POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\n").framing(), RequestFraming::Length(5));
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n";
    assert_eq!(read(chunked).framing(), RequestFraming::Chunked);
}

#[test]
fn a_dubious_transfer_encoding_is_refused() {
    for value in
        ["gzip", "gzip, chunked", "identity", "chunked, gzip", "chunkedx", "chunked;a=b", "x chunked"]
    {
        check_refused(&format!("Transfer-Encoding: {value}"), RequestHeadError::UnknownTransferCoding);
    }
    for value in ["", ",", "chunked, chunked", "chunked,", ", chunked", ";chunked", "\"chunked\""] {
        check_refused(&format!("Transfer-Encoding: {value}"), RequestHeadError::BadTransferEncoding);
    }
    let chunked = "Transfer-Encoding: chunked";
    check_refused(&format!("{chunked}\r\n{chunked}"), RequestHeadError::DuplicateTransferEncoding);
    check_refused(&format!("{chunked}\r\nContent-Length: 0"), RequestHeadError::LengthAndTransferEncoding);
    check_refused(&format!("Content-Length: 0\r\n{chunked}"), RequestHeadError::LengthAndTransferEncoding);
    let old = format!("POST / HTTP/1.0\r\n{chunked}\r\n\r\n");
    let refused = parse_head(&mut ParsedHead::default(), old.as_bytes(), &rules());
    assert_eq!(refused, Err(RequestHeadError::TransferEncodingInHttp10));
}

#[test]
fn chunks_need_permission() {
    let strict = HeadRules { chunked_permitted: false, ..rules() };
    let text = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let error = parse_head(&mut ParsedHead::default(), text, &strict).expect_err("not permitted");
    assert_eq!((error, error.status()), (RequestHeadError::ChunkedRefused, 411));
}

#[test]
fn the_connection_is_kept_by_version_and_option() {
    #[track_caller]
    fn check(minor: u8, connection: &str, expect: bool) {
        let text = format!("GET / HTTP/1.{minor}\r\nHost: a\r\n{connection}\r\n");
        assert_eq!(read(&text).keep_alive(), expect, "{text:?}");
    }
    check(1, "", true);
    check(1, "Connection: close\r\n", false);
    check(1, "Connection: x, CLOSE\r\n", false);
    check(1, "Connection: x\r\nConnection: close\r\n", false);
    check(1, "Connection: keep-alive, close\r\n", false);
    check(1, "Connection: closed\r\n", true);
    check(0, "", false);
    check(0, "Connection: Keep-Alive\r\n", true);
    check(0, "Connection: keep-alive, close\r\n", false);
}

#[test]
fn expectations_need_http_1_1_and_upgrades_say_what_they_want() {
    let fields =
        "Host: a\r\nExpect: 100-Continue\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n\r\n";
    let new = read(&format!("GET / HTTP/1.1\r\n{fields}"));
    assert!(new.expects_continue() && new.wants_websocket());
    let old = read(&format!("GET / HTTP/1.0\r\n{fields}"));
    assert!(!old.expects_continue() && old.wants_websocket());
    let other = read("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: upgrade\r\nExpect: x\r\n\r\n");
    assert!(!other.expects_continue() && !other.wants_websocket());
}

#[test]
fn limits_are_exact() {
    let text = b"GET /0123456789 HTTP/1.0\r\nA: 0123456789\r\n\r\n";
    #[track_caller]
    fn check(text: &[u8], max_head: usize, max_line: usize, expect: Option<RequestHeadError>) {
        let rules = HeadRules { max_head, max_line, ..rules() };
        assert_eq!(
            parse_head(&mut ParsedHead::default(), text, &rules).err(),
            expect,
            "{max_head} {max_line}"
        );
    }
    let line = b"GET /0123456789 HTTP/1.1\r".len();
    check(text, text.len(), line, None);
    check(text, text.len() - 1, line, Some(RequestHeadError::TooLarge));
    check(text, text.len(), line - 1, Some(RequestHeadError::LineTooLong));
    check(&text[..20], 20, 100, Some(RequestHeadError::TooLarge));
    check(&text[..20], 21, 100, None);
    check(&text[..20], 100, 19, Some(RequestHeadError::LineTooLong));
    check(&text[..36], 100, line, None);
    check(b"\n\n\n\n\n\n\n\n", 8, 100, Some(RequestHeadError::TooLarge));
    check(b"", 0, 0, Some(RequestHeadError::TooLarge));
    // Of a field it is what stands behind the colon that counts, however long its name.
    for name in ["A", "Name-Of-Twenty-Bytes"] {
        let text = format!("GET / HTTP/1.0\r\n{name}: 0123456789012345678\r\n\r\n");
        check(text.as_bytes(), 100, 20, None);
        check(text.as_bytes(), 100, 19, Some(RequestHeadError::LineTooLong));
    }
    let endless = [b"GET / HTTP/1.1\r\nA: ", &[b'x'; 500][..]].concat();
    check(&endless[..16 + 20 + 257], 1000, 20, None);
    check(&endless[..16 + 20 + 258], 1000, 20, Some(RequestHeadError::LineTooLong));
}

#[test]
fn garbage_is_refused_before_its_line_ends() {
    let mut head = ParsedHead::default();
    assert_eq!(parse_head(&mut head, b"\x16\x03\x01", &rules()), Err(RequestHeadError::BadMethod));
    assert_eq!(parse_head(&mut head, b"GET\r", &rules()), Ok(HeadProgress::Partial));
    head.clear();
    assert_eq!(parse_head(&mut head, b"\r", &rules()), Ok(HeadProgress::Partial));
}

#[test]
fn a_head_is_used_again_without_traces() {
    let first = "GET /%41?b HTTP/1.1\r\nHost: A.b\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    let mut head = read(first);
    assert_eq!((head.path(first.as_bytes()), head.host(first.as_bytes())), (&b"/A"[..], &b"a.b"[..]));
    let second = b"GET /c HTTP/1.1\r\nHost: d\r\n\r\n";
    parse_head(&mut head, second, &rules()).expect("a good head");
    assert_eq!((head.path(second), head.host(second), head.query(second)), (&b"/c"[..], &b"d"[..], None));
    assert_eq!((head.fields(second).len(), head.framing()), (1, RequestFraming::Length(0)));
    assert!(head.keep_alive() && !head.has(KnownField::Connection));
}

#[test]
fn many_fields_do_not_stay_in_memory() {
    let mut text = b"GET / HTTP/1.0\r\n".to_vec();
    (0..1000).for_each(|_| text.extend_from_slice(b"A: b\r\n"));
    text.extend_from_slice(b"\r\n");
    let mut head = ParsedHead::default();
    parse_head(&mut head, &text, &rules()).expect("a good head");
    assert_eq!(head.fields(&text).len(), 1000);
    head.clear();
    assert!(head.fields.capacity() <= MAX_KEPT_FIELDS);
}

proptest! {
    /// Pieces that often make a head, glued at random, read in pieces of any size.
    #[test]
    fn the_way_a_head_is_split_changes_nothing(
        options in any::<u8>(),
        pieces in proptest::collection::vec(prop_oneof![
            Just("GET / HTTP/1.1\r\n"), Just("GET /a/%2e./b?c HTTP/1.0\n"), Just("GET http://c?d HTTP/1.0\n"),
            Just("OPTIONS * HTTP/1.1\n"), Just("\r\n"), Just("\n"),
            Just("Host: A.b:1\r\n"), Just("Content-Length: 5\r\n"), Just("Transfer-Encoding: chunked\r\n"),
            Just("A: b\r\n"), Just("A_b: c\n"), Just(" "), Just("\r"), Just("x"), Just(":"), Just("\t"),
            Just("Connection: close\r\n"), Just("0123456789012345678901234567890123456789"),
        ], 0..20),
    ) {
        let mut data = vec![options];
        pieces.iter().for_each(|piece| data.extend_from_slice(piece.as_bytes()));
        crate::fuzz::fuzz_head(&data);
    }
}
