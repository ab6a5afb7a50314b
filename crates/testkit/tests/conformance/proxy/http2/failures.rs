//! Servers that fail, and what is said about it.

use corral_testkit::{Frame, Http2, Http2Origin, Origin, OriginPeer, Request, flag, kind};
use h2::Reason;
use serde_json::{Value, json};

use super::{proxy, proxy_with};

/// A server that greets, and treats each stream as its function says.
fn scripted(act: impl Fn(&mut OriginPeer, u32) + Send + Sync + 'static) -> Origin {
    Origin::start(move |peer| {
        peer.greet(&[]);
        while let Some(stream) = peer.read_stream() {
            act(peer, stream);
        }
    })
}

fn send(peer: &mut OriginPeer, frame: &Frame) {
    peer.write(&frame.encode());
}

/// `:status: 200`, with a body to come.
fn begin(peer: &mut OriginPeer, stream: u32) {
    send(peer, &Frame::new(kind::HEADERS, flag::END_HEADERS, stream, [0x88]));
}

#[track_caller]
fn check(origin: &Origin, options: Value, status: u16, word: &str) {
    let server = proxy_with(&origin.url(), options);
    server.get("/").expect(status);
    server.expect_log(word);
}

#[test]
fn who_does_not_speak_http2_is_named() {
    check(&Origin::saying("HTTP/1"), json!({}), 502, "it does not speak HTTP/2");
    check(&Origin::start(|_| ()), json!({}), 502, "it does not speak HTTP/2");
}

#[test]
fn who_says_nothing_is_not_waited_for_for_ever() {
    let silent = Origin::start(|peer| while !peer.read().is_empty() {});
    check(&silent, json!({ "timeouts": { "connect": 1 } }), 504, "no connection within 1s");
    let silent = scripted(|_, _| ());
    check(&silent, json!({ "timeouts": { "response": 1 } }), 504, "no response within 1s");
    let silent = scripted(begin);
    let server = proxy_with(&silent.url(), json!({ "timeouts": { "read": 1 } }));
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    client.read_until_text("\r\n\r\n");
    client.read_to_end();
    server.expect_log("nothing of the response's body for 1s");
}

#[test]
fn a_closed_window_is_not_waited_for_for_ever() {
    let closed = Origin::start(|peer| {
        // SETTINGS_INITIAL_WINDOW_SIZE
        peer.greet(&[(4, 0)]);
        while peer.read_stream().is_some() {}
    });
    let server = proxy_with(&closed.url(), json!({ "timeouts": { "send": 1 } }));
    server.send(&Request::new("POST", "/").body("some")).expect(504);
    server.expect_log("it took nothing of the request for 1s");
}

#[test]
fn a_server_without_streams_is_named() {
    // SETTINGS_MAX_CONCURRENT_STREAMS
    let full = Origin::start(|peer| {
        peer.greet(&[(3, 0)]);
        while peer.read_stream().is_some() {}
    });
    check(&full, json!({}), 502, "it permits no streams");
}

#[test]
fn resets_are_failures() {
    let origin = Http2Origin::start(|mut asked| async move { asked.reset(Reason::INTERNAL_ERROR) });
    let server = proxy(&origin);
    server.get("/").expect(502);
    server.send(&Request::new("POST", "/").body("x")).expect(502);
    server.expect_log("it ends the stream");
    assert_eq!(origin.n_connections(), 1, "others may go on");
}

/// No part of a response passes for the whole.
#[test]
fn a_response_that_breaks_off_cuts_the_client() {
    for ends_all in [false, true] {
        let origin = scripted(move |peer, stream| {
            begin(peer, stream);
            send(peer, &Frame::data(stream, b"half"));
            if ends_all {
                peer.finish_writing();
            } else {
                send(peer, &Frame::reset(stream, 2));
            }
        });
        let server = proxy_with(&origin.url(), json!({}));
        let mut client = server.connect();
        client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        let text = String::from_utf8_lossy(&client.read_to_end()).into_owned();
        assert!(text.ends_with("half\r\n") || !text.contains("0\r\n\r\n"), "{text}");
        let mut client = Http2::connect(server.address().socket());
        assert!(client.try_send(&Request::get("/")).is_err());
    }
}

#[test]
fn a_connection_that_ends_is_replaced() {
    let origin = Origin::start(|peer| {
        peer.greet(&[]);
        let Some(stream) = peer.read_stream() else { return };
        send(peer, &Frame::new(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, stream, [0x88]));
        // Without a word when the next one has come.
        peer.read_stream();
    });
    let server = proxy_with(&origin.url(), json!({}));
    server.get("/").expect(200);
    server.get("/").expect(200);
    server.get("/").expect(200);
    assert_eq!(origin.n_connections(), 3);
}

#[test]
fn heads_have_bounds() {
    let large = Http2Origin::start(|mut asked| async move {
        let value = "x".repeat(10_000);
        let fields: Vec<_> = (0..10).map(|_| ("x-a", value.as_str())).collect();
        asked.answer(200, &fields, "").await;
    });
    let server = proxy(&large);
    server.get("/").expect(502);
    server.expect_log("HTTP/2: ");
    // A head that does not end.
    let endless = scripted(|peer, stream| {
        send(peer, &Frame::new(kind::HEADERS, 0, stream, [0x88]));
        let piece = Frame::new(kind::CONTINUATION, 0, stream, vec![0x20; 16_000]).encode();
        while peer.write(&piece) {}
    });
    let server = proxy_with(&endless.url(), json!({}));
    server.get("/").expect(502);
    // Interim responses that do not end.
    let chatty = scripted(|peer, stream| {
        let field = [&[8, 3][..], b"102"].concat();
        let interim = Frame::new(kind::HEADERS, flag::END_HEADERS, stream, field).encode();
        while peer.write(&interim) {}
    });
    let server = proxy_with(&chatty.url(), json!({}));
    server.get("/").expect(502);
}

#[test]
fn frames_against_the_protocol_end_the_connection() {
    for wrong in [
        // Data that is more than the window.
        Frame::new(kind::DATA, 0, 1, vec![0; 16_384]),
        Frame::new(kind::PUSH_PROMISE, flag::END_HEADERS, 1, [0, 0, 0, 2, 0x88]),
        Frame::new(kind::WINDOW_UPDATE, 0, 0, [0; 4]),
        Frame::new(kind::HEADERS, flag::END_HEADERS, 1, [0xff; 20]),
    ] {
        let n_frames = if wrong.kind == kind::DATA { 20 } else { 1 };
        let origin = scripted(move |peer, stream| {
            if n_frames > 1 {
                begin(peer, stream);
            }
            for _ in 0..n_frames {
                peer.write(&wrong.encode());
            }
        });
        let server = proxy_with(&origin.url(), json!({}));
        let mut client = server.connect();
        client.write("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
        // Whatever becomes of the first one, the server goes on.
        let _ = client.try_read_response_to("HEAD");
        assert!([200, 502].contains(&server.send(&Request::new("HEAD", "/")).status));
        server.expect_processes("router", 1);
    }
}

#[test]
fn what_http2_has_no_words_for_is_refused() {
    let origin = Http2Origin::start(|mut asked| async move { asked.answer(200, &[], "ok").await });
    let server = proxy(&origin);
    let routes = json!([{ "action": {
        "request_headers": { "Host": "a b" },
        "proxy": origin.url(),
        "proxy_options": { "http2": true }
    } }]);
    server.control().put("/config/routes", &routes).expect_done();
    server.get("/").expect(502);
    server.expect_log("HTTP/2 has no place for what is in the request: Host");
}
