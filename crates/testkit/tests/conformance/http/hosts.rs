//! Which host a request is for: `Host`, and targets that name one (RFC 9112 section 3.2).

use corral_testkit::{BAD_HOSTS, Client, Daemon, Origin, Response, daemon};
use serde_json::json;

/// Tells the host and the path as they were understood.
fn telling() -> Daemon {
    let location = "/$host|$header_host|$uri|$request_uri";
    daemon().routes(json!([{ "action": { "return": 200, "location": location } }])).start()
}

#[track_caller]
fn exchange(server: &Daemon, head: &str) -> (Client, Response) {
    let mut client = server.connect();
    client.write(format!("{head}\r\n"));
    let response = client.read_response();
    (client, response)
}

/// Expects that this is refused with that status, and that nothing follows on its connection.
#[track_caller]
fn check_refused(server: &Daemon, head: &str, status: u16) {
    let (mut client, response) = exchange(server, head);
    assert_eq!(response.status, status, "{head:?}\n{response}");
    if head.contains("HTTP/1.1") {
        assert_eq!(response.field("Connection"), Some("close"), "{head:?}\n{response}");
    }
    assert!(client.is_closed(), "{head:?}");
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    #[test]
    fn hosts() {
        let server = telling();
        for host in BAD_HOSTS {
            check_refused(&server, &format!("GET / HTTP/1.1\r\nHost: {host}\r\n"), 400);
            check_refused(&server, &format!("GET / HTTP/1.0\r\nHost: {host}\r\n"), 400);
        }
        for fields in ["Host: a\r\nHost: a\r\n", "Host: a\r\nhost: b\r\n"] {
            check_refused(&server, &format!("GET / HTTP/1.1\r\n{fields}"), 400);
        }
        // Unit tolerates that one is missing; RFC 9112 section 3.2 does not.
        for fields in ["", "X-Host: a\r\n\r\nGET / HTTP/1.0\r\n"] {
            check_refused(&server, &format!("GET / HTTP/1.1\r\n{fields}"), 400);
        }
        for (host, expected) in [
            ("A.Example", "a.example"),
            ("a:80", "a"),
            ("a:", "a"),
            ("a.", "a"),
            ("a_b.example:8080", "a_b.example"),
            ("[::1]:80", "[::1]"),
        ] {
            let (_, response) = exchange(&server, &format!("GET / HTTP/1.1\r\nHost: {host}\r\n"));
            let location = response.expect(200).field("Location").expect("a location").to_owned();
            assert!(location.starts_with(&format!("/{expected}%7C")), "{host}: {location}");
        }
        let (_, response) = exchange(&server, "GET / HTTP/1.0\r\n");
        assert!(response.expect(200).field("Location").expect("a location").starts_with("/%7C"), "no host");
    }

    /// A host that is refused here is not passed on: the server behind has no connection of it.
    #[test]
    fn a_bad_host_never_goes_upstream() {
        let origin = Origin::echo();
        let server = daemon().routes(json!([{ "action": { "proxy": origin.url() } }])).start();
        for host in BAD_HOSTS {
            check_refused(&server, &format!("GET / HTTP/1.1\r\nHost: {host}\r\n"), 400);
            // These end the host of a URL.
            if !host.contains(['/', '?', '#']) {
                check_refused(&server, &format!("GET http://{host}/ HTTP/1.1\r\nHost: a\r\n"), 400);
            }
        }
        assert_eq!(origin.n_connections(), 0);
    }

    /// RFC 9112 section 3.2.2: the host of the target is the one, whatever the field says.
    #[test]
    fn an_absolute_target_names_the_host() {
        let server = telling();
        for (line, expected) in [
            ("GET http://b.example/c?d HTTP/1.1", "/b.example|b.example|/c|/c?d"),
            ("GET HTTPS://B.example:81/c#e HTTP/1.1", "/b.example|B.example:81|/c|/c#e"),
            ("GET http://b.example HTTP/1.1", "/b.example|b.example|/|/"),
            ("GET http://[::1]:80/ HTTP/1.0", "/[::1]|[::1]:80|/|/"),
        ] {
            let (_, response) = exchange(&server, &format!("{line}\r\nHost: a\r\n"));
            let location = response.expect(200).field("Location").expect("a location").to_owned();
            let decoded = location.replace("%7C", "|");
            assert!(decoded.starts_with(expected), "{line}: {decoded}");
        }
        let (_, response) = exchange(&server, "GET http://b/ HTTP/1.0\r\n");
        assert!(response.expect(200).field("Location").expect("a location").starts_with("/b"));
        for line in [
            "GET ftp://a/ HTTP/1.1",
            "GET http:///c HTTP/1.1",
            "GET http://a@b/ HTTP/1.1",
            "GET a:80 HTTP/1.1",
        ] {
            check_refused(&server, &format!("{line}\r\nHost: a\r\n"), 400);
        }
        for fields in ["", "Host:\r\n", "Host: a/\r\n", "Host: b\r\nHost: b\r\n"] {
            check_refused(&server, &format!("GET http://b/ HTTP/1.1\r\n{fields}"), 400);
        }
    }

    /// Two servers in a row must not understand two hosts: the one of the field goes nowhere.
    #[test]
    fn a_server_behind_learns_the_host_of_the_target_alone() {
        let origin = Origin::echo();
        let server = daemon().routes(json!([{ "action": { "proxy": origin.url() } }])).start();
        for version in ["1.1", "1.0"] {
            let (_, response) =
                exchange(&server, &format!("GET http://b:81?x=1 HTTP/{version}\r\nA: b\r\nHost: evil\r\n"));
            let text = response.expect(200).text();
            assert!(text.starts_with("GET /?x=1 HTTP/1.1\r\n"), "{text}");
            assert!(text.contains("Host: b:81\r\n") && !text.contains("evil"), "{text}");
        }
        let (_, response) = exchange(&server, "GET http://b/ HTTP/1.0\r\n");
        let text = response.expect(200).text();
        assert!(text.contains("Host: b\r\n"), "{text}");
    }

    /// RFC 9112 section 3.2.4: the server itself answers, whatever the configuration says of its sites.
    #[test]
    fn options_of_the_server_ask_nobody() {
        let origin = Origin::echo();
        let server = daemon().routes(json!([{ "action": { "proxy": origin.url() } }])).start();
        let (mut client, response) = exchange(&server, "OPTIONS * HTTP/1.1\r\nHost: a\r\n");
        response
            .expect(200)
            .expect_field("Content-Length", "0")
            .expect_field("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
        assert_eq!(origin.n_connections(), 0);
        client.get("/").expect(200);
        check_refused(&server, "GET * HTTP/1.1\r\nHost: a\r\n", 400);
        check_refused(&server, "OPTIONS * HTTP/1.1\r\n", 400);
        let (_, response) = exchange(&server, "OPTIONS /* HTTP/1.1\r\nHost: a\r\n");
        assert!(response.expect(200).text().starts_with("OPTIONS /* HTTP/1.1\r\n"));
    }

    #[test]
    fn tunnels_to_elsewhere_are_refused() {
        let server = telling();
        for target in ["a:443", "/", "http://a/", "*"] {
            check_refused(&server, &format!("CONNECT {target} HTTP/1.1\r\nHost: a\r\n"), 405);
        }
    }

    /// A value that is read as one here could be read as another by a server behind.
    #[test]
    fn fields_of_one_value_are_there_once() {
        let server = telling();
        for field in
            ["If-Match: *", "If-None-Match: *", "If-Range: \"a\"", "Range: bytes=0-", "Expect: 100-continue"]
        {
            let (_, response) = exchange(&server, &format!("GET / HTTP/1.1\r\nHost: a\r\n{field}\r\n"));
            assert_ne!(response.status, 400, "{field}\n{response}");
            check_refused(
                &server,
                &format!("GET / HTTP/1.1\r\nHost: a\r\n{field}\r\nX: y\r\n{field}\r\n"),
                400,
            );
        }
    }
}
