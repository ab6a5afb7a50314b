//! Sections 23.1 to 23.3: request lines, request fields and request bodies, row by row.

use corral_testkit::{Client, Daemon, Origin, Request, Response, Site, daemon, php_app, site};
use serde_json::{Value, json};

/// Answers with the path as it was understood, in Location.
fn plain() -> Daemon {
    daemon().routes(json!([{ "action": { "return": 200, "location": "$uri" } }])).start()
}

/// A script that tells what it got.
const ECHO: &str = "<?php
$body = file_get_contents('php://input');
header('X-Method: ' . $_SERVER['REQUEST_METHOD']);
header('X-Length: ' . ($_SERVER['CONTENT_LENGTH'] ?? 'none'));
header('X-Coding: ' . ($_SERVER['HTTP_TRANSFER_ENCODING'] ?? 'none'));
echo strlen($body), ' ', md5($body);
foreach ($_SERVER as $name => $value) if (strncmp($name, 'HTTP_', 5) === 0) echo \"\\n$name=$value\";
";

fn echo(http: Value) -> (Daemon, Site) {
    let site = site().file("echo.php", ECHO);
    let server = daemon().application(php_app(&site).script("echo.php")).http(http).start();
    (server, site)
}

/// Sends these bytes on a connection of its own.
#[track_caller]
fn exchange(server: &Daemon, request: &[u8]) -> (Client, Response) {
    let mut client = server.connect();
    client.write(request);
    let response = client.read_response();
    (client, response)
}

/// A head with this line; a refusal closes the connection, anything else keeps it.
#[track_caller]
fn check_line(server: &Daemon, line: &str, status: u16, path: Option<&str>) {
    let (mut client, response) = exchange(server, format!("{line}\r\nHost: a\r\n\r\n").as_bytes());
    assert_eq!(response.status, status, "{line:?}\n{response}");
    if status == 200 {
        assert_eq!(response.field("Location"), path, "{line:?}\n{response}");
    } else {
        assert_eq!(response.field("Connection"), Some("close"), "{line:?}\n{response}");
        assert!(client.is_closed(), "{line:?}");
    }
}

/// A head with these further lines, and a `Host` unless that is among them.
#[track_caller]
fn check_fields(server: &Daemon, fields: &[u8], status: u16) {
    let host: &[u8] = if fields.starts_with(b"Host") { b"" } else { b"Host: a\r\n" };
    let request = [b"GET / HTTP/1.1\r\n", host, fields, b"\r\n"].concat();
    let (_, response) = exchange(server, &request);
    assert_eq!(response.status, status, "{:?}\n{response}", String::from_utf8_lossy(fields));
}

// --- 23.1 ---------------------------------------------------------------------------------------------

// --- 23.2 ---------------------------------------------------------------------------------------------

// --- 23.3 ---------------------------------------------------------------------------------------------

/// A script gets a length, whatever the framing was; a body may come in any size.
///
/// Options: settings.http.chunked_transform
#[test]
fn bodies_of_any_size_and_framing_arrive_whole() {
    let (server, _site) = echo(json!({ "max_body_size": 50_000_000, "chunked_transform": true }));
    let mut client = server.connect();
    for n in [0, 1, 1000, 16_384, 16_385, 65_535, 65_536, 65_537, 300_000, 5_000_000] {
        let body = pattern(n);
        let request = Request::post("/echo.php").body(&body);
        let plain = client.send(&request).expect(200).expect_field("X-Length", &n.to_string());
        let request = Request::post("/echo.php").field("Transfer-Encoding", "chunked").body(chunked(&body));
        let chunked = client.send(&request).expect(200).expect_field("X-Length", &n.to_string());
        let chunked = chunked.expect_field("X-Coding", "none");
        assert!(plain.text().starts_with(&format!("{n} ")), "{plain}");
        let digest = |response: &Response| response.text().lines().next().map(str::to_owned);
        assert_eq!(digest(&plain), digest(&chunked), "{n} bytes");
    }
    server.get("/").expect_field("X-Length", "none");
}

#[test]
fn a_client_that_waits_for_100_gets_it() {
    let (server, _site) = echo(json!({ "max_body_size": 1000 }));
    let head =
        |n: u32| format!("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: {n}\r\n\r\n");
    let mut client = server.connect();
    client.write(head(5));
    client.read_response().expect(100);
    client.write("hello");
    client.read_response().expect(200).expect_text("5 ");
    // What is refused anyhow is refused before the client sends it.
    client.write(head(1001));
    client.read_response().expect(413);
}

