//! A router that takes the place of one that was killed goes on with its counts.

use corral_testkit::{Client, Daemon, Origin, Request, daemon, eventually, php_app, site};
use serde_json::json;

use super::samples;

/// Kills the router, and waits until another one serves.
#[track_caller]
pub(super) fn replace_router(server: &Daemon) {
    let killed = server.expect_processes("router", 1)[0];
    server.kill(killed);
    eventually("another one serves", || {
        let mut client = Client::try_connect(server.address().socket()).ok()?;
        client.try_send(&Request::get("/up")).ok().filter(|reply| reply.status == 200)
    });
}

#[test]
fn counts_of_applications_servers_and_limits_go_on() {
    let site = site().file("index.php", "<?php echo 'app';");
    let origin = Origin::saying("x");
    let limited = json!({ "return": 200, "limit_requests": { "rate": "1/h", "burst": 0 } });
    let server = daemon()
        .application(php_app(&site).script("index.php"))
        .routes(json!([
            { "match": { "uri": "/app" }, "action": { "pass": "applications/php" } },
            { "match": { "uri": "/limited" }, "action": limited },
            { "action": { "pass": "upstreams/$header_x_pool" } }
        ]))
        .start();
    let pool = json!({ "pool": { "servers": { origin.address(): {} } } });
    server.control().put("/config/upstreams", &pool).expect_done();
    server.control().put("/config/routes/2/action", &json!({ "pass": "upstreams/pool" })).expect_done();
    let ask = || {
        server.get("/app").expect(200);
        server.get("/up").expect(200);
        let _ = server.get("/limited");
    };
    for _ in 0..3 {
        ask();
    }
    let counted = |name: &str| samples(&server).get(name).copied().unwrap_or_default();
    let requests = "corral_application_requests_total{application=\"php\",status=\"2xx\"}";
    eventually("all are counted", || (counted(requests) == 3.0).then_some(()));
    let before = samples(&server);
    replace_router(&server);
    ask();
    eventually("more is counted", || (counted(requests) == 4.0).then_some(()));
    let after = samples(&server);
    let counters = before
        .iter()
        .filter(|(name, _)| ["_total", "_count", "_bucket"].iter().any(|end| name.contains(end)));
    let fallen: Vec<_> = counters.filter(|(name, n)| after.get(*name).is_none_or(|now| now < n)).collect();
    assert!(fallen.is_empty(), "{fallen:?}");
    let of_server = |family: &str| {
        format!("corral_upstream_{family}{{upstream=\"pool\",server=\"{}\"}}", origin.address())
    };
    // One more to see whether it serves, and the one after that.
    for family in ["requests_total", "response_duration_seconds_count"] {
        assert!(after[&of_server(family)] >= before[&of_server(family)] + 2.0, "{family}");
    }
    assert_eq!(
        after["corral_refused_requests_total{reason=\"limit\"}"],
        before["corral_refused_requests_total{reason=\"limit\"}"]
    );
    assert!(after["corral_application_queue_duration_seconds_count{application=\"php\"}"] >= 4.0);
}
