//! The slowest requests of the last minutes, as the stream of the control API tells of them.

use std::time::{Duration, Instant};

use corral_testkit::{Daemon, Frame, Origin, RawHttp2, Request, daemon, eventually, kind, php_app, site};
use serde_json::{Value, json};

/// The list in the first message of the stream.
fn slow(server: &Daemon) -> Option<Vec<Value>> {
    let mut stream = server.control().try_connect().ok()?;
    stream.write("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.read_until_text("\ndata: ");
    let snapshot: Value = serde_json::from_str(stream.read_until_text("\n").trim()).expect("JSON");
    snapshot["slow"].as_array().cloned()
}

#[test]
fn a_slow_request_is_told_with_where_its_time_went() {
    let site = site().file("index.php", "<?php usleep(150_000); echo 1;");
    let server = daemon().application(php_app(&site).script("index.php").processes(1)).start();
    server.get("/users/42/orders?token=secret").expect(200);
    let one = eventually("it is there", || slow(&server)?.into_iter().next());
    assert_eq!((&one["method"], &one["path"]), (&json!("GET"), &json!("/users/:n/orders")), "{one}");
    assert_eq!((&one["application"], &one["status"]), (&json!("php"), &json!(200)), "{one}");
    assert_eq!(one["listener"], server.address().to_string());
    let seconds = |member: &str| one[member].as_f64().expect("a number");
    assert!(seconds("worker") >= 0.14 && seconds("duration") >= seconds("worker"), "{one}");
    let parts = ["queue", "worker", "upstream", "client"].map(seconds).iter().sum::<f64>();
    assert!((parts - seconds("duration")).abs() < 0.01, "{one}");
    assert!(!one.to_string().contains("secret"), "{one}");
}

#[test]
fn quick_requests_are_not_told_and_slow_servers_are() {
    let origin = Origin::start(|peer| {
        while peer.read_request().is_some() {
            std::thread::sleep(Duration::from_millis(150));
            peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
        }
    });
    let routes = json!([
        { "match": { "uri": "/quick" }, "action": { "return": 204 } }, { "action": { "proxy": origin.url() } },
    ]);
    let server = daemon().routes(routes).start();
    server.get("/quick").expect(204);
    server.get("/slow").expect(200);
    let all = eventually("it is there", || slow(&server).filter(|all| !all.is_empty()));
    let [one] = &all[..] else { panic!("{all:?}") };
    assert_eq!((&one["path"], &one["step"]), (&json!("/slow"), &json!("/routes/1")), "{one}");
    assert!(one["upstream"].as_f64().is_some_and(|seconds| seconds >= 0.14), "{one}");
    assert_eq!((&one["application"], &one["worker"]), (&Value::Null, &json!(0.0)), "{one}");
}

/// A stream of events lasts for as long as its client likes, and would push out what is slow.
#[test]
fn streams_of_events_are_not_slow() {
    let script = "<?php if (isset($_GET['events'])) header('Content-Type: text/event-stream'); usleep(150_000); echo 1;";
    let site = site().file("index.php", script);
    let server = daemon().application(php_app(&site).script("index.php").processes(1)).start();
    server.get("/?events").expect(200);
    server.get("/other").expect(200);
    let all = eventually("it is there", || slow(&server).filter(|all| !all.is_empty()));
    let [one] = &all[..] else { panic!("{all:?}") };
    assert_eq!(one["path"], "/other");
}

/// The setting of HTTP/2 that says how many bytes of a response its client takes at first.
const INITIAL_WINDOW_SIZE: u16 = 4;

/// A client that takes its time for an error page has not waited for the application meanwhile.
#[test]
fn a_slow_client_of_an_error_page_has_not_waited_in_a_queue() {
    let held = "<?php while (!file_exists(__DIR__ . '/release')) { usleep(1000); clearstatcache(); }";
    let site = site().file("index.php", held);
    let app = php_app(&site).script("index.php").processes(1).with("limits", json!({ "queue": 0 }));
    let server = daemon().application(app).start();
    let pass = json!({ "pass": "applications/php", "http2": "prior_knowledge" });
    server.control().put(&format!("/config/listeners/{}", server.address()), &pass).expect_done();
    let mut first = server.begin(&Request::get("/first"));
    eventually("the application is busy", || {
        let active = server.control().get("/status/applications/php/requests/active").json();
        (active == 1).then_some(())
    });
    let mut client = RawHttp2::connect_with(server.address().socket(), &[(INITIAL_WINDOW_SIZE, 0)]);
    client.send(&Frame::get(1, "/second"));
    client.receive_until(|frame| frame.kind == kind::HEADERS);
    let refused = Instant::now();
    eventually("the client has waited", || (refused.elapsed() > Duration::from_millis(300)).then_some(()));
    client.send(&Frame::window_update(1, 10_000));
    client.receive_until(|frame| frame.kind == kind::DATA);
    let one = eventually("it is there", || slow(&server)?.into_iter().next());
    assert_eq!((&one["path"], &one["status"]), (&json!("/second"), &json!(503)), "{one}");
    let seconds = |member: &str| one[member].as_f64().expect("a number");
    assert!(seconds("client") >= 0.25 && seconds("queue") < 0.1, "{one}");
    site.write("release", "");
    first.read_response().expect(200);
}
