//! Section 15: `settings`, each option with its default and its effect.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use corral_testkit::{Daemon, Request, daemon, eventually, php_app, site};
use serde_json::{Value, json};

fn with(http: Value) -> Daemon {
    daemon().routes(json!([{ "action": { "return": 200 } }])).http(http).start()
}

const LENGTH: &str = "<?php echo strlen(file_get_contents('php://input'));";

/// Options: settings.listen_threads
#[test]
fn event_loops_are_as_many_as_asked_for() {
    let threads = |settings: Value| {
        let routes = json!([{ "action": { "return": 200 } }]);
        let server = daemon().config(json!({ "routes": routes, "settings": settings })).start();
        let router = server.expect_processes("router", 1)[0];
        server.get("/").expect(200);
        std::fs::read_dir(format!("/proc/{router}/task")).expect("it runs").count()
    };
    let one = threads(json!({ "listen_threads": 1 }));
    assert_eq!(threads(json!({ "listen_threads": 4 })), one + 3);
    let n_processors = std::thread::available_parallelism().expect("there are some").get();
    assert_eq!(threads(json!({})), one + n_processors - 1);
}

/// Options: settings.http.header_read_timeout
#[test]
fn a_head_that_does_not_end_is_given_up() {
    let server = with(json!({ "header_read_timeout": 1 }));
    let mut client = server.connect();
    let started = Instant::now();
    client.write("GET / HTTP/1.1\r\nHost: a\r\nX-Slow");
    client.read_response().expect(408).expect_field("Connection", "close");
    assert!(client.is_closed());
    let elapsed = started.elapsed();
    assert!(elapsed >= Duration::from_millis(900) && elapsed < Duration::from_secs(4), "{elapsed:?}");
}

/// Options: settings.http.body_read_timeout
#[test]
fn a_body_that_does_not_come_is_given_up() {
    let site = site().file("index.php", LENGTH);
    let server = daemon().application(php_app(&site)).http(json!({ "body_read_timeout": 1 })).start();
    let mut client = server.connect();
    client.write("POST /index.php HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123");
    client.read_response().expect(408).expect_field("Connection", "close");
    assert!(client.is_closed());
}

