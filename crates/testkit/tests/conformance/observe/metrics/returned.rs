//! An application that is removed and added again begins at zero, whatever processes that have ended had counted.

use corral_testkit::{Daemon, Request, daemon, eventually, is_alive, php_app, site};
use serde_json::{Value, json};

use super::replaced::replace_router;
use super::{expect_sample, samples};

const REQUESTS: &str = "corral_application_requests_total{application=\"php\",status=\"2xx\"}";

fn routes() -> Value {
    json!([
        { "match": { "uri": "/app" }, "action": { "pass": "applications/php" } },
        { "action": { "return": 200 } }
    ])
}

/// Asks the application once more, so that it has had so many requests since it was added.
#[track_caller]
fn ask(server: &Daemon, n: f64) {
    server.get("/app").expect(200);
    expect_sample(server, REQUESTS, n);
}

/// Removes the application and adds it again.
#[track_caller]
fn add_again(server: &Daemon) {
    let app = server.control().get("/config/applications/php").json();
    server.control().put("/config/routes", &json!([{ "action": { "return": 200 } }])).expect_done();
    server.control().delete("/config/applications/php").expect_done();
    server.control().put("/config/applications/php", &app).expect_done();
    server.control().put("/config/routes", &routes()).expect_done();
    let counted = samples(server).get(REQUESTS).copied().unwrap_or_default();
    assert_eq!(counted, 0.0);
    ask(server, 1.0);
}

#[test]
fn an_application_that_is_added_again_begins_at_zero() {
    let site = site().file("index.php", "<?php echo 'app';");
    let app = php_app(&site).script("index.php");
    let mut server = daemon().application(app).routes(routes()).start();
    ask(&server, 1.0);
    replace_router(&server);
    ask(&server, 2.0);
    add_again(&server);
    let old = server.upgrade();
    ask(&server, 2.0);
    eventually("the old process ends", || (!is_alive(old)).then_some(()));
    ask(&server, 3.0);
    add_again(&server);
    replace_router(&server);
    ask(&server, 2.0);
}

/// The process before goes on to count what it finishes.
#[test]
fn an_old_process_does_not_bring_back_what_has_left() {
    let site = site().file("index.php", "<?php echo 'app';").file(
        "held.php",
        "<?php for ($i = 0; $i < 3000 && !file_exists(__DIR__ . '/gate'); $i++) { usleep(10000); \
        clearstatcache(); } echo 'open';",
    );
    let held = json!({ "match": { "uri": "/held.php" }, "action": { "pass": "applications/held" } });
    let mut server = daemon().application(php_app(&site).script("index.php")).routes(routes()).start();
    server
        .control()
        .put("/config/applications/held", &json!({ "type": "php", "root": site.root() }))
        .expect_done();
    let with_held = |mut routes: Value| {
        routes.as_array_mut().expect("a list").insert(0, held.clone());
        routes
    };
    server.control().put("/config/routes", &with_held(routes())).expect_done();
    let mut busy = server.begin(&Request::get("/held.php"));
    ask(&server, 1.0);
    let old = server.upgrade();
    ask(&server, 2.0);
    add_again(&server);
    assert!(is_alive(old), "it has a request");
    site.write("gate", "");
    assert_eq!(busy.read_response().expect(200).text(), "open");
    eventually("the old process ends", || {
        let counted = samples(&server).get(REQUESTS).copied();
        assert_eq!(counted, Some(1.0));
        (!is_alive(old)).then_some(())
    });
    assert_eq!(samples(&server)[REQUESTS], 1.0);
}
