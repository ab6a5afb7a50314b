//! Newer changes that take the place of older ones.

use std::io::Write as _;
use std::os::unix::net::UnixStream;

use corral_config::json;

use super::fake_main::Event;
use super::{Response, Server, Setup, encode, read_answer};

const SLOW: &str = r#"{"access_log": "/slow"}"#;
const SUPERSEDED: &str = "409 Conflict";

impl Server {
    /// Sends a request whose answer is read later.
    fn ask(&self, method: &str, target: &str, body: &str) -> UnixStream {
        self.ask_if(method, target, body, "")
    }

    /// As `ask`, with more fields.
    fn ask_if(&self, method: &str, target: &str, body: &str, fields: &str) -> UnixStream {
        let request = String::from_utf8(encode(method, target, body)).unwrap();
        let mut stream = self.connect();
        let request = request.replacen("\r\n", &format!("\r\n{fields}"), 1);
        stream.write_all(request.as_bytes()).unwrap();
        // The next answer is that of a later request: this one has been read by then.
        self.get("/config");
        stream
    }

    /// The document that main is asked for next.
    #[track_caller]
    fn applied(&self) -> String {
        let event = self.event();
        let Event::Apply { document, .. } = event else { panic!("{event:?}") };
        document
    }

    #[track_caller]
    fn expect_revocation(&self) {
        let event = self.event();
        assert!(matches!(event, Event::Revoke(_)), "{event:?}");
    }
}

fn slow(document: &'static str) -> Server {
    Server::start(Setup { document: Some(document), ..Setup::default() })
}

#[track_caller]
fn expect(mut stream: UnixStream, status: &str) -> Response {
    let answer = read_answer(&mut stream);
    assert_eq!(answer.status(), status, "{answer:?}");
    answer
}

