//! uWSGI, which speaks both SCGI and uwsgi.

use std::fs::File;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use corral_testkit::{Daemon, Load, PATIENCE, Request, Signal, Site, daemon, signal, site, within};
use serde_json::json;

/// Ended when dropped.
struct Wsgi {
    child: Child,
    site: Site,
}

/// Says what it sees.
const APPLICATION: &str = r#"
import json

def application(environ, start_response):
    body = environ["wsgi.input"].read()
    names = ["REQUEST_METHOD", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING", "CONTENT_LENGTH", "HTTP_X_A", "OWN", "SERVER_PORT"]
    seen = {name: environ.get(name) for name in names}
    status = "404 Not Found" if environ["PATH_INFO"] == "/none" else "200 OK"
    start_response(status, [("Content-Type", "application/json"), ("X-Twice", "1"), ("X-Twice", "2")])
    if environ["PATH_INFO"] == "/large":
        return [b"x" * 65536] * 40
    return [json.dumps({**seen, "body": len(body)}).encode()]
"#;

impl Wsgi {
    /// Starts one that speaks this protocol.
    #[track_caller]
    fn start(protocol: &str) -> Self {
        let site = site().file("app.py", APPLICATION).writable_folder("run");
        let log = File::create(site.path("run/log")).expect("make the log");
        let child = Command::new("/usr/bin/uwsgi")
            .args([
                "--plugin",
                "python3",
                "--need-app",
                "--processes",
                "2",
                "--master",
                "--buffer-size",
                "65535",
            ])
            .args(["--chmod-socket=666", "--die-on-term"])
            .arg(format!("--{protocol}-socket"))
            .arg(site.path("run/socket"))
            .arg("--wsgi-file")
            .arg(site.path("app.py"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("duplicate the log"))
            .stderr(log)
            .spawn()
            .expect("uwsgi starts: scripts/setup test");
        let server = Self { child, site };
        let ready = within(PATIENCE, || UnixStream::connect(server.site.path("run/socket")).ok());
        assert!(ready.is_some(), "uwsgi is not ready\n{}", server.site.read("run/log"));
        server
    }

    fn address(&self) -> String {
        format!("unix:{}", self.site.path("run/socket").display())
    }
}

impl Drop for Wsgi {
    fn drop(&mut self) {
        signal(self.child.id(), Signal::TERM);
        if within(Duration::from_secs(20), || self.child.try_wait().ok().flatten()).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn serve(wsgi: &Wsgi, protocol: &str) -> Daemon {
    let action = json!({ protocol: wsgi.address(), "params": { "OWN": "$method" } });
    daemon().routes(json!([{ "action": action }])).start()
}

#[track_caller]
fn check(protocol: &str) {
    let wsgi = Wsgi::start(protocol);
    let server = serve(&wsgi, protocol);
    let reply = server.send(&Request::post("/a%20b.php/c?d=e").field("X-A", "1").body(vec![b'x'; 300_000]));
    let seen = reply.expect(200).json();
    for (name, value) in [
        ("REQUEST_METHOD", json!("POST")),
        ("SCRIPT_NAME", json!("")),
        ("PATH_INFO", json!("/a b.php/c")),
        ("QUERY_STRING", json!("d=e")),
        ("CONTENT_LENGTH", json!("300000")),
        ("HTTP_X_A", json!("1")),
        ("OWN", json!("POST")),
        ("SERVER_PORT", json!(server.address().port().to_string())),
        ("body", json!(300_000)),
    ] {
        assert_eq!(seen[name], value, "{name} in {seen}");
    }
    let reply = server.get("/").expect(200);
    assert_eq!(reply.all("X-Twice").collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(server.get("/large").expect(200).body.len(), 40 * 65536);
    server.get("/none").expect(404).expect_text("REQUEST_METHOD");
    server.send(&Request::new("HEAD", "/")).expect(200).expect_body("");
    let load = Load::start(server.address().socket(), "/", 4);
    load.await_more(200);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{tally:?}\n{}", server.log());
}

/// Options: …action.scgi
#[test]
fn servers_of_scgi_answer() {
    check("scgi");
}

/// Options: …action.uwsgi
#[test]
fn servers_of_uwsgi_answer() {
    check("uwsgi");
}

#[test]
fn what_does_not_fit_into_a_packet_of_uwsgi_is_refused() {
    let wsgi = Wsgi::start("uwsgi");
    let action = json!({ "uwsgi": wsgi.address(), "params": { "A": "$uri".repeat(16) } });
    let server = daemon().routes(json!([{ "action": action }])).start();
    server.get("/").expect(200);
    server.get(&format!("/{}", "x".repeat(6000))).expect(431);
    server.expect_log("more than the 65535 bytes of a packet");
}

/// Without an action of their own: `pass` hands every path to them.
#[test]
fn an_upstream_of_uwsgi_can_be_passed_to() {
    let wsgi = Wsgi::start("uwsgi");
    let upstreams = json!({ "app": { "servers": { wsgi.address(): {} }, "protocol": "uwsgi" } });
    let routes = json!([{ "action": { "pass": "upstreams/app" } }]);
    let server = daemon().config(json!({ "upstreams": upstreams, "routes": routes })).start();
    assert_eq!(server.get("/x/y").expect(200).json()["PATH_INFO"], json!("/x/y"));
}
