//! Newer changes that take the place of older ones, whose applications have not loaded yet.

use corral_testkit::{Client, Daemon, Site, daemon, eventually, php_app, site};
use serde_json::{Value, json};

use crate::configuration::files::reading;

const PROTOTYPE: &str = "\"new\" prototype";
const SUPERSEDED: &str = "The change was superseded.";

/// A site with an application that loads until there is a file `gate`.
fn loading_site() -> Site {
    let preload = "<?php while (!file_exists(__DIR__ . '/gate')) { usleep(5000); clearstatcache(); }";
    site().file("index.php", "<?php echo 'x';").file("preload.php", preload)
}

fn loading(site: &Site) -> Value {
    let preload = site.path("preload.php");
    php_app(site).admin("opcache.preload", preload.to_str().expect("UTF-8")).value()
}

/// Sends a change without waiting for its reply.
pub(super) fn begin(server: &Daemon, method: &str, path: &str, body: &str) -> Client {
    let mut client = server.control().try_connect().expect("the daemon listens");
    let length = body.len();
    client.write(format!("{method} {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}"));
    client
}

/// Has a change begun whose application loads.
fn begin_loading(server: &Daemon, site: &Site) -> Client {
    let client = begin(server, "PUT", "/config/applications/new", &loading(site).to_string());
    server.expect_processes(PROTOTYPE, 1);
    client
}

#[track_caller]
fn expect_superseded(mut client: Client) {
    let reply = client.read_response().expect(409);
    assert_eq!(reply.json()["error"], SUPERSEDED);
}

fn server() -> Daemon {
    let routes = json!([{ "action": { "return": 201 } }]);
    daemon().config(json!({ "routes": routes, "applications": {} })).start()
}

#[test]
fn a_newer_application_takes_the_place_of_one_that_does_not_load() {
    let site = loading_site();
    let mut server = server();
    let older = begin_loading(&server, &site);
    let loading = server.named(PROTOTYPE);
    server.control().put("/config/applications/new", &php_app(&site).value()).expect_done();
    expect_superseded(older);
    let config = server.control().get("/config").json();
    eventually("nothing of the older one is left", || {
        server.named(PROTOTYPE).iter().all(|pid| !loading.contains(pid)).then_some(())
    });
    server.get("/").expect(201);
    server.stop();
    server.restart();
    assert_eq!(server.control().get("/config").json(), config, "the newer one is what is stored");
}

#[test]
fn what_does_not_load_can_be_removed() {
    let site = loading_site();
    let server = server();
    let before = server.control().get("/config").json();
    let older = begin_loading(&server, &site);
    server.control().delete("/config/applications/new").expect_done();
    expect_superseded(older);
    assert_eq!(server.control().get("/config").json(), before);
    server.expect_processes(PROTOTYPE, 0);
}

#[test]
fn a_change_elsewhere_waits_and_an_invalid_one_stops_nothing() {
    let site = loading_site();
    let server = server();
    let mut older = begin_loading(&server, &site);
    let mut elsewhere = begin(&server, "PUT", "/config/routes/0/action/return", "202");
    let mut invalid = begin(&server, "PUT", "/config/applications/new", r#"{"type": "nonsense"}"#);
    let mut tried = begin(&server, "PUT", "/config?dry_run=true", "{}");
    server.control().get("/config");
    server.get("/").expect(201);
    site.write("gate", "");
    older.read_response().expect(200);
    elsewhere.read_response().expect(200);
    invalid.read_response().expect(400);
    tried.read_response().expect(200);
    server.get("/").expect(202);
    server.expect_processes(PROTOTYPE, 1);
}

#[test]
fn a_restart_gives_way_to_a_change_of_its_application() {
    let site = loading_site().file("gate", "");
    let server = server();
    server.control().put("/config/applications/new", &loading(&site)).expect_done();
    std::fs::remove_file(site.path("gate")).expect("it is there");
    let restart = begin(&server, "POST", "/control/applications/new/restart", "");
    server.expect_processes(PROTOTYPE, 2);
    server.control().delete("/config/applications/new").expect_done();
    expect_superseded(restart);
    server.expect_processes(PROTOTYPE, 0);
}

/// Starting all of it would take minutes, and the machine with it.
#[test]
fn a_stored_configuration_starts_as_far_as_the_machine_carries_it() {
    let site = site().file("index.php", "<?php echo 'x';");
    let mut server = daemon().application(php_app(&site)).start();
    server.get("/").expect(200);
    server.stop();
    let path = server.path("state/conf.json");
    let text = std::fs::read_to_string(&path).expect("it is stored");
    let mut config: Value = serde_json::from_str(&text).expect("it is JSON");
    let app = |processes: Value| php_app(&site).with("processes", processes).value();
    config["applications"]["a"] = app(json!(1_000_000));
    config["applications"]["b"] = app(json!({ "max": 1_000_000, "spare": 1 }));
    std::fs::write(&path, config.to_string()).expect("change what is stored");
    server.restart();
    server.get("/").expect(200);
    server.expect_log("application \"a\": it asks for 1000000 processes");
    server.expect_log("application \"b\": it may have 1000000 processes");
    server.expect_processes("\"a\" worker", 0);
    server.expect_processes("\"b\" worker", 1);
    let error = server.control().get("/status/applications/a/last_error").json().to_string();
    assert!(error.contains("it asks for 1000000 processes"), "{error}");
    // It is in nobody's way, can be mended, and is not forgotten before.
    server.control().put("/config/applications/c", &app(json!(1))).expect_done();
    server.control().put("/config/applications/a/processes", &json!(1)).expect_done();
    server.expect_processes("\"a\" worker", 1);
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    #[test]
    fn files_that_are_read_again_take_the_place_of_what_was_read_before() {
        let site = loading_site();
        let document = |status: u16, applications: Value| {
            json!({
                "listeners": { "${env:SITE}": { "pass": "routes" } },
                "routes": [{ "action": { "return": status } }],
                "applications": applications,
            })
            .to_string()
        };
        site.write("conf.json", document(201, json!({})));
        let (builder, address) = reading(&site, "conf.json");
        let server = builder.start_unconfigured();
        let expect = |status: u16| {
            eventually(&format!("it answers {status}"), || {
                (Client::try_connect(address.socket()).ok()?.get("/").status == status).then_some(())
            });
        };
        expect(201);
        site.write("conf.json", document(202, json!({ "new": loading(&site) })));
        corral_testkit::signal(server.pid(), corral_testkit::Signal::HUP);
        server.expect_processes(PROTOTYPE, 1);
        expect(201);
        site.write("conf.json", document(203, json!({})));
        corral_testkit::signal(server.pid(), corral_testkit::Signal::HUP);
        expect(203);
        server.expect_processes(PROTOTYPE, 0);
        assert_eq!(server.control().get("/status/config").json().get("last_error"), None);
    }
}
