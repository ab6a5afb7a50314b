//! Secrets that `${env:…}` and `${file:…}` insert into configuration files: no reply and no log shows them.

use std::fs;

use corral_testkit::{Client, Daemon, Request, Signal, Site, eventually, signal, site};
use serde_json::json;

use super::files::reading;
use crate::tool::{Tool, text};

const SECRET: &str = "hunter2-and-more";

/// Files with a secret by each substitution; `KEY` and `key` hold it.
fn with_secrets() -> Site {
    let routes = "
routes:
  - match: {headers: {authorization: 'Bearer ${env:KEY}'}}
    action: {return: 201, response_headers: {X-Key: '${file:key}', X-Plain: 'plain'}}
  - action: {return: '${env:STATUS:-403}'}
applications: {}
";
    let site = site().file("key", format!("{SECRET}\n"));
    site.file("site.yaml", format!("listeners:\n  '${{env:SITE}}': {{pass: routes}}\n{routes}"))
}

fn keeping_secrets(site: &Site, more: &[&str]) -> (Daemon, corral_testkit::Address) {
    let (builder, address) = reading(site, "site.yaml");
    let builder = more.iter().fold(builder, |builder, argument| builder.argument(argument));
    (builder.environment("KEY", SECRET).start_unconfigured(), address)
}

/// Nothing that the daemon says has the secret in it.
#[track_caller]
fn expect_concealed(server: &Daemon) {
    for path in ["/", "/config", "/config/routes", "/config/routes/0/action/response_headers", "/status"] {
        let text = server.control().get(path).0.text();
        assert!(!text.contains(SECRET), "{path}: {text}");
    }
    let control = server.control_address();
    for arguments in [&["config", "get"][..], &["status"], &["config", "get", "routes/0"]] {
        let ended = Tool::new(&[arguments, &["--control", &control]].concat()).run();
        assert!(ended.success && !format!("{ended:?}").contains(SECRET), "{ended:?}");
    }
    assert!(!server.log().contains(SECRET), "{}", server.log());
}

fn expect_key(address: corral_testkit::Address) {
    let request = Request::get("/").field("Authorization", &format!("Bearer {SECRET}"));
    Client::connect(address.socket()).send(&request).expect(201).expect_field("X-Key", SECRET);
}

#[test]
fn what_was_inserted_is_shown_as_it_is_written() {
    let site = with_secrets();
    let (server, address) = keeping_secrets(&site, &[]);
    expect_key(address);
    let routes = server.control().get("/config/routes").json();
    assert_eq!(routes[0]["match"]["headers"]["authorization"], "Bearer ${env:KEY}");
    assert_eq!(
        routes[0]["action"]["response_headers"],
        json!({ "X-Key": "${file:key}", "X-Plain": "plain" })
    );
    assert_eq!(routes[1]["action"]["return"], "${env:STATUS:-403}");
    let listeners = server.control().get("/config/listeners").json();
    assert_eq!(listeners, json!({ address.to_string(): { "pass": "routes" } }), "names are what they are");
    expect_concealed(&server);
    // A controller that takes the place of one that died knows it, too.
    let before = server.named("controller");
    server.kill(before[0]);
    eventually("another controller answers", || {
        let reply = server.control().try_send(&Request::get("/config")).ok()?;
        (reply.0.status == 200 && server.named("controller") != before).then_some(())
    });
    expect_concealed(&server);
    site.write("site.yaml", fs::read_to_string(site.path("site.yaml")).unwrap() + "access_log: /dev/null\n");
    signal(server.pid(), Signal::HUP);
    eventually("the files are read", || {
        (server.control().get("/config/access_log").json() == "/dev/null").then_some(())
    });
    expect_concealed(&server);
    expect_key(address);
}

#[test]
fn mistakes_in_files_tell_no_secrets() {
    let site = with_secrets();
    let (server, address) = keeping_secrets(&site, &[]);
    let good = fs::read_to_string(site.path("site.yaml")).unwrap();
    for mistake in [
        "access_log: {path: /dev/null, format: '$${file:key}$nothing_${env:KEY}'}",
        "settings: {http: {idle_timeout: '${env:KEY}'}, js_module: '${env:KEY}'}",
        "upstreams: {a: {servers: {x: {weight: '${file:key}'}}}}",
    ] {
        let marked = format!("{good}{mistake}\n");
        let n_before = server.log().matches("what ran before still runs").count();
        site.write("site.yaml", marked);
        signal(server.pid(), Signal::HUP);
        eventually("it is refused", || {
            (server.log().matches("what ran before still runs").count() > n_before).then_some(())
        });
        let path = site.path("site.yaml");
        let check = Tool::new(&["check", text(&path)]).environment("SITE", "127.0.0.1:1");
        let ended = check.environment("KEY", SECRET).run();
        assert!(!ended.success && !format!("{ended:?}").contains(SECRET), "{ended:?}");
    }
    expect_concealed(&server);
    expect_key(address);
}

/// Options of the daemon: `--config-writable`.
#[test]
fn what_was_read_can_be_sent_back() {
    let site = with_secrets();
    let (server, address) = keeping_secrets(&site, &["--config-writable"]);
    let control = server.control();
    let read = control.get("/config").json();
    control.put("/config", &read).expect_done();
    expect_key(address);
    assert_eq!(control.get("/config").json(), read);
    // A step before it moves the secret.
    let steps = read["routes"].as_array().unwrap();
    let moved = [&[json!({ "match": { "uri": "/none" }, "action": { "return": 204 } })], &steps[..]].concat();
    control.put("/config/routes", &json!(moved)).expect_done();
    expect_key(address);
    expect_concealed(&server);
    control.delete("/config/routes/0").expect_done();
    expect_key(address);
    assert_eq!(control.get("/config").json(), read);
    let step = "/config/routes/0/action/response_headers/X-Plain";
    control.put(step, &json!("${file:key}")).expect_done();
    assert_eq!(control.get(step).json(), "${file:key}");
    let detail = control.put("/config/settings", &json!({ "js_module": "${file:key}" }));
    assert!(!detail.expect_refused(400, "Invalid configuration.").contains(SECRET));
    expect_concealed(&server);
}

#[test]
fn files_do_not_differ_from_what_they_are_shown_as() {
    let site = with_secrets();
    let (server, address) = keeping_secrets(&site, &[]);
    let path = site.path("site.yaml");
    let diff = || {
        let tool = Tool::new(&["config", "diff", text(&path), "--control", &server.control_address()]);
        tool.environment("SITE", &address.to_string()).environment("KEY", SECRET).run()
    };
    let ended = diff();
    assert!(ended.success && ended.stdout.is_empty(), "{ended:?}");
    site.write("site.yaml", fs::read_to_string(&path).unwrap().replace("plain", "fancy"));
    let ended = diff();
    assert!(!ended.success && ended.stdout.lines().count() == 2, "{ended:?}");
}
