//! The two tokens of the control API: one permits everything, the other one to see everything.

use std::fs;

use corral_testkit::{Builder, Daemon, Request, daemon, site};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::tool::{Tool, text};

const FULL: &str = "0123456789abcdef-full";
const READ: &str = "0123456789abcdef-read";

/// Files with both tokens, and a daemon that is started with them.
struct House {
    server: Daemon,
    folder: TempDir,
}

fn tokens() -> TempDir {
    let folder = tempfile::tempdir().expect("make a folder");
    fs::write(folder.path().join("full"), FULL).expect("write");
    fs::write(folder.path().join("read"), format!("{READ}\n")).expect("write");
    folder
}

fn house(builder: Builder) -> House {
    let folder = tokens();
    let argument = |name: &str| text(&folder.path().join(name)).to_owned();
    let server = builder
        .argument("--control-token-file")
        .argument(&argument("full"))
        .argument("--control-read-token-file")
        .argument(&argument("read"))
        .start_unconfigured();
    House { server, folder }
}

impl House {
    fn ask(&self, token: &str, request: Request) -> (u16, Value) {
        let request = request.field("Authorization", &format!("Bearer {token}"));
        let reply = self.server.control().send(&request);
        (reply.0.status, serde_json::from_slice(&reply.0.body).unwrap_or_default())
    }

    #[track_caller]
    fn check(&self, token: &str, request: Request, status: u16) -> Value {
        let (found, body) = self.ask(token, request.clone());
        assert_eq!(found, status, "{request:?} with {token}: {body}");
        body
    }
}

const CHANGES: [(&str, &str, &str); 8] = [
    ("PUT", "/config", "{}"),
    ("PUT", "/config?dry_run=true", "{}"),
    ("POST", "/config/routes", "{}"),
    ("DELETE", "/config", ""),
    ("POST", "/config/history/1", ""),
    ("PUT", "/js_modules/a", "export default {}"),
    ("DELETE", "/certificates/a", ""),
    ("POST", "/control/applications/php/restart", ""),
];

#[track_caller]
fn check_reader(house: &House) {
    for path in
        ["/", "/config", "/config/history", "/status", "/certificates", "/js_modules", "/openapi.json"]
    {
        house.check(READ, Request::get(path), 200);
        house.check(READ, Request::new("HEAD", path), 200);
    }
    for (method, path, body) in CHANGES {
        let told = house.check(READ, Request::new(method, path).body(body), 403);
        assert!(
            told["detail"].as_str().is_some_and(|detail| detail.contains("--control-token-file")),
            "{told}"
        );
    }
    for path in ["restart", "run", "exec"] {
        house.check(READ, Request::get(&format!("/control/applications/php/{path}")), 403);
        house.check(READ, Request::get(&format!("/control/applications/./php/x/../{path}")), 403);
    }
}

#[test]
fn the_second_token_sees_all_and_changes_nothing() {
    for builder in [daemon(), daemon().control_on_port()] {
        let house = house(builder);
        let config = house.server.with_listener(json!({ "routes": [{ "action": { "return": 200 } }] }));
        let put = Request::new("PUT", "/config").body(config.to_string());
        house.check(FULL, put, 200);
        let before = house.check(FULL, Request::get("/config"), 200);
        check_reader(&house);
        assert_eq!(house.check(FULL, Request::get("/config"), 200), before);
        house.server.get("/").expect(200);
    }
}

#[test]
fn a_reader_restarts_nothing() {
    let site = site().file("index.php", "<?php echo getmypid();");
    let house = house(daemon());
    let app = json!({ "type": "php", "root": site.root() });
    let config = house.server.with_listener(json!({ "applications": { "php": app } }));
    house.check(FULL, Request::new("PUT", "/config").body(config.to_string()), 200);
    let before = house.server.get("/").text();
    for method in ["GET", "HEAD", "POST"] {
        house.check(READ, Request::new(method, "/control/applications/php/restart"), 403);
    }
    assert_eq!(house.server.get("/").text(), before);
    house.check(FULL, Request::get("/control/applications/php/restart"), 200);
    assert_ne!(house.server.get("/").text(), before);
}

#[test]
fn tokens_cannot_be_guessed_piece_by_piece() {
    let house = house(daemon().control_on_port());
    let guesses = (0..FULL.len()).map(|len| FULL[..len].to_owned());
    let others = [format!("{FULL}x"), FULL.to_uppercase(), format!("{FULL} {FULL}"), String::new()];
    for guess in guesses.chain(others) {
        let told = house.check(&guess, Request::get("/config"), 401);
        assert_eq!(told["error"], "Unauthorized.");
    }
    let twice = Request::get("/config").field("Authorization", &format!("Bearer {READ}"));
    house.check(FULL, twice, 401);
    for path in ["/", "/config", "/status", "/metrics", "/nothing"] {
        house.server.control().get(path).0.expect(401);
    }
}

#[test]
fn commands_show_either_token() {
    let house = house(daemon().control_on_port());
    let control = house.server.control_address();
    let run = |token: &str, arguments: &[&str]| {
        let file = house.folder.path().join(token);
        let options = ["--control", &control, "--control-token-file", text(&file)];
        Tool::new(&[arguments, &options].concat())
    };
    run("read", &["config", "get"]).output();
    run("read", &["config", "history"]).output();
    run("read", &["config", "set", "settings", "-"])
        .input("{}")
        .fails(&["Forbidden", "--control-token-file"]);
    run("full", &["config", "set", "settings", "-"]).input("{}").output();
    // The author is told in the history.
    let list = run("read", &["config", "history"]).output();
    assert!(
        list.lines().next().is_some_and(|line| line.contains("by the control token from 127.0.0.1")),
        "{list}"
    );
}

/// Options of the command line that are refused at once, with what to do.
#[test]
fn tokens_that_protect_nothing_are_refused() {
    let folder = tokens();
    let path = |name: &str| text(&folder.path().join(name)).to_owned();
    fs::write(folder.path().join("short"), "0123456789abcde").expect("write");
    fs::write(folder.path().join("same"), FULL).expect("write");
    let refuse = |arguments: &[&str], texts: &[&str]| {
        let state = text(folder.path());
        let fixed = ["daemon", "--no-daemon", "--statedir", state, "--control", "127.0.0.1:1"];
        Tool::new(&[&fixed, arguments].concat()).fails(texts);
    };
    refuse(&["--control-read-token-file", &path("read")], &["needs \"--control-token-file\""]);
    let both = |full: &str, read: &str, texts: &[&str]| {
        refuse(&["--control-token-file", &path(full), "--control-read-token-file", &path(read)], texts);
    };
    both("short", "read", &["at least 16", "openssl rand"]);
    both("full", "short", &["at least 16", "openssl rand"]);
    both("full", "same", &["must differ"]);
    both("full", "missing", &["missing"]);
}
