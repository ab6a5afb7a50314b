//! Wrong answers and broken connections are counted by their kind, and no right answer with them.

use std::time::Duration;

use crate::server::{Reply, Server, answer, closed_port, good};
use crate::tank::tank;

/// Every tenth of a hundred requests gets the bad reply.
#[track_caller]
fn check(bad: &Reply, arguments: &[&str], failures: &str) {
    let bad = bad.clone();
    let server =
        Server::start(move |number, _| if number % 10 == 9 { bad.clone() } else { Reply::Good("hello") });
    let url = server.url();
    let all = [&["-n", "100", "-c", "4", &url], arguments].concat();
    let run = tank(&all);
    assert_eq!(run.failures(), failures, "{:#}", run.json);
    let counts = ["/sent", "/good", "/failed"].map(|name| run.number(name));
    assert_eq!((counts, run.code), ([100, 90, 10], Some(0)), "{:#}", run.json);
    assert_eq!(server.requests().len(), 100);
}

#[test]
fn statuses() {
    check(&Reply::Raw(answer(500, "oh")), &[], "status 10");
    check(&Reply::Raw(answer(404, "oh")), &["--expect-status", "200"], "status 10");
    check(&Reply::Raw(answer(204, "")), &["--expect-status", "200,3xx"], "status 10");
}

#[test]
fn bodies() {
    check(&Reply::Good("hell"), &["--expect-body-size", "5"], "body_size 10");
    check(&Reply::Good("jello"), &["--expect-body", "hello"], "body 10");
}

#[test]
fn resets() {
    check(&Reply::Reset, &[], "reset 10");
}

#[test]
fn early_ends() {
    check(&Reply::Last(String::new()), &[], "closed_early 10");
    check(
        &Reply::Last("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello".to_owned()),
        &[],
        "closed_early 10",
    );
    check(&Reply::Last("HTTP/1.1 200 OK\r\nContent-Le".to_owned()), &[], "closed_early 10");
}

#[test]
fn answers_that_are_not_http() {
    check(&Reply::Raw("SSH-2.0-x\r\n\r\n".to_owned()), &[], "protocol 10");
    check(&Reply::EndlessHead, &[], "protocol 10");
}

#[test]
fn late_answers() {
    check(&Reply::Silence, &["--timeout", "1s"], "timeout 10");
    let late = Reply::After(Duration::from_secs(3), Box::new(Reply::Good("hello")));
    check(&late, &["--timeout", "1s"], "timeout 10");
}

#[test]
fn bytes_after_an_answer_end_the_connection_and_fail_nothing() {
    let server = Server::start(|_, _| Reply::Raw(good("hello") + "more"));
    tank(&["-n", "20", "-c", "2", &server.url()]).is_good(20);
    assert_eq!(server.n_connections(), 20);
}

#[test]
fn a_port_at_which_nothing_listens() {
    let run = tank(&["-n", "5", "-c", "2", &closed_port()]);
    assert_eq!((run.failures().as_str(), run.code), ("connect_refused 5", Some(1)), "{:#}", run.json);
    let run = tank(&["-s", "const(50,100ms)", &closed_port()]);
    assert_eq!((run.failures().as_str(), run.code), ("connect_refused 5", Some(1)), "{:#}", run.json);
}

#[test]
fn a_server_that_never_answers() {
    let server = Server::start(|_, _| Reply::Silence);
    let run = tank(&["-s", "const(10,500ms)", "-c", "2", "--timeout", "1s", &server.url()]);
    // Two connections take two requests at first, and the third once the first two are given up.
    assert_eq!((run.number("/planned"), run.number("/failed"), run.code), (5, 5, Some(1)), "{:#}", run.json);
    let (timeouts, unsent) = (run.number("/failures/timeout"), run.number("/failures/not_sent"));
    assert_eq!((timeouts + unsent, timeouts), (5, run.number("/sent")), "{:#}", run.json);
    assert!(timeouts >= 2 && server.requests().len() as u64 <= timeouts, "{:#}", run.json);
}
