//! Clients that leave, and clients that read slowly, with one process for all of them.

use std::fs;

use corral_testkit::{Request, eventually};
use serde_json::json;

use crate::responses::blocks;
use crate::runtime::{Runtime, Served};

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

/// The response is not read, and the process is free for the next request; then all of it is there.
pub(crate) fn slow(runtime: &Runtime) {
    let server = runtime.serve();
    let mut slow = server.connect();
    slow.write(Request::get("/large?400").encode());
    server.get("/pid").expect(200);
    let response = slow.read_response().expect(200);
    assert!(response.body == blocks(400), "{} bytes", response.body.len());
    slow.get("/pid").expect(200);
}

/// Waits until the application has as many requests.
#[track_caller]
fn expect_active(server: &Served, n: u64) {
    eventually("the requests have come and gone", || {
        let status = server.control().get("/status/applications/app").json();
        (status["requests"]["active"] == n).then_some(())
    });
}

/// A request whose client has left before it runs is never run, so the next one is served at once.
pub(crate) fn left_while_waiting(runtime: &Runtime) {
    let server = runtime.serve_with(json!({ "limits": { "concurrency": 1 } }));
    let mut first = server.begin(&Request::get("/stream"));
    first.read_until_text("first");
    let mut waiting = server.begin_all("/meet?1", 20);
    let closing = Request::get("/meet?1").field("Connection", "close");
    waiting.extend((0..20).map(|_| server.begin(&closing)));
    expect_active(&server, 41);
    drop(waiting);
    expect_active(&server, 1);
    let mut next = server.begin(&Request::get("/pid"));
    expect_active(&server, 2);
    server.site.write("go", "");
    next.read_response().expect(200);
    first.read_until_text("second");
    let met = fs::read_dir(server.site.path("meet")).expect("read the folder").count();
    assert_eq!(met, 0, "{}", server.log());
}

/// Requests that change something are run although their clients have left.
pub(crate) fn run_without_clients(runtime: &Runtime) {
    let server = runtime.serve_with(json!({ "limits": { "concurrency": 1 } }));
    let mut first = server.begin(&Request::get("/stream"));
    first.read_until_text("first");
    let post = Request::post("/meet?1").body("a body");
    let clients = [post.clone(), post.field("Connection", "close"), Request::get("/meet?1")];
    let mut clients: Vec<_> = clients.iter().map(|request| server.begin(request)).collect();
    clients.push(server.connect());
    clients[3].write("POST /meet?1 HTTP/1.0\r\nHost: a\r\nContent-Length: 6\r\n\r\na body");
    expect_active(&server, 5);
    drop(clients);
    expect_active(&server, 4);
    server.site.write("go", "");
    first.read_until_text("second");
    let met = || fs::read_dir(server.site.path("meet")).expect("read the folder").count();
    eventually("all of them are run", || (met() == 3).then_some(()));
    expect_active(&server, 0);
    assert_eq!(met(), 3, "{}", server.log());
}

/// A client that sends nothing more is answered, if it has said so and its request has begun.
pub(crate) fn half_closed(runtime: &Runtime) {
    let server = runtime.serve();
    let pid = server.get("/pid").expect(200).text();
    let mut client = server.begin(&Request::get("/slow?300").field("Connection", "close"));
    expect_active(&server, 1);
    client.finish_writing();
    client.read_response().expect(200).expect_body(pid);
}

/// An application that writes nothing learns that its client is gone, even if the client has only closed its sending
/// half.
pub(crate) fn gone_from_nothing(runtime: &Runtime) {
    let server = runtime.serve();
    let pid = server.get("/pid").expect(200).text();
    let request = Request::get("/nothing");
    for (n, closing) in [request.clone(), request.field("Connection", "close")].iter().enumerate() {
        let is_logged = |line| (server.log().matches(line).count() > n).then_some(());
        let mut client = server.begin(closing);
        eventually("the application runs", || is_logged("it has begun"));
        client.finish_writing();
        expect_active(&server, 0);
        eventually("the application knows", || is_logged("the client is gone"));
        let answer = String::from_utf8_lossy(&client.read_to_end()).into_owned();
        assert!(!answer.ends_with("0\r\n\r\n"), "it has not ended in order: {answer}");
    }
    server.get("/pid").expect(200).expect_body(pid);
}
