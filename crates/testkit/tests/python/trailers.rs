//! Trailers of ASGI applications, behind the body of their response: `http.response.trailers`.

use corral_testkit::{Client, Request, daemon, python_app, site};
use serde_json::json;

use crate::app;
use crate::asgi::handling;

/// Begins a response that announces trailers, with these fields.
fn start(headers: &str) -> String {
    format!(
        "await send({{'type': 'http.response.start', 'status': 200, 'headers': [{headers}], 'trailers': True}})\n"
    )
}

fn body(body: &str) -> String {
    format!("await send({{'type': 'http.response.body', 'body': b'{body}'}})\n")
}

fn trailers(headers: &str) -> String {
    format!("await send({{'type': 'http.response.trailers', 'headers': [{headers}]}})\n")
}

/// A response with this body and these trailers.
fn responding(content: &str, headers: &str) -> String {
    handling(&(start("") + &body(content) + &trailers(headers)))
}

/// Asks as a client that takes trailers.
fn asking(method: &str) -> Request {
    Request::new(method, "/").field("TE", "trailers").field("Connection", "TE")
}

/// Reads head and body of a response in chunks, and what is behind them.
#[track_caller]
fn read(client: &mut Client) -> (String, String) {
    let head = client.read_until_text("\r\n\r\n").to_ascii_lowercase();
    assert!(head.contains("transfer-encoding: chunked") && !head.contains("content-length"), "{head}");
    let body = client.read_until_text("\r\n0\r\n");
    let mut lines = String::new();
    while !lines.ends_with("\r\n\r\n") && lines != "\r\n" {
        lines += &client.read_until_text("\r\n");
    }
    (body, lines)
}

#[test]
fn they_come_behind_the_body_and_the_connection_goes_on() {
    let fields = "(b'Server-Timing', b'db;dur=5'), (b'x-a', b'1'), (b'x-a', b'2'), (b'x-empty', b'')";
    let (_site, server) = app(&responding("hello", fields));
    let mut client = server.begin(&asking("GET"));
    for _ in 0..3 {
        let lines = "Server-Timing: db;dur=5\r\nx-a: 1\r\nx-a: 2\r\nx-empty: \r\n\r\n".to_owned();
        assert_eq!(read(&mut client), ("5\r\nhello\r\n0\r\n".to_owned(), lines));
        client.get("/").expect(200).expect_body("hello");
        client.write(asking("GET").encode());
    }
}

#[test]
fn they_are_told_what_the_body_was() {
    let (_site, server) = app(&handling(
        "assert scope['extensions']['http.response.trailers'] == {}
headers = [(b'trailer', b'x-length')]
await send({'type': 'http.response.start', 'status': 200, 'headers': headers, 'trailers': True})
length = 0
for i in range(300):
    piece = bytes([65 + i % 26]) * 10007
    length += len(piece)
    await send({'type': 'http.response.body', 'body': piece, 'more_body': i < 299})
await send({'type': 'http.response.trailers', 'headers': [(b'x-length', b'%d' % length)], 'more_trailers': True})
await send({'type': 'http.response.trailers', 'more_trailers': True})
await send({'type': 'http.response.trailers', 'headers': [(b'x-pieces', b'300')]})",
    ));
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: a\r\nTE: deflate;q=0.5, Trailers\r\n\r\n");
    let head = client.read_until_text("\r\n\r\n");
    assert!(head.contains("trailer: x-length\r\n"), "{head}");
    client.read_until_text("x-length: 3002100\r\nx-pieces: 300\r\n\r\n");
    assert_eq!(client.get("/").expect(200).body.len(), 3_002_100);
}

#[test]
fn a_client_that_does_not_ask_gets_none() {
    let (_site, server) = app(&responding("hello", "(b'x-a', b'1')"));
    let mut client = server.connect();
    for te in ["", "gzip", "trailer", "trailers-x", "x-trailers"] {
        let request = Request::get("/").field("TE", te);
        client.send(&request).expect(200).expect_body("hello").expect_no_field("x-a");
    }
    client.write("GET / HTTP/1.0\r\nTE: trailers\r\n\r\n");
    client.read_response().expect(200).expect_body("hello");
}

#[test]
fn http_1_0_does_not_know_them() {
    let (_site, server) = app(&handling("await answer(send, sorted(scope['extensions']))"));
    let mut client = server.connect();
    client.write("GET / HTTP/1.0\r\n\r\n");
    client.read_response().expect(200).expect_body("['http.response.pathsend']");
}

#[test]
fn a_response_of_known_length_or_without_a_body_has_none() {
    let length = start("(b'content-length', b'5')") + &body("hello") + &trailers("(b'x-a', b'1')");
    let (_site, server) = app(&handling(&length));
    let mut client = server.connect();
    for _ in 0..2 {
        client.send(&asking("GET")).expect(200).expect_body("hello").expect_field("Content-Length", "5");
        client.send(&asking("HEAD")).expect(200).expect_body("");
    }
    let (_site, server) = app(&responding("hello", "(b'x-a', b'1')"));
    let mut client = server.connect();
    for _ in 0..2 {
        client.send(&asking("HEAD")).expect(200).expect_no_field("x-a");
    }
    for status in [204, 304] {
        let start = start("").replace("200", &status.to_string());
        let (_site, server) = app(&handling(&(start + &body("") + &trailers("(b'x-a', b'1')"))));
        let mut client = server.connect();
        for _ in 0..2 {
            client.send(&asking("GET")).expect(status).expect_no_field("Transfer-Encoding");
        }
    }
}

