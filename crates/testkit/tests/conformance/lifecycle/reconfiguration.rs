//! Section 25: what a change keeps, replaces and closes.

use std::time::{Duration, Instant};

use corral_testkit::{Authority, Client, daemon, eventually, php_app, port_of_all_addresses, site};
use serde_json::json;

#[test]
fn a_kept_connection_sees_the_new_configuration_with_its_next_request() {
    let server = daemon().routes(json!([{ "action": { "return": 201 } }])).start();
    let mut client = server.connect();
    client.get("/").expect(201);
    server.control().put("/config/routes/0/action/return", &json!(202)).expect_done();
    client.get("/").expect(202);
}

#[test]
fn a_removed_listener_closes_its_socket_and_idle_connections() {
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let mut idle = server.connect();
    idle.get("/").expect(200);
    server.control().put("/config/listeners", &json!({})).expect_done();
    assert!(Client::try_connect(server.address().socket()).is_err());
    eventually("the idle connection is closed", || idle.is_closed().then_some(()));
}

/// Nothing of theirs is lost: no request has begun.
#[test]
fn a_removed_listener_ends_connections_that_have_not_begun() {
    let trusted = json!({ "source": "127.0.0.0/8" });
    for (name, members, sent) in [
        ("plain, silent", json!({}), ""),
        ("PROXY, silent", json!({ "proxy_protocol": trusted }), ""),
        ("PROXY, half a header", json!({ "proxy_protocol": trusted }), "PROXY TCP4 192.0"),
        ("TLS, silent", json!({ "tls": { "certificate": "a" } }), ""),
        ("TLS, half a greeting", json!({ "tls": { "certificate": "a" } }), "\x16\x03\x01\x02\x00\x01"),
        ("both, silent", json!({ "tls": { "certificate": "a" }, "proxy_protocol": trusted }), ""),
        (
            "both, half a greeting",
            json!({ "tls": { "certificate": "a" }, "proxy_protocol": trusted }),
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n\x16\x03",
        ),
    ] {
        let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
        let bundle = Authority::new("Testers").server("a", &["a.example"]).pem();
        server.control().put_text("/certificates/a", &bundle).0.expect(200);
        let address = server.address().to_string();
        let mut listener = json!({ "pass": "routes" });
        listener.as_object_mut().expect("it is one").extend(members.as_object().expect("they are").clone());
        server.control().put("/config/listeners", &json!({ address: listener })).expect_done();
        let mut silent = server.connect();
        silent.write(sent);
        eventually("it is accepted", || {
            (server.control().get("/status/connections/accepted").json().as_u64() >= Some(1)).then_some(())
        });
        server.control().put("/config/listeners", &json!({})).expect_done();
        let begun = Instant::now();
        eventually(&format!("{name}: it is closed"), || silent.is_closed().then_some(()));
        assert!(begun.elapsed() < Duration::from_secs(5), "{name}: {:?}", begun.elapsed());
        let logged = server.log();
        assert!(!logged.contains("not ready in time"), "{name}: {logged}");
    }
}

#[test]
fn a_request_in_progress_ends_with_the_configuration_it_began_with() {
    let site = site().file(
        "index.php",
        "<?php while (!file_exists(__DIR__ . '/go')) { usleep(2000); clearstatcache(); } echo 'old';",
    );
    let server = daemon().application(php_app(&site)).start();
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    eventually("the request is running", || {
        (server.control().get("/status/applications/php/requests/active").json() == 1).then_some(())
    });
    let config = json!({ "listeners": { server.address().to_string(): { "pass": "routes" } }, "routes": [{ "action": { "return": 204 } }] });
    server.control().put("/config", &config).expect_done();
    server.get("/").expect(204);
    site.write("go", "");
    client.read_response().expect(200).expect_body("old");
    server.expect_processes("\"php\" worker", 0);
}

#[test]
fn an_application_keeps_its_processes_unless_its_text_changes() {
    let site = site().file("index.php", "<?php echo getmypid();");
    let server = daemon().application(php_app(&site)).start();
    let pid = server.get("/").text();
    server.control().put("/config/settings", &json!({ "http": { "idle_timeout": 60 } })).expect_done();
    assert_eq!(server.get("/").text(), pid);
    server.control().put("/config/applications/php/limits", &json!({ "timeout": 10 })).expect_done();
    assert_ne!(server.get("/").text(), pid);
}

#[test]
fn any_and_one_address_are_exchanged_in_one_change() {
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let port = port_of_all_addresses();
    for host in ["127.0.0.1", "127.0.0.2", "127.0.0.1"] {
        let listeners = json!({ format!("{host}:{port}"): { "pass": "routes" } });
        server.control().put("/config/listeners", &listeners).expect_done();
        let address = format!("{host}:{port}").parse().expect("an address");
        Client::connect(address).get("/").expect(200);
    }
}

#[test]
fn a_failure_leaves_everything_as_it_was() {
    let site = site().file("index.php", "<?php echo getmypid();");
    let server = daemon().application(php_app(&site)).start();
    let (config, pid) = (server.control().get("/config").json(), server.get("/").text());
    let broken = json!({ "type": "php", "root": "/no/such/folder" });
    let detail = server
        .control()
        .put("/config/applications/broken", &broken)
        .expect_refused(500, "Failed to apply new configuration.");
    assert!(detail.contains("broken") && detail.contains("/no/such/folder"), "{detail}");
    assert_eq!(server.control().get("/config").json(), config);
    assert_eq!(server.get("/").text(), pid);
}
