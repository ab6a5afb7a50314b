//! A server for Node.js on a socket that it is handed: everything that HTTP does goes through.

use corral_testkit::{Request, WebSocket, eventually};
use serde_json::{Value, json};

use crate::{node, pid_of, program, with_app};

/// Options: applications.{N}.arguments
#[test]
fn it_serves_on_the_socket_that_it_is_handed() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({ "environment": { "NODE_ENV": "production" } }))).start();
    let environment = server.get("/environment").expect(200).json();
    assert_eq!(environment["LISTEN_FDS"], "1");
    assert_eq!(environment["LISTEN_PID"], pid_of(&server).to_string());
    assert_eq!(
        (&environment["LISTEN_FDNAMES"], &environment["NODE_ENV"]),
        (&json!("http"), &json!("production"))
    );
    assert_eq!((&environment["PORT"], &environment["NOTIFY_SOCKET"]), (&Value::Null, &Value::Null));
    server.get("/no/such/page").expect(404).expect_body("no such page");
}

#[test]
fn it_serves_on_a_socket_that_it_makes_and_on_a_port() {
    let site = program("server.js");
    for socket in ["unix", "port"] {
        let server = with_app(&node(&site, json!({ "socket": socket }))).start();
        let environment = server.get("/environment").expect(200).json();
        assert_eq!(environment["LISTEN_FDS"], Value::Null, "{socket}");
        server.get("/").expect(200);
    }
}

#[test]
fn fields_tell_who_asks_and_how() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({}))).start();
    let request =
        Request::get("/fields").field("Host", "example.com").field("X-Own", "1").field("Connection", "x-hop");
    let fields = server
        .send(&request.field("X-Hop", "1").field("X-Forwarded-Proto", "https").field("X-Forwarded-Port", "1"))
        .expect(200)
        .json();
    assert_eq!((&fields["host"], &fields["x-own"]), (&json!("example.com"), &json!("1")));
    assert_eq!(fields["x-hop"], Value::Null, "it was for this connection alone");
    assert_eq!(fields["x-forwarded-for"], "127.0.0.1");
    assert_eq!(
        (&fields["x-forwarded-proto"], &fields["x-forwarded-host"]),
        (&json!("http"), &json!("example.com"))
    );
    assert_eq!(fields["x-forwarded-port"], "80", "nobody else is believed");
}

#[test]
fn bodies_go_both_ways() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({}))).start();
    let mut client = server.connect();
    for size in [0, 1, 1000, 100_000, 700_000] {
        let body: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
        let echo = client.send(&Request::post("/echo").body(&body)).expect(200);
        assert!(echo.body == body, "{size} bytes come back as {}", echo.body.len());
    }
    let chunked =
        Request::post("/length").field("Transfer-Encoding", "chunked").body("5\r\nhello\r\n0\r\n\r\n");
    client.send(&chunked).expect(200).expect_body("5");
    let stream = server.get("/stream?bytes=20000000").expect(200);
    assert_eq!(stream.body.len(), 20_000_000);
}

/// The program has the beginning of a body before the client has sent the rest.
#[test]
fn bodies_are_streams() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({}))).start();
    let mut client = server.connect();
    client.write("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nhalf");
    assert!(client.read_until_text("half").starts_with("HTTP/1.1 200"));
    client.write("rest");
    client.read_until_text("rest");
}

#[test]
fn events_come_as_they_happen() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({}))).start();
    let mut client = server.connect();
    client.write("GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = client.read_until_text("data: first\n\n");
    assert!(head.contains("Content-Type: text/event-stream"), "{head}");
    server.get("/publish").expect(200);
    client.read_until_text("data: second\n\n");
    drop(client);
    eventually("the program learns that the client is gone", || {
        (server.get("/gone").text() == "1").then_some(())
    });
}

#[test]
fn web_sockets_go_through() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({}))).start();
    let mut client = WebSocket::open(server.connect(), &WebSocket::request("/chat"));
    for _ in 0..3 {
        client.send_text("Hello");
        client.expect_text("Hello");
    }
    server.get("/").expect(200);
    drop(client);
    eventually("the program learns of the end", || (server.get("/gone").text() == "1").then_some(()));
}

#[test]
fn the_program_learns_that_a_client_has_left() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({}))).start();
    let mut client = server.connect();
    client.write("GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("the request runs", || {
        (server.control().get("/status/applications/app/requests/active").json() == 1).then_some(())
    });
    drop(client);
    eventually("it is told", || (server.get("/gone").text() == "1").then_some(()));
    eventually("its place is free", || {
        (server.control().get("/status/applications/app/requests/active").json() == 0).then_some(())
    });
}

#[test]
fn what_is_no_response_is_a_bad_gateway() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({}))).start();
    server.get("/nonsense").expect(502);
    server.get("/drop").expect(503);
    server.expect_log("it closed the connection before it had sent a response, request \"/drop\"");
    server.get("/").expect(200);
}

/// Options: applications.{N}.stdout, applications.{N}.stderr
#[test]
fn what_it_prints_is_in_the_log_or_in_files() {
    let site = program("server.js").writable_folder("out");
    let server = with_app(&node(&site, json!({}))).start();
    server.get("/log").expect(200);
    server.expect_log("\"app\": to standard output");
    server.expect_log("\"app\": to standard error");
    drop(server);
    let files = json!({ "stdout": site.path("out/stdout"), "stderr": site.path("out/stderr") });
    let server = with_app(&node(&site, files)).start();
    server.get("/log").expect(200);
    eventually("both files have it", || {
        let has = |name: &str, text: &str| {
            std::fs::read_to_string(site.path(name)).is_ok_and(|all| all.contains(text))
        };
        (has("out/stdout", "to standard output") && has("out/stderr", "to standard error")).then_some(())
    });
    assert!(!server.log().contains("to standard"), "{}", server.log());
}
