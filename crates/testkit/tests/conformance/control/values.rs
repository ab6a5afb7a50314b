//! Values of the configuration by their paths: read, replaced, removed, and refused so that nothing changes.

use corral_testkit::{Client, Daemon, Request, daemon, php_app, site};
use serde_json::{Value, json};

fn two_routes() -> Daemon {
    daemon()
        .routes(json!([
            { "match": { "uri": "/a" }, "action": { "return": 201 } },
            { "action": { "return": 202 } }
        ]))
        .start()
}

#[test]
fn a_fresh_daemon_has_an_empty_configuration() {
    let server = daemon().start_unconfigured();
    let config = server.control().get("/config").json();
    for (name, value) in config.as_object().expect("an object") {
        assert!(
            value.as_object().is_some_and(|v| v.is_empty()) || value.as_array().is_some_and(|v| v.is_empty()),
            "{name}"
        );
    }
    assert!(server.control().get("/").json().get("status").is_some());
}

#[test]
fn values_are_read_by_path() {
    let server = two_routes();
    let control = server.control();
    assert_eq!(control.get("/config/routes/0/action/return").json(), 201);
    assert_eq!(control.get("/config/routes/0/match").json(), json!({ "uri": "/a" }));
    let listener = format!("/config/listeners/{}/pass", server.address());
    assert_eq!(control.get(&listener).json(), "routes");
    for missing in
        ["/config/nope", "/config/routes/2", "/config/routes/x", "/nope", "/config/routes/0/action/return/x"]
    {
        control.get(missing).expect_refused(404, "Value doesn't exist.");
    }
}

#[test]
fn replies_look_as_unit_prints_them() {
    let server = two_routes();
    let response = server.control().get("/config/routes/0").0.expect(200);
    let response = response.expect_field("Content-Type", "application/json");
    assert_eq!(
        response.text(),
        "{\r\n\t\"match\": {\r\n\t\t\"uri\": \"/a\"\r\n\t},\r\n\r\n\t\"action\": {\r\n\t\t\"return\": \
        201\r\n\t}\r\n}\r\n"
    );
}

#[test]
fn values_are_replaced_added_and_removed_by_path() {
    let server = two_routes();
    let control = server.control();
    control.put("/config/routes/0/action/return", &json!(203)).expect_done();
    server.get("/a").expect(203);
    control.put("/config/routes/0/action/location", &json!("/there")).expect_done();
    server.get("/a").expect(203).expect_field("Location", "/there");
    control.put("/config/routes/2", &json!({ "action": { "return": 204 } })).expect_done();
    control.delete("/config/routes/1").expect_done();
    server.get("/b").expect(204);
    let steps = control.get("/config/routes").json();
    assert_eq!(steps.as_array().map(Vec::len), Some(2), "{steps}");
    control
        .put("/config/routes/9", &json!({ "action": { "return": 204 } }))
        .expect_refused(404, "Value doesn't exist.");
    control.put("/config/no/where", &json!(1)).expect_refused(404, "Value doesn't exist.");
    control.delete("/config/nope").expect_refused(404, "Value doesn't exist.");
}

#[test]
fn removing_everything_closes_the_listeners() {
    let server = two_routes();
    server.control().delete("/config").expect_done();
    assert!(Client::try_connect(server.address().socket()).is_err());
    let config = server.with_listener(json!({ "routes": [{ "action": { "return": 200 } }] }));
    server.control().put("/config", &config).expect_done();
    server.get("/").expect(200);
}

#[test]
fn what_is_no_json_is_refused_with_its_place() {
    let server = two_routes();
    for (text, line, column) in
        [("", 1, 1), ("{", 1, 2), ("{\n  \"a\": tru\n}", 2, 8), ("{\"a\": 1 \"b\": 2}", 1, 9), ("[01]", 1, 2)]
    {
        let reply = server.control().put_text("/config", text);
        let body = reply.json();
        reply.expect_refused(400, "Invalid JSON.");
        assert!(body["detail"].is_string(), "{text:?}: {body}");
        assert_eq!(body["location"]["line"], line, "{text:?}: {body}");
        let found = body["location"]["column"].as_i64().expect("a column");
        assert!((found - column).abs() <= 1, "{text:?}: {body}");
    }
    server.get("/a").expect(201);
}

#[test]
fn comments_and_trailing_commas_are_understood() {
    let server = two_routes();
    let text = "[ // all\n { \"action\": { \"return\": 205, }, }, /* end */ ]";
    server.control().put_text("/config/routes", text).expect_done();
    server.get("/a").expect(205);
}

