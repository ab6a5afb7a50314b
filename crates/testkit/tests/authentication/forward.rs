//! `forward`: another server is asked, as nginx's `auth_request` and Traefik's forwardAuth do.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use corral_testkit::{Address, Daemon, Origin, Request, Site, daemon, eventually, python_app, site};
use serde_json::{Value, json};

use crate::{endless, guarded};

/// An application in Python, as people write them for `auth_request`.
const GATE: &str = "
import http.server, sys, urllib.parse
class Gate(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        uri, body = self.headers['X-Forwarded-Uri'], b''
        asked = ' '.join([self.path, self.headers['X-Forwarded-Method'], uri, self.headers['X-Forwarded-Host'] or '-',
                          self.headers['X-Forwarded-Proto'], self.headers['X-Forwarded-For'], str(self.headers['Content-Length'])])
        session = self.headers['Cookie'] or ''
        if session.startswith('session='):
            self.send_response(200)
            self.send_header('X-User', session[8:])
            self.send_header('X-Asked', asked)
            self.send_header('X-Roles', 'a')
            self.send_header('X-Roles', 'b')
            body = b'fine'
        elif uri.startswith('/api'):
            self.send_response(401)
            self.send_header('WWW-Authenticate', 'Custom realm=\"gate\"')
            body = b'who are you?'
        elif uri.startswith('/secret'):
            self.send_response(403)
        elif uri.startswith('/broken'):
            self.send_response(500)
        else:
            self.send_response(302)
            self.send_header('Location', '/login?to=' + urllib.parse.quote(uri))
            self.send_header('Set-Cookie', 'a=1')
            self.send_header('Set-Cookie', 'b=2')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments):
        pass
http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Gate).serve_forever()
";

struct Gate {
    address: Address,
    server: Child,
}

impl Gate {
    fn start() -> Self {
        let address = Address::fresh();
        let (ip, port) = (address.socket().ip().to_string(), address.port().to_string());
        let mut command = Command::new("python3");
        command.args(["-c", GATE, &ip, &port]).stdout(Stdio::null());
        let server = command.spawn().expect("Python starts");
        eventually("the gate listens", || std::net::TcpStream::connect(address.socket()).ok());
        Self { address, server }
    }

    fn url(&self) -> String {
        format!("http://{}/check?x=1", self.address)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.server.kill().and_then(|()| self.server.wait()).expect("it ends");
    }
}

fn with_session(request: Request, user: &str) -> Request {
    request.field("Cookie", &format!("session={user}"))
}

/// Options: …action.authenticate.forward, …action.authenticate.forward.url, …action.authenticate.forward.copy_fields,
/// …action.authenticate.forward.user_field
#[test]
fn a_server_decides_who_goes_on() {
    let gate = Gate::start();
    let origin = Origin::echo();
    let forward = json!({ "url": gate.url(), "copy_fields": ["X-Asked", "X-Roles", "X-Absent"],
        "user_field": "X-User" });
    let server = daemon()
        .routes(json!([{ "action": {
            "authenticate": { "forward": forward }, "request_headers": { "X-Name": "$remote_user" },
            "proxy": origin.url()
        } }]))
        .start();
    let request = Request::post("/any?q=1").field("Host", "site.example").body("body");
    let request = request
        .field("X-Forwarded-Method", "DELETE")
        .field("X-Forwarded-Uri", "/api")
        .field("X-Asked", "forged");
    let request = request.field("X-Absent", "forged").field("X-Roles", "root");
    let told = server.send(&with_session(request, "alice")).expect(200).text();
    let expected = "X-Asked: /check?x=1 POST /any?q=1 site.example http 127.0.0.1 None";
    assert!(told.contains(expected) && told.contains("X-Name: alice") && told.ends_with("body"), "{told}");
    assert!(told.contains("X-Roles: a, b") && !told.contains("forged") && !told.contains("root"), "{told}");
    assert!(!told.contains("X-Absent"), "{told}");
}

