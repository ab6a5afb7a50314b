//! Requests as servers see them, and responses as clients do.

use corral_testkit::{Http2, Http2Origin, Request, http2_fields};
use serde_json::json;

use super::{proxy, proxy_with, streamed};

#[test]
fn request_headers_and_rewrites_are_the_last_word() {
    let origin = Http2Origin::start(|mut asked| async move {
        let shown = asked.shown();
        asked.answer(200, &[], shown).await;
    });
    let server = proxy(&origin);
    let routes = json!([{ "action": {
        "rewrite": "/new path",
        "request_headers": { "Host": "b.example", "X-Set": "$method", "X-Mine": null },
        "proxy": origin.url(),
        "proxy_options": { "http2": true, "forwarded_headers": false }
    } }]);
    server.control().put("/config/routes", &routes).expect_done();
    let text = server.send(&Request::get("/old?q").field("X-Mine", "1")).expect(200).text();
    assert_eq!(text, "GET http://b.example/new%20path?q\nx-set: GET\n");
}

#[test]
fn bodies_go_through_in_both_directions() {
    let origin = Http2Origin::start(|mut asked| async move {
        let length = asked.request.headers().get("content-length").cloned();
        let body = asked.read_all().await;
        let length = length.map_or("none".to_owned(), |length| length.to_str().unwrap().to_owned());
        asked.answer(200, &[("X-Length", &length)], body).await;
    });
    let server = proxy(&origin);
    for size in [0, 1, 1000, 65_535, 100_000, 3_000_000] {
        let body: Vec<u8> = (0..size).map(|n| (n % 251) as u8).collect();
        let response = server.send(&Request::new("POST", "/").body(body.clone())).expect(200);
        assert_eq!(response.field("X-Length"), Some(size.to_string().as_str()));
        assert!(response.body == body, "{size}");
        // The length was not announced.
        let mut client = Http2::connect(server.address().socket());
        let mut stream = client.open(&streamed("/"));
        for piece in body.chunks(40_000) {
            stream.write(piece);
        }
        stream.finish();
        let response = stream.response().expect(200);
        assert!(response.body == body, "{size}, {}", response.body.len());
        assert_eq!(response.field("X-Length"), Some("none"));
    }
    assert_eq!(origin.n_connections(), 1);
}

#[test]
fn chunks_of_a_client_are_passed_on_as_they_come() {
    let origin = Http2Origin::start(|mut asked| async move {
        let first = asked.read().await.expect("a piece");
        let mut sending = asked.begin(200, &[]);
        sending.send_data(first, false).expect("room");
        let rest = asked.read_all().await;
        sending.send_data(rest.into(), true).expect("room");
    });
    let server = proxy(&origin);
    let mut client = server.connect();
    client.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    client.read_until_text("hello");
    client.write("6\r\n, Mark\r\n0\r\n\r\n");
    client.read_until_text(", Mark");
}

#[test]
fn responses_without_a_body_stay_so() {
    let origin = Http2Origin::start(|mut asked| async move {
        match asked.request.uri().path() {
            "/204" => asked.answer_head(204, &[]),
            "/304" => asked.answer_head(304, &[("etag", "\"a\"")]),
            "/length" => asked.answer_head(200, &[("content-length", "5")]),
            _ => asked.answer_head(200, &[]),
        }
    });
    let server = proxy(&origin);
    let mut client = server.connect();
    assert!(client.get("/").expect(200).expect_field("Content-Length", "0").body.is_empty());
    assert!(client.get("/204").expect(204).body.is_empty());
    client.get("/304").expect(304).expect_field("ETag", "\"a\"");
    let head = client.send(&Request::new("HEAD", "/length")).expect(200);
    assert_eq!(head.field("Content-Length"), Some("5"));
    let head = client.send(&Request::new("HEAD", "/")).expect(200);
    assert_eq!(head.field("Content-Length"), None, "nobody knows how long it would be");
}

#[test]
fn error_pages_may_take_the_place_of_a_response() {
    let origin = Http2Origin::start(|mut asked| async move { asked.answer(500, &[], "theirs").await });
    let server = proxy_with(&origin.url(), json!({}));
    let routes = json!([{ "action": {
        "proxy": origin.url(),
        "proxy_options": { "http2": true },
        "errors": { "intercept": true, "500": { "return": 503 } }
    } }]);
    server.control().put("/config/routes", &routes).expect_done();
    assert_ne!(server.get("/").text(), "theirs");
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    /// Options: …action.proxy_options.http2
    #[test]
    fn requests_are_passed_on_as_over_http1() {
        let origin = Http2Origin::start(|mut asked| async move {
            let shown = asked.shown();
            asked.answer(200, &[("X-A", "1"), ("Server", "theirs")], shown).await;
        });
        let server = proxy(&origin);
        let request = Request::get("/a%20b?c=d&e")
            .field("Host", "a.example:81")
            .field("X-Mine", "1")
            .field("Cookie", "a=1; b=2")
            .field("Connection", "X-Hop, keep-alive")
            .field("X-Hop", "1")
            .field("TE", "trailers")
            .field("X-Forwarded-For", "10.0.0.1");
        let response = server.send(&request).expect(200).expect_field("X-A", "1");
        assert_eq!(response.field("Server").map(|name| name.starts_with("Corral")), Some(true));
        let text = response.text();
        let (line, fields) = text.split_once('\n').expect("a line");
        assert_eq!(line, "GET http://a.example:81/a%20b?c=d&e");
        let mut fields: Vec<_> = fields.lines().collect();
        fields.sort_unstable();
        assert_eq!(
            fields,
            [
                "cookie: a=1; b=2",
                "te: trailers",
                "x-forwarded-for: 10.0.0.1, 127.0.0.1",
                "x-forwarded-host: a.example:81",
                "x-forwarded-port: 81",
                "x-forwarded-proto: http",
                "x-mine: 1"
            ]
        );
    }

    #[test]
    fn what_comes_before_and_behind_a_response_is_passed_on() {
        let origin = Http2Origin::start(|mut asked| async move {
            asked.inform(102, &[]);
            asked.inform(103, &[("link", "</a>")]);
            let mut sending = asked.begin(200, &[("trailer", "x-sum")]);
            sending.send_data("body".into(), false).expect("room");
            let trailers = http2_fields(&[("x-sum", "1"), ("content-length", "7")]);
            sending.send_trailers(trailers).expect("an open stream");
        });
        let server = proxy(&origin);
        let mut client = server.connect();
        client.write("GET / HTTP/1.1\r\nHost: x\r\nTE: trailers\r\nConnection: TE\r\n\r\n");
        client.read_response().expect(103).expect_field("Link", "</a>");
        let text = client.read_until_text("\r\n0\r\nx-sum: 1\r\n\r\n");
        assert!(text.starts_with("HTTP/1.1 200") && text.contains("\r\nbody\r\n"), "{text}");
        client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        client.read_response().expect(103);
        client.read_response().expect(200).expect_body("body");
        let mut client = Http2::connect(server.address().socket());
        let mut stream = client.open(&Request::get("/").field("TE", "trailers"));
        stream.finish();
        let response = stream.response().expect(200).expect_body("body");
        assert_eq!(response.trailers, [("x-sum".to_owned(), "1".to_owned())]);
    }
}
