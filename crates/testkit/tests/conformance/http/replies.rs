//! Section 23.4: what replies look like on the wire, and which statuses the router makes, row by row.

use corral_testkit::{Client, Daemon, Request, Response, Site, daemon, php_app, site};
use serde_json::{Value, json};

/// `/NNN` is answered with that status; everything else by a script.
fn start() -> (Daemon, Site) {
    let script = "<?php http_response_code((int) ($_GET['status'] ?? 200)); header('X-Own: 1'); echo 'from the \
        script';";
    let site = site().file("index.php", script).file("file.txt", "from the file");
    let returns = |status: u16| {
        json!({ "match": { "uri": format!("/{status:03}") },
        "action": { "return": status, "location": "/there" } })
    };
    let mut routes: Vec<Value> = STATUSES.iter().map(|(status, _)| returns(*status)).collect();
    routes.push(
        json!({ "match": { "uri": "/file" }, "action": { "share": site.path("file.txt"), "types": "text/plain" } }),
    );
    routes.push(json!({ "match": { "uri": "/none" }, "action": { "share": "/nonexistent" } }));
    routes.push(json!({ "action": { "pass": "applications/php" } }));
    let app = php_app(&site).script("index.php");
    (daemon().routes(Value::Array(routes)).application(app).start(), site)
}

/// Statuses with the phrases that are registered for them.
const STATUSES: &[(u16, &str)] = &[
    (0, ""),
    (99, ""),
    (200, "OK"),
    (201, "Created"),
    (202, "Accepted"),
    (204, "No Content"),
    (206, "Partial Content"),
    (299, ""),
    (300, "Multiple Choices"),
    (301, "Moved Permanently"),
    (302, "Found"),
    (303, "See Other"),
    (304, "Not Modified"),
    (305, "Use Proxy"),
    (306, ""),
    (307, "Temporary Redirect"),
    (308, "Permanent Redirect"),
    (400, "Bad Request"),
    (401, "Unauthorized"),
    (403, "Forbidden"),
    (404, "Not Found"),
    (405, "Method Not Allowed"),
    (406, "Not Acceptable"),
    (408, "Request Timeout"),
    (410, "Gone"),
    (411, "Length Required"),
    (415, "Unsupported Media Type"),
    (419, ""),
    (420, ""),
    (426, "Upgrade Required"),
    (429, "Too Many Requests"),
    (430, ""),
    (431, "Request Header Fields Too Large"),
    (451, "Unavailable For Legal Reasons"),
    (500, "Internal Server Error"),
    (501, "Not Implemented"),
    (502, "Bad Gateway"),
    (503, "Service Unavailable"),
    (504, "Gateway Timeout"),
    (505, "HTTP Version Not Supported"),
    (599, ""),
    (600, ""),
    (999, ""),
];

/// The lines of the head that answers these bytes.
#[track_caller]
fn head(server: &Daemon, request: &str) -> Vec<String> {
    let mut client = server.connect();
    client.write(request);
    let text = client.read_until_text("\r\n\r\n");
    text.split("\r\n\r\n").next().unwrap_or_default().split("\r\n").map(str::to_owned).collect()
}

/// The names of the fields in their order.
#[track_caller]
fn check_order(server: &Daemon, request: &str, expect: &str) {
    let names: Vec<_> = head(server, request)[1..]
        .iter()
        .map(|line| line.split_once(": ").expect("a field").0.to_lowercase())
        .collect();
    assert_eq!(names.join(" "), expect, "{request:?}");
}

fn page(status: u16) -> String {
    format!("<!DOCTYPE html><title>Error {status}</title><p>Error {status}.\r\n")
}

#[test]
fn dates_are_those_of_the_standard() {
    let (server, _site) = start();
    let reply = server.get("/200");
    let date = reply.field("Date").expect("it is there");
    let (words, bytes) = (date.split(' ').collect::<Vec<_>>(), date.as_bytes());
    let days = ["Mon,", "Tue,", "Wed,", "Thu,", "Fri,", "Sat,", "Sun,"];
    assert!(date.len() == 29 && words.len() == 6 && days.contains(&words[0]), "{date}");
    assert!(words[5] == "GMT" && bytes[19] == b':' && bytes[22] == b':' && words[1].len() == 2, "{date}");
}

