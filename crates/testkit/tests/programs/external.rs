//! Applications that were written for Unit's `external` type, with the packages that take the place of Unit's.

use corral_testkit::{Daemon, Load, Request, Site, WebSocket, daemon, eventually, site};
use serde_json::{Value, json};

use crate::packages::packages;
use crate::{merge, pid_of_path, program, with_app};

/// An application of Node.js that the loaders serve.
pub(crate) fn unit(name: &str, members: Value) -> (Site, Value) {
    let site = program(name).copy_parts_of(&packages(), &["node_modules"]);
    let arguments =
        ["node", "--no-warnings", "--loader", "unit-http/loader.mjs", "--require", "unit-http/loader", name];
    let mut app = json!({
        "type": "external", "executable": "/usr/bin/env", "arguments": arguments, "working_directory": site.root()
    });
    merge(&mut app, members);
    (site, app)
}

#[test]
fn a_request_is_what_the_client_has_sent() {
    let (_site, app) = unit("unit.mjs", json!({}));
    let server = with_app(&app).start();
    let own = json!({ "family": "IPv4", "address": "127.0.0.1", "port": 80 });
    let request = Request::post("/path?x=1").field("Host", "example.com").field("X-Own", "1").body("body");
    let seen = server.send(&request.field("Corral-Client", "for=\"192.0.2.66\"")).expect(200).json();
    assert_eq!(
        (&seen["method"], &seen["url"], &seen["address"]),
        (&json!("POST"), &json!("/path?x=1"), &own)
    );
    assert_eq!((&seen["remoteAddress"], &seen["encrypted"]), (&json!("127.0.0.1"), &json!(false)));
    assert_eq!(
        (&seen["localAddress"], &seen["localPort"]),
        (&json!(server.address().socket().ip().to_string()), &json!(server.address().port()))
    );
    assert_eq!(
        seen["headers"],
        json!({ "host": "example.com", "x-own": "1", "content-length": "4" }),
        "nothing is added, and nobody can speak for Corral"
    );
}

/// The application sees the client that trusted proxies name, request by request, on one connection.
#[test]
fn the_client_s_address_is_the_one_that_corral_goes_by() {
    let (_site, app) = unit("unit-express.js", json!({}));
    let server = with_app(&app).start();
    let forwarded =
        json!({ "source": "127.0.0.0/8", "client_ip": "X-Forwarded-For", "protocol": "X-Forwarded-Proto" });
    let listener = json!({ "pass": "applications/app", "forwarded": forwarded });
    server
        .control()
        .put("/config/listeners", &json!({ server.address().to_string(): listener }))
        .expect_done();
    let mut client = server.connect();
    for address in ["192.0.2.1", "2001:db8::7"] {
        let request =
            Request::get("/client").field("X-Forwarded-For", address).field("X-Forwarded-Proto", "https");
        let seen = client.send(&request).expect(200).json();
        assert_eq!(seen, json!({ "address": address, "later": address, "secure": true }));
    }
}

