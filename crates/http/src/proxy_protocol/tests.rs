//! Headers of both versions, whole, in pieces, and wrong.

use super::*;

/// `expect` is the client's address, `unix`, or `-` for the connection's own.
#[track_caller]
fn check(input: &[u8], expect: &str) {
    let mut with_more = input.to_vec();
    with_more.extend_from_slice(b"GET / HTTP/1.1\r\n");
    let header = parse(&with_more).unwrap().unwrap();
    assert_eq!(header.len, input.len());
    let shown = match header.source {
        ProxiedClient::Connection => "-".to_owned(),
        ProxiedClient::Address(address) => address.to_string(),
        ProxiedClient::Unix => "unix".to_owned(),
    };
    assert_eq!(shown, expect);
    for len in 0..input.len() {
        assert_eq!(parse(&input[..len]), Ok(None), "the first {len} bytes");
    }
}

#[track_caller]
fn check_refused(input: &[u8], expect: ProxyHeaderError) {
    assert_eq!(parse(input), Err(expect), "{}", input.escape_ascii());
}

/// A header of version 2.
fn binary(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
    let len = u16::try_from(body.len()).unwrap().to_be_bytes();
    [&SIGNATURE[..], &[command, family], &len, body].concat()
}

#[test]
fn lines() {
    check(b"PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n", "192.0.2.1:56324");
    check(b"PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", "255.255.255.255:65535");
    check(b"PROXY TCP6 2001:db8::1 ::1 0 443\r\n", "[2001:db8::1]:0");
    check(b"PROXY UNKNOWN\r\n", "-");
    check(b"PROXY UNKNOWN ffff::1 anything at all\r\n", "-");
    let longest = "PROXY UNKNOWN ".to_owned() + &"x".repeat(91) + "\r\n";
    check(longest.as_bytes(), "-");
}

#[test]
fn bad_lines() {
    for line in [
        "PROXY ",
        "PROXY  TCP4 1.2.3.4 1.2.3.4 1 1",
        "PROXY TCP4 1.2.3.4 1.2.3.4 1",
        "PROXY TCP4 1.2.3.4 1.2.3.4 1 1 ",
        "PROXY TCP4 1.2.3.4 1.2.3.4 1 1 1",
        "PROXY TCP4 1.2.3.4 1.2.3.4 01 1",
        "PROXY TCP4 1.2.3.4 1.2.3.4 +1 1",
        "PROXY TCP4 1.2.3.4 1.2.3.4 1 65536",
        "PROXY TCP4 1.2.3 1.2.3.4 1 1",
        "PROXY TCP4 01.2.3.4 1.2.3.4 1 1",
        "PROXY TCP4 ::1 ::1 1 1",
        "PROXY TCP6 1.2.3.4 1.2.3.4 1 1",
        "PROXY TCP6 ::1 ::g 1 1",
        "PROXY tcp4 1.2.3.4 1.2.3.4 1 1",
        "PROXY UDP4 1.2.3.4 1.2.3.4 1 1",
        "PROXY UNKNOWNX",
        "PROXY TCP4 1.2.3.4\t1.2.3.4 1 1",
        "PROXY \u{e9}",
    ] {
        check_refused((line.to_owned() + "\r\n").as_bytes(), ProxyHeaderError::Line);
    }
    let too_long = "PROXY UNKNOWN ".to_owned() + &"x".repeat(92) + "\r\n";
    check_refused(too_long.as_bytes(), ProxyHeaderError::LongLine);
    check_refused(b"PROXY TCP4 1.2.3.4 1.2.3.4 1 1\n\r\n", ProxyHeaderError::Line);
}

#[test]
fn binary_headers() {
    let inet = [192, 0, 2, 1, 198, 51, 100, 1, 0xdc, 0x04, 1, 0xbb];
    check(&binary(0x21, 0x11, &inet), "192.0.2.1:56324");
    let mut inet6 = [0; 36];
    (inet6[15], inet6[33]) = (1, 80);
    check(&binary(0x21, 0x21, &inet6), "[::1]:80");
    check(&binary(0x21, 0x31, &[0; 216]), "unix");
    check(&binary(0x21, 0x00, b"anything"), "-");
    check(&binary(0x20, 0x00, b""), "-");
    check(&binary(0x20, 0x11, &inet), "-");
    check(&binary(0x20, 0xff, b"x"), "-");
}

#[test]
fn what_follows_the_addresses_is_skipped() {
    let mut body = vec![10, 0, 0, 1, 10, 0, 0, 2, 0, 1, 0, 2];
    body.extend_from_slice(&[0x02, 0, 3, b'a', b'b', b'c']);
    check(&binary(0x21, 0x11, &body), "10.0.0.1:1");
    check(&binary(0x21, 0x11, &[1; MAX_HEADER - 16]), "1.1.1.1:257");
}

#[test]
fn bad_binary_headers() {
    check_refused(&binary(0x11, 0x11, &[0; 12]), ProxyHeaderError::Command(0x11));
    check_refused(&binary(0x22, 0x11, &[0; 12]), ProxyHeaderError::Command(0x22));
    check_refused(&binary(0x21, 0x12, &[0; 12]), ProxyHeaderError::Family(0x12));
    check_refused(&binary(0x21, 0x32, &[0; 216]), ProxyHeaderError::Family(0x32));
    check_refused(&binary(0x21, 0x41, &[0; 216]), ProxyHeaderError::Family(0x41));
    check_refused(&binary(0x21, 0x11, &[0; 11]), ProxyHeaderError::Length(11));
    check_refused(&binary(0x21, 0x21, &[0; 35]), ProxyHeaderError::Length(35));
    check_refused(&binary(0x21, 0x31, &[0; 215]), ProxyHeaderError::Length(215));
    check_refused(&binary(0x21, 0x11, &[0; MAX_HEADER]), ProxyHeaderError::Length(MAX_HEADER));
}

#[test]
fn other_beginnings() {
    for input in
        ["GET / HTTP/1.1\r\n", "\r\n\r\nx", "PROXYX", "proxy TCP4", "\x16\x03\x01", "PROXY\tTCP4", " PROXY"]
    {
        check_refused(input.as_bytes(), ProxyHeaderError::NoHeader);
    }
}

#[test]
fn arbitrary_bytes_behind_a_good_start() {
    use proptest::prelude::*;
    let starts =
        ["", "PROXY ", "PROXY TCP4 1.2.3.4 ", "\r\n\r\n\0\r\nQUIT\n", "\r\n\r\n\0\r\nQUIT\n\x21\x11\0"];
    let starts = prop::sample::select(starts.map(str::as_bytes).to_vec());
    proptest!(|(start in starts, rest in prop::collection::vec(any::<u8>(), 0..300))| {
        crate::fuzz::fuzz_proxy_protocol(&[start, &rest].concat());
    });
}
