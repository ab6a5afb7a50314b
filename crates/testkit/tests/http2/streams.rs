//! Streams as good clients have them: several at a time, in pieces, with trailers, and given up.

use std::net::SocketAddr;

use corral_testkit::{Daemon, Http2, Origin, Request, eventually, python_app, site};
use h2::Reason;
use serde_json::{Value, json};

use super::{action, put, serve};

fn address(server: &Daemon) -> SocketAddr {
    server.address().socket()
}

fn connect(server: &Daemon) -> Http2 {
    Http2::connect(address(server))
}

/// An ASGI application.
fn application(code: &str) -> (Daemon, corral_testkit::Site) {
    let site = site().file("app.py", code);
    let server = serve(json!({ "applications": { "app": python_app(&site).value() } }));
    (server, site)
}

#[test]
fn http_1_is_spoken_on_the_same_port() {
    let server = serve(action(json!({ "return": 200 })));
    connect(&server).get("/").expect(200);
    let mut client = corral_testkit::Client::try_connect_http1(address(&server)).expect("connect");
    client.get("/").expect(200);
}

#[test]
fn many_at_a_time() {
    const SLOW: &str = "
import asyncio
async def application(scope, receive, send):
    assert scope['http_version'] == '2'
    await asyncio.sleep(0.2)
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': scope['path'].encode()})
";
    let (server, _site) = application(SLOW);
    let mut client = connect(&server);
    let streams: Vec<_> = (0..50).map(|n| (n, client.begin_get(&format!("/{n}")))).collect();
    for (n, stream) in streams.into_iter().rev() {
        stream.response().expect(200).expect_body(format!("/{n}"));
    }
}

#[test]
fn bodies_go_both_ways_at_once() {
    const ECHO: &str = "
async def application(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200})
    more = True
    while more:
        message = await receive()
        more = message.get('more_body', False)
        await send({'type': 'http.response.body', 'body': message['body'], 'more_body': more})
";
    let (server, _site) = application(ECHO);
    let mut client = connect(&server);
    let mut streams = [(); 3].map(|()| client.open(&Request::new("POST", "/").field("TE", "trailers")));
    for round in 0..5 {
        for (n, stream) in streams.iter_mut().enumerate() {
            let piece = format!("{n}: {round}");
            stream.write(&piece);
            if round == 0 {
                stream.head().expect(200);
            }
            assert_eq!(String::from_utf8_lossy(&stream.read_some()), piece);
        }
    }
    for stream in &mut streams {
        stream.finish();
        assert_eq!(stream.try_read().expect("it ends in order"), None);
    }
}

#[test]
fn early_hints_and_trailers() {
    const BOTH: &str = "
async def application(scope, receive, send):
    await send({'type': 'http.response.early_hint', 'links': [b'</a.css>; rel=preload']})
    await send({'type': 'http.response.start', 'status': 200, 'trailers': True})
    await send({'type': 'http.response.body', 'body': b'body'})
    await send({'type': 'http.response.trailers', 'headers': [(b'x-sum', b'4')], 'more_trailers': False})
";
    let (server, _site) = application(BOTH);
    let mut client = connect(&server);
    let request = Request::get("/").field("TE", "trailers");
    let mut stream = client.open(&request);
    stream.finish();
    stream.interim().expect(103).expect_field("link", "</a.css>; rel=preload");
    let response = stream.response().expect(200).expect_body("body");
    assert_eq!(response.trailers, [("x-sum".to_owned(), "4".to_owned())]);
}

#[test]
fn trailers_of_requests_are_read_and_forgotten() {
    let origin = Origin::echo();
    let server = serve(action(json!({ "proxy": origin.url() })));
    let mut client = connect(&server);
    let mut stream = client.open(&Request::new("POST", "/"));
    stream.write("body");
    stream.finish_with(&[("x-sum", "4")]);
    stream.response().expect(200).expect_text("\r\n\r\n");
    client.get("/").expect(200);
}

#[test]
fn cookies_are_one_field() {
    let origin = Origin::echo();
    let server = serve(action(json!({ "proxy": origin.url() })));
    let request = Request::get("/").field("Cookie", "a=1").field("Cookie", "b=2").field("Host", "a.example");
    let text = connect(&server).send(&request).expect(200).text().to_lowercase();
    assert!(text.contains("cookie: a=1; b=2\r\n"), "{text}");
    assert!(text.starts_with("get / http/1.1\r\n"), "{text}");
}

/// How many requests are in progress.
fn active(server: &Daemon) -> Value {
    server.control().get("/status/connections/active").json()
}

#[test]
fn one_that_is_given_up_ends_its_request_alone() {
    let origin = Origin::start(|peer| {
        let head = peer.read_head();
        if head.is_some_and(|head| head.starts_with("GET /slow")) {
            // Until the client is gone.
            while !peer.read().is_empty() {}
        } else {
            peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    let server = serve(action(json!({ "proxy": origin.url() })));
    let mut client = connect(&server);
    let mut slow = client.begin_get("/slow");
    eventually("the origin has it", || (origin.n_connections() == 1).then_some(()));
    slow.reset(Reason::CANCEL);
    client.get("/").expect(200);
    eventually("the request is over", || (active(&server) == 0).then_some(()));
}

#[test]
fn a_response_waits_for_its_window_and_others_do_not() {
    let site = site().file("large", "x".repeat(1 << 20)).file("small", "small");
    let server = serve(action(json!({ "share": format!("{}$uri", site.root()) })));
    let mut client = connect(&server);
    let mut large = client.begin_get("/large");
    large.head().expect(200).expect_field("content-length", "1048576");
    client.get("/small").expect(200).expect_body("small");
    let mut length = 0;
    while let Some(piece) = large.try_read().expect("the rest comes") {
        length += piece.len();
    }
    assert_eq!(length, 1 << 20);
}

/// A change of the configuration lets streams end, also those that begin on connections from before.
#[test]
fn connections_outlive_a_change_of_the_configuration() {
    let server = serve(action(json!({ "return": 200 })));
    let mut client = connect(&server);
    client.get("/").expect(200);
    put(&server, action(json!({ "return": 204 })));
    eventually("the new one is in force", || (client.get("/").status == 204).then_some(()));
}

/// GOAWAY comes first, and the streams that run are finished.
#[test]
fn a_graceful_end_finishes_what_has_begun() {
    const SLOW: &str = "
import asyncio
async def application(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': b'begun', 'more_body': True})
    await asyncio.sleep(0.5)
    await send({'type': 'http.response.body', 'body': b' and done'})
";
    let (mut server, _site) = application(SLOW);
    let mut client = connect(&server);
    let mut stream = client.begin_get("/");
    stream.head().expect(200);
    let mut body = stream.read_some();
    let old = server.upgrade();
    while let Some(piece) = stream.try_read().expect("it is finished") {
        body.extend(piece);
    }
    assert_eq!(String::from_utf8_lossy(&body), "begun and done");
    client.wait_for_end().expect("it ends in order");
    eventually("the old one is gone", || (!corral_testkit::is_alive(old)).then_some(()));
    connect(&server).get("/").expect(200);
}
