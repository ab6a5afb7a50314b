//! Responses of WSGI applications: heads, bodies in all their forms, streams, lengths.

use std::time::{Duration, Instant};

use corral_testkit::{Request, eventually};

use crate::app;

/// An application whose body is `returned`, after `before`.
fn returning(before: &str, returned: &str) -> String {
    format!(
        "import io, time, threading

def application(environ, start_response):
    {}
    return {returned}
",
        before.replace('\n', "\n    ")
    )
}

const OK: &str = "start_response('200 OK', [('Content-Type', 'text/plain')])";

#[test]
fn a_short_response_has_a_length() {
    let (_site, server) = app(&returning(OK, "[b'hel', b'lo']"));
    let response = server.get("/").expect(200).expect_body("hello").expect_no_field("Transfer-Encoding");
    response.expect_field("Content-Length", "5").expect_field("Content-Type", "text/plain");
}

#[test]
fn statuses_and_repeated_fields() {
    let head = "start_response('418 Short and stout', [('X-A', '1'), ('Set-Cookie', 'a=1'), ('Set-Cookie', 'b=2'), \
        ('X-B', '\\xfc')])";
    let (_site, server) = app(&returning(head, "()"));
    let response = server.get("/").expect(418).expect_body("");
    assert_eq!(response.all("Set-Cookie").collect::<Vec<_>>(), ["a=1", "b=2"]);
    response.expect_field("X-A", "1");
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let bytes = client.read_to_end();
    assert!(bytes.windows(6).any(|window| window == b"X-B: \xfc"), "{}", String::from_utf8_lossy(&bytes));
}

#[test]
fn every_kind_of_iterable_is_a_body() {
    for returned in [
        "(b'hello',)",
        "(piece for piece in [b'he', b'', b'llo'])",
        "iter([b'hello'])",
        "{b'hello': 1}",
        "io.BytesIO(b'hello')",
        "map(bytes, [b'hel', b'lo'])",
        "environ['wsgi.file_wrapper'](io.BytesIO(b'hello'))",
    ] {
        let (_site, server) = app(&returning(OK, returned));
        server.get("/").expect(200).expect_body("hello");
    }
}

#[test]
fn write_comes_before_what_is_returned() {
    let (_site, server) = app(&returning(
        "write = start_response('200 OK', [])\nwrite(b'a')\nwrite(b'')\nwrite(b'b')",
        "[b'c']",
    ));
    server.get("/").expect(200).expect_body("abc");
}

