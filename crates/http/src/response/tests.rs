//! Reply heads, error pages and dates, byte for byte.

use super::*;
use crate::request::HttpVersion;

#[track_caller]
fn check(
    status: u16,
    fields: &[(&str, &str)],
    framing: ReplyFraming,
    connection: ConnectionField,
    expect: &str,
) {
    let mut dates = DateCache::new();
    let trailer = Trailer { server: Some(b"Corral"), date: Some(dates.at(784_111_777)), framing, connection };
    let mut out = Vec::new();
    append_head(&mut out, status, fields.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())), &trailer);
    assert_eq!(String::from_utf8_lossy(&out), expect);
}

#[test]
fn fields_stand_in_units_order() {
    check(
        200,
        &[("A", "b"), ("C", "")],
        ReplyFraming::Length(12),
        ConnectionField::Close,
        "HTTP/1.1 200 OK\r\nA: b\r\nC: \r\nServer: Corral\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
         Content-Length: 12\r\nConnection: close\r\n\r\n",
    );
    check(
        999,
        &[],
        ReplyFraming::Chunked,
        ConnectionField::KeepAlive,
        "HTTP/1.1 999 \r\nServer: Corral\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
         Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    check(
        0,
        &[],
        ReplyFraming::NoBody,
        ConnectionField::Unsaid,
        "HTTP/1.1 000 \r\nServer: Corral\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n",
    );
}

#[test]
fn no_field_breaks_out_of_its_line() {
    let mut out = Vec::new();
    append_field(&mut out, b"Location", b"/a\r\nSet-Cookie: x\0\x7f\tb");
    append_field(&mut out, b"A: b\r\nC", b"d");
    append_field(&mut out, b"", b"d");
    assert_eq!(out, b"Location: /a  Set-Cookie: x   b\r\n");
}

#[test]
fn an_error_page_is_that_of_unit() {
    assert_eq!(error_page(404), *b"<!DOCTYPE html><title>Error 404</title><p>Error 404.\r\n");
}

#[test]
fn a_status_that_nobody_knows_is_not_sent() {
    let mut line = Vec::new();
    append_status_line(&mut line, 497);
    assert_eq!(line, b"HTTP/1.1 400 The plain HTTP request was sent to HTTPS port\r\n");
    let title = "The plain HTTP request was sent to HTTPS port";
    assert_eq!(problem(497), format!("{{\"status\":400,\"title\":\"{title}\"}}"));
}

#[test]
fn framing_and_connection_follow_from_status_and_version() {
    assert_eq!(ReplyFraming::choose(200, HttpVersion::Http11, Some(0)), ReplyFraming::Length(0));
    assert_eq!(ReplyFraming::choose(200, HttpVersion::Http11, None), ReplyFraming::Chunked);
    assert_eq!(ReplyFraming::choose(200, HttpVersion::Http10, None), ReplyFraming::UntilClose);
    for status in [100, 101, 204, 304] {
        assert_eq!(ReplyFraming::choose(status, HttpVersion::Http11, Some(5)), ReplyFraming::NoBody);
    }
    assert_eq!(ConnectionField::choose(HttpVersion::Http11, true), ConnectionField::Unsaid);
    assert_eq!(ConnectionField::choose(HttpVersion::Http11, false), ConnectionField::Close);
    assert_eq!(ConnectionField::choose(HttpVersion::Http10, true), ConnectionField::KeepAlive);
    assert_eq!(ConnectionField::choose(HttpVersion::Http10, false), ConnectionField::Unsaid);
}

#[test]
fn dates_of_all_forms_are_read() {
    for text in
        ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
    {
        assert_eq!(parse_date(text.as_bytes()), Some(784_111_777), "{text}");
    }
    for text in ["", "0", "Sun, 06 Nov 1994 08:49:37", "Sun, 36 Nov 1994 08:49:37 GMT", "yesterday", "\u{e9}"]
    {
        assert_eq!(parse_date(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn dates_are_written_for_any_second() {
    assert_eq!(format_date(0), *b"Thu, 01 Jan 1970 00:00:00 GMT");
    assert_eq!(format_date(u64::MAX), *b"Fri, 31 Dec 9999 23:59:59 GMT");
    let mut dates = DateCache::new();
    assert_eq!(dates.at(1), b"Thu, 01 Jan 1970 00:00:01 GMT");
    assert_eq!(dates.at(0), b"Thu, 01 Jan 1970 00:00:00 GMT");
}

#[test]
fn phrases_are_the_registered_ones() {
    for (status, phrase) in
        [(200, "OK"), (305, "Use Proxy"), (306, ""), (308, "Permanent Redirect"), (418, "")]
    {
        assert_eq!(reason(status), phrase, "{status}");
    }
}
