//! Streams in both directions, and what comes before and behind a response.

use std::sync::mpsc;

use corral_testkit::{Origin, Request, eventually};
use serde_json::json;

use super::{proxy, proxy_with};

#[test]
fn both_directions_stream_at_the_same_time() {
    const LENGTH: usize = 2_000_000;
    let origin = Origin::start(|peer| {
        peer.read_head();
        peer.write(format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n").as_bytes());
        loop {
            let piece = peer.read();
            if piece.is_empty() || !peer.write(&piece) {
                return;
            }
        }
    });
    let server = proxy(&origin);
    let mut client = server.connect();
    client.write(format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {LENGTH}\r\n\r\n"));
    client.write("begin");
    client.read_until_text("\r\n\r\nbegin");
    client.write(vec![b'x'; 1000]);
    client.read_until_text(&"x".repeat(1000));
}

#[test]
fn a_client_that_waits_for_100_gets_it() {
    let origin = Origin::echo();
    let server = proxy(&origin);
    let mut client = server.connect();
    client.write("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    client.read_response().expect(100);
    client.write("hello");
    let text = client.read_response().expect(200).text();
    assert!(text.ends_with("hello") && !text.contains("Expect"), "{text}");
}

#[test]
fn early_hints_are_passed_on() {
    let origin = Origin::answering(
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    );
    let server = proxy(&origin);
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    client.read_response().expect(103).expect_field("Link", "</a>");
    client.read_response().expect(200).expect_body("ok");
}

#[test]
fn the_server_learns_that_the_client_is_gone() {
    let (ended, end) = mpsc::channel();
    let origin = Origin::start(move |peer| {
        peer.read_request();
        let _ = ended.send(false);
        let _ = ended.send(peer.read().is_empty());
    });
    let server = proxy(&origin);
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    end.recv_timeout(corral_testkit::PATIENCE).expect("the request arrives");
    drop(client);
    assert_eq!(end.recv_timeout(corral_testkit::PATIENCE), Ok(true), "the connection ends");
}

#[test]
fn a_client_that_only_says_no_more_gets_its_answer() {
    let origin = Origin::saying("ok");
    let server = proxy(&origin);
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    client.finish_writing();
    client.read_response().expect(200).expect_body("ok");
}

#[test]
fn a_large_response_waits_for_a_slow_client() {
    let large = "x".repeat(8_000_000);
    let origin = Origin::saying(&large);
    let server = proxy(&origin);
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    eventually("the server sends", || (origin.n_connections() == 1).then_some(()));
    client.read_response().expect(200).expect_body(&large);
}

#[test]
fn fields_behind_a_body_reach_who_asks_for_them() {
    let origin = Origin::start(|peer| {
        while let Some(request) = peer.read_request() {
            let body = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
            let end = "0\r\nX-Sum:  6 \r\nContent-Length: 7\r\nX-Last: \r\n\r\n";
            if request.starts_with(b"GET /late ") {
                peer.write(body.as_bytes());
                peer.write(end.as_bytes());
            } else {
                peer.write((body.to_owned() + end).as_bytes());
            }
        }
    });
    let server = proxy(&origin);
    let mut client = server.connect();
    for path in ["/", "/late"] {
        client.write(format!("GET {path} HTTP/1.1\r\nHost: a\r\nTE: gzip, trailers\r\n\r\n"));
        client.read_until_text("\r\n3\r\nabc\r\n0\r\nX-Sum: 6\r\nX-Last: \r\n\r\n");
        client.write(format!("GET {path} HTTP/1.1\r\nHost: a\r\nTE: gzip\r\n\r\n"));
        client.read_until_text("\r\n3\r\nabc\r\n0\r\n\r\n");
    }
    assert_eq!(origin.n_connections(), 1);
}

#[test]
fn servers_hear_that_fields_behind_a_body_are_welcome() {
    let origin = Origin::echo();
    let server = proxy(&origin);
    let request = Request::get("/").field("TE", "trailers, deflate").field("Connection", "TE");
    let text = server.send(&request).expect(200).text();
    assert!(text.contains("TE: trailers\r\nConnection: TE\r\n"), "{text}");
    let server = proxy_with(&origin, json!({ "keepalive": { "connections": 0 } }));
    let text = server.send(&request).expect(200).text();
    assert!(text.contains("TE: trailers\r\nConnection: close, TE\r\n"), "{text}");
}

/// A body of the size that is kept for another server, and is not when no other may get it.
#[test]
fn bodies_are_forgotten_when_they_were_sent() {
    let origin = Origin::echo();
    let server = proxy(&origin);
    let mut client = server.connect();
    for len in [0, 1, 4_000, 32_768, 65_535, 65_536, 65_537, 200_000] {
        let body = "x".repeat(len);
        for method in ["POST", "PUT"] {
            let text = client.send(&Request::new(method, "/").body(&body)).expect(200).text();
            assert!(text.ends_with(&format!("\r\n\r\n{body}")), "{method} {len}");
        }
    }
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    /// The same holds for clients that have announced that they send nothing more, if a little later: they may only
    /// listen.
    #[test]
    fn the_server_learns_that_a_client_with_one_request_is_gone() {
        let (told, tell) = mpsc::channel();
        let origin = Origin::start(move |peer| {
            peer.read_request();
            let _ = told.send(false);
            let _ = told.send(peer.read().is_empty());
        });
        let server = proxy(&origin);
        let heads = ["GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"];
        let next = || tell.recv_timeout(corral_testkit::PATIENCE);
        let clients = heads.map(|head| {
            let mut client = server.connect();
            client.write(head);
            assert_eq!(next(), Ok(false), "the request arrives");
            client
        });
        drop(clients);
        assert_eq!([next(), next()], [Ok(true), Ok(true)], "the connections end");
    }
}