#[test]
fn a_body_in_many_small_pieces_arrives_whole() {
    let (server, _site) = echo(json!({}));
    let mut client = server.connect();
    client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    for _ in 0..200 {
        client.write("12345");
    }
    client.read_response().expect(200).expect_text("1000 ");
}

/// The client goes on sending while the refusal is on its way; it must be able to read it.
#[test]
fn a_refused_body_is_read_to_its_end_so_that_the_refusal_arrives() {
    let (server, _site) = echo(json!({ "max_body_size": 1000 }));
    for _ in 0..5 {
        let mut client = server.connect();
        client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n");
        let piece = vec![b'x'; 100_000];
        for _ in 0..20 {
            if client.try_write(&piece).is_err() {
                break;
            }
        }
        client.read_response().expect(413);
    }
}

/// Quirk 12: what needs no body is answered before it arrives, and the body is then read over.
#[test]
fn routing_does_not_wait_for_a_body() {
    let server = plain();
    let mut client = server.connect();
    client.write("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
    client.read_response().expect(200).expect_field("Location", "/a");
    client.write("helloGET /b HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_response().expect(200).expect_field("Location", "/b");
}

/// Not of one byte value, so that a piece that is lost or doubled shows.
fn pattern(n: usize) -> String {
    (0..n).map(|i| char::from(b'a' + (i % 23) as u8)).collect()
}

fn chunked(body: &str) -> String {
    let bytes = body.as_bytes();
    let chunks = bytes
        .chunks(10_007)
        .map(|chunk| format!("{:x}\r\n{}\r\n", chunk.len(), String::from_utf8_lossy(chunk)));
    chunks.collect::<String>() + "0\r\n\r\n"
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    #[test]
    fn versions() {
        let server = plain();
        for minor in 0..=9 {
            let (mut client, response) =
                exchange(&server, format!("GET / HTTP/1.{minor}\r\nHost: a\r\n\r\n").as_bytes());
            let kept = minor > 0;
            assert_eq!((response.status, response.field("Connection")), (200, None), "1.{minor}\n{response}");
            if kept {
                client.get("/").expect(200);
            } else {
                assert!(client.is_closed());
            }
        }
        for line in
            ["GET / HTTP/2.0", "GET / HTTP/0.9", "GET / HTTP/1.10", "GET / HTTP/3.1", "GET / HTTP/11.1"]
        {
            check_line(&server, line, 505, None);
        }
        for line in
            ["GET /", "GET", "GET / FTP/1.1", "GET / HTTP/x.y", "GET / HTTP/1", "GET / http/1.1", "nonsense"]
        {
            check_line(&server, line, 400, None);
        }
        let (_, response) = exchange(&server, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n");
        response.expect(400);
    }

    #[test]
    fn methods() {
        let server = plain();
        for method in ["GET", "PROPFIND", "A_B-C", "M-SEARCH", "_", "X"] {
            check_line(&server, &format!("{method} / HTTP/1.1"), 200, Some("/"));
        }
        for method in ["get", "GeT", "G3T", "GET!", "G.T", "\"GET\"", ""] {
            check_line(&server, &format!("{method} / HTTP/1.1"), 400, None);
        }
    }

    #[test]
    fn blank_lines_and_line_ends() {
        let server = plain();
        for request in [
            "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "\n\nGET / HTTP/1.1\nHost: a\n\n",
            "GET / HTTP/1.1\nHost: a\r\n\n",
        ] {
            exchange(&server, request.as_bytes()).1.expect(200);
        }
        // Between two requests, too.
        let (mut client, response) =
            exchange(&server, b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n\r\n\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n");
        response.expect_field("Location", "/a");
        client.read_response().expect_field("Location", "/b");
    }

    #[test]
    fn targets() {
        let server = plain();
        for target in ["ftp://a/", "*", "a:80", "a", "?x", "#x", "//"] {
            let status = if target == "//" { 200 } else { 400 };
            check_line(&server, &format!("GET {target} HTTP/1.1"), status, Some("/"));
        }
        for (target, path) in [
            ("/a?b=c", "/a"),
            ("/a#b?c", "/a"),
            ("/a?b#c", "/a"),
            ("/a b c", "/a%20b%20c"),
            ("/%61%2Fb", "/a/b"),
            ("/a%2fb", "/a/b"),
            ("/%C3%A4", "/%C3%A4"),
            ("//a///b", "/a/b"),
            ("/a/./b/../c", "/a/c"),
            ("/a/b/..", "/a/"),
            ("/a/.", "/a/"),
            ("/a/%2e%2e/b", "/b"),
            ("/..a/b..", "/..a/b.."),
            ("/a?../..", "/a"),
            ("/a?%zz", "/a"),
        ] {
            check_line(&server, &format!("GET {target} HTTP/1.1"), 200, Some(path));
        }
        check_line(&server, "GET    /a   HTTP/1.1", 200, Some("/a"));
        for target in
            ["/%zz", "/%1", "/%", "/%00", "/a%00b", "/..", "/../a", "/a/../../b", "/%2e%2e/a", "/.."]
        {
            check_line(&server, &format!("GET {target} HTTP/1.1"), 400, None);
        }
    }

    #[test]
    fn names_of_fields() {
        let server = plain();
        let long = |n: usize| format!("{}: v\r\n", "n".repeat(n));
        check_fields(&server, long(255).as_bytes(), 200);
        check_fields(&server, long(256).as_bytes(), 431);
        for fields in [
            "X : v\r\n",
            "X\t: v\r\n",
            " X: v\r\n",
            ": v\r\n",
            "nocolon\r\n",
            "X(Y: v\r\n",
            "X\"Y: v\r\n",
            "X@Y: v\r\n",
        ] {
            check_fields(&server, fields.as_bytes(), 400);
        }
        for fields in ["X:v\r\n", "X:\r\n", "x-y-1: v\r\n", "X: a\r\nX: b\r\n"] {
            check_fields(&server, fields.as_bytes(), 200);
        }
    }

    /// Options: settings.http.discard_unsafe_fields
    #[test]
    fn unsafe_names_are_dropped_or_passed_on() {
        let request = ["X_Under: 1", "X!Bang: 2", "X-Safe: 3", "X.Dot~1: 4"].iter().fold(
            Request::get("/"),
            |request, field| {
                let (name, value) = field.split_once(": ").expect("a field");
                request.field(name, value)
            },
        );
        for (setting, expected) in [(json!({}), false), (json!({ "discard_unsafe_fields": true }), false)] {
            let (server, _site) = echo(setting);
            let text = server.send(&request).expect(200).text();
            assert!(text.contains("HTTP_X_SAFE=3"), "{text}");
            assert_eq!(text.contains("HTTP_X_UNDER=1"), expected, "{text}");
            assert_eq!(text.contains("=2"), expected, "{text}");
        }
        let (server, _site) = echo(json!({ "discard_unsafe_fields": false }));
        let text = server.send(&request).expect(200).text();
        for value in ["=1", "=2", "=3", "=4"] {
            assert!(text.contains(value), "{text}");
        }
        for name in "!#$%&'*+.^_|~`".chars() {
            server.send(&Request::get("/").field(&format!("X{name}Y"), "v")).expect(200);
        }
        check_fields(&server, b"X(Y: v\r\n", 400);
    }

    #[test]
    fn values_of_fields() {
        let server = plain();
        for value in [&b"a\x01b"[..], b"a\x00b", b"\x7f", b"a\rb", b"\x1b[0m"] {
            check_fields(&server, &[b"X: ", value, b"\r\n"].concat(), 400);
        }
        check_fields(&server, b"X: a\r\n folded\r\n", 400);
        check_fields(&server, b"X: a\r\n\tfolded\r\n", 400);
        check_fields(&server, b"X: \xc3\xa4 \"a\\b\"\r\n", 200);
        let (server, _site) = echo(json!({}));
        let text =
            server.send(&Request::get("/").field("X-Trim", " \t inner \t space \t ")).expect(200).text();
        assert!(
            text.contains("HTTP_X_TRIM=inner \t space\n") || text.ends_with("HTTP_X_TRIM=inner \t space"),
            "{text:?}"
        );
    }

    #[test]
    fn lengths() {
        let server = plain();
        for length in [
            "-1",
            "+1",
            "abc",
            "1 2",
            "1,1",
            "0x1",
            "1.0",
            "",
            "99999999999999999999",
            "18446744073709551616",
        ] {
            check_fields(&server, format!("Content-Length: {length}\r\n").as_bytes(), 400);
        }
        check_fields(&server, b"Content-Length: 0\r\nContent-Length: 0\r\n", 400);
        check_fields(&server, b"Content-Length: 8388609\r\n", 413);
        check_fields(&server, b"Content-Length: 9223372036854775807\r\n", 413);
        check_fields(&server, b"Content-Length: 00\r\n", 200);
    }

    #[test]
    fn connection_tokens() {
        let server = plain();
        for (head, kept, field) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n", true, None),
            ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n", false, Some("close")),
            ("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, CLOSE\r\n", false, Some("close")),
            ("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n", true, None),
            ("GET / HTTP/1.0\r\n", false, None),
            ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n", true, Some("keep-alive")),
            ("GET / HTTP/1.0\r\nConnection: close\r\n", false, None),
            // Only `websocket` is known, and only where an application takes it.
            ("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n", true, None),
        ] {
            let (mut client, response) = exchange(&server, format!("{head}\r\n").as_bytes());
            assert_eq!((response.status, response.field("Connection")), (200, field), "{head}\n{response}");
            if kept {
                client.get("/").expect(200);
            } else {
                assert!(client.is_closed(), "{head}");
            }
        }
    }

    #[test]
    fn chunks_may_be_refused() {
        let (server, _site) = echo(json!({ "chunked_transform": false }));
        let request = Request::post("/").field("Transfer-Encoding", "chunked").body(chunked("abc"));
        server.send(&request).expect(411).expect_field("Connection", "close");
        let (server, _site) = echo(json!({}));
        server.send(&request).expect(200).expect_field("X-Length", "3");
        let server = plain();
        server.send(&request).expect(200);
    }

    #[test]
    fn chunk_extensions_and_trailers_are_accepted_and_dropped() {
        let (server, _site) = echo(json!({ "chunked_transform": true }));
        let mut client = server.connect();
        for body in [
            "3;x=1\r\nabc\r\n2;y=\"2\"\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n",
            "5\r\nabcde\r\n0;last\r\n\r\n",
            "005\r\nabcde\r\n000\r\nA: b\r\nC: d\r\n\r\n",
        ] {
            let request = Request::post("/").field("Transfer-Encoding", "chunked").body(body);
            let text = client.send(&request).expect(200).expect_field("X-Length", "5").text();
            assert!(text.starts_with("5 ") && !text.contains("TRAILER"), "{text}");
        }
    }

    #[test]
    fn bad_chunks_are_refused() {
        let (server, _site) = echo(json!({ "chunked_transform": true, "max_body_size": 1000 }));
        for body in [
            "x\r\nabc\r\n0\r\n\r\n",
            "-1\r\n\r\n",
            "3\r\nabcd\r\n0\r\n\r\n",
            "\r\nabc",
            "ffffffffffffffffff\r\n",
            "3\r\nabc\r\n0\r\nbad trailer\r\n\r\n",
        ] {
            let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
            let (mut client, response) = exchange(&server, format!("{head}{body}").as_bytes());
            response.expect(400).expect_field("Connection", "close");
            assert!(client.is_closed(), "{body:?}");
        }
    }

    #[test]
    fn codings_that_smell_are_refused() {
        let (server, _site) = echo(json!({ "chunked_transform": true }));
        for (version, fields, status) in [
            ("1.1", "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", 400),
            ("1.1", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", 400),
            ("1.0", "Transfer-Encoding: chunked\r\n", 400),
            ("1.1", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400),
            ("1.1", "Transfer-Encoding: gzip\r\n", 501),
            ("1.1", "Transfer-Encoding: gzip, chunked\r\n", 501),
            ("1.1", "Transfer-Encoding: identity\r\n", 501),
        ] {
            let request = format!("POST / HTTP/{version}\r\nHost: a\r\n{fields}\r\n0\r\n\r\n");
            let (mut client, response) = exchange(&server, request.as_bytes());
            assert_eq!(response.status, status, "{fields}\n{response}");
            assert!(client.is_closed(), "{fields}");
        }
    }

    /// Scripts cannot tell `X_User` from the `X-User` that the configuration sets, or takes away.
    #[test]
    fn unsafe_names_do_not_join_what_the_configuration_says() {
        let site = site().file("index.php", ECHO);
        let origin = Origin::echo();
        let changes = json!({ "X-User": "ours", "X-Gone": null });
        let config = json!({
            "settings": { "http": { "discard_unsafe_fields": false } },
            "applications": { "php": php_app(&site).value() },
            "routes": [
                { "match": { "uri": "/proxy" }, "action": { "proxy": origin.url(), "request_headers": changes } },
                { "action": { "pass": "applications/php", "request_headers": changes } },
            ],
        });
        let server = daemon().config(config).start();
        for target in ["/", "/proxy"] {
            let request = ["X_User", "X.User", "x_gone", "X_Forwarded_For", "X_Kept"]
                .iter()
                .fold(Request::get(target), |request, name| request.field(name, "theirs"));
            let text = server.send(&request).expect(200).text().to_ascii_lowercase();
            assert!(text.contains("ours") && !text.contains("ours, "), "{text}");
            let n_expected = if target == "/" { 2 } else { 1 };
            assert_eq!(text.matches("theirs").count(), n_expected, "{text}");
        }
    }
}