#[test]
fn express_is_served_by_the_loader() {
    let (_site, app) = unit("unit-express.js", json!({ "processes": 2 }));
    let server = with_app(&app).start();
    server.get("/").expect(200).expect_body("hello from Express");
    let order = Request::post("/json").field("Content-Type", "application/json").body(r#"{"n": [1, 2]}"#);
    assert_eq!(server.send(&order).expect(201).json(), json!({ "got": { "n": [1, 2] } }));
    server.get("/error").expect(500);
    let load = Load::start(server.address().socket(), "/", 4);
    load.await_more(50);
    server.control().get("/control/applications/app/restart").0.expect(200);
    load.await_more(50);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{} good, but {:?}", tally.n_good, tally.failures);
}

#[test]
fn a_crash_costs_one_request() {
    let (_site, app) = unit("unit.mjs", json!({}));
    let server = with_app(&app).start();
    let pid = pid_of_path(&server, "/pid");
    server.get("/crash").expect(503);
    eventually("another process serves", || {
        let reply = server.get("/pid");
        (reply.status == 200 && reply.text() != format!("hello from {pid}")).then_some(())
    });
}

/// Node.js alone would throw, and the exception would not be caught.
#[test]
fn what_is_said_of_a_response_too_late_is_lost_and_logged_once() {
    let (_site, mut app) = unit("unit.mjs", json!({}));
    // What is of no use is told as a warning of Node.js, too.
    app["arguments"].as_array_mut().expect("it is a list").retain(|argument| argument != "--no-warnings");
    let server = with_app(&app).start();
    for _ in 0..3 {
        let reply = server.get("/write-first").expect(200).expect_body("written first");
        assert_eq!(reply.field("X-Late"), None);
    }
    let said = "unit-http: the head of a response was sent before";
    server.expect_log(said);
    server.expect_log("unit-http: options of the server that have no effect");
    server.get("/pid").expect(200);
    assert_eq!(server.log().matches(said).count(), 1);
}

/// A WebSocket, open, with what it was greeted with.
#[track_caller]
pub(crate) fn open_web_socket(server: &Daemon) -> WebSocket {
    let mut socket = WebSocket::open(server.connect(), &WebSocket::request("/chat"));
    socket.expect_text("127.0.0.1 at /chat");
    socket
}

#[track_caller]
fn expect_echo(socket: &mut WebSocket) {
    socket.send_text("Hello");
    socket.expect_text("Hello");
}

/// WebSockets do not count as requests: they leave room for these, and the process waits for them at its end.
///
/// Options: applications.{N}.concurrency
#[test]
fn web_sockets_hold_a_process_but_none_of_its_hands() {
    let (_site, app) = unit("unit.mjs", json!({ "concurrency": 1 }));
    let server = with_app(&app).start();
    let mut clients = [open_web_socket(&server), open_web_socket(&server)];
    clients.iter_mut().for_each(expect_echo);
    let pid = pid_of_path(&server, "/pid");
    assert_eq!(server.control().get("/status/applications/app/requests/active").json(), 0);
    server.control().get("/control/applications/app/restart").0.expect(200);
    assert_ne!(pid_of_path(&server, "/pid"), pid);
    clients.iter_mut().for_each(expect_echo);
    assert!(server.named("node").contains(&pid));
    drop(clients);
    eventually("the old process has ended", || (!server.named("node").contains(&pid)).then_some(()));
    server.get("/pid").expect(200);
}

/// After as many requests as it may have, a process stays for its WebSockets.
///
/// Options: applications.{N}.limits.requests
#[test]
fn a_process_that_has_had_its_requests_keeps_its_web_sockets() {
    let (_site, app) = unit("unit.mjs", json!({ "limits": { "requests": 2 } }));
    let server = with_app(&app).start();
    let mut client = open_web_socket(&server);
    let pid = pid_of_path(&server, "/pid");
    server.get("/pid").expect(200);
    eventually("another process serves", || (pid_of_path(&server, "/pid") != pid).then_some(()));
    expect_echo(&mut client);
    drop(client);
    eventually("the old process has ended", || (!server.named("node").contains(&pid)).then_some(()));
}

#[track_caller]
fn refusal(members: Value) -> String {
    let server = daemon().start_unconfigured();
    let mut app = json!({ "type": "external" });
    merge(&mut app, members);
    let reply = server.control().put("/config", &json!({ "applications": { "app": app } }));
    reply.expect_refused(500, "Failed to apply new configuration.")
}

/// Options: applications.{N}.arguments[]
#[test]
fn who_does_not_use_a_package_learns_what_to_do() {
    let advice = "needs Corral's package \"unit-http\" or \"unit.nginx.org/go\" in place of Unit's";
    let sleeps = json!({ "executable": "/bin/sleep", "arguments": ["1000"], "ready": { "timeout": 1 } });
    let detail = refusal(sleeps);
    assert!(detail.contains("it accepts nothing on descriptor 3") && detail.contains(advice), "{detail}");
    let site = site().file("app.js", "require('unit-http')");
    let missing = json!({ "executable": "/usr/bin/env", "arguments": ["node", "app.js"],
        "working_directory": site.root() });
    let detail = refusal(missing);
    assert!(detail.contains("exited with code 1 before it was ready"), "{detail}");
    assert!(detail.contains(advice) && detail.contains("Cannot find module 'unit-http'"), "{detail}");
}

#[test]
fn an_executable_is_not_looked_for() {
    let detail = refusal(json!({ "executable": "node" }));
    assert!(detail.contains("the executable \"./node\"") && detail.contains("No such file"), "{detail}");
}
