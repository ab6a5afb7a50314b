//! Servers that speak FastCGI in their own way, or badly.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use corral_testkit::{Daemon, Origin, OriginPeer, Request, daemon, eventually};
use serde_json::{Value, json};

fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(content.len()).expect("a short record").to_be_bytes();
    [&[1, kind, 0, 1, high, low, 0, 0], content].concat()
}

fn output(text: &str) -> Vec<u8> {
    record(6, text.as_bytes())
}

fn end(status: u8) -> Vec<u8> {
    record(3, &[0, 0, 0, 0, status, 0, 0, 0])
}

/// Reads a request up to the record that closes its body.
fn read_request(peer: &mut OriginPeer) -> Vec<u8> {
    let mut received = Vec::new();
    while !matches!(received[..], [.., 1, 5, _, _, 0, 0, 0, 0]) {
        let more = peer.read();
        if more.is_empty() {
            break;
        }
        received.extend_from_slice(&more);
    }
    received
}

/// Makes records those of the request that these bytes are; other bytes stay.
fn about(request: &[u8], mut records: Vec<u8>) -> Vec<u8> {
    let mut at = 0;
    while let Some(header) = records.get_mut(at..at + 8) {
        header[2..4].copy_from_slice(&request[2..4]);
        at += 8 + usize::from(u16::from_be_bytes([header[4], header[5]]));
    }
    records
}

/// A server that answers each request with these bytes, and closes the connection.
fn answering(bytes: Vec<u8>) -> Origin {
    Origin::start(move |peer| {
        read_request(peer);
        peer.write(&bytes);
    })
}

fn serve(origin: &Origin) -> Daemon {
    serve_keeping(origin, json!({}))
}

fn serve_keeping(origin: &Origin, keep_alive: Value) -> Daemon {
    let mut action = json!({ "fastcgi": origin.address() });
    action["keep_alive"] = keep_alive;
    daemon().config(json!({ "settings": { "listen_threads": 1 }, "routes": [{ "action": action }] })).start()
}

#[track_caller]
fn check(records: &[Vec<u8>], status: u16, body: &str) {
    let origin = answering(records.concat());
    serve(&origin).get("/").expect(status).expect_body(body);
}

/// The client gets an error, and the log says why.
#[track_caller]
fn check_refused(records: &[Vec<u8>], status: u16, logged: &str) {
    let origin = answering(records.concat());
    let server = serve(&origin);
    server.get("/").expect(status);
    server.expect_log(&format!("proxy \"fastcgi://{}\": {logged}, request \"/\"", origin.address()));
}

#[test]
fn records_of_any_size_make_a_response() {
    check(&[output("A: b\n\nbody"), end(0)], 200, "body");
    check(&[output("A: b\r\n"), output("\r"), output("\nbo"), output("dy"), output(""), end(0)], 200, "body");
    let single: Vec<_> = "Status: 201\n\nbody".chars().map(|letter| output(&letter.to_string())).collect();
    check(&[single.concat(), end(0)], 201, "body");
    check(&[record(7, b"a word"), output("A: b\n\nbody"), end(0)], 200, "body");
    check(&[output("Location: /x\n\n"), end(0)], 302, "");
}

#[test]
fn a_length_that_is_wrong_is_neither_believed_nor_corrected() {
    for records in [
        vec![output("Content-Length: 9\n\nbody"), end(0)],
        vec![output("Content-Length: 9\n\nbo"), output("dy"), end(0)],
        vec![output("Content-Length: 9\n\n"), end(0)],
    ] {
        let origin = answering(records.concat());
        let server = serve(&origin);
        let mut client = server.begin(&Request::get("/"));
        let text = String::from_utf8_lossy(&client.read_to_end()).into_owned();
        assert!(text.contains("Content-Length: 9\r\n") && !text.contains("chunked"), "{text}");
        server.expect_log("and its Content-Length says 9");
    }
    let origin = answering([output("Content-Length: 2\n\nbody"), end(0)].concat());
    let server = serve(&origin);
    server.get("/").expect(200).expect_field("Content-Length", "2").expect_body("bo");
    server.expect_log("has 4 bytes and its Content-Length says 2");
    // These say the length of what they do not have.
    check(&[output("Status: 304\nContent-Length: 9\n\n"), end(0)], 304, "");
    let origin = answering([output("Content-Length: 9\n\n"), end(0)].concat());
    let server = serve(&origin);
    server.send(&Request::new("HEAD", "/")).expect(200).expect_field("Content-Length", "9");
}

#[test]
fn a_head_may_be_empty() {
    check(&[output("\r\nbody"), end(0)], 200, "body");
    check(&[output("\n"), end(0)], 200, "");
    let origin = answering([output("Content-Type:\r\nA: b\r\n\r\nbody"), end(0)].concat());
    let server = serve(&origin);
    server.get("/").expect(200).expect_body("body").expect_field("A", "b").expect_no_field("Content-Type");
}

