//! Applications that fail: what the client sees, what the log says, and that the next request is served.

use corral_testkit::{Request, eventually};

use crate::runtime::{Runtime, Served};

/// A worker that has ended is replaced.
#[track_caller]
fn expect_next(server: &Served) {
    eventually("the next request is served", || (server.get("/pid").status == 200).then_some(()));
}

pub(crate) fn before_the_head(runtime: &Runtime) {
    let server = runtime.serve();
    server.get("/fail").expect(runtime.failure);
    server.expect_log("failed on purpose");
    expect_next(&server);
}

pub(crate) fn after_the_head(runtime: &Runtime) {
    let server = runtime.serve();
    let mut client = server.connect();
    client.write(Request::get("/fail-late").encode());
    let answer = client.read_until_text("begun");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let rest = String::from_utf8_lossy(&client.read_to_end()).into_owned();
    assert!(!rest.ends_with("0\r\n\r\n"), "the client must see that something is missing: {rest:?}");
    server.expect_log("failed too late");
    expect_next(&server);
}

pub(crate) fn killed(runtime: &Runtime) {
    let server = runtime.serve();
    let before = server.get("/pid").expect(200).text();
    server.get("/die").expect(503);
    server.expect_log(&format!("{before} exited on signal 9"));
    expect_next(&server);
    assert_ne!(server.get("/pid").expect(200).text(), before);
}

/// Lines on the error stream are errors in the log, printed ones are not. With programs, the two cannot be told apart.
pub(crate) fn log_level(runtime: &Runtime) {
    let server = runtime.serve();
    server.get("/log").expect(200);
    server.get("/fail").expect(runtime.failure);
    for (text, level) in [
        ("said to standard output", "[notice]"),
        ("said to standard error", "[error]"),
        ("failed on purpose", "[error]"),
    ] {
        server.expect_log(text);
        let log = server.log();
        let line = log.lines().find(|line| line.contains(text)).expect("it was found before");
        assert!(line.contains(level), "{line}");
    }
}
