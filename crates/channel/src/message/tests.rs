//! Heads survive the way, and nothing else passes for a head.

use super::*;

const FIELDS: [(&[u8], &[u8]); 3] =
    [(b"Host", b"example.org"), (b"X-Empty", b""), (b"Cookie", b"a=b; c=\xff")];

fn request() -> RequestHead<'static> {
    RequestHead {
        method: b"POST",
        target: b"/a%20b?x=1",
        path: b"/a b",
        query: b"x=1",
        host: b"example.org",
        remote_addr: b"127.0.0.1",
        remote_port: 49152,
        remote_user: b"alice",
        auth_type: b"Basic",
        local_addr: b"::1",
        local_port: 8080,
        version: Version::Http11,
        tls: true,
        app_target: 513,
        content_length: Some(u64::MAX),
        body_complete: false,
        websocket: false,
        params: b"params",
    }
}

fn request_payload(head: &RequestHead<'_>) -> Vec<u8> {
    let mut payload = Vec::new();
    encode_request(&mut payload, head, FIELDS);
    payload
}

fn response_payload(status: u16, fields: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut payload = Vec::new();
    encode_response(&mut payload, status, fields.iter().copied());
    payload
}

#[track_caller]
fn check_request(head: RequestHead<'_>) {
    let mut payload = request_payload(&head);
    payload.extend_from_slice(b"body");
    let view = decode_request(&payload).unwrap();
    assert_eq!(view.head, head);
    assert_eq!(view.fields.len(), FIELDS.len());
    assert!(view.fields.eq(FIELDS));
    assert_eq!(view.body, b"body");
}

#[test]
fn requests_survive_the_way() {
    check_request(request());
    check_request(RequestHead::default());
    check_request(RequestHead { tls: false, body_complete: true, ..request() });
    check_request(RequestHead { content_length: Some(0), ..request() });
    check_request(RequestHead { content_length: None, ..request() });
    check_request(RequestHead { websocket: true, ..request() });
    check_request(RequestHead { target: &[b'x'; 100_000], ..request() });
}

#[test]
fn responses_survive_the_way() {
    let fields: [(&[u8], &[u8]); 3] =
        [(b"Content-Type", b"text/html; charset=utf-8"), (b"x!#$%&'*+-.^_`|~9", b"\t \x80\xff"), (b"e", b"")];
    let mut payload = response_payload(200, &fields);
    payload.extend_from_slice(b"<p>");
    let (view, body) = decode_response(&payload).unwrap();
    assert_eq!(view.status, 200);
    assert!(view.fields.eq(fields));
    assert_eq!(&payload[body..], b"<p>");
}

#[test]
fn refusals_are_told_from_empty_responses() {
    let mut payload = b"before".to_vec();
    encode_refusal(&mut payload, 404);
    let (view, body) = decode_response(&payload[6..]).unwrap();
    assert_eq!((view.status, view.fields.len(), view.is_refusal), (404, 0, true));
    assert_eq!(payload.len(), 6 + body);
    let payload = response_payload(404, &[]);
    assert!(!decode_response(&payload).unwrap().0.is_refusal);
}

#[test]
fn heads_are_appended() {
    let mut payload = b"before".to_vec();
    encode_response(&mut payload, 204, [(&b"a"[..], &b"b"[..])]);
    let (view, _) = decode_response(&payload[6..]).unwrap();
    assert_eq!((view.status, view.fields.len()), (204, 1));
}

#[test]
fn every_cut_is_noticed() {
    let request = request_payload(&request());
    let response = response_payload(200, &FIELDS);
    for len in 0..request.len() {
        assert_eq!(decode_request(&request[..len]).unwrap_err(), Malformed::Truncated);
    }
    for len in 0..response.len() {
        assert_eq!(decode_response(&response[..len]).unwrap_err(), Malformed::Truncated);
    }
}

/// The response of one field with `bytes` written at `at`.
#[track_caller]
fn check_damaged(at: usize, bytes: &[u8], expect: Malformed) {
    let mut payload = response_payload(200, &[(b"Name", b"value")]);
    payload[at..at + bytes.len()].copy_from_slice(bytes);
    assert_eq!(decode_response(&payload).unwrap_err(), expect);
}

