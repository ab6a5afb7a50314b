//! Sections 2.1 and 25: what is kept, how a daemon starts from it, and that nothing is lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use corral_testkit::{Daemon, daemon, eventually, site};
use serde_json::{Value, json};

fn mode(server: &Daemon, name: &str) -> u32 {
    fs::metadata(server.path(name)).expect("it is there").permissions().mode() & 0o777
}

/// Stops the daemon, puts this in the place of its stored configuration, and starts it again.
fn restart_with(server: &mut Daemon, document: &str) {
    server.stop();
    fs::write(server.path("state/conf.json"), document).expect("write the document");
    server.restart();
}

fn copies(server: &Daemon) -> Vec<String> {
    let entries = fs::read_dir(server.path("state")).expect("the folder is there");
    let copies = entries.filter_map(|entry| {
        let entry = entry.expect("an entry");
        let is_copy = entry.file_name().to_string_lossy().contains(".invalid-");
        is_copy.then(|| fs::read_to_string(entry.path()).expect("text"))
    });
    copies.collect()
}

#[test]
fn the_state_directory_is_that_of_unit() {
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let stored = fs::read_to_string(server.path("state/conf.json")).expect("text");
    assert_eq!(serde_json::from_str::<Value>(&stored).expect("JSON"), server.control().get("/config").json());
    assert!(!stored.contains('\n'), "compact");
    assert_eq!(fs::read_to_string(server.path("state/version")).expect("text"), "13500");
    assert_eq!((mode(&server, "state/conf.json"), mode(&server, "state/version")), (0o600, 0o600));
}

#[test]
fn a_state_directory_of_unit_is_taken_over() {
    for version in [Some("13500"), Some("12500"), None] {
        let mut server = daemon().start_unconfigured();
        server.stop();
        let config = server.with_listener(json!({ "routes": [{ "action": { "return": 203 } }] }));
        fs::write(server.path("state/conf.json"), config.to_string()).expect("write the document");
        let _ = fs::remove_file(server.path("state/version"));
        if let Some(version) = version {
            fs::write(server.path("state/version"), version).expect("write the version");
        }
        fs::create_dir(server.path("state/certs")).expect("make the folder");
        let bundle = concat!(
            include_str!("../../../controller/src/bundle/testdata/ec.crt"),
            include_str!("../../../controller/src/bundle/testdata/ec.key")
        );
        fs::write(server.path("state/certs/one"), bundle).expect("write the bundle");
        fs::write(server.path("state/certs/broken"), "nothing").expect("write the bundle");
        fs::create_dir(server.path("state/scripts")).expect("make the folder");
        fs::write(server.path("state/scripts/m"), "export default {}").expect("write the script");
        server.restart();
        server.get("/").expect(203);
        assert_eq!(server.control().get("/config").json(), config);
        let certificates = server.control().get("/certificates").json();
        assert_eq!(certificates.as_object().map(serde_json::Map::len), Some(1), "{certificates}");
        assert_eq!(server.control().get("/js_modules").json(), json!({ "m": "export default {}" }));
    }
}

#[test]
fn an_unusable_configuration_is_never_lost() {
    for broken in ["{\"routes\":", "[]", "{\"nonsense\":1}", "{\"routes\":[{\"action\":{}}]}"] {
        let mut server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
        restart_with(&mut server, broken);
        let empty = json!({ "listeners": {}, "routes": [], "applications": {} });
        assert_eq!(server.control().get("/config").json(), empty);
        assert!(server.log().contains("previous configuration"), "{}", server.log());
        server.stop();
        server.restart();
        assert_eq!(fs::read_to_string(server.path("state/conf.json")).expect("text"), broken, "it stays");
        server.control().put("/config", &json!({})).expect_done();
        assert_eq!(copies(&server), [broken]);
        assert_eq!(fs::read_to_string(server.path("state/conf.json")).expect("text"), "{}");
        server.control().put("/config", &json!({ "routes": [] })).expect_done();
        assert_eq!(copies(&server).len(), 1, "only the first change keeps it aside");
    }
}

#[test]
fn a_port_that_is_taken_is_tried_again_while_the_rest_runs() {
    let mut server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = stranger.local_addr().expect("it is bound");
    let mut config = server.control().get("/config").json();
    config["listeners"][taken.to_string()] = json!({ "pass": "routes" });
    restart_with(&mut server, &config.to_string());
    server.get("/").expect(200);
    assert_eq!(server.control().get("/config").json(), config);
    let status = server.control().get("/status").json();
    let reason = status["listeners"][taken.to_string()]["last_error"].as_str().expect("a reason");
    assert!(reason.contains("Address already in use"), "{reason}");
    // Others can be changed all the same.
    server.control().put("/config/routes/0/action/return", &json!(201)).expect_done();
    drop(stranger);
    eventually("the listener is bound", || {
        corral_testkit::Client::try_connect(taken).ok().map(|mut client| client.get("/").expect(201))
    });
    eventually("the status is clean", || {
        server.control().get("/status").json().get("listeners").is_none().then_some(())
    });
}

#[test]
fn an_application_that_cannot_start_is_503_until_it_can() {
    let site = site().file("index.php", "<?php echo 'here';");
    let mut server = daemon().start_unconfigured();
    server.stop();
    let root = site.path("later");
    let config = server.with_listener(json!({
        "applications": { "php": { "type": "php", "root": root }, "old": { "type": "php 4", "root": "/" } }
    }));
    fs::write(server.path("state/conf.json"), config.to_string()).expect("write the document");
    server.restart();
    server.get("/").expect(503);
    let status = server.control().get("/status").json();
    let reason =
        |app: &str| status["applications"][app]["last_error"].as_str().unwrap_or_default().to_owned();
    assert!(reason("php").contains("later"), "{status}");
    assert!(reason("old").contains("module"), "{status}");
    site.write("later/index.php", "<?php echo 'here';");
    eventually("the application is started", || (server.get("/").status == 200).then_some(()));
    let status = server.control().get("/status").json();
    assert_eq!(status["applications"]["php"].get("last_error"), None, "{status}");
}

#[test]
fn a_log_that_cannot_be_opened_does_not_stop_the_rest() {
    let mut server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let mut config = server.control().get("/config").json();
    config["access_log"] = json!("/no/such/folder/access.log");
    restart_with(&mut server, &config.to_string());
    server.get("/").expect(200);
    server.expect_log("/no/such/folder/access.log");
}

#[test]
fn a_dead_unix_socket_is_replaced() {
    let server = daemon().start_unconfigured();
    let path = server.path("run/app.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).expect("bind it"));
    assert!(path.exists(), "its file is left");
    let address = format!("unix:{}", path.display());
    let config = json!({ "listeners": { address: { "pass": "routes" } }, "routes": [{ "action": { "return": 200 } }] });
    server.control().put("/config", &config).expect_done();
    corral_testkit::Client::try_connect_unix(&path).expect("it listens").get("/").expect(200);
    server.control().delete("/config").expect_done();
    assert!(!path.exists());
}

#[test]
fn what_dies_comes_back_with_everything() {
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let config = server.control().get("/config").json();
    server.kill(server.expect_processes("controller", 1)[0]);
    eventually("the controller is back", || {
        let request = corral_testkit::Request::get("/config");
        server.control().try_send(&request).ok().map(|reply| assert_eq!(reply.json(), config))
    });
    server.kill(server.expect_processes("router", 1)[0]);
    server.get("/").expect(200);
}
