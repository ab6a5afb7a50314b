//! `/config/history`: what is noted of changes, and going back.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::thread;

use corral_config::json::{self, Value};
use corral_ipc::history::StoredConfiguration;
use corral_ipc::message::{ChangeOrigin, ConfigFiles, Inserted};

use super::fake_main::Event;
use super::{Server, Setup, encode, read_answer};

const DONE: &str = r#"{"success": "Reconfiguration done."}"#;

fn starting_with(document: &'static str) -> Server {
    Server::start(Setup { document: Some(document), ..Setup::default() })
}

/// A member of each entry of the list, newest first; texts have quotes.
fn listed(server: &Server, member: &str) -> Vec<String> {
    let list = server.get("/config/history").json();
    let text = |entry: &Value| entry.member(member).map(|value| String::from_utf8(value.compact()).unwrap());
    list.as_array().unwrap().iter().map(|entry| text(entry).unwrap_or_default()).collect()
}

fn own_name() -> String {
    let uid = rustix::process::geteuid().as_raw();
    corral_sys::user::user_by_uid(uid).map_or_else(|_| format!("user {uid}"), |user| user.name)
}

#[test]
fn changes_are_noted_with_author_comment_and_places() {
    let server = starting_with("{}");
    server.check("PUT", "/config/access_log?comment=more%20logs", r#""/x""#, "200 OK", DONE);
    server.check("PUT", "/config/routes", "[]", "200 OK", DONE);
    server.check("DELETE", "/config/access_log", "", "200 OK", DONE);
    assert_eq!(listed(&server, "id"), ["4", "3", "2", "1"]);
    assert_eq!(listed(&server, "in_force"), ["true", "false", "false", "false"]);
    assert_eq!(
        listed(&server, "changed"),
        [
            r#"["/access_log"]"#,
            r#"["/routes"]"#,
            r#"["/access_log"]"#,
            r#"["/listeners","/routes","/applications"]"#
        ]
    );
    assert_eq!(listed(&server, "comment"), ["", "", r#""more logs""#, ""]);
    let own = format!("\"{}, by the control socket\"", own_name());
    let authors = listed(&server, "author");
    assert_eq!(authors, [own.as_str(), own.as_str(), own.as_str(), "\"stored at the start\""]);
    let third = server.get("/config/history/3").json();
    assert_eq!(third.member("config").unwrap().compact(), br#"{"access_log":"/x","routes":[]}"#);
    assert_eq!(third.member("bytes").unwrap().compact(), b"31");
}

#[test]
fn what_changes_nothing_is_not_noted() {
    let server = starting_with(r#"{"routes": []}"#);
    server.check("PUT", "/config/routes", "[]", "200 OK", DONE);
    assert_eq!(server.request("PUT", "/config/access_log?dry_run=true", "\"/x\"").status(), "200 OK");
    assert_eq!(
        server.request("PUT", "/config/access_log", "\"/refuse\"").status(),
        "500 Internal Server Error"
    );
    assert_eq!(server.request("PUT", "/config/nonsense", "1").status(), "400 Bad Request");
    assert_eq!(server.request("PUT", "/config/routes?comment=%ff", "[1]").text("error"), "Invalid query.");
    assert_eq!(listed(&server, "id"), ["1"]);
}

#[test]
fn an_earlier_configuration_comes_into_force_again() {
    let server = starting_with(r#"{"routes": []}"#);
    server.check("PUT", "/config/access_log", r#""/x""#, "200 OK", DONE);
    server.check("POST", "/config/history/1?comment=back", "", "200 OK", DONE);
    server.check("GET", "/config", "", "200 OK", r#"{"routes": []}"#);
    assert_eq!(listed(&server, "id"), ["3", "2", "1"]);
    assert_eq!(listed(&server, "comment"), [r#""back""#, "", ""]);
    assert_eq!(listed(&server, "changed")[0], r#"["/access_log"]"#);
    let tags = listed(&server, "tag");
    assert!(tags[0] == tags[2] && tags[0] != tags[1], "{tags:?}");
    let stored: Vec<_> = server.heard.history.try_iter().map(|one| one.id).collect();
    assert_eq!(stored, [1, 2, 3]);
    assert!(matches!(server.event(), Event::Apply { store: true, .. }));
    let Event::Apply { document, store, .. } = server.event() else { panic!("the undo is missing") };
    assert_eq!((document.as_str(), store), (r#"{"routes":[]}"#, true));
}

#[test]
fn going_back_honours_conditions_and_dry_runs() {
    let server = starting_with(r#"{"routes": []}"#);
    server.check("PUT", "/config/access_log", r#""/x""#, "200 OK", DONE);
    let [new, old] = listed(&server, "tag").try_into().unwrap();
    let undo = |field: &str| {
        let head =
            format!("POST /config/history/1 HTTP/1.1\r\nHost: x\r\n{field}\r\nContent-Length: 0\r\n\r\n");
        server.raw(head.as_bytes()).status().to_owned()
    };
    let tag = |text: &str| json::parse(text.as_bytes()).unwrap().as_bytes().unwrap().to_string();
    assert_eq!(undo(&format!("If-Match: {}", tag(&old))), "412 Precondition Failed");
    let tried = server.request("POST", "/config/history/1?dry_run=true", "");
    assert!(tried.text("success").contains("nothing has been changed"), "{tried:?}");
    assert_eq!(listed(&server, "id"), ["2", "1"]);
    assert_eq!(undo(&format!("If-Match: {}", tag(&new))), "200 OK");
    assert_eq!(listed(&server, "id"), ["3", "2", "1"]);
}

#[test]
fn other_paths_and_methods_have_their_replies() {
    let server = starting_with(r#"{"routes": []}"#);
    let missing = r#"{"error": "Value doesn't exist."}"#;
    for path in ["2", "0", "01", "x", "-1", "4294967296", "1/config"] {
        server.check("GET", &format!("/config/history/{path}"), "", "404 Not Found", missing);
        server.check("POST", &format!("/config/history/{path}"), "1", "404 Not Found", missing);
    }
    let not_allowed = r#"{"error": "Method isn't allowed."}"#;
    for (method, path) in
        [("PUT", "/config/history"), ("POST", "/config/history"), ("DELETE", "/config/history/1")]
    {
        server.check(method, path, "{}", "405 Method Not Allowed", not_allowed);
    }
    let head = server.raw(b"HEAD /config/history HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!((head.status(), head.body.as_str()), ("200 OK", ""));
}

#[test]
fn a_start_goes_on_with_what_was_noted() {
    let first = starting_with(r#"{"routes": []}"#);
    first.check("PUT", "/config/access_log", r#""/x""#, "200 OK", DONE);
    let stored: Vec<_> = first.heard.history.try_iter().collect();
    let with = |document: &'static str, origin: ChangeOrigin, history: Vec<StoredConfiguration>| {
        Server::start(Setup { document: Some(document), origin, history, ..Setup::default() })
    };
    const NEWEST: &str = r#"{"routes": [], "access_log": "/x"}"#;
    for origin in [ChangeOrigin::Stored, ChangeOrigin::InForce] {
        let second = with(NEWEST, origin, stored.clone());
        assert_eq!(listed(&second, "in_force"), ["true", "false"], "{origin:?}");
        let third = with(r#"{"routes": [], "access_log": "/y"}"#, origin, stored.clone());
        assert_eq!(listed(&third, "id"), ["3", "2", "1"], "{origin:?}");
        assert_eq!(listed(&third, "changed")[0], r#"["/access_log"]"#);
        assert_eq!(third.heard.history.try_iter().count(), 1);
    }
    let mut broken = stored;
    broken[1].bytes.pop();
    let fourth = with(NEWEST, ChangeOrigin::Stored, broken);
    assert_eq!(listed(&fourth, "id"), ["3", "1"]);
    fourth.check("POST", "/config/history/2", "", "404 Not Found", r#"{"error": "Value doesn't exist."}"#);
}

#[test]
fn a_full_disk_does_not_stop_a_change() {
    let server = starting_with(r#"{"routes": []}"#);
    server.check("PUT", "/config/access_log", r#""/full""#, "200 OK", DONE);
    server.check("GET", "/config/access_log", "", "200 OK", r#""/full""#);
    assert_eq!(listed(&server, "in_force"), ["true", "false"]);
}

#[test]
fn changes_at_once_are_all_noted() {
    let server = starting_with(r#"{"routes": []}"#);
    thread::scope(|scope| {
        for idx in 0..10 {
            let mut stream = server.connect();
            scope.spawn(move || {
                let step = format!(r#"{{"action": {{"return": {idx}}}}}"#);
                stream.write_all(&encode("POST", "/config/routes", &step)).unwrap();
                assert_eq!(read_answer(&mut stream).status(), "200 OK");
            });
        }
    });
    let ids: BTreeSet<_> = listed(&server, "id").into_iter().collect();
    assert_eq!(ids.len(), 11);
    let newest = server.get("/config/history/11").json();
    assert_eq!(newest.member("config"), Some(&server.get("/config").json()));
}

/// A daemon whose files insert a secret.
fn with_secret() -> Server {
    let inserted = Inserted {
        pointer: "/applications/a/environment/KEY".to_owned(),
        value: b"\"s3cret\"".to_vec(),
        written: b"${env:KEY}".to_vec(),
    };
    let files = ConfigFiles { names: "/etc/a.json".to_owned(), is_writable: true, inserted: vec![inserted] };
    let document =
        r#"{"applications": {"a": {"type": "php", "root": "/", "environment": {"KEY": "s3cret"}}}}"#;
    Server::start(Setup { document: Some(document), files: Some(files), ..Setup::default() })
}

#[test]
fn a_reference_that_stands_for_nothing_does_not_come_into_force() {
    let history: Vec<_> = with_secret().heard.history.try_iter().collect();
    let server = Server::start(Setup { document: Some("{}"), history, ..Setup::default() });
    for query in ["", "?dry_run=true"] {
        let refused = server.request("POST", &format!("/config/history/1{query}"), "");
        assert_eq!(
            (refused.status(), refused.text("error").as_str()),
            ("400 Bad Request", "Invalid configuration.")
        );
        assert!(
            refused.text("detail").contains("\"${env:KEY}\"") && refused.body.contains("/a/environment/KEY")
        );
    }
    server.check("GET", "/config", "", "200 OK", "{}");
    // The same text may be meant as it is.
    let text = server.get("/config/history/1").json().member("config").unwrap().compact();
    server.check("PUT", "/config", &String::from_utf8(text).unwrap(), "200 OK", DONE);
    server.check("DELETE", "/config/applications", "", "200 OK", DONE);
    server.check("POST", "/config/history/3", "", "200 OK", DONE);
    server.check("GET", "/config/applications/a/environment/KEY", "", "200 OK", "\"${env:KEY}\"");
    assert_eq!(listed(&server, "id"), ["5", "4", "3", "2", "1"]);
}

#[test]
fn secrets_of_files_are_neither_noted_nor_lost() {
    let server = with_secret();
    server.check("DELETE", "/config/applications/a", "", "200 OK", DONE);
    server.check("POST", "/config/history/1", "", "200 OK", DONE);
    let first = server.get("/config/history/1");
    assert!(first.body.contains("${env:KEY}") && !first.body.contains("s3cret"), "{first:?}");
    assert_eq!(listed(&server, "author")[2], "\"configuration files\"");
    let stored: Vec<_> = server.heard.history.try_iter().collect();
    assert_eq!(stored.len(), 3);
    for one in stored {
        assert!(!String::from_utf8(one.bytes).unwrap().contains("s3cret"));
    }
    assert!(matches!(server.event(), Event::Apply { .. }));
    let Event::Apply { document, .. } = server.event() else { panic!("the undo is missing") };
    assert!(document.contains("s3cret") && !document.contains("${env:KEY}"), "{document}");
}

#[test]
fn what_belongs_to_files_is_not_undone_here() {
    let files = ConfigFiles { names: "/etc/a.json".to_owned(), is_writable: false, inserted: Vec::new() };
    let server = Server::start(Setup { document: Some("{}"), files: Some(files), ..Setup::default() });
    let refused = server.request("POST", "/config/history/1", "");
    assert_eq!(
        (refused.status(), refused.text("error").as_str()),
        ("403 Forbidden", "The configuration is read-only.")
    );
    assert_eq!(server.request("POST", "/config/history/1?dry_run=true", "").status(), "200 OK");
    assert_eq!(listed(&server, "id"), ["1"]);
}
