//! Changing the configuration, alone and several at a time.

use std::io::Write as _;
use std::net::Shutdown;
use std::thread;

use corral_config::plan::Assets;

use super::fake_main::Event;
use super::{Server, Setup, encode, read_answer};

const DONE: &str = r#"{"success": "Reconfiguration done."}"#;
const MISSING: &str = r#"{"error": "Value doesn't exist."}"#;
const NOT_ALLOWED: &str = r#"{"error": "Method isn't allowed."}"#;

#[test]
fn documents_are_replaced_read_and_removed() {
    let server = Server::start(Setup::default());
    let document =
        r#"{"listeners": {"unix:@x/y": {"pass": "routes"}}, "routes": [{"action": {"return": 204}}]}"#;
    server.check("PUT", "/config", document, "200 OK", DONE);
    let compact = document.replace(' ', "");
    assert_eq!(
        server.event(),
        Event::Apply {
            generation: 9,
            document: compact,
            n_listeners: 1,
            assets: Assets::default(),
            store: true
        }
    );
    server.check("GET", "/config/", "", "200 OK", document);
    server.check("GET", "/config/listeners/unix:@x%2Fy/pass", "", "200 OK", r#""routes""#);
    server.check("GET", "/config/routes/0/action/return", "", "200 OK", "204");
    server.check("PUT", "/config/routes/0/action/return", "404", "200 OK", DONE);
    server.check("POST", "/config/routes", r#"{"action": {"return": 1e1}}"#, "200 OK", DONE);
    assert_eq!(server.get("/config/routes/1/action").body, "{\r\n\t\"return\": 1e1\r\n}\r\n");
    server.check("DELETE", "/config/routes/0", "", "200 OK", DONE);
    server.check("GET", "/config/routes", "", "200 OK", r#"[{"action": {"return": 1e1}}]"#);
    server.check("DELETE", "/config", "", "200 OK", DONE);
    server.check("GET", "/config", "", "200 OK", "{}");
}

#[test]
fn names_with_special_characters_are_addressed() {
    let server = Server::start(Setup { document: Some(r#"{"routes": {}}"#), ..Setup::default() });
    let listener = r#"{"pass": "routes/a%20b"}"#;
    server.check("PUT", "/config/routes/a%20b", "[]", "200 OK", DONE);
    server.check("PUT", "/config/listeners", "{}", "200 OK", DONE);
    server.check("PUT", "/config/listeners/[::1]:80", listener, "200 OK", DONE);
    server.check("PUT", "/config/listeners/unix:%2Frun%2Fx%25", listener, "200 OK", DONE);
    server.check("PUT", "/config/routes/caf\u{e9}", "[]", "200 OK", DONE);
    server.check("GET", "/config/routes/caf%C3%A9", "", "200 OK", "[]");
    server.check("GET", "/config/listeners/%5B::1%5D:80/pass", "", "200 OK", r#""routes/a%20b""#);
    server.check("DELETE", "/config/listeners/%5B::1%5D:80", "", "200 OK", DONE);
    let expect =
        format!(r#"{{"routes": {{"a b": [], "café": []}}, "listeners": {{"unix:/run/x%": {listener}}}}}"#);
    server.check("GET", "/config", "", "200 OK", &expect);
}

#[test]
fn paths_that_lead_nowhere() {
    let server =
        Server::start(Setup { document: Some(r#"{"routes": [], "access_log": "/x"}"#), ..Setup::default() });
    for method in ["GET", "PUT", "POST", "DELETE"] {
        server.check(method, "/config/a/b", "1", "404 Not Found", MISSING);
        server.check(method, "/config/access_log/x", "1", "404 Not Found", MISSING);
        server.check(method, "/config/routes/1", "1", "404 Not Found", MISSING);
        server.check(method, "/config/%2", "1", "404 Not Found", MISSING);
        server.check(method, "/../config", "1", "404 Not Found", MISSING);
        server.check(method, "/configuration", "1", "404 Not Found", MISSING);
    }
    server.check("POST", "/config", "{}", "405 Method Not Allowed", NOT_ALLOWED);
    server.check("POST", "/config/access_log", "1", "405 Method Not Allowed", NOT_ALLOWED);
    server.check("PATCH", "/config", "{}", "405 Method Not Allowed", NOT_ALLOWED);
    server.check("GET", "/config", "", "200 OK", r#"{"routes": [], "access_log": "/x"}"#);
}

#[test]
fn what_is_refused_changes_nothing() {
    let server = Server::start(Setup { document: Some(r#"{"access_log": "/x"}"#), ..Setup::default() });
    let refused = r#"{"error": "Failed to apply new configuration.", "detail": "bind failed"}"#;
    server.check("PUT", "/config/access_log", r#""/refuse""#, "500 Internal Server Error", refused);
    assert!(matches!(server.event(), Event::Apply { generation: 9, .. }));
    let invalid = server.request("PUT", "/config/access_log", "1");
    assert_eq!(
        (invalid.status(), invalid.text("error").as_str()),
        ("400 Bad Request", "Invalid configuration.")
    );
    server.check("GET", "/config", "", "200 OK", r#"{"access_log": "/x"}"#);
    server.check("PUT", "/config/access_log", r#""/y""#, "200 OK", DONE);
    assert!(
        matches!(server.event(), Event::Apply { generation: 10, .. }),
        "a refused generation is not used again"
    );
}

#[test]
fn readers_do_not_wait_for_a_change_and_changes_do() {
    let server = Server::start(Setup { document: Some("{}"), ..Setup::default() });
    let mut first = server.connect();
    first.write_all(&encode("PUT", "/config/access_log", r#""/hold""#)).unwrap();
    assert!(matches!(server.event(), Event::Apply { .. }));
    server.check("GET", "/config", "", "200 OK", "{}");
    let mut second = server.connect();
    second.write_all(&encode("PUT", "/config/routes", "[]")).unwrap();
    server.check("GET", "/config", "", "200 OK", "{}");
    server.release.send(()).unwrap();
    assert_eq!(read_answer(&mut first).status(), "200 OK");
    let Event::Apply { document, .. } = server.event() else { panic!("the second change is missing") };
    assert_eq!(document, r#"{"access_log":"/hold","routes":[]}"#, "built on the first");
    server.release.send(()).unwrap();
    assert_eq!(read_answer(&mut second).status(), "200 OK");
}

#[test]
fn a_change_outlives_its_client() {
    let server = Server::start(Setup { document: Some("{}"), ..Setup::default() });
    let mut impatient = server.connect();
    impatient.write_all(&encode("PUT", "/config/access_log", r#""/hold""#)).unwrap();
    assert!(matches!(server.event(), Event::Apply { .. }));
    impatient.shutdown(Shutdown::Both).unwrap();
    drop(impatient);
    server.release.send(()).unwrap();
    server.release.send(()).unwrap();
    server.check("PUT", "/config/routes", "[]", "200 OK", DONE);
    server.check("GET", "/config", "", "200 OK", r#"{"access_log": "/hold", "routes": []}"#);
}

#[test]
fn many_changes_at_once_all_come_into_force() {
    let server = Server::start(Setup { document: Some(r#"{"routes": []}"#), ..Setup::default() });
    thread::scope(|scope| {
        for idx in 0..20 {
            let mut stream = server.connect();
            scope.spawn(move || {
                let step = format!(r#"{{"action": {{"return": {idx}}}}}"#);
                stream.write_all(&encode("POST", "/config/routes", &step)).unwrap();
                assert_eq!(read_answer(&mut stream).status(), "200 OK");
            });
        }
    });
    let routes = server.get("/config/routes").json();
    assert_eq!(routes.as_array().map(<[_]>::len), Some(20));
}