#[test]
fn lengths_that_lie_are_noticed() {
    for len in [0u32, 3, 11, 1000, u32::MAX] {
        check_damaged(0, &len.to_le_bytes(), Malformed::Truncated); // The head.
    }
    for n in [2u32, u32::MAX] {
        check_damaged(8, &n.to_le_bytes(), Malformed::Truncated); // The fields.
    }
    for len in [10u32, 1000, u32::MAX] {
        check_damaged(12, &len.to_le_bytes(), Malformed::Truncated); // The name.
        check_damaged(16, &len.to_le_bytes(), Malformed::Truncated); // The value.
    }
}

#[track_caller]
fn check_refused(status: u16, name: &[u8], value: &[u8], expect: Malformed) {
    let payload = response_payload(status, &[(b"Fine", b"fine"), (name, value)]);
    assert_eq!(decode_response(&payload).unwrap_err(), expect);
}

#[test]
fn what_must_not_reach_a_client_is_refused() {
    for status in [0, 99, 1000, u16::MAX] {
        check_refused(status, b"a", b"b", Malformed::Status { status });
    }
    for name in
        [&b""[..], b" ", b"a b", b"a:", b"a\r\nb", b"\0", b"caf\xc3\xa9", b"(", b"a\x7f", b"{}", b"\""]
    {
        check_refused(200, name, b"b", Malformed::FieldName { index: 1 });
    }
    for value in
        [&b"\r"[..], b"\n", b"\0", b"a\r\nSet-Cookie: b", b"0123456789012345678901234567890123456789\n"]
    {
        check_refused(200, b"a", value, Malformed::FieldValue { index: 1 });
    }
}

#[test]
fn statuses_have_three_digits() {
    for status in [100, 200, 599, 999] {
        assert_eq!(decode_response(&response_payload(status, &[])).unwrap().0.status, status);
    }
}

#[test]
fn informational_responses_survive_the_way() {
    let links: [(&[u8], &[u8]); 2] = [(b"Link", b"</a>"), (b"Link", b"</b>")];
    let mut payload = Vec::new();
    encode_informational(&mut payload, 103, links).unwrap();
    let view = decode_informational(&payload).unwrap();
    assert_eq!(view.status, 103);
    assert!(view.fields.eq(links));
}

#[test]
fn what_is_no_informational_response_is_refused_by_both_ends() {
    for status in [0, 99, 100, 101, 200, 1000] {
        let mut payload = b"before".to_vec();
        let refused = encode_informational(&mut payload, status, []).unwrap_err();
        assert_eq!((refused, &payload[..]), (Malformed::Status { status }, &b"before"[..]));
        assert_eq!(decode_informational(&response_payload(status, &[])).unwrap_err(), refused);
    }
    let fields: [(&[u8], &[u8]); 1] = [(b"Link", b"</a>\r\nSet-Cookie: a=b")];
    let refused = encode_informational(&mut Vec::new(), 103, fields).unwrap_err();
    assert_eq!(refused, Malformed::FieldValue { index: 0 });
    assert_eq!(decode_informational(&response_payload(103, &fields)).unwrap_err(), refused);
}

#[test]
fn trailers_survive_the_way() {
    let fields: [(&[u8], &[u8]); 2] = [(b"Server-Timing", b"db;dur=5"), (b"x-empty", b"")];
    let mut payload = Vec::new();
    encode_trailers(&mut payload, fields);
    assert!(decode_trailers(&payload).unwrap().eq(fields));
    for len in 0..payload.len() {
        assert_eq!(decode_trailers(&payload[..len]).unwrap_err(), Malformed::Truncated);
    }
    payload[4] = 3;
    assert_eq!(decode_trailers(&payload).unwrap_err(), Malformed::Truncated);
}

#[test]
fn what_must_not_be_behind_a_body_is_refused_by_both_ends() {
    let names =
        ["Content-Length", "TRANSFER-ENCODING", "trailer", "Set-Cookie", "If-Match", "www-authenticate"];
    let forbidden = names.map(|name| (name.as_bytes(), &b"1"[..], Malformed::Trailer { index: 1 }));
    let broken = [
        (&b"a b"[..], &b""[..], Malformed::FieldName { index: 1 }),
        (b"a", b"b\r\nc: d", Malformed::FieldValue { index: 1 }),
    ];
    for (name, value, expect) in forbidden.into_iter().chain(broken) {
        let fields: [(&[u8], &[u8]); 2] = [(b"Fine", b"fine"), (name, value)];
        let mut payload = Vec::new();
        encode_trailers(&mut payload, fields);
        assert_eq!(decode_trailers(&payload).unwrap_err(), expect);
        assert_eq!(check_trailers(fields), Err(expect));
    }
}
