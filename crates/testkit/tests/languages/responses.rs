//! Responses of applications: statuses, headers and bodies.

use corral_testkit::{Client, Request};

use crate::runtime::{Runtime, Served};

pub(crate) fn fields(runtime: &Runtime) {
    let response = runtime.serve().get("/fields").expect(200).expect_body("fields");
    let all = |name: &str| response.all(name).collect::<Vec<_>>();
    let twice = all("X-Twice");
    assert!(twice == ["1", "2"] || twice == ["1, 2"], "{response}");
    assert_eq!((all("Set-Cookie"), all("X-Empty")), (vec!["a=1", "b=2"], vec![""]), "{response}");
    assert_eq!((all("Server").len(), all("Date").len()), (1, 1), "{response}");
}

pub(crate) fn many_fields(runtime: &Runtime) {
    let response = runtime.serve().get("/many?150").expect(200).expect_body("many");
    for i in 1..=150 {
        assert_eq!(response.field(&format!("X-Field-{i}")), Some(&*format!("value {i}")));
    }
}

pub(crate) fn statuses(runtime: &Runtime) {
    let server = runtime.serve();
    let mut client = server.connect();
    for status in [200, 201, 299, 404, 418, 500, 503, 599] {
        client.get(&format!("/status?{status}")).expect(status).expect_body(format!("status {status}"));
    }
}

/// Whatever the application says: what follows on the connection would be taken for the next response.
pub(crate) fn without_a_body(runtime: &Runtime) {
    let server = runtime.serve();
    let mut client = server.connect();
    for status in [204, 304] {
        let response = client.get(&format!("/status?{status}")).expect(status);
        response.expect_no_field("Transfer-Encoding");
        client.get("/pid").expect(200);
    }
}

pub(crate) fn head(runtime: &Runtime) {
    let server = runtime.serve();
    let mut client = server.connect();
    client.send(&Request::new("HEAD", "/fields")).expect(200).expect_field("X-Empty", "");
    client.send(&Request::new("HEAD", "/large?3")).expect(200);
    client.get("/pid").expect(200);
}

/// Begins the request for `/stream` and returns when its first half is there.
#[track_caller]
fn begin_stream(server: &Served, version: &str) -> (Client, String) {
    let mut client = server.connect();
    client.write(format!("GET /stream {version}\r\nHost: a\r\nConnection: keep-alive\r\n\r\n"));
    let begin = client.read_until_text("first");
    (client, begin.to_ascii_lowercase())
}

pub(crate) fn streaming(runtime: &Runtime) {
    let server = runtime.serve();
    let (mut client, begin) = begin_stream(&server, "HTTP/1.1");
    assert!(begin.contains("transfer-encoding: chunked"), "{begin}");
    server.site.write("go", "");
    client.read_until_text("second");
    client.read_until_text("\r\n0\r\n\r\n");
    client.get("/pid").expect(200);
}

/// Early hints come before the response, to clients that can tell the two apart.
pub(crate) fn early_hints(runtime: &Runtime) {
    let server = runtime.serve();
    let mut client = server.connect();
    // What browsers send, and others need not understand hints.
    client.write(Request::get("/hints").field("Sec-Fetch-Mode", "navigate").encode());
    client.read_response().expect(103).expect_field("Link", "</style.css>; rel=preload; as=style");
    server.site.write("go", "");
    client.read_response().expect(200).expect_body("hints").expect_no_field("Link");
    client.write("GET /hints HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
    client.read_response().expect(200).expect_body("hints");
    client.get("/pid").expect(200);
}

pub(crate) fn close_delimited(runtime: &Runtime) {
    let server = runtime.serve();
    let (mut client, begin) = begin_stream(&server, "HTTP/1.0");
    assert!(!begin.contains("transfer-encoding") && !begin.contains("connection: keep-alive"), "{begin}");
    server.site.write("go", "");
    assert_eq!(String::from_utf8_lossy(&client.read_to_end()), "second");
}

pub(crate) fn large(runtime: &Runtime) {
    let server = runtime.serve();
    let mut client = server.connect();
    for n in [1, 200] {
        let response = client.get(&format!("/large?{n}")).expect(200);
        assert!(response.body == blocks(n), "{n} blocks come as {} bytes", response.body.len());
    }
}

/// The body of `/large?N`.
pub(crate) fn blocks(n: usize) -> Vec<u8> {
    (0..=250).collect::<Vec<u8>>().repeat(100 * n)
}
