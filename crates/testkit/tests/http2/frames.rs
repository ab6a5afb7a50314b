//! Frames that no good client sends: each ends its stream or its connection with a reason, and nothing else.

use std::time::Duration;

use corral_testkit::{Daemon, Frame, RawHttp2, Site, flag, kind, remembered, site};
use serde_json::json;

use super::{action, serve};

/// Reasons of RFC 9113 section 7.
const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const FRAME_SIZE_ERROR: u32 = 6;
const COMPRESSION_ERROR: u32 = 9;

/// Every request is answered with `hello`.
fn server() -> Served {
    let site = site().file("hello", "hello");
    let server = serve(action(json!({ "share": format!("{}/hello", site.root()) })));
    Served { server, _site: site }
}

struct Served {
    server: Daemon,
    _site: Site,
}

fn connect(server: &Served) -> RawHttp2 {
    RawHttp2::connect(server.server.address().socket())
}

/// Sends frames on a new connection that the server ends with one of these reasons: `h2` is not particular everywhere.
#[track_caller]
fn check_goaway(frames: &[Frame], reasons: &[u32]) {
    let server = server();
    let mut client = connect(&server);
    let bytes: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
    client.write(bytes);
    let reason = client.expect_goaway();
    assert!(reasons.contains(&reason), "{reason} instead of one of {reasons:?}");
    connect(&server).ping();
}

/// Sends a request that is answered by the end of its stream or of its connection, and by nothing else.
#[track_caller]
fn check_refused(frames: &[Frame]) {
    let server = server();
    let mut client = connect(&server);
    let bytes: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
    client.write(bytes);
    let is_end = |frame: &Frame| matches!(frame.kind, kind::RST_STREAM | kind::GOAWAY);
    let answer = client.receive_until(|frame| is_end(frame) || is_ok(frame));
    let last = answer.last().expect("an answer");
    assert!(is_end(last) && last.code() == PROTOCOL_ERROR, "{frames:?} are answered by {last:?}");
}

#[track_caller]
fn expect_body(client: &mut RawHttp2, stream: u32, body: &[u8]) {
    let ends = |frame: &Frame| {
        frame.stream == stream && frame.kind == kind::DATA && frame.flags & flag::END_STREAM != 0
    };
    let frames = client.receive_until(ends);
    let data = frames.iter().filter(|frame| frame.stream == stream && frame.kind == kind::DATA);
    let found: Vec<u8> = data.flat_map(|frame| frame.payload.clone()).collect();
    assert!(found == body, "{frames:?}");
}

/// A request whose fields are these, behind those that it needs.
fn request(fields: &[(&str, &str)]) -> Frame {
    let first = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/")];
    Frame::headers(1, &[&first[..], fields].concat())
}

#[test]
fn a_request_byte_by_byte() {
    let server = server();
    let mut client = connect(&server);
    for byte in Frame::get(1, "/").encode() {
        client.write([byte]);
        std::thread::sleep(Duration::from_micros(200));
    }
    expect_body(&mut client, 1, b"hello");
}

#[test]
fn settings_are_acknowledged_and_tell_of_limits() {
    let server = server();
    let mut client = connect(&server);
    let frames = client.receive_until(|frame| frame.kind == kind::SETTINGS && frame.flags == flag::ACK);
    let settings =
        frames.iter().find(|frame| frame.kind == kind::SETTINGS && frame.flags == 0).expect("settings");
    let settings: Vec<(u16, u32)> = settings
        .payload
        .chunks_exact(6)
        .map(|one| {
            (u16::from_be_bytes([one[0], one[1]]), u32::from_be_bytes([one[2], one[3], one[4], one[5]]))
        })
        .collect();
    let value = |id| settings.iter().find(|(found, _)| *found == id).map(|(_, value)| *value);
    assert!(value(3).is_some_and(|streams| streams <= 256), "streams at a time: {settings:?}");
    assert!(value(6).is_some_and(|bytes| bytes <= 1 << 20), "bytes of a head: {settings:?}");
    assert_eq!(value(8), Some(1), "extended CONNECT: {settings:?}");
}