/// Expects these words about the connection, and that it stays or goes accordingly.
#[track_caller]
fn check_connection(
    server: &Daemon,
    target: &str,
    version: &str,
    asked: &str,
    said: Option<&str>,
    stays: bool,
) {
    let mut client = server.connect();
    let asked = if asked.is_empty() { String::new() } else { format!("Connection: {asked}\r\n") };
    client.write(format!("GET {target} HTTP/{version}\r\nHost: a\r\n{asked}\r\n"));
    let reply = client.read_response();
    assert_eq!(reply.field("Connection"), said, "{target} {version} {asked}\n{reply}");
    if stays {
        client.get("/200").expect(200);
    } else {
        assert!(client.is_closed(), "{target} {version} {asked}");
    }
}

#[test]
fn replies_without_a_body_have_none() {
    let (server, _site) = start();
    let mut client = server.connect();
    for status in [204, 304] {
        let reply = client.get(&format!("/?status={status}")).expect(status).expect_body("");
        reply
            .expect_no_field("Content-Length")
            .expect_no_field("Transfer-Encoding")
            .expect_field("X-Own", "1");
    }
    for target in ["/", "/file", "/none"] {
        client.send(&Request::new("HEAD", target)).expect_body("");
    }
    client.send(&Request::new("HEAD", "/file")).expect(200).expect_field("Content-Length", "13");
    client.get("/file").expect_body("from the file");
}

#[track_caller]
fn refused(server: &Daemon, request: &str, status: u16) -> Response {
    let mut client: Client = server.connect();
    client.write(request);
    let reply = client.read_response().expect(status).expect_body(page(status));
    assert_eq!(reply.all("Connection").last(), Some("close"), "{reply}");
    assert!(client.is_closed(), "{request:?}");
    reply
}

#[test]
fn every_reply_has_server_date_and_length() {
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let response = server.get("/").expect(200).expect_field("Content-Length", "0");
    assert!(response.field("Server").is_some_and(|server| server.starts_with("Corral")), "{response}");
    let date = response.field("Date").expect("a Date field");
    assert!(date.len() == 29 && date.ends_with(" GMT"), "{date}");
}