#[test]
fn its_refusals_are_answers() {
    let gate = Gate::start();
    let server = guarded(&json!({ "forward": { "url": gate.url() } }));
    let reply = server.get("/api/x").expect(401).expect_body("who are you?");
    assert_eq!(reply.field("WWW-Authenticate"), Some("Custom realm=\"gate\""));
    server.get("/secret").expect(403);
    let reply = server.get("/page?a=b").expect(302).expect_field("Location", "/login?to=/page%3Fa%3Db");
    assert_eq!(reply.all("Set-Cookie").collect::<Vec<_>>(), ["a=1", "b=2"]);
    server.get("/broken").expect(502);
    server.expect_log("has answered with status 500");
    // The connection goes on behind a refusal, and behind a request that has no body in its answer.
    let mut client = server.connect();
    for _ in 0..3 {
        client.send(&Request::new("HEAD", "/api/x")).expect(401);
        client.get("/api/x").expect(401);
        client.send(&Request::post("/api/x").body("dropped")).expect(401);
        client.send(&with_session(Request::get("/"), "bob")).expect(200);
    }
    server.get("/open").expect(204);
}

/// Options: …action.authenticate.forward.timeout
#[test]
fn without_an_answer_nobody_goes_on() {
    let hanging = Origin::start(|peer| {
        peer.read_head();
        thread::sleep(Duration::from_secs(20));
    });
    let nonsense = Origin::answering("nonsense");
    let closing = Origin::start(|peer| {
        peer.read_head();
    });
    for (url, status) in [
        (hanging.url(), 504),
        (nonsense.url(), 502),
        (closing.url(), 502),
        ("http://127.0.0.1:1".to_owned(), 502),
    ] {
        let server = guarded(&json!({ "forward": { "url": url, "timeout": 1 } }));
        assert_eq!(server.get("/").status, status, "{url}");
        server.expect_log("no client can be authenticated");
        server.get("/open").expect(204);
    }
}

#[test]
fn a_server_without_an_end_is_given_up() {
    let slow = Origin::start(|peer| {
        peer.read_head();
        while peer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n") {
            thread::sleep(Duration::from_millis(20));
        }
    });
    for (origin, status) in [(endless(), 502), (slow, 504)] {
        let server = guarded(&json!({ "forward": { "url": origin.url(), "timeout": 1 } }));
        server.get("/").expect(status);
        server.get("/open").expect(204);
    }
}

/// Interim responses of the server to the question are not for the client.
#[test]
fn hints_of_the_server_are_not_the_clients() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </secret>\r\n\r\n";
    for answer in ["204 No Content\r\n", "403 Forbidden\r\nContent-Length: 0\r\n"] {
        let origin = Origin::answering(format!("{hints}HTTP/1.1 {answer}\r\n"));
        let server = guarded(&json!({ "forward": { "url": origin.url() } }));
        let mut client = server.connect();
        client.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let text = String::from_utf8_lossy(&client.read_to_end()).into_owned();
        assert!(!text.contains("103") && !text.contains("secret"), "{text}");
    }
}

