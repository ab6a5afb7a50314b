//! Clients that leave, and clients that read slowly, with one process for all of them.

use corral_testkit::Request;

use crate::responses::blocks;
use crate::runtime::Runtime;

pub(crate) fn gone(runtime: &Runtime) {
    let server = runtime.serve();
    let before = server.get("/pid").expect(200).text();
    let mut client = server.connect();
    client.write(Request::get("/endless").encode());
    client.read_until_text("xxxx");
    drop(client);
    server.expect_log("the client is gone");
    server.get("/pid").expect(200).expect_body(before);
}

/// Nobody reads the response, and the process is free for the next request; then all of it is there.
pub(crate) fn slow(runtime: &Runtime) {
    let server = runtime.serve();
    let mut slow = server.connect();
    slow.write(Request::get("/large?400").encode());
    server.get("/pid").expect(200);
    let response = slow.read_response().expect(200);
    assert!(response.body == blocks(400), "{} bytes", response.body.len());
    slow.get("/pid").expect(200);
}