#[test]
fn the_request_is_one_of_fastcgi() {
    let origin = Origin::start(|peer| {
        let request = read_request(peer);
        let head = format!("X-Begin: {:?}\n\n", &request[..16]);
        peer.write(&[output(&head), end(0)].concat());
    });
    let reply = serve(&origin).get("/").expect(200);
    reply.expect_field("X-Begin", "[1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]");
}

#[test]
fn what_is_no_fastcgi_is_refused() {
    check_refused(
        &[b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec()],
        502,
        "it does not speak FastCGI: a record of version 72",
    );
    check_refused(&[record(5, b"x")], 502, "a record of type 5, which no server sends");
    check_refused(&[vec![1, 6, 0, 2, 0, 0, 0, 0]], 502, "a record about request 2, which was not made");
    check_refused(&[output("<html>\n\n"), end(0)], 502, "a line of the response's head is not a header");
    check_refused(&[output("A: b\n"), end(0)], 502, "it ended the request before it had sent a response");
    check_refused(&[output("A: b\n")], 502, "it closed the connection within the response's head");
    check_refused(&[], 502, "it closed the connection before it had sent a response");
    check_refused(&[end(2)], 503, "it has no process for the request (FastCGI)");
    check_refused(&[end(3)], 502, "it answers no requests (FastCGI)");
    let field = "X: y\n".repeat(13_000);
    check_refused(&[output(&field), output(&field)], 502, "the response's head is larger than 65536 bytes");
}

#[test]
fn a_response_that_breaks_off_is_not_completed() {
    let origin = answering([output("A: b\n\nbegin"), output("ning")].concat());
    let server = serve(&origin);
    let mut client = server.begin(&Request::get("/"));
    let text = String::from_utf8_lossy(&client.read_to_end()).into_owned();
    assert!(text.contains("begin") && !text.ends_with("0\r\n\r\n"), "{text}");
    server.expect_log("receive the response: unexpected end of file, request \"/\"");
}

/// A process that leaves before it has read anything is not the end of a request that may be made twice.
#[test]
fn a_request_is_given_to_another_process_once() {
    let n_seen = Arc::new(AtomicUsize::new(0));
    let origin = {
        let n_seen = Arc::clone(&n_seen);
        Origin::start(move |peer| {
            read_request(peer);
            if n_seen.fetch_add(1, Ordering::SeqCst) > 0 {
                peer.write(&[output("A: b\n\nsecond"), end(0)].concat());
            }
        })
    };
    let server = serve(&origin);
    server.get("/").expect(200).expect_body("second");
    n_seen.store(0, Ordering::SeqCst);
    server.send(&Request::post("/").body("x")).expect(502);
    assert_eq!(n_seen.load(Ordering::SeqCst), 1, "it may have been done");
}

/// Bytes behind the end of a request are nobody's.
#[test]
fn what_is_behind_the_end_is_not_looked_at() {
    check(&[output("A: b\n\nbody"), end(0), output("more")], 200, "body");
    check(&[output("A: b\n\nbody"), end(0), b"garbage".to_vec()], 200, "body");
}

#[test]
fn a_client_that_leaves_closes_the_connection() {
    let n_closed = Arc::new(AtomicUsize::new(0));
    let origin = {
        let n_closed = Arc::clone(&n_closed);
        Origin::start(move |peer| {
            read_request(peer);
            if peer.read().is_empty() {
                n_closed.fetch_add(1, Ordering::SeqCst);
            }
        })
    };
    let server = serve(&origin);
    let client = server.begin(&Request::get("/"));
    eventually("the request is there", || (origin.n_connections() == 1).then_some(()));
    drop(client);
    eventually("the connection is closed", || (n_closed.load(Ordering::SeqCst) == 1).then_some(()));
}

/// A server that answers all requests of a connection, each with what `answer` says to the number of the connection,
/// and the number of connections that six requests need.
#[track_caller]
fn check_kept(keep_alive: Value, answer: fn(usize) -> Vec<u8>, n_connections: usize) {
    let origin = Origin::start(move |peer| {
        loop {
            let request = read_request(peer);
            if request.is_empty() || !peer.write(&about(&request, answer(peer.number))) {
                return;
            }
        }
    });
    let server = serve_keeping(&origin, keep_alive);
    for _ in 0..6 {
        server.get("/").expect(200).expect_body("body");
    }
    assert_eq!(origin.n_connections(), n_connections);
}

fn complete(_: usize) -> Vec<u8> {
    [output("A: b\n\nbody"), end(0)].concat()
}

/// Options: …action.keep_alive.requests
#[test]
fn connections_are_kept_as_long_as_they_are_of_use() {
    check_kept(json!({ "processes": 1 }), complete, 1);
    check_kept(json!({ "processes": 1, "requests": 2 }), complete, 3);
    check_kept(json!({ "processes": 1, "requests": 4 }), complete, 2);
}

/// A server that sends more than the request's end is out of step.
#[test]
fn a_connection_that_is_out_of_step_is_closed() {
    check_kept(json!({ "processes": 1 }), |number| [complete(number), output("")].concat(), 6);
}

