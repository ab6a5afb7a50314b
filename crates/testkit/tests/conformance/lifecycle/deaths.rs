//! Processes that die are replaced, and no client loses more than a request that was being run.

use std::time::Duration;

use corral_testkit::{
    Load, Signal, daemon, eventually, is_alive, php_app, processor_time, signal, site, within,
};
use serde_json::json;

use super::{PROTOTYPE, WORKER, php, php_site};

#[test]
fn a_killed_worker_is_replaced() {
    let site = php_site();
    let server = php(&site, 2);
    for _ in 0..3 {
        let workers = server.expect_processes(WORKER, 2);
        server.kill(workers[0]);
        eventually("another worker is there", || {
            let now = server.named(WORKER);
            (now.len() == 2 && !now.contains(&workers[0])).then_some(())
        });
        server.get("/").expect(200);
    }
}

#[test]
fn a_killed_prototype_is_replaced_with_its_workers() {
    let site = php_site();
    let server = php(&site, 2);
    let old = server.named(WORKER);
    server.kill(server.expect_processes(PROTOTYPE, 1)[0]);
    eventually("a new application serves", || {
        let response = server.get("/");
        let answered_by: u32 = response.text().parse().ok()?;
        (response.status == 200 && !old.contains(&answered_by)).then_some(())
    });
    eventually("the old workers are gone", || old.iter().all(|pid| !is_alive(*pid)).then_some(()));
    server.expect_processes(WORKER, 2);
}

/// The prototype is due to be started again, and nothing is started any more.
#[test]
fn main_sleeps_while_the_last_requests_are_answered_whatever_dies() {
    let site = php_site().file("slow.php", "<?php sleep(4); echo 'slow';");
    let app = |script: &str| json!({ "type": "php", "root": site.root(), "script": script });
    let server = daemon()
        .config(json!({
            "applications": { "php": app("index.php"), "slow": app("slow.php") },
            "routes": [{ "action": { "pass": "applications/slow" } }],
        }))
        .start();
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    eventually("it runs", || {
        let status = server.control().get("/status/applications/slow").json();
        (status["requests"]["active"] == 1).then_some(())
    });
    signal(server.pid(), Signal::QUIT);
    server.expect_log("stopping when the requests in progress are done");
    let prototype = server.expect_processes(PROTOTYPE, 1)[0];
    server.kill(prototype);
    eventually("it is gone", || (!is_alive(prototype)).then_some(()));
    let before = processor_time(server.pid()).expect("it runs");
    // What is asserted is that nothing happens in a time.
    std::thread::sleep(Duration::from_secs(1));
    let taken = processor_time(server.pid()).expect("it runs") - before;
    assert!(taken < Duration::from_millis(100), "{taken:?} in a second\n{}", server.log());
    client.read_response().expect(200).expect_body("slow");
}

#[test]
fn a_killed_router_is_replaced_with_listeners_and_configuration_intact() {
    let site = php_site();
    let server = php(&site, 2);
    for _ in 0..2 {
        let router = server.expect_processes("router", 1)[0];
        server.kill(router);
        // The listening socket is main's: connections wait in it instead of being refused.
        let response = within(corral_testkit::PATIENCE, || {
            let mut client = server.connect();
            client.try_send(&corral_testkit::Request::get("/")).ok().filter(|response| response.status == 200)
        });
        assert!(response.is_some(), "no answer after the router's death\n{}", server.log());
        let now = server.expect_processes("router", 1)[0];
        assert_ne!(now, router);
    }
    server.expect_processes(WORKER, 2);
    assert_eq!(server.processes().len(), 5, "{:?}", server.processes());
}

#[test]
fn a_killed_controller_is_replaced_and_the_site_does_not_notice() {
    let site = php_site();
    let server = php(&site, 2);
    let load = Load::start(server.address().socket(), "/", 2);
    let before = server.control().get("/config").json();
    let controller = server.expect_processes("controller", 1)[0];
    server.kill(controller);
    let after = eventually("the control API answers again", || {
        server.control().try_send(&corral_testkit::Request::get("/config")).ok()
    });
    assert_eq!(after.json(), before);
    assert_ne!(server.expect_processes("controller", 1)[0], controller);
    server.control().put("/config/settings", &json!({ "http": { "idle_timeout": 100 } })).expect_done();
    load.await_more(50);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{:?}", tally.failures);
}

#[test]
fn an_application_that_dies_at_once_is_not_restarted_in_a_loop() {
    let site = site().file("index.php", "<?php posix_kill(getmypid(), SIGKILL); sleep(5);");
    let server = daemon().application(php_app(&site)).start();
    for _ in 0..5 {
        server.get("/").expect(503);
    }
    assert!(server.processes().len() <= 5, "{:?}", server.processes());
}

#[test]
fn killing_main_takes_everything_down() {
    let site = php_site();
    let mut server = php(&site, 2);
    let processes = server.processes();
    signal(server.pid(), Signal::KILL);
    server.wait_for_end();
    eventually("no process is left", || processes.iter().all(|process| !is_alive(process.pid)).then_some(()));
}

#[test]
fn a_router_that_dies_again_and_again_is_back_within_a_second() {
    let site = php_site();
    let server = php(&site, 2);
    for n in 1..=9 {
        let router = server.expect_processes("router", 1)[0];
        server.kill(router);
        let begun = std::time::Instant::now();
        eventually("it serves again", || {
            let mut client = server.connect();
            client.try_send(&corral_testkit::Request::get("/")).ok().filter(|response| response.status == 200)
        });
        eprintln!("after {n} deaths it served within {:?}", begun.elapsed());
        assert!(begun.elapsed() < Duration::from_secs(8), "a busy machine's start, and a second at most");
    }
    let log = server.log();
    assert!(
        log.contains("exited on signal 9 (router), 5 times in a row; starting it again at once"),
        "{log}"
    );
    assert!(log.contains("exited on signal 9 (router), 6 times in a row; starting it again in "), "{log}");
    server.expect_processes(WORKER, 2);
}

#[test]
fn a_killed_worker_costs_no_more_than_what_it_ran() {
    let site = php_site();
    let server = php(&site, 2);
    let load = Load::start(server.address().socket(), "/", 4);
    let n_killed = 5;
    for _ in 0..n_killed {
        load.await_more(50);
        let workers = server.expect_processes(WORKER, 2);
        server.kill(workers[0]);
    }
    load.await_more(50);
    let tally = load.stop();
    assert!(tally.failures.len() <= n_killed, "{} good, but {:?}", tally.n_good, tally.failures);
    assert!(tally.failures.iter().all(|failure| failure.contains("503")), "{:?}", tally.failures);
}