/// Options: settings.http.http2, settings.http.http2.max_concurrent_streams
/// Options: settings.http.http2.stream_window, settings.http.http2.connection_window
#[test]
fn limits_are_those_of_the_configuration() {
    let limits =
        json!({ "max_concurrent_streams": 7, "stream_window": 70_000, "connection_window": 100_000 });
    let mut config = action(json!({ "return": 200 }));
    config["settings"]["http"]["http2"] = limits;
    let server = serve(config);
    let mut client = RawHttp2::connect(server.address().socket());
    let frames = client.receive_until(|frame| frame.kind == kind::WINDOW_UPDATE);
    let settings = frames.iter().find(|frame| frame.kind == kind::SETTINGS && frame.flags == 0);
    let settings = &settings.expect("settings").payload;
    for (id, value) in [(3_u16, 7_u32), (4, 70_000)] {
        let setting = [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
        assert!(settings.chunks_exact(6).any(|found| found == setting), "{id}: {settings:?}");
    }
    // On top of what every connection begins with.
    let window = frames.last().map(|frame| frame.payload.clone());
    assert_eq!(window, Some((100_000_u32 - 65_535).to_be_bytes().to_vec()));
}

#[test]
fn fields_of_connections_are_refused() {
    for field in
        [("connection", "close"), ("transfer-encoding", "chunked"), ("upgrade", "h2c"), ("te", "gzip")]
    {
        check_refused(&[request(&[field])]);
    }
}

#[test]
fn heads_that_are_none_are_refused() {
    check_refused(&[request(&[("X-Upper", "1")])]);
    check_refused(&[request(&[(":path", "/again")])]);
    check_refused(&[request(&[(":status", "200")])]);
    check_refused(&[request(&[("a", "b"), (":made-up", "1")])]);
    check_refused(&[Frame::headers(1, &[(":method", "GET"), (":scheme", "http"), (":authority", "a")])]);
}

/// Bytes that would become lines of HTTP/1 for a server behind this one.
#[test]
fn fields_that_smuggle_lines_are_refused() {
    for (name, value) in
        [("x", "a\r\nb: c"), ("x", "a\nb"), ("x", "a\0b"), ("x y", "1"), ("x:", "1"), ("x\r\ny", "1")]
    {
        let server = server();
        let mut client = connect(&server);
        client.send(&request(&[(name, value)]));
        let answer = client
            .receive_until(|frame| matches!(frame.kind, kind::RST_STREAM | kind::GOAWAY | kind::HEADERS));
        let last = answer.last().expect("an answer");
        assert!(!is_ok(last), "{name:?}: {value:?} is answered by {last:?}");
    }
}

/// Whether it is the head of a response whose status is 200, by the static table.
fn is_ok(frame: &Frame) -> bool {
    frame.kind == kind::HEADERS && frame.payload.contains(&0x88)
}

#[test]
fn targets_that_smuggle_lines_are_refused() {
    for path in ["/a b", "/a\r\nX: 1", "a", "", "/\0"] {
        let server = server();
        let mut client = connect(&server);
        client.send(&Frame::get(1, path));
        let answer = client
            .receive_until(|frame| matches!(frame.kind, kind::RST_STREAM | kind::GOAWAY | kind::HEADERS));
        let last = answer.last().expect("an answer");
        assert!(!is_ok(last), "{path:?} is answered by {last:?}");
    }
}

#[test]
fn lengths_that_are_not_kept_are_refused() {
    let post = |length| {
        let fields = [
            (":method", "POST"),
            (":scheme", "http"),
            (":authority", "a"),
            (":path", "/"),
            ("content-length", length),
        ];
        Frame::headers(1, &fields).without(flag::END_STREAM)
    };
    check_refused(&[post("1"), Frame::data(1, b"more").with(flag::END_STREAM)]);
    check_refused(&[post("9"), Frame::data(1, b"less").with(flag::END_STREAM)]);
}

#[test]
fn windows_are_kept_within_bounds() {
    let most = (1 << 31) - 1;
    check_goaway(&[Frame::window_update(0, most), Frame::window_update(0, most)], &[FLOW_CONTROL_ERROR]);
    check_goaway(&[Frame::window_update(0, 0)], &[PROTOCOL_ERROR]);
    check_goaway(&[Frame::settings(&[(4, 1 << 31)])], &[FLOW_CONTROL_ERROR, PROTOCOL_ERROR]);
}

#[test]
fn frames_in_the_wrong_place_end_the_connection() {
    check_goaway(&[Frame::data(1, b"x")], &[PROTOCOL_ERROR, 5]);
    check_goaway(&[Frame::get(0, "/")], &[PROTOCOL_ERROR]);
    check_goaway(&[Frame::get(2, "/")], &[PROTOCOL_ERROR]);
    check_goaway(&[Frame::get(3, "/"), Frame::get(1, "/")], &[PROTOCOL_ERROR, 5]);
    check_goaway(&[Frame::reset(1, 8)], &[PROTOCOL_ERROR]);
    check_goaway(&[Frame::get(1, "/").without(flag::END_HEADERS), Frame::ping()], &[PROTOCOL_ERROR]);
    check_goaway(&[Frame::new(kind::CONTINUATION, flag::END_HEADERS, 1, [])], &[PROTOCOL_ERROR]);
    check_goaway(&[Frame::new(kind::PUSH_PROMISE, flag::END_HEADERS, 1, [0, 0, 0, 2])], &[PROTOCOL_ERROR]);
}

#[test]
fn frames_of_the_wrong_size_end_the_connection() {
    check_goaway(&[Frame::new(kind::PING, 0, 0, [0; 7])], &[FRAME_SIZE_ERROR, PROTOCOL_ERROR]);
    check_goaway(&[Frame::new(kind::SETTINGS, 0, 0, [0; 5])], &[FRAME_SIZE_ERROR, PROTOCOL_ERROR]);
    check_goaway(&[Frame::new(kind::WINDOW_UPDATE, 0, 0, [0; 3])], &[FRAME_SIZE_ERROR, PROTOCOL_ERROR]);
    check_goaway(&[Frame::new(kind::PING, 0, 0, vec![0; 20_000])], &[FRAME_SIZE_ERROR, PROTOCOL_ERROR]);
}

#[test]
fn blocks_that_cannot_be_decoded_end_the_connection() {
    let block = |bytes: &[u8]| Frame::new(kind::HEADERS, flag::END_STREAM | flag::END_HEADERS, 1, bytes);
    check_goaway(&[block(&[0xff, 0xff, 0xff, 0xff, 0xff])], &[COMPRESSION_ERROR, PROTOCOL_ERROR]);
    check_goaway(&[block(&[0x80])], &[COMPRESSION_ERROR, PROTOCOL_ERROR]);
    check_goaway(&[block(&[0xbe])], &[COMPRESSION_ERROR, PROTOCOL_ERROR]);
    check_goaway(&[block(&[0x3f, 0xe1, 0xff, 0x03])], &[COMPRESSION_ERROR, PROTOCOL_ERROR]);
}

/// A field that the table remembers counts each time that it is named.
#[test]
fn fields_named_by_the_table_count_in_full() {
    let server = server();
    let mut client = connect(&server);
    let get = Frame::get(1, "/");
    let remembered = [&get.payload[..], &remembered("x", &"a".repeat(3000))].concat();
    client.send(&Frame { payload: remembered, ..get });
    expect_body(&mut client, 1, b"hello");
    let get = Frame::get(3, "/");
    let named = [&get.payload[..], &[0xbe; 1000]].concat();
    client.send(&Frame { payload: named, ..get });
    let answer =
        client.receive_until(|frame| matches!(frame.kind, kind::RST_STREAM | kind::GOAWAY | kind::HEADERS));
    let last = answer.last().expect("an answer");
    assert!(!is_ok(last), "{last:?}");
    connect(&server).ping();
}

/// More streams at a time than the server allows.
#[test]
fn streams_beyond_the_limit_are_refused() {
    let server = server();
    let mut client = connect(&server);
    let many: Vec<u8> = (0..300).flat_map(|n| Frame::post(2 * n + 1, "/").encode()).collect();
    client.write(many);
    let frames = client.receive_until(|frame| frame.kind == kind::RST_STREAM || frame.kind == kind::GOAWAY);
    let last = frames.last().expect("an answer");
    assert!(last.kind == kind::GOAWAY || [7, PROTOCOL_ERROR].contains(&last.code()), "{last:?}");
}
