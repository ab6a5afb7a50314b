//! Request bodies: they come in events, as the client sends them.

use corral_testkit::{Daemon, Request, Site, daemon, python_app, site};
use serde_json::json;

use super::handling;
use crate::app;

/// A server with this application, to which clients may send bodies in chunks.
#[track_caller]
fn taking_chunks(body: &str) -> (Site, Daemon) {
    let site = site().file("app.py", handling(body));
    let server = daemon()
        .config(json!({
            "applications": { "python": python_app(&site).value() },
            "settings": { "http": { "chunked_transform": true } }
        }))
        .start();
    (site, server)
}

#[test]
fn a_long_body_comes_in_events() {
    let (_site, server) = app(&handling(
        "n_events, n_bytes, more = 0, 0, True
while more:
    event = await receive()
    n_events, n_bytes, more = n_events + 1, n_bytes + len(event['body']), event['more_body']
await answer(send, f'{n_bytes} {n_events > 1}')",
    ));
    let mut client = server.connect();
    for (n, several) in [(0, "False"), (10, "False"), (3_000_000, "True")] {
        let request = Request::post("/").body(vec![b'x'; n]);
        client.send(&request).expect(200).expect_body(format!("{n} {several}"));
    }
}

/// The application has the first piece before the client sends the next one, and answers before the last.
#[test]
fn a_body_comes_as_the_client_sends_it() {
    let (_site, server) = taking_chunks(
        "first = await receive()
assert first['more_body'], first
await send({'type': 'http.response.start', 'status': 200})
await send({'type': 'http.response.body', 'body': b'got ' + first['body'], 'more_body': True})
body = b''
while True:
    event = await receive()
    body += event['body']
    if not event['more_body']:
        break
await send({'type': 'http.response.body', 'body': b' and ' + str(len(body)).encode()})",
    );
    for framing in ["Content-Length: 2000005", "Transfer-Encoding: chunked"] {
        let mut client = server.connect();
        let is_chunked = framing.contains("chunked");
        client.write(format!("POST / HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n"));
        client.write(if is_chunked { "5\r\nhello\r\n" } else { "hello" });
        client.read_until_text("got hello");
        if is_chunked {
            client.write("1e8480\r\n");
        }
        client.write(vec![b'x'; 2_000_000]);
        if is_chunked {
            client.write("\r\n0\r\n\r\n");
        }
        client.read_until_text(" and 2000000");
        client.read_until_text("0\r\n\r\n");
        client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nExpect: 100-continue\r\n\r\n");
        client.read_until_text("100 Continue\r\n\r\n");
        client.write("a");
        client.read_until_text("got a");
        client.write("bcdef");
        client.read_until_text(" and 5");
    }
}

#[test]
fn a_body_that_breaks_off_is_a_disconnect() {
    let (_site, server) = taking_chunks(
        "while True:
    event = await receive()
    print('told', event['type'], flush=True)
    if event['type'] == 'http.disconnect':
        return",
    );
    let mut client = server.connect();
    client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello");
    server.expect_log("told http.request");
    drop(client);
    server.expect_log("told http.disconnect");
    // Invalid chunks are answered, and not taken for the end.
    let mut client = server.connect();
    client.write("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
    client.read_response().expect(400);
}

/// The rest of a body that the application does not want is read, or the connection ends.
#[test]
fn a_body_may_be_ignored() {
    let (_site, server) = app(&handling("await answer(send, 'no, thanks')"));
    let mut client = server.connect();
    for n in [0, 10, 200_000] {
        client.send(&Request::post("/").body(vec![b'x'; n])).expect(200).expect_body("no, thanks");
    }
    let huge = Request::post("/").body(vec![b'x'; 5_000_000]);
    server.connect().send(&huge).expect(200).expect_body("no, thanks");
}