/// While a change that sets the access log to `/slow` by `older` goes on, `newer` follows: whether it takes its place.
#[track_caller]
fn check(older: (&str, &str, &str), newer: (&str, &str, &str), supersedes: bool) {
    let server = slow(r#"{"routes": [], "applications": {}}"#);
    let first = server.ask(older.0, older.1, older.2);
    assert!(server.applied().contains("/slow"));
    let second = server.ask(newer.0, newer.1, newer.2);
    if supersedes {
        server.expect_revocation();
        expect(first, SUPERSEDED);
        return drop(expect(second, "200 OK"));
    }
    // Main would have been told by now.
    let whole = server.ask("DELETE", "/config", "");
    server.expect_revocation();
    expect(first, SUPERSEDED);
    expect(whole, "200 OK");
}

#[test]
fn what_is_replaced_at_once_is_not_waited_for() {
    let older = ("PUT", "/config/access_log", r#""/slow""#);
    check(older, ("PUT", "/config/access_log", r#""/x""#), true);
    check(older, ("PUT", "/config", "{}"), true);
    check(older, ("DELETE", "/config", ""), true);
    check(older, ("DELETE", "/config/access_log", ""), true);
    check(("PUT", "/config", SLOW), ("PUT", "/config", "{}"), true);
    let step = r#"{"action": {"share": "/slow"}}"#;
    check(("POST", "/config/routes", step), ("PUT", "/config/routes", "[]"), true);
    check(
        ("PUT", "/config/routes/0", step),
        ("PUT", "/config/routes/0", r#"{"action": {"return": 200}}"#),
        true,
    );
}

#[test]
fn what_is_not_replaced_as_a_whole_goes_on() {
    let older = ("PUT", "/config/access_log", r#""/slow""#);
    check(older, ("PUT", "/config/routes", "[]"), false);
    check(older, ("PUT", "/config/access_log/path", r#""/x""#), false);
    check(older, ("PUT", "/config/access_log?dry_run=true", r#""/x""#), false);
    check(older, ("PUT", "/config?dry_run=true", "{}"), false);
    check(older, ("PUT", "/config/access_log", "7"), false);
    check(older, ("PUT", "/config", r#"{"nonsense": 1}"#), false);
    check(("PUT", "/config", SLOW), ("DELETE", "/config/access_log", ""), false);
    let step = r#"{"action": {"share": "/slow"}}"#;
    check(("POST", "/config/routes", step), ("POST", "/config/routes", step), false);
    check(("PUT", "/config/routes/0", step), ("DELETE", "/config/routes/0", ""), false);
    check(("POST", "/config/routes", step), ("PUT", "/config/routes/0", step), false);
}

#[test]
fn the_reply_says_what_has_happened_and_only_the_newest_is_in_force() {
    let server = slow(r#"{"routes": []}"#);
    let first = server.ask("PUT", "/config/access_log", r#""/slow/1""#);
    server.applied();
    let second = server.ask("PUT", "/config/access_log", r#""/slow/2""#);
    server.expect_revocation();
    assert!(server.applied().contains("/slow/2"));
    let elsewhere = server.ask("PUT", "/config/settings", "{}");
    let third = server.ask("PUT", "/config/access_log", r#""/x""#);
    let reply = expect(first, SUPERSEDED);
    assert_eq!(reply.text("error"), "The change was superseded.");
    assert!(reply.text("detail").contains("newer change"), "{reply:?}");
    expect(second, SUPERSEDED);
    expect(elsewhere, "200 OK");
    expect(third, "200 OK");
    server.check("GET", "/config", "", "200 OK", r#"{"routes": [], "settings": {}, "access_log": "/x"}"#);
}

#[test]
fn one_that_waits_is_superseded_before_its_turn() {
    let server = slow("{}");
    let older = server.ask("PUT", "/config/access_log", r#""/slow""#);
    server.applied();
    let waiting = server.ask("PUT", "/config/routes", "[]");
    let newer = server.ask("PUT", "/config/routes", r#"[{"action": {"return": 204}}]"#);
    expect(waiting, SUPERSEDED);
    expect(server.ask("DELETE", "/config/access_log", ""), "200 OK");
    expect(older, SUPERSEDED);
    expect(newer, "200 OK");
    server.check("GET", "/config", "", "200 OK", r#"{"routes": [{"action": {"return": 204}}]}"#);
}

#[test]
fn what_cannot_be_taken_back_any_more_is_in_force_first() {
    let server = slow("{}");
    let older = server.ask("PUT", "/config/access_log", r#""/late""#);
    server.applied();
    let newer = server.ask("DELETE", "/config/access_log", "");
    server.expect_revocation();
    expect(older, "200 OK");
    assert_eq!(server.applied(), "{}", "made after it");
    expect(newer, "200 OK");
}

#[test]
fn the_removal_of_what_was_about_to_be_added_is_done() {
    let server = slow("{}");
    let older = server.ask("PUT", "/config/access_log", r#""/slow""#);
    server.applied();
    let newer = server.ask("DELETE", "/config/access_log", "");
    expect(older, SUPERSEDED);
    let reply = expect(newer, "200 OK");
    assert!(reply.head.contains(&format!("Etag: {}", tag(&server))), "{reply:?}");
    server.check("DELETE", "/config/access_log", "", "404 Not Found", r#"{"error": "Value doesn't exist."}"#);
}

fn tag(server: &Server) -> String {
    let head = server.get("/config").head;
    let line = head.lines().find_map(|line| line.strip_prefix("Etag: ").or(line.strip_prefix("ETag: ")));
    line.expect("there is a tag").to_owned()
}

#[test]
fn a_condition_that_does_not_hold_leaves_the_older_one_alone() {
    let server = slow("{}");
    let tag = tag(&server);
    let older = server.ask("PUT", "/config/access_log", r#""/slow""#);
    server.applied();
    let other = server.ask_if("PUT", "/config/access_log", r#""/x""#, "If-Match: \"other\"\r\n");
    let absent = server.ask_if("PUT", "/config/access_log", r#""/x""#, "If-Match: *\r\n");
    let newer = server.ask_if("PUT", "/config/access_log", r#""/y""#, &format!("If-Match: {tag}\r\n"));
    server.expect_revocation();
    expect(older, SUPERSEDED);
    expect(other, SUPERSEDED);
    expect(absent, SUPERSEDED);
    expect(newer, "200 OK");
    // Its condition is looked at again when its turn comes.
    let older = server.ask("PUT", "/config/access_log", r#""/late""#);
    while !server.applied().contains("/late") {}
    let newer = server.ask_if(
        "PUT",
        "/config/access_log",
        r#""/z""#,
        &format!("If-Match: {}\r\n", self::tag(&server)),
    );
    expect(older, "200 OK");
    expect(newer, "412 Precondition Failed");
}

#[test]
fn a_restart_is_superseded_by_a_change_of_its_application() {
    let server = slow(r#"{"applications": {"slow": {"type": "php", "root": "/"}}}"#);
    let restart = server.ask("POST", "/control/applications/slow/restart", "");
    assert_eq!(server.event(), Event::Restart("slow".to_owned()));
    let elsewhere = server.ask("PUT", "/config/routes", "[]");
    let newer = server.ask("DELETE", "/config/applications/slow", "");
    server.expect_revocation();
    expect(restart, SUPERSEDED);
    expect(elsewhere, "200 OK");
    expect(newer, "200 OK");
    server.check("GET", "/config", "", "200 OK", r#"{"applications": {}, "routes": []}"#);
}

#[test]
fn the_replies_are_described() {
    let server = slow("{}");
    let description = server.get("/openapi.json").json();
    for (path, method, is_there) in [
        ("/config", "put", true),
        ("/config/{path}", "delete", true),
        ("/control/applications/{name}/restart", "post", true),
        ("/config", "get", false),
        ("/certificates/{name}", "put", false),
    ] {
        let path: Vec<_> =
            ["paths", path, method, "responses", "409"].into_iter().map(json::Bytes::from).collect();
        assert_eq!(json::edit::get(&description, &path).is_ok(), is_there, "{path:?}");
    }
}