/// Two of them could be read differently here and there.
#[test]
fn credentials_are_said_once() {
    let (origin, asked) = counting();
    let server = guarded(&json!({ "forward": { "url": origin.url() } }));
    let request = || Request::get("/").field("Authorization", "Bearer a");
    server.send(&request()).expect(200);
    server.send(&request().field("authorization", "Bearer b")).expect(400);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

/// Answers that neither permit nor ask for credentials reach the client nevertheless.
#[test]
fn other_refusals_are_answers_too() {
    for (answer, status) in [
        ("429 Too Many Requests\r\nRetry-After: 7", 429),
        ("404 Not Found", 404),
        ("400 Bad Request", 400),
        ("451 Unavailable For Legal Reasons", 451),
    ] {
        let origin = Origin::answering(format!("HTTP/1.1 {answer}\r\nX-A: b\r\nContent-Length: 2\r\n\r\nno"));
        let server = guarded(&json!({ "forward": { "url": origin.url() } }));
        let reply = server.get("/").expect(status).expect_body("no").expect_field("X-A", "b");
        assert_eq!(reply.field("Retry-After"), (status == 429).then_some("7"));
    }
}

/// A server that counts questions, and lets every request pass.
fn counting() -> (Origin, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let origin = Origin::start(move |peer| {
        while peer.read_head().is_some() {
            counter.fetch_add(1, Ordering::SeqCst);
            if !peer.write(b"HTTP/1.1 204 No Content\r\nX-User: someone\r\n\r\n") {
                return;
            }
        }
    });
    (origin, asked)
}

/// Options: …action.authenticate.forward.cache, …action.authenticate.forward.cache_key
#[test]
fn permissions_are_remembered_for_who_has_them() {
    let (origin, asked) = counting();
    let forward = |cache: u64| {
        json!({ "forward": {
        "url": origin.url(), "user_field": "X-User", "cache": cache, "cache_key": ["Authorization", "X-Session"]
    } })
    };
    let n_asked = |server: &Daemon, request: &Request| {
        let before = asked.load(Ordering::SeqCst);
        for _ in 0..3 {
            server.send(request).expect(200).expect_body("hello someone");
        }
        asked.load(Ordering::SeqCst) - before
    };
    let session = |value: &str| Request::get("/").field("X-Session", value);
    let server = guarded(&forward(60));
    assert_eq!(n_asked(&server, &session("a")), 1);
    assert_eq!(n_asked(&server, &session("a")), 0);
    assert_eq!(n_asked(&server, &session("b")), 1);
    assert_eq!(n_asked(&server, &Request::get("/").field("Authorization", "a")), 1);
    assert_eq!(n_asked(&server, &Request::get("/")), 3, "nobody in particular is not remembered");
    assert_eq!(n_asked(&server, &session("")), 3);
    let server = guarded(&forward(0));
    assert_eq!(n_asked(&server, &session("a")), 3);
    let server = guarded(&forward(1));
    assert_eq!(n_asked(&server, &session("c")), 1);
    eventually("it is forgotten", || (n_asked(&server, &session("c")) > 0).then_some(()));
}

/// Options: …action.authenticate.forward.pass, …action.authenticate.forward.uri
#[test]
fn upstreams_are_asked_and_another_server_when_one_is_down() {
    let (origin, asked) = counting();
    let pass = json!({ "forward": { "pass": "upstreams/gate", "uri": "/check" } });
    let mut config = crate::guarded_config(&pass);
    config["upstreams"] = json!({ "gate": { "servers": { "127.0.0.1:1": {}, origin.address(): {} } } });
    let server = daemon().config(config).start();
    for _ in 0..6 {
        server.get("/").expect(200);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 6);
}

/// A request that is not waited for any more is not with the server any more: `least_connections` and the status would
/// count it for ever.
#[test]
fn a_server_that_hangs_is_not_counted_as_busy_for_ever() {
    let origin = Origin::start(|peer| {
        peer.read_head();
        thread::sleep(Duration::from_secs(10));
    });
    let pass = json!({ "forward": { "pass": "upstreams/gate", "timeout": 1 } });
    let mut config = crate::guarded_config(&pass);
    config["upstreams"] = json!({ "gate": { "servers": { origin.address(): {} } } });
    let server = daemon().config(config).start();
    server.get("/").expect(504);
    let status = server.control().get("/status/upstreams/gate/servers").json();
    assert_eq!(status[origin.address()]["requests"]["active"], 0, "{status}");
}

/// An application of Python, and a route that asks it.
fn asking_an_application(app: &str, forward: &Value) -> (Site, Daemon) {
    let site = site().file("app.py", app);
    let mut config = crate::guarded_config(&json!({ "forward": forward }));
    config["applications"] = json!({ "gate": python_app(&site).value() });
    config["applications"]["gate"]["processes"] = json!(2);
    let server = daemon().config(config).start();
    (site, server)
}

/// Options: …action.authenticate.forward.pass
#[test]
fn an_application_is_asked() {
    let app = r#"
def application(environ, start_response):
    asked = environ["REQUEST_METHOD"] + " " + environ["PATH_INFO"] + "?" + environ["QUERY_STRING"]
    asked += " " + environ["HTTP_X_FORWARDED_METHOD"] + " " + environ["HTTP_X_FORWARDED_URI"]
    asked += " " + environ["REMOTE_ADDR"] + " " + environ["HTTP_HOST"] + " " + environ["wsgi.url_scheme"]
    asked += " " + environ.get("CONTENT_LENGTH", "") + str(len(environ["wsgi.input"].read()))
    ok = environ.get("HTTP_X_KEY") == "right"
    start_response("200 OK" if ok else "403 Forbidden", [("X-User", asked), ("X-Why", "key")])
    return [b"no"]
"#;
    let forward = json!({ "pass": "applications/gate", "uri": "/check?a=b", "user_field": "X-User" });
    let (_site, server) = asking_an_application(app, &forward);
    let send = |key: &str| {
        let request =
            Request::post("/page?x=1").body("body").field("X-Key", key).field("Host", "site.example");
        server.send(&request)
    };
    let asked = "hello GET /check?a=b POST /page?x=1 127.0.0.1 site.example http 0";
    send("right").expect(200).expect_body(asked);
    send("wrong").expect(403).expect_field("X-Why", "key").expect_body("no");
    server.get("/open").expect(204);
}

#[test]
fn an_application_that_fails_lets_nobody_in() {
    let app = r#"
import os, time

def application(environ, start_response):
    what = environ.get("HTTP_X_WHAT")
    if what == "die":
        os._exit(3)
    if what == "sleep":
        time.sleep(30)
    if what == "throw":
        raise ValueError(what)
    start_response(what, [])
    return [b"text" * 100000]
"#;
    let (_site, server) = asking_an_application(app, &json!({ "pass": "applications/gate", "timeout": 1 }));
    let send = |what: &str| server.send(&Request::get("/").field("X-What", what));
    send("204 No Content").expect(200);
    for (what, status) in
        [("die", 503), ("sleep", 504), ("throw", 502), ("404 Not Found", 404), ("500 Oh", 502)]
    {
        send(what).expect(status);
    }
    server.expect_log("applications/gate: no answer within 1s");
    send("200 OK").expect(200);
}

/// Many clients wait for the same application at once, each of which has a place that its question must not wait for.
#[test]
fn questions_wait_for_no_place() {
    let app =
        "def application(environ, start_response):\n    start_response('200 OK', [])\n    return [b'']\n";
    let site = site().file("app.py", app);
    let mut config = crate::guarded_config(&json!({ "forward": { "pass": "applications/gate" } }));
    config["applications"] = json!({ "gate": python_app(&site).value() });
    config["settings"] = json!({ "limits": { "connections": 4 } });
    let server = daemon().config(config).start();
    thread::scope(|scope| {
        for mut client in (0..4).map(|_| server.connect()) {
            scope.spawn(move || (0..20).for_each(|_| drop(client.get("/").expect(200))));
        }
    });
}

/// Options: …action.authenticate.forward.tls, …action.authenticate.forward.tls.verify,
/// …action.authenticate.forward.tls.ca, …action.authenticate.forward.tls.server_name
#[test]
fn servers_over_tls_prove_who_they_are() {
    let authority = corral_testkit::Authority::new("here");
    let bundle = authority.server("localhost", &["localhost"]);
    let origin = Origin::start_tls(&bundle, |peer| {
        while peer.read_head().is_some() && peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") {}
    });
    let server = daemon().start_unconfigured();
    server.control().put_text("/certificates/ours", &authority.bundle().pem()).0.expect(200);
    let ask = |host: &str, tls: Value| {
        let forward =
            json!({ "forward": { "url": format!("https://{host}:{}/", origin.port()), "tls": tls } });
        let config = server.with_listener(crate::guarded_config(&forward));
        server.control().put("/config", &config).expect_done();
        server.get("/").status
    };
    assert_eq!(ask("localhost", json!({})), 502);
    server.expect_log("invalid peer certificate");
    assert_eq!(ask("localhost", json!({ "verify": false })), 200);
    assert_eq!(ask("localhost", json!({ "ca": "ours" })), 200);
    assert_eq!(ask("127.0.0.1", json!({ "ca": "ours" })), 502);
    assert_eq!(ask("127.0.0.1", json!({ "ca": "ours", "server_name": "localhost" })), 200);
}
