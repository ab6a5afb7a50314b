//! Section 19: `/status`.

use corral_testkit::{Daemon, daemon, eventually, php_app, site};
use serde_json::{Value, json};

use crate::tool::Tool;

/// `/status` once the client's connection waits and its request is over for the application too: the client
/// has its reply before either is counted.
fn at_rest(server: &Daemon) -> Value {
    eventually("connections and workers are idle", || {
        let status = server.control().get("/status").json();
        let at_rest = status["connections"]["active"] == 0
            && status["applications"]["php"]["requests"]["active"] == 0
            && status["applications"]["php"]["processes"]["idle"] == 2;
        at_rest.then_some(status)
    })
}

#[test]
fn the_figures_have_unit_s_shape() {
    let site = site().file("index.php", "<?php echo 1;");
    let server = daemon().application(php_app(&site).processes(2)).start();
    let mut client = server.connect();
    client.get("/").expect(200);
    let status = at_rest(&server);
    let members: Vec<_> = status.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(members[..4], ["modules", "connections", "requests", "applications"]);
    assert!(status["modules"]["php"]["version"].is_string() && status["modules"]["php"]["lib"].is_string());
    let connections = json!({ "accepted": 1, "active": 0, "idle": 1, "closed": 0 });
    assert_eq!(status["connections"], connections);
    assert_eq!(status["requests"], json!({ "total": 1 }));
    let app = &status["applications"]["php"];
    assert_eq!(app["processes"], json!({ "running": 2, "starting": 0, "idle": 2 }));
    assert_eq!(app["requests"]["active"], 0);
    drop(client);
    assert_eq!(server.control().get("/status/applications/php/processes/running").json(), 2);
    assert_eq!(server.control().get("/status/requests/total").json(), 1);
    server.control().get("/status/nothing").expect_refused(404, "Invalid path.");
}

#[test]
fn every_configured_application_is_listed() {
    let site = site().file("index.php", "<?php echo 1;");
    let spare = json!({ "max": 2, "spare": 0 });
    let server = daemon().application(php_app(&site).with("processes", spare)).start();
    let idle =
        json!({ "processes": { "running": 0, "starting": 0, "idle": 0 }, "requests": { "active": 0 } });
    assert_eq!(server.control().get("/status/applications").json(), json!({ "php": idle }));
}

#[test]
fn status_counts() {
    let site = site().file("index.php", "<?php echo 'x';");
    let server = daemon().application(php_app(&site).processes(3)).start();
    let mut client = server.connect();
    for _ in 0..5 {
        client.get("/").expect(200);
    }
    let status = eventually("worker and connection are idle again", || {
        let status = server.control().get("/status").json();
        let workers = &status["applications"]["php"]["processes"];
        (workers["idle"] == 3 && status["connections"]["idle"] == 1).then_some(status)
    });
    assert!(status["requests"]["total"].as_u64() >= Some(5), "{status:#}");
    assert_eq!(status["connections"]["active"], 0, "{status:#}");
    let app = &status["applications"]["php"];
    assert_eq!(app["processes"], json!({ "running": 3, "starting": 0, "idle": 3 }), "{status:#}");
    assert_eq!(app["requests"]["active"], 0, "{status:#}");
    assert_eq!(
        status["modules"]["php"]["version"].as_str().map(|version| version.starts_with("8.")),
        Some(true)
    );
    assert_eq!(server.control().get("/status/applications/php/processes/running").json(), 3);
    server.control().get("/status/nope").expect_refused(404, "Invalid path.");
}

#[test]
fn applications_tell_their_requests_and_memory() {
    let script = "<?php if (isset($_GET['slow'])) usleep(50_000); http_response_code((int) ($_GET['s'] ?? 200)); echo 'x';";
    let site = site().file("index.php", script);
    let server = daemon().application(php_app(&site).script("index.php").processes(2)).start();
    let mut client = server.connect();
    for target in ["/", "/?s=404", "/?s=500", "/?slow"] {
        client.get(target);
    }
    let status = at_rest(&server);
    let app = &status["applications"]["php"];
    assert_eq!((&app["requests"]["total"], &app["requests"]["failed"]), (&json!(4), &json!(1)), "{status:#}");
    assert!(
        app["requests"]["duration_ms"].as_u64().is_some_and(|time| (45..5000).contains(&time)),
        "{status:#}"
    );
    assert!(app["memory"].as_u64().is_some_and(|memory| memory > 1 << 18), "{status:#}");
    let words = Tool::new(&["status", "--control", &server.control_address()]).output();
    assert!(words.contains("application   php: 2 processes running"), "{words}");
    assert!(words.contains("4 requests, 1 failed, "), "{words}");
    assert!(words.contains(" MiB of memory\n"), "{words}");
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    /// A request counts from its first byte on, whatever becomes of it; blank lines are none.
    #[test]
    fn requests_count_when_they_begin() {
        let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
        let figures = || {
            let status = server.control().get("/status").json();
            (status["requests"]["total"].clone(), status["connections"].clone())
        };
        let expected = |total: u64, active: u64, idle: u64, closed: u64| {
            let accepted = active + idle + closed;
            let connections =
                json!({ "accepted": accepted, "active": active, "idle": idle, "closed": closed });
            (json!(total), connections)
        };
        let expect = |total: u64, active: u64, idle: u64, closed: u64| {
            let expected = expected(total, active, idle, closed);
            eventually(&format!("the figures are {expected:?}"), || (figures() == expected).then_some(()));
        };
        let mut client = server.connect();
        expect(0, 0, 1, 0);
        client.write("\r\nG");
        expect(1, 1, 0, 0);
        client.write("ET / HTTP/1.1\r\nHost: a\r\n\r\n");
        client.read_response().expect(200);
        // A client that has its reply finds itself counted.
        assert_eq!(figures(), expected(1, 0, 1, 0));
        client.write("nonsense\r\n\r\n");
        client.read_response().expect(400);
        drop(client);
        expect(2, 0, 0, 1);
        let mut client = server.connect();
        client.write(
            "GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        );
        client.read_response().expect(200);
        client.read_response().expect(200);
        assert!(client.is_closed());
        assert_eq!(figures(), expected(4, 0, 0, 2));
    }
}