/// Changes one thing to something wrong and expects a detail that says what.
#[track_caller]
fn check_invalid(server: &Daemon, path: &str, value: &Value, fragments: &[&str]) {
    let before = server.control().get("/config").json();
    let detail = server.control().put(path, value).expect_refused(400, "Invalid configuration.");
    for fragment in fragments {
        assert!(detail.contains(fragment), "{fragment:?} is not in {detail:?}");
    }
    assert_eq!(server.control().get("/config").json(), before, "a refusal changes nothing");
    server.get("/a").expect(201);
}

#[test]
fn what_is_no_configuration_is_refused_with_path_and_cause() {
    let server = two_routes();
    check_invalid(&server, "/config", &json!([]), &["must be an object", "an array"]);
    check_invalid(&server, "/config/routes/0/action/retrun", &json!(1), &["retrun"]);
    check_invalid(&server, "/config/routes/0/match/urii", &json!("/"), &["urii"]);
    check_invalid(&server, "/config/routes/0/match/uri", &json!(5), &["uri"]);
    check_invalid(&server, "/config/routes/0/match/uri", &json!("~("), &["regular expression"]);
    check_invalid(&server, "/config/routes/0/action/return", &json!(1000), &["0-999"]);
    check_invalid(&server, "/config/routes/0/action/share", &json!("/x"), &["just one of"]);
    check_invalid(&server, "/config/listeners/localhost:80", &json!({ "pass": "routes" }), &["localhost:80"]);
    check_invalid(
        &server,
        "/config/listeners/127.0.0.1:80",
        &json!({ "pass": "routes/none" }),
        &["routes/none"],
    );
    check_invalid(&server, "/config/applications", &json!({ "a": {} }), &["type"]);
    check_invalid(&server, "/config/applications", &json!({ "a": { "type": "cobol" } }), &["cobol"]);
    check_invalid(
        &server,
        "/config/applications",
        &json!({ "a": { "type": "php", "root": "/", "processes": 0 } }),
        &["processes"],
    );
    check_invalid(
        &server,
        "/config/settings",
        &json!({ "http": { "max_body_size": -1 } }),
        &["max_body_size"],
    );
    check_invalid(&server, "/config/settings", &json!({ "htpp": {} }), &["htpp"]);
}

#[test]
fn what_is_used_cannot_be_removed() {
    let site = site().file("index.php", "<?php echo 'x';");
    let server = daemon().application(php_app(&site)).start();
    server.control().delete("/config/applications/php").expect_refused(400, "Invalid configuration.");
    server.get("/").expect(200);
}

#[test]
fn what_cannot_be_put_in_force_leaves_the_old_one_running() {
    let server = two_routes();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("bind a port");
    let address = taken.local_addr().expect("it is bound");
    for change in [
        json!({ "listeners": { address.to_string(): { "pass": "routes" } } }),
        json!({ "listeners": { "192.0.2.1:8080": { "pass": "routes" } } }),
        json!({ "applications": { "a": { "type": "php", "root": "/nonexistent" } } }),
        json!({ "applications": { "a": { "type": "php", "root": "/", "user": "no-such-user" } } }),
        json!({ "access_log": "/nonexistent/access.log" }),
    ] {
        let mut config = server.control().get("/config").json();
        for (key, value) in change.as_object().expect("an object") {
            config[key] = value.clone();
        }
        let detail = server
            .control()
            .put("/config", &config)
            .expect_refused(500, "Failed to apply new configuration.");
        assert!(!detail.is_empty(), "no reason for {change}");
        server.get("/a").expect(201);
    }
    assert!(server.control().get("/config/applications").0.status == 404);
}

#[test]
fn methods_that_are_not_offered() {
    let control = two_routes();
    let control = control.control();
    control.send(&Request::new("PATCH", "/config").body("{}")).expect_refused(405, "Method isn't allowed.");
    control.send(&Request::new("PUT", "/status").body("{}")).expect_refused(405, "Invalid method.");
    control.send(&Request::new("DELETE", "/")).expect_refused(405, "Invalid method.");
}

#[test]
fn a_large_configuration_is_taken_and_given() {
    let server = two_routes();
    let steps: Vec<Value> = (0..2000)
        .map(|n| json!({ "match": { "uri": format!("/page/{n}") }, "action": { "return": 200 } }))
        .collect();
    server.control().put("/config/routes", &json!(steps)).expect_done();
    server.get("/page/1999").expect(200);
    assert_eq!(server.control().get("/config/routes").json().as_array().map(Vec::len), Some(2000));
}
