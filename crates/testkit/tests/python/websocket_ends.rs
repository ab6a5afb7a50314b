//! How WebSocket connections begin and end: handshakes that are refused, and the cases of section 7 of the Autobahn
//! test suite.

use corral_testkit::{Request, WebSocket};
use serde_json::json;

use crate::websocket::{handling, open, telling};

const CLOSE: u8 = WebSocket::LAST | WebSocket::CLOSE;
const TEXT: u8 = WebSocket::LAST | WebSocket::TEXT;
const PING: u8 = WebSocket::LAST | WebSocket::PING;

const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

/// The payload of a close.
fn closing(code: u16, reason: &[u8]) -> Vec<u8> {
    [&code.to_be_bytes(), reason].concat()
}

/// Expects that the server answers the last of these frames by a close with this code, and ends the connection.
#[track_caller]
fn check(frames: &[(u8, &[u8])], code: u16, reason: &str) {
    let (_site, server) = telling();
    let mut socket = open(&server);
    for (first, payload) in frames {
        socket.send(*first, payload);
    }
    assert_eq!(socket.expect_close(code), reason);
    assert!(socket.client.is_closed(), "nothing follows a close");
}

#[test]
fn a_handshake_that_is_wrong_does_not_reach_the_application() {
    let (_site, server) = telling();
    let fields = format!(
        "Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: \
        13\r\n"
    );
    let without = |name: &str| {
        let lines = fields.split_inclusive("\r\n").filter(|line| !line.starts_with(name));
        lines.collect::<String>()
    };
    for (line, fields, status) in [
        ("GET / HTTP/1.0", fields.clone(), 400),
        ("POST / HTTP/1.1", fields.clone() + "Content-Length: 0\r\n", 400),
        ("HEAD / HTTP/1.1", fields.clone(), 400),
        ("GET / HTTP/1.1", fields.clone() + "Content-Length: 1\r\n", 400),
        ("GET / HTTP/1.1", without("Sec-WebSocket-Key"), 400),
        ("GET / HTTP/1.1", fields.replace(KEY, "dGhlIHNhbXBsZQ=="), 400),
        ("GET / HTTP/1.1", without("Sec-WebSocket-Version"), 426),
        ("GET / HTTP/1.1", fields.replace("Version: 13", "Version: 8"), 426),
        ("GET / HTTP/1.1", fields.replace("Version: 13", "Version: "), 426),
    ] {
        let mut client = server.connect();
        client.write(format!("{line}\r\n{fields}\r\n"));
        let answer = String::from_utf8_lossy(&client.read_to_end()).into_owned();
        let expect = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&expect), "{line} {fields:?}: {answer}");
        let says_version = answer.contains("Sec-WebSocket-Version: 13\r\n");
        assert_eq!(says_version, status == 426, "{answer}");
    }
    assert!(!server.log().contains("Traceback"), "the application was asked\n{}", server.log());
}

/// Without both fields it is not such a request, and the application's affair.
#[test]
fn a_request_that_does_not_ask_is_a_request() {
    let (_site, server) = telling();
    let ask = |name: &str, value: &str| Request::new("POST", "/").field(name, value);
    for request in
        [ask("Upgrade", "websocket"), ask("Connection", "Upgrade"), ask("Sec-WebSocket-Version", "8")]
    {
        server.send(&request).expect(200);
    }
}

#[test]
fn the_answer_is_spelled_as_browsers_know_it() {
    let (_site, server) = telling();
    let socket = open(&server);
    assert!(socket.accepted.contains("\r\nConnection: Upgrade\r\n"), "{}", socket.accepted);
    assert!(socket.accepted.contains("\r\nUpgrade: websocket\r\n"), "{}", socket.accepted);
}

/// Cases 7.1.
#[test]
fn what_comes_behind_a_close_is_not_heard() {
    let normal = closing(1000, b"");
    check(&[(CLOSE, &normal)], 1000, "");
    check(&[(CLOSE, &normal), (CLOSE, &normal)], 1000, "");
    check(&[(CLOSE, &normal), (PING, b"?")], 1000, "");
    check(&[(CLOSE, &normal), (TEXT, b"never")], 1000, "");
    // Within a message that has not ended.
    check(&[(WebSocket::TEXT, b"fragment"), (CLOSE, &normal), (WebSocket::LAST, b"never")], 1000, "");
}

/// Cases 7.3.
#[test]
fn a_close_may_say_nothing_or_a_code_or_a_reason_too() {
    check(&[(CLOSE, b"")], 1000, "");
    check(&[(CLOSE, b"a")], 1002, "half a close code");
    check(&[(CLOSE, &closing(1000, b""))], 1000, "");
    check(&[(CLOSE, &closing(1000, b"Hello World!"))], 1000, "Hello World!");
    let longest = [b'*'; 123];
    check(&[(CLOSE, &closing(1000, &longest))], 1000, &"*".repeat(123));
    check(&[(CLOSE, &closing(1000, &[b'*'; 124]))], 1002, "a control frame is divided or too long");
}

/// Case 7.5.1.
#[test]
fn a_reason_is_a_text() {
    let reason = b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited";
    check(&[(CLOSE, &closing(1000, reason))], 1007, "a reason is not UTF-8");
}

/// Cases 7.7.
#[test]
fn codes_that_mean_something_are_answered_by_themselves() {
    let (_site, server) = telling();
    for code in
        [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999]
    {
        let mut socket = open(&server);
        socket.send(CLOSE, &closing(code, b""));
        assert_eq!(socket.expect_close(code), "");
        assert!(socket.client.is_closed());
    }
}

/// Cases 7.9 and 7.13.
#[test]
fn codes_that_mean_nothing_break_the_protocol() {
    let (_site, server) = telling();
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535] {
        let mut socket = open(&server);
        socket.send(CLOSE, &closing(code, b""));
        assert_eq!(socket.expect_close(1002), "invalid close code");
        assert!(socket.client.is_closed());
    }
}

#[test]
fn an_application_that_closes_without_a_code_closes_in_good_order() {
    for close in ["", ", 'code': None", ", 'code': None, 'reason': None", ", 'reason': ''"] {
        let code = format!(
            "await send({{'type': 'websocket.accept'}})\nawait send({{'type': 'websocket.close'{close}}})"
        );
        let (_site, server) = handling(&code, &json!({}));
        let mut socket = open(&server);
        assert_eq!(socket.expect_close(1000), "");
    }
}

/// The application is told 1005, as ASGI says.
#[test]
fn a_close_without_a_code_is_told_as_one() {
    let (_site, server) = telling();
    let mut socket = open(&server);
    socket.send(CLOSE, b"");
    socket.expect_close(1000);
    server.expect_log("told {'type': 'websocket.disconnect', 'code': 1005, 'reason': ''}");
}
