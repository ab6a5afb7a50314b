//! php-fpm's kinds of pools, and processes that come and go.

use corral_testkit::{Load, PhpFpm, site};
use serde_json::json;

use crate::{STATIC, serve};

/// Asks again and again by several clients; all of them are answered.
#[track_caller]
fn check(pool: &str, options: &serde_json::Value) {
    let site = site().file("index.php", "<?php echo 'hello';");
    for fpm in [PhpFpm::at_socket(pool), PhpFpm::at_port(pool)] {
        let server = serve(&fpm, &site, options.clone());
        let load = Load::start(server.address().socket(), "/", 6);
        load.await_more(300);
        let tally = load.stop();
        assert!(tally.failures.is_empty(), "{pool}: {tally:?}\n{}\n{}", server.log(), fpm.log());
    }
}

/// Connections are kept for as many processes as there are.
fn keeping(processes: u32) -> serde_json::Value {
    json!({ "keep_alive": { "processes": processes } })
}

#[test]
fn static_pools_answer() {
    check(STATIC, &json!({}));
    check(STATIC, &keeping(2));
}

#[test]
fn dynamic_pools_answer() {
    let pool = "pm = dynamic\npm.max_children = 4\npm.start_servers = 1\npm.min_spare_servers = 1\n\
                pm.max_spare_servers = 2";
    check(pool, &json!({}));
    check(pool, &keeping(4));
}

#[test]
fn pools_on_demand_answer() {
    let pool = "pm = ondemand\npm.max_children = 3\npm.process_idle_timeout = 1s";
    check(pool, &json!({}));
    check(pool, &keeping(3));
}

#[test]
fn processes_that_leave_after_some_requests_are_not_missed() {
    let pool = "pm = static\npm.max_children = 2\npm.max_requests = 5";
    check(pool, &json!({}));
    check(pool, &keeping(2));
}

#[test]
fn a_reload_fails_no_request() {
    for options in [json!({}), keeping(2)] {
        let site = site().file("index.php", "<?php usleep(1000); echo 'hello';");
        let fpm = PhpFpm::at_socket(STATIC);
        let server = serve(&fpm, &site, options);
        let load = Load::start(server.address().socket(), "/", 4);
        for _ in 0..3 {
            load.await_more(50);
            fpm.reload();
        }
        load.await_more(50);
        let tally = load.stop();
        assert!(tally.failures.is_empty(), "{tally:?}\n{}\n{}", server.log(), fpm.log());
    }
}
