//! Section 25: what a change keeps, replaces and closes.

use corral_testkit::{Request, daemon, eventually, php_app, site};
use serde_json::json;

use super::PROTOTYPE;
use super::superseding::begin;

#[test]
fn a_kept_connection_sees_the_new_configuration_with_its_next_request() {
    let server = daemon().routes(json!([{ "action": { "return": 201 } }])).start();
    let mut client = server.connect();
    client.get("/").expect(201);
    server.control().put("/config/routes/0/action/return", &json!(202)).expect_done();
    client.get("/").expect(202);
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
    let config = json!({ "listeners": { server.address().to_string(): { "pass": "routes" } },
        "routes": [{ "action": { "return": 204 } }] });
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

#[test]
fn a_request_in_progress_keeps_its_application_until_its_end() {
    let site = site().file(
        "index.php",
        "<?php for ($i = 0; $i < 3000 && !file_exists(__DIR__ . '/gate'); $i++) { usleep(10000); clearstatcache(); } \
        echo 'old';",
    );
    let server = daemon().application(php_app(&site)).start();
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("the script runs", || {
        (server.control().get("/status/applications/php/requests/active").json() == 1).then_some(())
    });
    let new = server.with_listener(json!({ "routes": [{ "action": { "return": 204 } }] }));
    server.control().put("/config", &new).expect_done();
    server.get("/").expect(204);
    site.write("gate", "");
    client.read_response().expect(200).expect_body("old");
    client.get("/").expect(204);
    eventually("the old application is gone", || server.named(PROTOTYPE).is_empty().then_some(()));
}

/// With another number of event loops another router takes over. When the reply comes, none accepts with the
/// configuration before.
///
/// Options: settings.listen_threads
#[test]
fn after_the_reply_no_event_loop_of_before_accepts() {
    let server = daemon().start_unconfigured();
    for n in 0..8_u16 {
        let config = json!({
            "settings": { "listen_threads": 1 + n % 3 }, "routes": [{ "action": { "return": 200 + n } }],
        });
        server.control().put("/config", &server.with_listener(config)).expect_done();
        for mut client in (0..20).map(|_| server.connect()).collect::<Vec<_>>() {
            client.send(&Request::get("/")).expect(200 + n);
        }
    }
}

/// Starting them one by one would take minutes, in which no other change gets through.
#[test]
fn more_processes_than_the_machine_carries_are_refused_at_once() {
    let site = site().file("index.php", "<?php echo getmypid();");
    let server = daemon().application(php_app(&site)).start();
    let before = server.get("/").expect(200).text();
    let most = 1_000_000;
    for processes in [json!(most), json!({ "max": most, "spare": 0 }), json!({ "max": most, "spare": most })]
    {
        let reply = server.control().put("/config/applications/php/processes", &processes);
        let detail = reply.json()["detail"].to_string();
        reply.0.expect(500);
        assert!(detail.contains(&format!("asks for {most} processes")), "{detail}");
    }
    assert_eq!(server.get("/").expect(200).text(), before);
}

/// Compiling takes seconds, and is nothing that requests or the control API wait for.
#[test]
fn thousands_of_expressions_are_put_in_force_beside_requests() {
    let server = daemon().routes(json!([{ "action": { "return": 201 } }])).start();
    let step =
        |n| json!({ "match": { "uri": format!("~^/{n}/(a|b)+/[^/]*$") }, "action": { "return": 404 } });
    let mut routes: Vec<_> = (0..5000).map(step).collect();
    routes.push(json!({ "action": { "return": 202 } }));
    let mut change = begin(&server, "PUT", "/config/routes", &json!(routes).to_string());
    eventually("the new routes answer", || {
        assert!(server.control().get("/status/requests/total").json().is_number());
        let status = server.get("/").status;
        assert!([201, 202].contains(&status), "{status}");
        (status == 202).then_some(())
    });
    change.read_response().expect(200);
    server.get("/7/ab/x").expect(404);
}
