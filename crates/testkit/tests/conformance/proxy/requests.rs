//! `proxy` (contract 13): what a server is asked, and what becomes of its answers.

use corral_testkit::{Daemon, Origin, Request, assert_says, daemon};
use serde_json::{Value, json};

/// A daemon that passes everything on.
fn proxy(origin: &Origin) -> Daemon {
    proxy_with(origin, json!({}))
}

/// The same with further options of the action.
fn proxy_with(origin: &Origin, options: Value) -> Daemon {
    daemon().routes(json!([{ "action": action(&origin.url(), options) }])).start()
}

fn action(url: &str, mut options: Value) -> Value {
    options["proxy"] = json!(url);
    options
}

/// Expects that the server is sent these bytes for this request.
#[track_caller]
fn check_request(request: &Request, expect: &[&str], without: &[&str]) {
    let origin = Origin::echo();
    let text = proxy(&origin).send(request).expect(200).text();
    for line in expect {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
    for line in without {
        assert!(!text.to_lowercase().contains(&line.to_lowercase()), "{line:?} is in\n{text}");
    }
}

/// Expects that the client gets this when the server answers so.
#[track_caller]
fn check_response(response: &str, status: u16, body: &str) {
    let response = response.to_owned();
    let origin = Origin::start(move |peer| {
        peer.read_request();
        peer.write(response.as_bytes());
    });
    proxy(&origin).get("/").expect(status).expect_body(body);
}

/// An answer that no client may see.
#[track_caller]
fn check_refused(response: &str) {
    let response = response.to_owned();
    let origin = Origin::start(move |peer| {
        peer.read_request();
        peer.write(response.as_bytes());
        // The connection stays: what is wrong can be seen without its end.
        peer.read();
    });
    proxy(&origin).get("/").expect(502).expect_text("Error 502");
}

#[test]
fn bodies_are_passed_on_with_their_length() {
    check_request(
        &Request::post("/").body("hello"),
        &["POST / HTTP/1.1", "Content-Length: 5\r\n", "\r\n\r\nhello"],
        &["transfer-encoding"],
    );
    let origin = Origin::echo();
    let large = "x".repeat(3_000_000);
    let text = proxy(&origin).send(&Request::post("/").body(&large)).expect(200).text();
    assert!(text.ends_with(&large), "all of a large body arrives");
}

/// Options: settings.http.chunked_transform
#[test]
fn chunks_become_a_length() {
    let origin = Origin::echo();
    let server = daemon()
        .http(json!({ "chunked_transform": true }))
        .routes(json!([{ "action": action(&origin.url(), json!({})) }]))
        .start();
    let mut client = server.connect();
    client.write(
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n",
    );
    let text = client.read_response().expect(200).text();
    assert!(text.contains("Content-Length: 6\r\n") && text.ends_with("\r\n\r\nhello!"), "{text}");
    assert!(!text.contains("Transfer-Encoding"), "{text}");
}

/// Options: …action.rewrite
#[test]
fn a_rewritten_path_is_encoded_and_keeps_the_query() {
    let origin = Origin::echo();
    let server = proxy_with(&origin, json!({ "rewrite": "/new path$uri" }));
    let text = server.get("/a?b=%20c").expect(200).text();
    assert!(text.starts_with("GET /new%20path/a?b=%20c HTTP/1.1\r\n"), "{text}");
}

#[test]
fn responses_are_passed_on() {
    let origin = Origin::answering(
        "HTTP/1.1 299 Own Phrase\r\nServer: them\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nX-A: 1\r\nX-A: 2\r\n\
         Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=9\r\nContent-Length: 2\r\n\r\nok",
    );
    let reply = proxy(&origin).get("/").expect(299).expect_body("ok");
    assert_eq!(reply.all("X-A").collect::<Vec<_>>(), ["1", "2"]);
    assert!(reply.all("Server").all(|server| server.starts_with("Corral")), "{reply}");
    reply
        .expect_field("Date", "Thu, 01 Jan 1970 00:00:00 GMT")
        .expect_no_field("X-Hop")
        .expect_no_field("Keep-Alive");
}

#[test]
fn bodies_are_framed_anew() {
    check_response("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello");
    check_response("HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, "until the end");
    check_response(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=1\r\nde\r\n0\r\n\r\n",
        200,
        "abcde",
    );
    let with_trailer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n";
    check_response(with_trailer, 200, "abc");
    check_response("HTTP/1.1 204 No Content\r\n\r\n", 204, "");
    check_response("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304, "");
    check_response("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone", 404, "gone");
}

#[test]
fn heads_are_those_of_get() {
    let origin = Origin::answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: 1\r\n\r\n");
    let server = proxy(&origin);
    let mut client = server.connect();
    client
        .send(&Request::new("HEAD", "/"))
        .expect(200)
        .expect_field("Content-Length", "5")
        .expect_field("X-A", "1");
    client.send(&Request::new("HEAD", "/")).expect(200);
}

#[test]
fn interim_responses_are_passed_over() {
    check_response(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        200,
        "ok",
    );
}

#[test]
fn responses_that_could_be_split_are_refused() {
    check_refused("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\nhello");
    check_refused("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello");
    check_refused("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n");
    check_refused("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    check_refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n");
    check_refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n");
    check_refused("HTTP/1.1 200 OK\r\nX: 1\r\n folded\r\nContent-Length: 0\r\n\r\n");
    check_refused("this is no response\r\n\r\n");
    check_refused("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
    check_refused(&format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "a".repeat(70_000)));
}

#[test]
fn a_server_that_closes_too_early_is_502() {
    for response in ["", "HTTP/1.1 200 OK\r\nX: "] {
        let origin = Origin::start(move |peer| {
            peer.read_request();
            peer.write(response.as_bytes());
        });
        proxy(&origin).get("/").expect(502);
    }
    let server = daemon().routes(json!([{ "action": { "proxy": "http://127.0.0.1:1" } }])).start();
    server.get("/").expect(502);
    server.expect_log("proxy \"http://127.0.0.1:1\": connect: Connection refused");
}

#[test]
fn what_follows_a_response_answers_nobody() {
    let origin = Origin::answering(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
    );
    let server = proxy(&origin);
    let mut client = server.connect();
    for _ in 0..3 {
        client.get("/").expect(200).expect_body("ok");
    }
    assert_eq!(origin.n_connections(), 3, "none of them is used again");
}

/// Options: …action.response_headers.{name}
#[test]
fn response_headers_change_what_the_server_has_sent() {
    let origin = Origin::answering("HTTP/1.1 200 OK\r\nX-A: 1\r\nX-B: 2\r\nContent-Length: 0\r\n\r\n");
    let options = json!({ "response_headers": { "X-A": null, "X-B": "3", "X-C": "$status" } });
    let reply = proxy_with(&origin, options).get("/").expect(200);
    reply.expect_no_field("X-A").expect_field("X-B", "3");
}

#[test]
fn addresses_of_all_forms() {
    let origin = Origin::saying("ok");
    let by_name = format!("http://localhost:{}", origin.port());
    daemon()
        .routes(json!([{ "action": { "proxy": by_name } }]))
        .start()
        .get("/")
        .expect(200)
        .expect_body("ok");
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    for address in
        ["blah", "http://blah", "http://127.0.0.1", "http://127.0.0.1:80/x", "http://[::1", "unix:/a", ""]
    {
        let routes = json!([{ "action": { "proxy": address } }]);
        let detail =
            server.control().put("/config/routes", &routes).expect_refused(400, "Invalid configuration.");
        assert_says(&detail, &format!("The \"proxy\" address is invalid \"{address}\""));
    }
    let unknown =
        daemon().routes(json!([{ "action": { "proxy": "http://no-such-name.invalid:80" } }])).start();
    unknown.get("/").expect(502);
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    /// Options: …action.proxy
    #[test]
    fn requests_are_passed_on_as_they_are() {
        check_request(
            &Request::get("/a%20b//c?x=1&y")
                .field("Host", "Example.com:81")
                .field("X-A", "1")
                .field("X-A", "2"),
            &["GET /a%20b//c?x=1&y HTTP/1.1\r\n", "Host: Example.com:81\r\n", "X-A: 1\r\nX-A: 2\r\n"],
            &[],
        );
        check_request(
            &Request::new("PURGE", "/").field("Cookie", "a=b"),
            &["PURGE / HTTP/1.1", "Cookie: a=b"],
            &[],
        );
    }

    #[test]
    fn fields_about_the_connection_are_not_passed_on() {
        let request = Request::get("/")
            .field("Connection", "X-Hop, keep-alive")
            .field("X-Hop", "1")
            .field("Keep-Alive", "timeout=5")
            .field("TE", "gzip")
            .field("Proxy-Connection", "keep-alive")
            .field("Upgrade", "h2c");
        check_request(&request, &[], &["x-hop", "keep-alive", "te:", "proxy-", "upgrade", "h2c"]);
        // HTTP/2 without TLS would pass by all rules.
        let request =
            Request::get("/").field("Connection", "upgrade, HTTP2-Settings").field("Upgrade", "h2c");
        check_request(&request, &[], &["upgrade", "h2c"]);
    }

    #[test]
    fn a_request_without_host_gets_the_servers() {
        let origin = Origin::echo();
        let server = proxy(&origin);
        let mut client = server.connect();
        client.write("GET / HTTP/1.0\r\n\r\n");
        let text = client.read_response().expect(200).text();
        assert!(text.contains(&format!("Host: {}\r\n", origin.address())), "{text}");
    }

    /// A body that ends too early must not look like a complete one.
    #[test]
    fn a_body_that_is_cut_off_ends_the_clients_connection() {
        for response in [
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n",
        ] {
            let origin = Origin::start(move |peer| {
                peer.read_request();
                peer.write(response.as_bytes());
            });
            let server = proxy(&origin);
            let mut client = server.connect();
            client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
            let text = String::from_utf8(client.read_to_end()).expect("text");
            assert!(text.contains("short") && !text.ends_with("0\r\n\r\n"), "{text}");
        }
    }
}
