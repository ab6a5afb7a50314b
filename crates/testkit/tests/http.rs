//! HTTP/1 over sockets: what a client sees of the engine.

use corral_testkit::{Client, Daemon, Request, daemon, php_app, site};
use serde_json::json;

/// Answers everything with 200 and an empty body.
fn plain() -> Daemon {
    daemon().routes(json!([{ "action": { "return": 200 } }])).start()
}

/// A script that tells what it got.
const ECHO: &str = "<?php
$body = file_get_contents('php://input');
header('X-Method: ' . $_SERVER['REQUEST_METHOD']);
header('X-Length: ' . ($_SERVER['CONTENT_LENGTH'] ?? 'none'));
echo strlen($body), ' ', md5($body);
";

#[test]
fn a_connection_serves_many_requests() {
    let server = plain();
    let mut client = server.connect();
    for _ in 0..5 {
        client.get("/").expect(200).expect_no_field("Connection");
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let site = site().file("a.txt", "a").file("b.txt", "bb");
    let server = daemon().routes(json!([{ "action": { "share": format!("{}$uri", site.root()) } }])).start();
    let mut client = server.connect();
    let requests =
        ["/a.txt", "/nope", "/b.txt", "/a.txt"].map(|path| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
    client.write(requests.concat());
    client.read_response().expect(200).expect_body("a");
    client.read_response().expect(404);
    client.read_response().expect(200).expect_body("bb");
    client.read_response().expect(200).expect_body("a");
}

#[test]
fn requests_may_arrive_byte_by_byte() {
    let server = plain();
    let mut client = server.connect();
    for byte in b"GET /a HTTP/1.1\r\nHost: a\r\nX-Long: value\r\n\r\n" {
        client.write([*byte]);
    }
    client.read_response().expect(200);
}

#[test]
fn a_connection_is_kept_or_closed_as_the_version_and_the_client_say() {
    let server = plain();
    for (head, kept, field) in [
        ("GET / HTTP/1.1\r\nHost: a\r\n", true, None),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n", false, Some("close")),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, CLOSE\r\n", false, Some("close")),
        ("GET / HTTP/1.0\r\n", false, None),
        ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n", true, Some("keep-alive")),
    ] {
        let mut client = server.connect();
        client.write(format!("{head}\r\n"));
        let response = client.read_response().expect(200);
        assert_eq!(response.field("Connection"), field, "{head}\n{response}");
        if kept {
            client.get("/").expect(200);
        } else {
            assert!(client.is_closed(), "{head}");
        }
    }
}

#[test]
fn every_reply_has_server_date_and_length() {
    let response = plain().get("/").expect(200).expect_field("Content-Length", "0");
    assert!(response.field("Server").is_some_and(|server| server.starts_with("Corral")), "{response}");
    let date = response.field("Date").expect("a Date field");
    assert!(date.len() == 29 && date.ends_with(" GMT"), "{date}");
}

#[test]
fn an_error_has_a_page_but_not_for_head() {
    let server = daemon().routes(json!([{ "action": { "return": 404 } }])).start();
    let page = "<!DOCTYPE html><title>Error 404</title><p>Error 404.\r\n";
    let response = server.get("/").expect(404).expect_body(page).expect_field("Content-Type", "text/html");
    assert_eq!(response.reason, "Not Found");
    let mut client = server.connect();
    client.send(&Request::new("HEAD", "/")).expect(404).expect_body("").expect_field("Content-Length", "54");
    client.get("/").expect(404).expect_body(page);
}

#[test]
fn heads_have_a_limit() {
    let server = daemon()
        .routes(json!([{ "action": { "return": 200 } }]))
        .http(json!({ "large_header_buffer_size": 4096, "large_header_buffers": 2 }))
        .start();
    let with_field_of = |n: usize| Request::get("/").field("X-Long", &"x".repeat(n));
    server.send(&with_field_of(3000)).expect(200);
    server.send(&with_field_of(20_000)).expect(431);
    server.send(&Request::get(&format!("/{}", "a".repeat(20_000)))).expect(431);
}

#[test]
fn a_head_that_does_not_end_is_given_up() {
    let server = daemon()
        .routes(json!([{ "action": { "return": 200 } }]))
        .http(json!({ "header_read_timeout": 1 }))
        .start();
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: a\r\nX-Slow");
    client.read_response().expect(408).expect_field("Connection", "close");
    assert!(client.is_closed());
}

#[test]
fn an_idle_connection_is_closed_silently() {
    let server =
        daemon().routes(json!([{ "action": { "return": 200 } }])).http(json!({ "idle_timeout": 1 })).start();
    let mut client = server.connect();
    client.get("/").expect(200);
    assert_eq!(client.read_to_end(), b"", "nothing unsolicited is sent on a kept connection");
}

#[test]
fn a_body_that_does_not_come_is_given_up() {
    let site = site().file("echo.php", ECHO);
    let server = daemon().application(php_app(&site)).http(json!({ "body_read_timeout": 1 })).start();
    let mut client = server.connect();
    client.write("POST /echo.php HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123");
    client.read_response().expect(408).expect_field("Connection", "close");
    assert!(client.is_closed());
}

#[test]
fn bodies_have_a_limit() {
    let site = site().file("echo.php", ECHO);
    let server = daemon()
        .application(php_app(&site))
        .http(json!({ "max_body_size": 1000, "chunked_transform": true }))
        .start();
    let post = |n: usize| Request::post("/echo.php").body("x".repeat(n));
    server.send(&post(1000)).expect(200);
    server.send(&post(1001)).expect(413);
    let chunks = Request::post("/echo.php").field("Transfer-Encoding", "chunked");
    server.send(&chunks.clone().body(chunked(&"x".repeat(1000)))).expect(200);
    server.send(&chunks.body(chunked(&"x".repeat(1001)))).expect(413);
}

/// The client goes on sending while the refusal is on its way; it must be able to read it.
#[test]
fn a_refused_body_is_read_to_its_end_so_that_the_refusal_arrives() {
    let site = site().file("echo.php", ECHO);
    let server = daemon().application(php_app(&site)).http(json!({ "max_body_size": 1000 })).start();
    for _ in 0..5 {
        let mut client = server.connect();
        client.write("POST /echo.php HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n");
        let piece = vec![b'x'; 100_000];
        for _ in 0..20 {
            if client.try_write(&piece).is_err() {
                break;
            }
        }
        client.read_response().expect(413);
    }
}

#[test]
fn bodies_of_any_size_and_framing_arrive_whole() {
    let site = site().file("echo.php", ECHO);
    let server = daemon()
        .application(php_app(&site))
        .http(json!({ "max_body_size": 50_000_000, "chunked_transform": true }))
        .start();
    let mut client = server.connect();
    for n in [0, 1, 1000, 16_384, 16_385, 65_535, 65_536, 65_537, 300_000, 5_000_000] {
        let body = pattern(n);
        let request = Request::post("/echo.php").body(&body);
        let plain = client.send(&request).expect(200).expect_field("X-Length", &n.to_string());
        let request = Request::post("/echo.php").field("Transfer-Encoding", "chunked").body(chunked(&body));
        let chunked = client.send(&request).expect(200).expect_field("X-Length", &n.to_string());
        assert!(plain.text().starts_with(&format!("{n} ")), "{plain}");
        assert_eq!(plain.text(), chunked.text(), "{n} bytes");
    }
}

#[test]
fn chunk_extensions_and_trailers_are_accepted_and_dropped() {
    let site = site().file("echo.php", ECHO);
    let server = daemon().application(php_app(&site)).http(json!({ "chunked_transform": true })).start();
    let body = "3;x=1\r\nabc\r\n2;y=\"2\"\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n";
    let request = Request::post("/echo.php").field("Transfer-Encoding", "chunked").body(body);
    let mut client = server.connect();
    client.send(&request).expect(200).expect_text("5 ");
    client.send(&request).expect(200);
}

#[test]
fn a_client_that_waits_for_100_gets_it() {
    let site = site().file("echo.php", ECHO);
    let server = daemon().application(php_app(&site)).http(json!({ "max_body_size": 1000 })).start();
    let head = |n: u32| {
        format!("POST /echo.php HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: {n}\r\n\r\n")
    };
    let mut client = server.connect();
    client.write(head(5));
    client.read_response().expect(100);
    client.write("hello");
    client.read_response().expect(200).expect_text("5 ");
    // What is refused anyhow is refused before the client sends it.
    client.write(head(1001));
    client.read_response().expect(413);
}

#[test]
fn a_body_in_many_small_pieces_arrives_whole() {
    let site = site().file("echo.php", ECHO);
    let server = daemon().application(php_app(&site)).start();
    let mut client = server.connect();
    client.write("POST /echo.php HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    for _ in 0..200 {
        client.write("12345");
    }
    client.read_response().expect(200).expect_text("1000 ");
}

#[test]
fn versions_and_methods_that_are_unknown_are_answered() {
    let server = plain();
    check_line(&server, "GET / HTTP/2.0", 505);
    check_line(&server, "GET / HTTP/1.2", 200);
    check_line(&server, "GET / FTP/1.1", 400);
    check_line(&server, "PROPFIND / HTTP/1.1", 200);
    check_line(&server, "get / HTTP/1.1", 400);
    check_line(&server, "GET /%zz HTTP/1.1", 400);
    check_line(&server, "GET /../x HTTP/1.1", 400);
}

#[track_caller]
fn check_line(server: &Daemon, line: &str, status: u16) {
    let mut client = server.connect();
    client.write(format!("{line}\r\nHost: a\r\n\r\n"));
    let response = client.read_response();
    assert_eq!(response.status, status, "{line}\n{response}");
}

#[test]
fn the_server_field_can_hide_the_version() {
    let server = daemon()
        .routes(json!([{ "action": { "return": 200 } }]))
        .http(json!({ "server_version": false }))
        .start();
    server.get("/").expect_field("Server", "Corral");
}

#[test]
fn many_connections_wait_without_harm() {
    let server = plain();
    let mut held: Vec<Client> = (0..500).map(|_| server.connect()).collect();
    for client in &mut held {
        client.get("/").expect(200);
    }
    server.get("/").expect(200);
    for client in &mut held {
        client.get("/").expect(200);
    }
}

#[test]
fn the_access_log_has_a_line_for_each_request() {
    let logs = site().writable_folder("logs");
    let path = logs.path("logs/access.log");
    let server = daemon()
        .config(json!({
            "routes": [{ "match": { "uri": "/gone" }, "action": { "return": 410 } }, { "action": { "return": 200 } }],
            "access_log": path,
        }))
        .start();
    server
        .send(&Request::get("/a?b=c").field("User-Agent", "test \"agent\"").field("Referer", "http://x/"))
        .expect(200);
    server.get("/gone").expect(410);
    let lines = corral_testkit::eventually("two lines are logged", || {
        let lines: Vec<String> = logs.read("logs/access.log").lines().map(str::to_owned).collect();
        (lines.len() == 2).then_some(lines)
    });
    assert!(lines[0].starts_with("127."), "{lines:?}");
    assert!(lines[0].contains("\"GET /a?b=c HTTP/1.1\" 200 0 \"http://x/\" "), "{lines:?}");
    assert!(lines[1].contains("\"GET /gone HTTP/1.1\" 410 54 \"-\" \"-\""), "{lines:?}");
}

/// Not of one byte value, so that a piece that is lost or doubled shows.
fn pattern(n: usize) -> String {
    (0..n).map(|i| char::from(b'a' + (i % 23) as u8)).collect()
}

fn chunked(body: &str) -> String {
    let bytes = body.as_bytes();
    let chunks = bytes
        .chunks(10_007)
        .map(|chunk| format!("{:x}\r\n{}\r\n", chunk.len(), String::from_utf8_lossy(chunk)));
    chunks.collect::<String>() + "0\r\n\r\n"
}
