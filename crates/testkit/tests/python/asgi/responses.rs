//! Responses: events in their order, files by their path, and responses without an end.

use corral_testkit::Request;

use super::handling;
use crate::app;

#[test]
fn a_file_is_sent_by_its_path() {
    let (site, server) = app(&handling(
        "assert 'http.response.pathsend' in scope['extensions']
path = os.path.join(os.path.dirname(__file__), 'file')
size = str(os.path.getsize(path)).encode()
await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-length', size)]})
await send({'type': 'http.response.pathsend', 'path': path})",
    ));
    let content: Vec<u8> = (0..=250).cycle().take(1_000_000).collect();
    site.write("file", &content);
    let response = server.get("/").expect(200).expect_field("Content-Length", "1000000");
    assert!(response.body == content);
    site.write("file", "");
    server.get("/").expect(200).expect_body("");
}

#[test]
fn events_in_the_wrong_order_are_errors_of_the_application() {
    let start = "await send({'type': 'http.response.start', 'status': 200})\n";
    for (code, error) in [
        ("await send({'type': 'http.response.body'})", "\"http.response.body\" is not expected now"),
        (&format!("{start}{start}"), "\"http.response.start\" is not expected now"),
        ("await send({'type': 'websocket.send', 'text': ''})", "\"websocket.send\" is not expected now"),
        ("await send({'status': 200})", "an event needs a type"),
        ("await send({'type': 'http.response.start'})", "a response needs a status"),
        ("await send({'type': 'http.response.start', 'status': 42})", "42 is not a status of a response"),
        (
            "await send({'type': 'http.response.start', 'status': 200, 'headers': [('a', 5)]})",
            "names and values of headers are bytes",
        ),
        ("1 / 0", "ZeroDivisionError"),
    ] {
        let (_site, server) = app(&handling(code));
        server.get("/x?y").expect(500);
        server.expect_log("GET /x?y: Traceback");
        server.expect_log(error);
    }
    let (_site, server) = app(&handling("pass"));
    server.get("/x?y").expect(500);
    server.expect_log("GET /x?y: the application has returned without a response");
}

#[test]
fn a_response_that_is_left_without_its_end_ends_there() {
    let (_site, server) = app(&handling(
        "await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'x-own', b'yes')]})
if scope['path'] == '/body':
    await send({'type': 'http.response.body', 'body': b'begun', 'more_body': True})",
    ));
    let mut client = server.connect();
    for (path, body) in [("/", ""), ("/body", "begun"), ("/", ""), ("/body", "begun")] {
        client.get(path).expect(200).expect_field("x-own", "yes").expect_body(body);
    }
    client.send(&Request::new("HEAD", "/body")).expect(200);
    let habit = "the application returns before it has sent the end of its response";
    server.expect_log(habit);
    assert_eq!(server.log().matches(habit).count(), 1, "{}", server.log());
}

#[test]
fn trailers_that_do_not_come_leave_a_response_without_them() {
    let (_site, server) = app(&handling(
        "await send({'type': 'http.response.start', 'status': 200, 'trailers': True})
await send({'type': 'http.response.body', 'body': b'all', 'more_body': scope['path'] == '/more'})
if scope['path'] == '/some':
    await send({'type': 'http.response.trailers', 'headers': [(b'x-sum', b'1')], 'more_trailers': True})",
    ));
    for path in ["/", "/more", "/some"] {
        let mut client = server.connect();
        client.get(path).expect(200).expect_body("all");
    }
}

/// A client never takes a response that was cut for a whole one.
#[test]
fn a_response_that_is_shorter_than_it_says_is_an_error() {
    for (more, logged) in [
        ("True", "the application has returned before its response was complete"),
        ("False", "ValueError: the body of the response is shorter than its Content-Length"),
    ] {
        let (_site, server) = app(&handling(&format!(
            "await send({{'type': 'http.response.start', 'status': 200, 'headers': [(b'content-length', b'200009')]}})
await send({{'type': 'http.response.body', 'body': b'x' * 200_000, 'more_body': True}})
await send({{'type': 'http.response.body', 'body': b'begun', 'more_body': {more}}})"
        )));
        let mut client = server.connect();
        assert!(client.try_send(&Request::get("/")).is_err(), "the end is missing");
        server.expect_log(logged);
        // One that is short is known to be wrong before anything was sent, or behind that.
        let (_site, server) = app(&handling(&format!(
            "await send({{'type': 'http.response.start', 'status': 200, 'headers': [(b'content-length', b'9')]}})
await send({{'type': 'http.response.body', 'body': b'begun', 'more_body': {more}}})"
        )));
        let answer = server.connect().try_send(&Request::get("/"));
        assert!(
            answer.is_err() || answer.is_ok_and(|response| response.status == 500),
            "taken for a response"
        );
        server.expect_log(logged);
    }
}

#[test]
fn bodies_messages_and_fields_are_bytes_of_many_types() {
    let (_site, server) = app(&handling(
        "headers = [(bytearray(b'x-array'), memoryview(b'1')), ('x-text', '2')]
await send({'type': 'http.response.start', 'status': 200, 'headers': headers})
await send({'type': 'http.response.body', 'body': bytearray(b'one '), 'more_body': True})
await send({'type': 'http.response.body', 'body': memoryview(b'-two-')[1:4]})",
    ));
    let response = server.get("/").expect(200).expect_body("one two");
    response.expect_field("x-array", "1").expect_field("x-text", "2");
    for wrong in ["'text'", "5", "[1]"] {
        let (_site, server) = app(&handling(&format!(
            "await send({{'type': 'http.response.start', 'status': 200}})
await send({{'type': 'http.response.body', 'body': {wrong}}})"
        )));
        server.get("/").expect(500);
        server.expect_log("a body consists of bytes");
    }
}