#[test]
fn an_error_has_a_page_but_not_for_head() {
    let server = daemon().routes(json!([{ "action": { "return": 404 } }])).start();
    let page = "<!DOCTYPE html><title>Error 404</title><p>Error 404.\r\n";
    let response = server.get("/").expect(404).expect_body(page).expect_field("Content-Type", "text/html");
    assert_eq!(response.reason, "Not Found");
    let mut client = server.connect();
    client.send(&Request::new("HEAD", "/")).expect(404).expect_body("").expect_field("Content-Length", "54");
    client.get("/").expect(404).expect_body(page);
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    #[test]
    fn statuses_have_their_phrase_and_errors_their_page() {
        let (server, _site) = start();
        let mut client = server.connect();
        for &(status, phrase) in STATUSES {
            let target = format!("/{status:03}");
            let reply = client.get(&target).expect(status);
            assert_eq!(reply.reason, phrase, "{reply}");
            let is_error = (400..600).contains(&status);
            let body = if is_error { page(status) } else { String::new() };
            if matches!(status, 204 | 304) {
                assert_eq!(reply.field("Content-Length"), None, "{reply}");
            } else {
                assert_eq!(reply.field("Content-Length"), Some(body.len().to_string().as_str()), "{reply}");
            }
            assert_eq!(reply.field("Content-Type"), is_error.then_some("text/html"), "{reply}");
            assert_eq!(reply.field("Location"), (!is_error).then_some("/there"), "{reply}");
            reply.expect_body(body);
            // Quirk 28: HEAD gets the same head and no body.
            client.send(&Request::new("HEAD", &target)).expect(status).expect_body("");
        }
    }

    #[test]
    fn fields_have_their_order() {
        let (server, _site) = start();
        check_order(&server, "GET /200 HTTP/1.1\r\nHost: a\r\n\r\n", "location server date content-length");
        check_order(
            &server,
            "GET /404 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            "content-type server date content-length connection",
        );
        check_order(
            &server,
            "GET /200 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            "location server date content-length connection",
        );
        check_order(
            &server,
            "GET /file HTTP/1.1\r\nHost: a\r\n\r\n",
            "last-modified etag content-type accept-ranges server date content-length",
        );
        check_order(&server, "GET /204 HTTP/1.1\r\nHost: a\r\n\r\n", "location server date");
        let names = head(&server, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let last: Vec<_> = names.iter().rev().take(4).map(|line| line.split(": ").next().unwrap()).collect();
        assert_eq!(last, ["Connection", "Content-Length", "Date", "Server"], "{names:?}");
    }

    #[test]
    fn connections_are_kept_or_closed_as_they_are_said_to_be() {
        let (server, _site) = start();
        for target in ["/200", "/404", "/file", "/none", "/", "/204"] {
            check_connection(&server, target, "1.1", "", None, true);
            check_connection(&server, target, "1.1", "keep-alive", None, true);
            check_connection(&server, target, "1.1", "close", Some("close"), false);
            check_connection(&server, target, "1.0", "", None, false);
            check_connection(&server, target, "1.0", "close", None, false);
            check_connection(&server, target, "1.0", "keep-alive", Some("keep-alive"), true);
        }
    }

    #[test]
    fn pipelined_requests_are_answered_in_order() {
        let (server, _site) = start();
        let mut client = server.connect();
        let requests = ["/200", "/?status=404", "/file", "/404", "/", "/none", "/301"];
        client.write(requests.map(|target| format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")).concat());
        let statuses = requests.map(|_| client.read_response().status);
        assert_eq!(statuses, [200, 404, 200, 404, 200, 404, 301]);
        // Nothing behind the one that closes is answered.
        client.write(
            "GET /200 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /200 HTTP/1.1\r\nHost: a\r\n\r\n",
        );
        client.read_response().expect(200).expect_field("Connection", "close");
        assert!(client.is_closed());
    }

    /// The table of statuses that the router makes. 403 to 406 and 502 to 504 are in the files of their sections.
    #[test]
    fn the_router_makes_these_statuses() {
        let (server, _site) = start();
        refused(&server, "GET nowhere HTTP/1.1\r\nHost: a\r\n\r\n", 400);
        refused(&server, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400);
        refused(&server, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400);
        refused(&server, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n", 413);
        refused(&server, &format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(9000)), 431);
        refused(&server, "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501);
        refused(&server, "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505);
        server
            .control()
            .put("/config/settings", &json!({ "http": { "chunked_transform": false } }))
            .expect_done();
        refused(&server, "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 411);
        server.get("/none").expect(404);
        server.send(&Request::post("/file")).expect(405);
    }

    #[test]
    fn an_invalid_websocket_handshake_is_refused() {
        let (server, _site) = start();
        let request = |fields: &str| {
            format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{fields}\r\n")
        };
        let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        refused(&server, &request("Sec-WebSocket-Version: 13\r\n"), 400);
        refused(&server, &request("Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n"), 400);
        for version in ["", "Sec-WebSocket-Version: 8\r\n"] {
            refused(&server, &request(&(version.to_owned() + key)), 426)
                .expect_field("Sec-WebSocket-Version", "13")
                .expect_field("Upgrade", "websocket")
                .expect_field("Connection", "Upgrade");
        }
        // An application that answers as always gives a reply as always.
        let mut client = server.connect();
        client.write(request(&format!("Sec-WebSocket-Version: 13\r\n{key}")));
        client.read_response().expect(200).expect_body("from the script");
    }
}
