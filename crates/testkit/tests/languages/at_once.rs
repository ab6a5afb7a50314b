//! Several requests at once in one process.

use std::collections::BTreeSet;

use corral_testkit::{Client, Request, eventually};
use serde_json::json;

use crate::responses::blocks;
use crate::runtime::{Runtime, Served, with};

/// Four requests that wait for each other; the processes that answered them.
pub(crate) fn meet(server: &Served) -> BTreeSet<String> {
    let clients = server.begin_all("/meet?4", 4);
    clients.into_iter().map(|mut client| client.read_response().expect(200).text()).collect()
}

pub(crate) fn in_one_process(runtime: &Runtime) {
    let server = runtime.serve_with(runtime.four());
    assert_eq!(meet(&server).len(), 1);
}

/// More than it takes wait their turn.
pub(crate) fn queue(runtime: &Runtime) {
    let server = runtime.serve_with(runtime.four());
    for mut client in server.begin_all("/slow?100", 16) {
        client.read_response().expect(200);
    }
}

/// A thread's own objects (a connection to a database) are there for its next request.
/// Servers in the applications' own language may have more threads than run requests, and take any of them.
pub(crate) fn own_variables(runtime: &Runtime) {
    let server = runtime.serve_with(runtime.four());
    let kept = (0..40).map(|_| server.get("/kept").expect(200).text().parse::<u32>().expect("a number"));
    let most = kept.max();
    assert!(most > Some(1), "{most:?}");
}

/// A response that is begun, and completed when there is a file `go`.
fn begin(server: &Served) -> Client {
    let mut client = server.begin(&Request::get("/stream"));
    client.read_until_text("first");
    client
}

fn expect_completed(server: &Served, mut client: Client) {
    server.site.write("go", "");
    client.read_until_text("second");
}

/// Not even one that computes holds the others up.
pub(crate) fn computing_beside_others(runtime: &Runtime) {
    let server = runtime.serve_with(runtime.four());
    let mut computing = server.begin_running("/compute");
    let pid = server.get("/pid").expect(200).text();
    for _ in 0..5 {
        server.get("/pid").expect(200).expect_body(&pid);
    }
    server.site.write("go", "");
    computing.read_response().expect(200).expect_body(pid);
}

pub(crate) fn long_beside_others(runtime: &Runtime) {
    let server = runtime.serve_with(runtime.four());
    // Where a client that reads slowly holds a thread, one is left.
    let clients = server.begin_all("/large?400", 3);
    let post = Request::post("/length").body(vec![b'z'; 3_000_000]);
    for _ in 0..3 {
        server.send(&post).expect(200).expect_body("3000000");
    }
    for mut client in clients {
        assert!(client.read_response().expect(200).body == blocks(400));
    }
}

/// A request that fails is nothing to the others of its process.
pub(crate) fn failures_beside_others(runtime: &Runtime) {
    let server = runtime.serve_with(runtime.four());
    let running = begin(&server);
    let pid = server.get("/pid").expect(200).text();
    for _ in 0..5 {
        server.get("/fail").expect(runtime.failure);
        server.begin(&Request::get("/fail-late")).read_to_end();
        server.get("/pid").expect(200).expect_body(&pid);
    }
    expect_completed(&server, running);
}

/// Nor is one whose client leaves.
pub(crate) fn gone_beside_others(runtime: &Runtime) {
    let server = runtime.serve_with(runtime.four());
    let running = begin(&server);
    let pid = server.get("/pid").expect(200).text();
    for _ in 0..5 {
        let mut client = server.begin(&Request::get("/large?4000"));
        client.read_until_text("abcdef");
        drop(client);
        server.get("/pid").expect(200).expect_body(&pid);
    }
    assert!(server.get("/large?400").expect(200).body == blocks(400));
    expect_completed(&server, running);
}

/// All requests of a process count, and those that run when it has had its share are completed.
pub(crate) fn limit_of_requests(runtime: &Runtime) {
    let limits = |n: u32| with(runtime.four(), "limits", json!({ "requests": n }));
    let server = runtime.serve_with(limits(3));
    let running = begin(&server);
    let pid = server.get("/pid").expect(200).text();
    server.get("/pid").expect(200).expect_body(&pid);
    eventually("another process answers", || (server.get("/pid").expect(200).text() != pid).then_some(()));
    expect_completed(&server, running);
    let server = runtime.serve_with(limits(10));
    let pids: Vec<_> = (0..25).map(|_| server.get("/pid").expect(200).text()).collect();
    assert_eq!(pids.iter().collect::<BTreeSet<_>>().len(), 3, "{pids:?}");
}

/// Requests that run for ever do not keep the server from stopping.
pub(crate) fn stop(runtime: &Runtime) {
    for path in ["/stream", "/compute"] {
        let mut server = runtime.serve_with(runtime.four());
        let client = server.begin_running(path);
        assert!(server.stop().success());
        drop(client);
    }
}