#[test]
fn a_kept_connection_says_so() {
    let origin = Origin::start(|peer| {
        let mut is_first = true;
        loop {
            let request = read_request(peer);
            if request.is_empty() {
                return;
            }
            let head = format!("X-Begin: {:?}\n\n", &request[..16]);
            if !peer.write(&about(&request, [output(&head), end(0)].concat())) {
                return;
            }
            assert_eq!(request[..2], [1, 1], "is it the first? {is_first}");
            is_first = false;
        }
    });
    let server = serve_keeping(&origin, json!({ "processes": 1 }));
    for id in 1..4 {
        let reply = server.get("/").expect(200);
        reply.expect_field("X-Begin", &format!("[1, 1, 0, {id}, 0, 8, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]"));
    }
    assert_eq!(origin.n_connections(), 1);
}

/// A kept connection that turns out to be closed is not a failure, however many of them there are.
#[test]
fn a_kept_connection_that_is_closed_is_replaced() {
    let origin = Origin::start(|peer| {
        for _ in 0..2 {
            let request = read_request(peer);
            peer.write(&about(&request, complete(0)));
        }
    });
    let server = serve_keeping(&origin, json!({ "processes": 4 }));
    for _ in 0..20 {
        server.get("/").expect(200).expect_body("body");
    }
}

/// The words of a process about a request that is over are not part of the next one.
#[test]
fn late_records_of_a_kept_connection_count_for_nobody() {
    let origin = Origin::start(|peer| {
        let mut before = Vec::new();
        loop {
            let request = read_request(peer);
            if request.is_empty() {
                return;
            }
            let late = if before.is_empty() {
                Vec::new()
            } else {
                about(&before, [output("Late: 1\n\nlate"), record(7, b"late"), end(0)].concat())
            };
            let answer = about(&request, complete(0));
            if !peer.write(&[late, answer].concat()) {
                return;
            }
            before = request;
        }
    });
    let server = serve_keeping(&origin, json!({ "processes": 1 }));
    for _ in 0..4 {
        server.get("/").expect(200).expect_body("body").expect_no_field("Late");
    }
    assert_eq!(origin.n_connections(), 1);
}

/// A process may be leaving behind its last request: what it is sent then is lost.
#[test]
fn what_must_not_be_repeated_goes_to_no_kept_connection() {
    let origin = Origin::start(|peer| {
        loop {
            let request = read_request(peer);
            if request.is_empty() || !peer.write(&about(&request, complete(0))) {
                return;
            }
        }
    });
    let server = serve_keeping(&origin, json!({ "processes": 1 }));
    for n in 1..4 {
        server.get("/").expect(200);
        server.send(&Request::post("/").body("x")).expect(200);
        assert_eq!(
            origin.n_connections(),
            1 + n,
            "a POST has a connection of its own, and leaves it to others"
        );
    }
}

/// Sends these records again and again, as fast as they are taken or with this pause, until they are not taken any
/// more.
fn endless(first: Vec<u8>, piece: Vec<u8>, pause: Duration) -> (Origin, Arc<AtomicUsize>) {
    let n_left = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&n_left);
    let origin = Origin::start(move |peer| {
        read_request(peer);
        peer.write(&first);
        while peer.write(&piece) {
            thread::sleep(pause);
        }
        counted.fetch_add(1, Ordering::SeqCst);
    });
    (origin, n_left)
}

/// Records before a head, without one, have an end.
#[test]
fn records_without_a_head_come_to_an_end() {
    let unknown = [1, 11, 0, 0, 0, 8, 0, 0, 99, 0, 0, 0, 0, 0, 0, 0].to_vec();
    for piece in [record(7, b"words"), output(""), unknown.clone()] {
        let (origin, n_left) = endless(Vec::new(), piece.repeat(8000), Duration::ZERO);
        serve(&origin).get("/").expect(502);
        eventually("the server is left", || (n_left.load(Ordering::SeqCst) > 0).then_some(()));
    }
    for piece in [record(7, b"words"), output(""), unknown, output("x")] {
        let (origin, _) = endless(Vec::new(), piece, Duration::from_millis(20));
        let routes = json!([{ "action": { "fastcgi": origin.address(), "timeout": 1 } }]);
        let (server, began) = (daemon().routes(routes).start(), Instant::now());
        server.get("/").expect(504);
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }
}

/// The client is heard although there is always something from the server.
#[test]
fn a_client_leaves_an_endless_answer() {
    for (first, piece) in [
        (Vec::new(), record(7, b"words")),
        (Vec::new(), output("")),
        (output("A: b\n\nbody"), output("")),
        (output("A: b\n\nbody"), record(7, b"words")),
    ] {
        let (origin, n_left) = endless(first, piece, Duration::from_micros(100));
        let server = serve(&origin);
        let client = server.begin(&Request::get("/"));
        eventually("the request is there", || (origin.n_connections() == 1).then_some(()));
        drop(client);
        eventually("the server is left", || (n_left.load(Ordering::SeqCst) == 1).then_some(()));
    }
}
