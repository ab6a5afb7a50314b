//! The slowest requests of the last minutes, as the stream of the control API tells of them.

use corral_testkit::{Daemon, Origin, daemon, eventually, php_app, site};
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
            std::thread::sleep(std::time::Duration::from_millis(150));
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