/// Options: settings.http.send_timeout
#[test]
fn a_client_that_does_not_read_is_given_up() {
    let site = site().file("big.bin", vec![7; 64 * 1024 * 1024]);
    let server = daemon()
        .routes(json!([{ "action": { "share": format!("{}$uri", site.root()) } }]))
        .http(json!({ "send_timeout": 1 }))
        .start();
    let mut client = server.connect();
    client.write("GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    let active = || server.control().get("/status").json()["connections"]["active"].as_u64();
    eventually("the connection is at work", || (active() == Some(1)).then_some(()));
    eventually("the connection is given up", || (active() == Some(0)).then_some(()));
    assert!(client.try_read_response_to("GET").is_err(), "the response was cut off");
}

/// Options: settings.http.idle_timeout
#[test]
fn an_idle_connection_is_closed_silently() {
    let server = with(json!({ "idle_timeout": 1 }));
    let mut kept = server.connect();
    kept.get("/").expect(200);
    let mut fresh = server.connect();
    let connections = || server.control().get("/status").json()["connections"].clone();
    let both_wait = || {
        let connections = connections();
        (connections["idle"] == 2 && connections["active"] == 0).then_some(())
    };
    eventually("both connections wait", both_wait);
    let started = Instant::now();
    assert_eq!(kept.read_to_end(), b"", "nothing unsolicited is sent on a kept connection");
    assert_eq!(fresh.read_to_end(), b"", "nor on one that was never used");
    assert!(started.elapsed() < Duration::from_secs(4));
}

/// Options: settings.http.large_header_buffer_size, settings.http.large_header_buffers
#[test]
fn heads_have_a_limit() {
    let with_field_of = |n: usize| Request::get("/").field("X-Long", &"x".repeat(n));
    // One further buffer holds a field, all of them together the head.
    let server = with(json!({ "large_header_buffer_size": 4096, "large_header_buffers": 2 }));
    server.send(&with_field_of(3000)).expect(200);
    server.send(&with_field_of(20_000)).expect(431).expect_field("Connection", "close");
    server.send(&Request::get(&format!("/{}", "a".repeat(20_000)))).expect(431);
    for size in [4096, 16_384] {
        let server = with(json!({ "large_header_buffer_size": size }));
        for (length, status) in [(size - 1, 200), (size, 431)] {
            server.send(&Request::get("/").field("Host", &"a".repeat(length))).expect(status);
        }
    }
    for n in [1, 2, 8] {
        let server = with(json!({ "large_header_buffers": n }));
        let add = |request: Request, n: usize| request.field(&format!("X-{n}"), &"a".repeat(8000));
        server.send(&(0..n).fold(Request::get("/"), add)).expect(200);
        server.send(&(0..=n).fold(Request::get("/"), add)).expect(431);
    }
    let server = with(json!({ "large_header_buffers": 0 }));
    server.send(&with_field_of(1500)).expect(200);
    server.send(&with_field_of(3000)).expect(431);
    let server = with(json!({}));
    server.send(&with_field_of(8000)).expect(200);
    server.send(&with_field_of(40_000)).expect(431);
    let server = with(json!({ "large_header_buffer_size": 65_536 }));
    server.send(&with_field_of(60_000)).expect(200);
}

/// Options: settings.http.max_body_size
#[test]
fn bodies_have_a_limit() {
    let site = site().file("index.php", LENGTH);
    let server = daemon()
        .application(php_app(&site))
        .http(json!({ "max_body_size": 1000, "chunked_transform": true }))
        .start();
    let post = |n: usize| Request::post("/index.php").body("x".repeat(n));
    server.send(&post(1000)).expect(200).expect_body("1000");
    server.send(&post(1001)).expect(413);
    let chunks = |n: usize| {
        let body = format!("{n:x}\r\n{}\r\n0\r\n\r\n", "x".repeat(n));
        Request::post("/index.php").field("Transfer-Encoding", "chunked").body(body)
    };
    server.send(&chunks(1000)).expect(200).expect_body("1000");
    server.send(&chunks(1001)).expect(413);
    let none = with(json!({ "max_body_size": 0 }));
    none.send(&Request::post("/").body("")).expect(200);
    none.send(&Request::post("/").body("x")).expect(413);
    // The default is 8 MiB.
    let head =
        |n: u64| format!("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: {n}\r\n\r\n");
    let default = with(json!({}));
    for (n, status) in [(8_388_608, 200), (8_388_609, 413)] {
        let mut client = default.connect();
        client.write(head(n));
        client.read_response().expect(status);
    }
}

/// Options: settings.http.body_buffer_size, settings.http.body_temp_path
#[test]
fn large_bodies_go_to_files_in_the_folder_that_is_named() {
    let site = site().file("index.php", LENGTH).writable_folder("bodies").writable_folder("closed");
    std::fs::set_permissions(site.path("closed"), std::fs::Permissions::from_mode(0o000))
        .expect("set the mode");
    let serve = |http: Value| daemon().application(php_app(&site)).http(http).start();
    let send = |server: &Daemon, n: usize| server.send(&Request::post("/index.php").body("x".repeat(n)));
    let server = serve(json!({ "body_temp_path": site.path("bodies"), "body_buffer_size": 1000 }));
    send(&server, 1_000_000).expect(200).expect_body("1000000");
    assert_eq!(
        std::fs::read_dir(site.path("bodies")).expect("it is there").count(),
        0,
        "nothing is left behind"
    );
    // Only bodies beyond the buffer need the folder.
    let gone = site.path("no/such/folder");
    let server = serve(json!({ "body_temp_path": gone, "body_buffer_size": 1000 }));
    send(&server, 1000).expect(200);
    send(&server, 1001).expect(500);
    send(&server, 1000).expect(200);
    let server = serve(json!({ "body_temp_path": gone }));
    send(&server, 65_536).expect(200);
    send(&server, 65_537).expect(500);
    if rustix::process::geteuid().is_root() {
        // Only then the router runs as another user.
        let server = serve(json!({ "body_temp_path": site.path("closed") }));
        send(&server, 70_000).expect(500);
    }
    std::fs::set_permissions(site.path("closed"), std::fs::Permissions::from_mode(0o700))
        .expect("set the mode");
}

/// Options: settings.http.server_version
#[test]
fn the_server_field_can_hide_the_version() {
    let server = |http: Value| with(http).get("/").field("Server").expect("a Server field").to_owned();
    assert!(server(json!({})).starts_with("Corral/"));
    assert!(server(json!({ "server_version": true })).starts_with("Corral/"));
    assert_eq!(server(json!({ "server_version": false })), "Corral");
}

/// Options: settings.http.static.mime_types.{type}
#[test]
fn mime_types_can_be_added() {
    let site = site().file("a.foo", "x").file("b.TXT", "x").file("README", "x").file("c.html", "x");
    let types = json!({ "text/x-foo": ".foo", "text/other": [".txt", "README"] });
    let server = daemon()
        .routes(json!([{ "action": { "share": format!("{}$uri", site.root()), "types": ["text/*"] } }]))
        .http(json!({ "static": { "mime_types": types } }))
        .start();
    for (path, expected) in [
        ("/a.foo", "text/x-foo"),
        ("/b.TXT", "text/other"),
        ("/README", "text/other"),
        ("/c.html", "text/html"),
    ] {
        server.get(path).expect(200).expect_field("Content-Type", expected);
    }
}

/// A change of the settings reaches connections that are open.
#[test]
fn settings_can_change_while_connections_wait() {
    let server = with(json!({}));
    let mut client = server.connect();
    client.get("/").expect(200);
    server.control().put("/config/settings/http", &json!({ "server_version": false })).expect_done();
    client.get("/").expect(200).expect_field("Server", "Corral");
}

/// Options: settings.http.websocket.read_timeout, settings.http.websocket.keepalive_interval
/// Options: settings.http.websocket.max_frame_size
#[test]
fn web_socket_settings_are_taken() {
    let websocket = json!({ "read_timeout": 60, "keepalive_interval": 0, "max_frame_size": 1_048_576 });
    let server = with(json!({ "websocket": websocket }));
    assert_eq!(server.control().get("/config/settings/http/websocket").json(), websocket);
}

#[test]
fn settings_are_checked() {
    let server = daemon().start_unconfigured();
    let check = |settings: Value, detail: &str| {
        let reply = server
            .control()
            .put("/config", &json!({ "settings": settings }))
            .expect_refused(400, "Invalid configuration.");
        assert!(reply.contains(detail), "{settings}\n{reply}");
    };
    check(
        json!({ "listen_threads": 0 }),
        "The \"listen_threads\" number must be equal to or greater than 1.",
    );
    check(
        json!({ "listen_threads": 2_147_483_648_u64 }),
        "The \"listen_threads\" number must not exceed 2147483647.",
    );
    for option in [
        "header_read_timeout",
        "body_read_timeout",
        "send_timeout",
        "idle_timeout",
        "large_header_buffer_size",
    ] {
        for value in [-1, 0] {
            let detail = format!("The \"{option}\" number must be equal to or greater than 1.");
            check(json!({ "http": { option: value } }), &detail);
        }
    }
    for option in ["large_header_buffers", "body_buffer_size", "max_body_size"] {
        check(json!({ "http": { option: -1 } }), &format!("The \"{option}\" number must not be negative."));
    }
    for option in ["discard_unsafe_fields", "log_route", "server_version", "chunked_transform"] {
        let detail = format!("The \"{option}\" value must be a boolean, but not an integer number.");
        check(json!({ "http": { option: 1 } }), &detail);
    }
    check(json!({ "http": { "body_temp_path": 1 } }), "The \"body_temp_path\" value must be a string");
    check(json!({ "http": { "websocket": { "read_timeout": 0 } } }), "The \"read_timeout\" number must be");
    check(
        json!({ "http": { "websocket": { "max_frame_size": -1 } } }),
        "The \"max_frame_size\" number must be",
    );
    check(json!({ "http": { "websocket": { "pings": 1 } } }), "Unknown parameter \"pings\".");
    let types = |types: Value| json!({ "http": { "static": { "mime_types": types } } });
    check(types(json!({ "a/b": [1] })), "The \"a/b\" MIME type array must contain only strings.");
    check(types(json!({ "a/b": "" })), "An empty file extension for the \"a/b\" MIME type.");
    check(
        types(json!({ "a/b": ".x", "a/c": [".y", ".x"] })),
        "The \".x\" file extension has been declared for \"a/b\" and \"a/c\" MIME types at the same time.",
    );
}

#[test]
fn the_greatest_and_least_values_are_taken() {
    let server = with(json!({
        "header_read_timeout": 1, "body_read_timeout": 2_147_483, "send_timeout": 1e3, "idle_timeout": 10.0,
        "large_header_buffers": 0, "body_buffer_size": 0, "max_body_size": 99_999_999_999_999_u64,
    }));
    server.get("/").expect(200);
}
