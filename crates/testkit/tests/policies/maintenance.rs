//! `maintenance`: the clients that get in while people work on the site, and the page that the others see.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};

use corral_testkit::{Client, Daemon, Request, daemon, php_app, site};
use serde_json::{Value, json};

use crate::{put_action, refuse_action};

fn closed(maintenance: Value) -> Value {
    json!({ "return": 200, "body": "open", "maintenance": maintenance })
}

fn wanting(accept: &str) -> Request {
    Request::get("/").field("Accept", accept)
}

/// From an address that no test permits.
fn elsewhere(server: &Daemon) -> Client {
    Client::connect_from(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 77)), server.address().socket())
}

/// Options: routes[].action.maintenance, …action.maintenance.file
#[test]
fn a_file_closes_the_site_at_once() {
    let site = site().writable_folder("run");
    let flag = site.path("run/maintenance");
    let server = daemon().routes(json!([{ "action": closed(json!({ "file": flag })) }])).start();
    let mut client = server.connect();
    for _ in 0..3 {
        client.get("/").expect(200).expect_body("open").expect_no_field("Retry-After");
        fs::write(&flag, "").expect("the folder is there");
        client.get("/").expect(503).expect_text("503").expect_no_field("Retry-After");
        fs::remove_file(&flag).expect("it is there");
    }
    // Whatever it is, and wherever it leads.
    fs::create_dir(&flag).expect("the folder is there");
    client.get("/").expect(503);
    fs::remove_dir(&flag).expect("it is there");
    std::os::unix::fs::symlink("/nonexistent", &flag).expect("the folder is there");
    client.get("/").expect(503);
    fs::remove_file(&flag).expect("it is there");
    client.get("/").expect(200);
    put_action(&server, closed(json!(true)));
    client.get("/").expect(503);
    put_action(&server, closed(json!(false)));
    client.get("/").expect(200);
}

/// A path on which something other than a folder is leads to nothing; a folder without permission to enter is named.
#[test]
fn a_file_that_cannot_be_looked_for_leaves_the_site_open() {
    let site = site().file("plain", "").writable_folder("locked");
    let server = daemon().unprivileged().start_unconfigured();
    let put = |file: std::path::PathBuf| {
        let config = json!({ "routes": [{ "action": closed(json!({ "file": file })) }] });
        server.control().put("/config", &server.with_listener(config)).expect_done();
    };
    put(site.path("plain/below"));
    server.get("/").expect(200);
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(site.path("locked"), fs::Permissions::from_mode(0o000)).expect("it is ours");
    put(site.path("locked/maintenance"));
    server.get("/").expect(200);
    server.expect_log("maintenance: look for");
    fs::set_permissions(site.path("locked"), fs::Permissions::from_mode(0o755)).expect("it is ours");
}

/// Options: …action.maintenance.allow
#[test]
fn some_get_through() {
    let server = daemon().start_unconfigured();
    let forwarded = json!({ "source": "127.0.0.1", "client_ip": "X-Forwarded-For" });
    let config = json!({
        "listeners": { server.address().to_string(): { "pass": "routes", "forwarded": forwarded } },
        "routes": [{ "action": closed(json!({ "allow": ["127.0.0.1", "10.0.0.0/8"] })) }],
    });
    server.control().put("/config", &config).expect_done();
    server.get("/").expect(200).expect_body("open");
    elsewhere(&server).get("/").expect(503);
    server.send(&Request::get("/").field("X-Forwarded-For", "10.1.2.3")).expect(200);
    server.send(&Request::get("/").field("X-Forwarded-For", "192.0.2.1")).expect(503);
}