/// A body that is empty, and trailers that are.
#[test]
fn nothing_may_be_in_front_of_them_or_in_them() {
    let (_site, server) = app(&responding("", "(b'x-a', b'1')"));
    let mut client = server.begin(&asking("GET"));
    client.read_until_text("\r\n\r\n0\r\nx-a: 1\r\n\r\n");
    client.get("/").expect(200).expect_body("");
    let (_site, server) = app(&responding("hello", ""));
    let mut client = server.connect();
    for _ in 0..2 {
        client.send(&asking("GET")).expect(200).expect_body("hello");
    }
}

#[test]
fn a_file_can_have_them() {
    let code = start("")
        + "await send({'type': 'http.response.pathsend', 'path': __file__})\n"
        + &trailers("(b'x-a', b'1')");
    let (site, server) = app(&handling(&code));
    let mut client = server.begin(&asking("GET"));
    client.read_until_text("x-a: 1\r\n\r\n");
    let file = std::fs::read_to_string(site.path("app.py")).expect("it is there");
    client.get("/").expect(200).expect_body(file);
}

/// Trailers are not compressed with the body.
#[test]
fn a_compressed_body_has_them_too() {
    let headers = "(b'content-type', b'text/plain')";
    let code = start(headers)
        + "await send({'type': 'http.response.body', 'body': b'hello ' * 1000})\n"
        + &trailers("(b'x-a', b'1')");
    let site = site().file("app.py", handling(&code));
    let compression = json!({ "compressors": [{ "encoding": "gzip" }], "types": "text/plain" });
    let server = daemon()
        .config(json!({
            "applications": { "python": python_app(&site).value() },
            "settings": { "http": { "compression": compression } }
        }))
        .start();
    let mut client = server.connect();
    for _ in 0..2 {
        client.write(asking("GET").field("Accept-Encoding", "gzip").encode());
        let (body, lines) = read(&mut client);
        assert!(body.len() < 1000, "{} bytes", body.len());
        assert_eq!(lines, "x-a: 1\r\n\r\n");
    }
}

/// Sending more behind the response is an error that its client does not see.
#[test]
fn without_an_announcement_the_response_has_ended() {
    let code = "await send({'type': 'http.response.start', 'status': 200})\n".to_owned()
        + &body("hello")
        + &trailers("(b'x-a', b'1')");
    let (_site, server) = app(&handling(&code));
    let mut client = server.connect();
    for _ in 0..2 {
        client.send(&asking("GET")).expect(200).expect_body("hello");
        server.expect_log("\"http.response.trailers\" is not expected now");
    }
}

#[test]
fn a_response_that_fails_before_its_trailers_is_cut() {
    let trailers = trailers("(b'x-a', b'1')");
    for (code, error) in [
        ("1 / 0\n".to_owned(), "ZeroDivisionError"),
        (body("more"), "\"http.response.body\" is not expected now"),
        (
            trailers.replace("b'x-a'", "b'Content-Length'"),
            "trailers that cannot be sent: header 0 must not be",
        ),
        (trailers.replace("x-a", "TRAILER"), "trailers that cannot be sent: header 0 must not be"),
        (trailers.replace("b'1'", "b'1\\r\\nx-b: 2'"), "a header of the response is none of HTTP"),
        (trailers.replace("x-a", "x a"), "a header of the response is none of HTTP"),
        (trailers.replace("b'1'", "5"), "are bytes, not"),
    ] {
        let (_site, server) = app(&handling(&(start("") + &body("begun") + &code)));
        let text = String::from_utf8_lossy(&server.begin(&asking("GET")).read_to_end()).into_owned();
        assert!(text.contains("begun") && !text.contains("\r\n0\r\n"), "{text}");
        server.expect_log(error);
    }
    // Before the body has ended.
    let (_site, server) = app(&handling(&(start("") + &trailers)));
    server.get("/").expect(500);
    server.expect_log("\"http.response.trailers\" is not expected now");
}

#[test]
fn what_is_refused_leaves_the_others_alone() {
    let code = format!(
        "{}{}for name in b'Host', b'set-cookie', b'if-match', b'':
    try:
        {}    except ValueError:
        print('refused', name, flush=True)
{}",
        start(""),
        body("hello"),
        trailers("(b'x-lost', b''), (name, b'1')"),
        trailers("(b'x-kept', b'2')")
    );
    let (_site, server) = app(&handling(&code));
    let mut client = server.begin(&asking("GET"));
    assert_eq!(read(&mut client).1, "x-kept: 2\r\n\r\n");
    server.expect_log("refused b'if-match'");
    client.get("/").expect(200).expect_body("hello");
}

#[test]
fn a_client_that_leaves_before_them_is_noticed() {
    let code = start("")
        + "await send({'type': 'http.response.body', 'body': b'begun', 'more_body': True})
assert (await receive())['type'] == 'http.request'
assert (await receive())['type'] == 'http.disconnect'
try:
    await send({'type': 'http.response.body'})
except OSError as error:
    print('refused', type(error).__name__, flush=True)
";
    let (_site, server) = app(&handling(&code));
    let mut client = server.begin(&asking("GET"));
    client.read_until_text("begun");
    drop(client);
    server.expect_log("refused ClientDisconnected");
}