#[test]
fn start_response_may_come_with_the_first_piece() {
    let (_site, server) = app("
def application(environ, start_response):
    start_response('202 Accepted', [('X-Late', 'yes')])
    yield b''
    yield b'hello'
");
    server.get("/").expect(202).expect_field("X-Late", "yes").expect_body("hello");
}

#[test]
fn statuses_without_a_body_have_none_and_head_neither() {
    for status in [204, 304] {
        let (_site, server) =
            app(&returning(&format!("start_response('{status} X', [])"), "[b'must not be sent']"));
        let mut client = server.connect();
        client.get("/").expect(status).expect_body("").expect_no_field("Transfer-Encoding");
        client.get("/").expect(status);
    }
    let (_site, server) =
        app(&returning("start_response('200 OK', [('Content-Length', '5')])", "[b'hello']"));
    let mut client = server.connect();
    client.send(&Request::new("HEAD", "/")).expect(200).expect_field("Content-Length", "5").expect_body("");
    client.get("/").expect(200).expect_body("hello");
}

/// A response to HEAD without its body is complete.
#[test]
fn head_without_a_body_keeps_its_length() {
    let (_site, server) = app(&returning("start_response('200 OK', [('Content-Length', '5')])", "[]"));
    let mut client = server.connect();
    client.send(&Request::new("HEAD", "/")).expect(200).expect_field("Content-Length", "5");
    client.send(&Request::new("HEAD", "/")).expect(200);
}

#[test]
fn what_is_written_arrives_before_the_application_goes_on() {
    let (site, server) = app("
import os
def application(environ, start_response):
    write = start_response('200 OK', [])
    write(b'first ')
    while not os.path.exists(os.path.join(os.path.dirname(__file__), 'go')):
        pass
    return [b'second']
");
    let mut client = server.connect();
    client.write(Request::get("/").encode());
    client.read_until_text("first ");
    site.write("go", "");
    client.read_until_text("second");
}

/// The client has its response before the application closes it.
#[test]
fn the_client_does_not_wait_for_close() {
    let (site, server) = app("
import os
here = os.path.dirname(__file__)
class Body:
    def __iter__(self):
        return iter([b'hello'])
    def close(self):
        while not os.path.exists(os.path.join(here, 'go')):
            pass
        open(os.path.join(here, 'out', 'closed'), 'w').close()

def application(environ, start_response):
    start_response('200 OK', [('Content-Length', '5')])
    return Body()
");
    let site = site.writable_folder("out");
    server.get("/").expect(200).expect_body("hello");
    assert!(!site.path("out/closed").exists());
    site.write("go", "");
    eventually("the response is closed", || site.path("out/closed").exists().then_some(()));
}

#[test]
fn a_long_response_is_streamed_to_a_slow_client() {
    let (_site, server) = app("
def application(environ, start_response):
    start_response('200 OK', [])
    for i in range(200):
        yield b'x' * 100_000
");
    let response = server.get("/").expect(200).expect_field("Transfer-Encoding", "chunked");
    assert_eq!(response.body.len(), 20_000_000);
    let mut client = server.connect();
    client.write("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(client.read_response().expect(200).body.len(), 20_000_000);
}

#[test]
fn many_small_pieces_arrive_whole() {
    let (_site, server) = app(&returning(OK, "(b'%d,' % i for i in range(20000))"));
    let begun = Instant::now();
    let expected: String = (0..20000).map(|i| format!("{i},")).collect();
    server.get("/").expect(200).expect_body(expected);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn what_goes_beyond_the_length_is_left_out() {
    let (_site, server) =
        app(&returning("start_response('200 OK', [('Content-Length', '3')])", "[b'he', b'llo']"));
    let mut client = server.connect();
    client.get("/").expect(200).expect_body("hel");
    client.get("/").expect(200).expect_body("hel");
}

#[test]
fn a_body_that_is_too_short_is_cut() {
    let (_site, server) =
        app(&returning("start_response('200 OK', [('Content-Length', '30')])", "[b'hello']"));
    let mut client = server.connect();
    assert!(client.try_send(&Request::get("/")).is_err(), "a client must not take it for a response");
    server.expect_log("GET /: ValueError: the body of the response is shorter than its Content-Length");
}

const FILE: &str = "
import os, tempfile
def application(environ, start_response):
    file = tempfile.TemporaryFile()
    file.write(b'0123456789' * 100_000)
    file.seek(int(environ['QUERY_STRING'] or 0))
    headers = [('Content-Length', '5')] if environ['PATH_INFO'] == '/five' else []
    start_response('200 OK', headers)
    return environ['wsgi.file_wrapper'](file, 1000)
";

#[test]
fn files_are_sent_from_where_they_are() {
    let (_site, server) = app(FILE);
    assert_eq!(server.get("/").expect(200).body.len(), 1_000_000);
    server.get("/?999995").expect(200).expect_body("56789");
    server.get("/five?3").expect(200).expect_body("34567");
    server.get("/?1000000").expect(200).expect_body("");
    server.send(&Request::new("HEAD", "/")).expect(200).expect_body("");
    server.get("/?999990").expect(200).expect_body("0123456789");
}

#[test]
fn a_wrapped_file_is_closed() {
    let (_site, server) = app("
import io
closed = 0
class File(io.BytesIO):
    def close(self):
        global closed
        closed += 1
        super().close()

def application(environ, start_response):
    start_response('200 OK', [])
    if environ['PATH_INFO'] == '/closed':
        return [str(closed).encode()]
    return environ['wsgi.file_wrapper'](File(b'hello'), 2)
");
    server.get("/").expect(200).expect_body("hello");
    server.get("/closed").expect(200).expect_body("1");
}