/// Options: …action.maintenance.page, …action.maintenance.retry_after, …action.maintenance.status
#[test]
fn refusals_have_a_page_and_a_time() {
    let site = site().file("page.html", "<p>back soon");
    let server = daemon().start_unconfigured();
    let put = |maintenance: Value| {
        let config = json!({ "routes": [{ "action": closed(maintenance) }] });
        server.control().put("/config", &server.with_listener(config)).expect_done();
    };
    let path = site.path("page.html");
    for (page, kind) in [(json!(path), "text/html"), (json!("<p>back soon"), "text/html; charset=utf-8")] {
        put(json!({ "page": page, "retry_after": 300 }));
        for accept in ["text/html,application/xhtml+xml,*/*;q=0.8", "*/*", ""] {
            let reply = server.send(&wanting(accept)).expect(503).expect_body("<p>back soon");
            reply
                .expect_field("Content-Type", kind)
                .expect_field("Retry-After", "300")
                .expect_field("Vary", "Accept");
        }
        let reply = server.send(&wanting("application/json")).expect(503).expect_field("Retry-After", "300");
        assert_eq!(reply.json(), json!({ "status": 503, "title": "Under maintenance" }));
        reply.expect_field("Content-Type", "application/problem+json").expect_field("Vary", "Accept");
        // A body, another method and conditions make no difference.
        let post = Request::post("/").body("x").field("If-None-Match", "*").field("Range", "bytes=0-1");
        server.send(&post).expect(503).expect_body("<p>back soon");
        server
            .send(&Request::new("HEAD", "/"))
            .expect(503)
            .expect_body("")
            .expect_field("Content-Length", "12");
    }
    put(json!({ "page": "closed on $host", "status": 403, "retry_after": 0 }));
    let reply = server.send(&Request::get("/").field("Host", "a.example")).expect(403);
    reply.expect_body("closed on a.example").expect_field("Retry-After", "0");
    // The next request has the page as it is now, or the plain one if there is none.
    put(json!({ "page": path }));
    fs::write(&path, "<p>later").expect("it is ours");
    server.get("/").expect(503).expect_body("<p>later").expect_no_field("Retry-After");
    fs::remove_file(&path).expect("it is ours");
    server.get("/").expect(503).expect_text("Error 503");
}

/// Without a page of its own it is an error like others.
#[test]
fn errors_may_have_the_page() {
    let server = daemon().start_unconfigured();
    let mut action = closed(json!({ "retry_after": 60 }));
    action["errors"] = json!({ "5xx": { "return": 503, "body": "sorry" } });
    let http = json!({ "http": { "error_format": "negotiated" } });
    let config =
        |action: &Value| server.with_listener(json!({ "settings": http, "routes": [{ "action": action }] }));
    server.control().put("/config", &config(&action)).expect_done();
    server.get("/").expect(503).expect_body("sorry").expect_field("Retry-After", "60");
    action["errors"] = json!({});
    server.control().put("/config", &config(&action)).expect_done();
    let reply = server.send(&wanting("application/json")).expect(503).expect_field("Retry-After", "60");
    assert_eq!(reply.json()["status"], 503);
}

/// An action closes what it passes to; what is chosen before it is open. Nothing is asked of an application.
#[test]
fn it_closes_what_is_behind_it() {
    let site = site().file("index.php", "<?php echo 'application';");
    let server =
        daemon().application(php_app(&site).with("processes", json!({ "max": 1, "spare": 0 }))).start();
    let config = json!({
        "listeners": { server.address().to_string(): { "pass": "routes/main" } },
        "applications": server.control().get("/config/applications").json(),
        "routes": {
            "main": [
                { "match": { "uri": "/health" }, "action": { "return": 204 } },
                { "action": {
                    "pass": "routes/site", "maintenance": { "allow": "127.0.0.1" }, "limit_requests": { "rate": "1/h" },
                } },
            ],
            "site": [{ "action": { "pass": "applications/php" } }],
        },
    });
    server.control().put("/config", &config).expect_done();
    let mut other = elsewhere(&server);
    for _ in 0..3 {
        other.get("/").expect(503);
    }
    other.get("/health").expect(204);
    let figures = server.control().get("/status/applications/php/processes").json();
    assert_eq!(figures["running"], 0);
    server.get("/").expect(200).expect_body("application");
    // Refusals are not counted by limits behind.
    server.get("/").expect(429);
}

#[test]
fn what_is_no_maintenance_is_refused() {
    let server = daemon().routes(json!([])).start();
    for (maintenance, detail) in [
        (json!({ "file": "run/maintenance" }), "The \"file\" must be an absolute path."),
        (json!({ "status": 200 }), "The \"status\" number must be equal to or greater than 400."),
        (json!({ "allow": "localhost" }), "a host name is not one"),
        (json!({ "retry_after": "5m" }), "times are in seconds"),
        (json!({ "page": "`${" }), "in the \"page\" value."),
    ] {
        refuse_action(&server, closed(maintenance), detail);
    }
}

/// Text of a client stays text in the page.
#[test]
fn values_in_the_page_are_escaped() {
    let page = "<h1>$host</h1><p title=\"$arg_a\">$uri $header_x_a</p>";
    let server = daemon().routes(json!([{ "action": closed(json!({ "page": page })) }])).start();
    let request = Request::get("/%3Cb%3E?a=%22%20onload=%27x%27").field("X-A", "<script>&");
    let page = "<h1>localhost</h1><p title=\"&quot; onload=&#39;x&#39;\">/&lt;b&gt; &lt;script&gt;&amp;</p>";
    server.send(&request).expect(503).expect_body(page);
}
