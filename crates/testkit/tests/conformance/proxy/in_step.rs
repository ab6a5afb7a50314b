//! A connection to a server behind this one is kept only while both agree on which answer is to which request, however
//! the server behaves: one client's answer must never be another's.

use corral_testkit::{Authority, Client, Daemon, Origin, OriginPeer, Request, daemon};
use serde_json::json;

fn proxy(origin: &Origin) -> Daemon {
    daemon().routes(json!([{ "action": { "proxy": origin.url() } }])).start()
}

/// Answers with the first line of what it takes for the request.
fn answer(peer: &mut OriginPeer, head: &str) -> bool {
    let line = head.lines().next().unwrap_or_default();
    peer.write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{line}", line.len()).as_bytes())
}

/// A server that has never heard of bodies: what follows a head is the next request.
fn without_bodies() -> Origin {
    Origin::start(|peer| while peer.read_head().is_some_and(|head| answer(peer, &head)) {})
}

/// Answers the first request of its first connection as `first` does, all others as they should be.
fn at_first(first: impl Fn(&mut OriginPeer) + Send + Sync + 'static) -> Origin {
    Origin::start(move |peer| {
        if peer.number == 1 && peer.read_head().is_some() {
            first(peer);
        }
        while peer.read_head().is_some_and(|head| answer(peer, &head)) {}
    })
}

/// Another request of the same event loop gets its own answer, over this connection to the server.
#[track_caller]
fn expect_own(client: &mut Client, origin: &Origin, n_connections: usize) {
    client.get("/own").expect(200).expect_body("GET /own HTTP/1.1");
    assert_eq!(origin.n_connections(), n_connections);
}

#[track_caller]
fn check_first(request: &Request, status: u16, first: &'static str, n_connections: usize) {
    let origin = at_first(move |peer| {
        peer.write(first.as_bytes());
    });
    let server = proxy(&origin);
    let mut client = server.connect();
    client.send(request).expect(status);
    expect_own(&mut client, &origin, n_connections);
}

const SMUGGLED: &str = "GET /evil HTTP/1.1\r\nHost: a\r\n\r\n";

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    #[test]
    fn a_request_with_a_body_asks_for_no_upgrade() {
        let origin = Origin::echo();
        let server = proxy(&origin);
        let upgrade = |method: &str| {
            Request::new(method, "/").field("Connection", "upgrade").field("Upgrade", "websocket")
        };
        for request in [upgrade("POST").body("x"), upgrade("GET").body(SMUGGLED)] {
            let text = server.send(&request).expect(200).text().to_lowercase();
            assert!(!text.contains("upgrade") && !text.contains("websocket"), "{text}");
        }
        let text = server.send(&upgrade("GET").field("Content-Length", "0")).expect(200).text();
        assert!(text.contains("Upgrade: websocket\r\n"), "{text}");
    }

    #[test]
    fn a_connection_that_carried_an_upgrade_is_not_kept() {
        let origin = without_bodies();
        let server = proxy(&origin);
        let mut client = server.connect();
        client.get("/own").expect(200);
        expect_own(&mut client, &origin, 1);
        let request = Request::get("/up").field("Connection", "upgrade").field("Upgrade", "x");
        client.send(&request).expect(200).expect_body("GET /up HTTP/1.1");
        expect_own(&mut client, &origin, 2);
    }

    /// A server out of step takes the rest of the request for whatever it likes.
    #[test]
    fn a_server_that_answers_before_it_was_asked_to_the_end_is_not_kept() {
        let body = "x".repeat(1000);
        let origin = at_first(move |peer| {
            peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab");
            let mut n = 0;
            while n < 1000 {
                n += peer.read().len();
            }
            peer.write(b"cd");
        });
        let server = proxy(&origin);
        let mut client = server.connect();
        client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
        client.read_until_text("\r\n\r\nab");
        client.write(&body);
        client.read_until_text("cd");
        expect_own(&mut client, &origin, 2);
    }

    #[test]
    fn a_body_where_there_is_none_is_not_the_next_answer() {
        let head = Request::new("HEAD", "/");
        let get = Request::get("/");
        let stolen = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen";
        // A server that says that there is more may send it at any time.
        check_first(&head, 200, "HTTP/1.1 200 OK\r\nContent-Length: 45\r\n\r\n", 2);
        check_first(&head, 200, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 2);
        check_first(&get, 204, "HTTP/1.1 204 OK\r\nContent-Length: 45\r\n\r\n", 2);
        check_first(&get, 304, "HTTP/1.1 304 OK\r\nContent-Length: 45\r\n\r\n", 2);
        check_first(&get, 204, "HTTP/1.1 204 OK\r\n\r\n", 1);
        check_first(&get, 304, "HTTP/1.1 304 OK\r\n\r\n", 1);
        check_first(&head, 200, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 1);
        for (request, status, first) in [
            (&head, 200, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
            (&get, 204, "HTTP/1.1 204 OK\r\n\r\n"),
            (&get, 304, "HTTP/1.1 304 OK\r\n\r\n"),
            (&get, 200, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
            (&get, 200, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ] {
            let first: &'static str = format!("{first}{stolen}").leak();
            check_first(request, status, first, 2);
        }
    }

    #[test]
    fn what_a_server_says_before_it_is_asked_is_no_answer() {
        let bundle = Authority::new("our own").server("localhost", &["localhost"]);
        let pushed = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npushed";
        let origin = Origin::start_tls(&bundle, move |peer| {
            // The third connection is as it should be.
            if peer.number != 3 {
                peer.blurt(pushed.as_bytes());
            }
            while peer.read_head().is_some_and(|head| answer(peer, &head)) {}
        });
        let url = format!("https://localhost:{}", origin.port());
        let action = json!({ "proxy": url, "proxy_options": { "tls": { "verify": false } } });
        let server = daemon().routes(json!([{ "action": action }])).start();
        let mut client = server.connect();
        client.get("/own").expect(502);
        client.get("/own").expect(502);
        server.expect_log("it sent something before it was asked");
        expect_own(&mut client, &origin, 3);
        expect_own(&mut client, &origin, 3);
    }

    #[test]
    fn responses_before_the_response_have_an_end() {
        let few =
            format!("{}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 102 x\r\n\r\n".repeat(900));
        check_first(&Request::get("/"), 200, few.leak(), 1);
        let many = "HTTP/1.1 100 x\r\n\r\n".repeat(100_000);
        let origin = Origin::start(move |peer| {
            peer.read_head();
            peer.write(many.as_bytes());
        });
        let server = proxy(&origin);
        server.get("/").expect(502);
        server.expect_log("more than 1000 responses before the response");
    }

    /// Each option is looked for among all fields.
    #[test]
    fn connection_has_few_options_on_both_sides() {
        let options = |n: usize| "x, ".repeat(n);
        let origin = Origin::echo();
        let server = proxy(&origin);
        let request = |n: usize| Request::get("/").field("Connection", &options(n)).field("X", "1");
        let text = server.send(&request(64)).expect(200).text();
        assert!(!text.contains("X: 1"), "{text}");
        server.send(&request(65)).expect(431);
        let answer =
            |n| format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: 1\r\nConnection: {}\r\n\r\n", options(n));
        let response = proxy(&Origin::answering(answer(64))).get("/").expect(200);
        assert_eq!(response.field("X"), None);
        let origin = Origin::answering(answer(65));
        let server = proxy(&origin);
        server.get("/").expect(502);
        server.expect_log("too many options in Connection");
    }
}
