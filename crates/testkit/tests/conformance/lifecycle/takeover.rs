//! A router that takes over from another: section 25.3, threads are created and removed with the change.

use corral_testkit::{Daemon, Load, Request, daemon, eventually, php_app, site};
use serde_json::{Value, json};

const SLOW: &str = "<?php usleep(1500000); echo 'done';";

/// Waits until one router is left.
fn settled(server: &Daemon) -> u32 {
    server.expect_processes("router", 1)[0]
}

fn set_threads(server: &Daemon, n: usize) {
    server.control().put("/config/settings", &json!({ "listen_threads": n })).expect_done();
}

fn n_threads(router: u32) -> usize {
    std::fs::read_dir(format!("/proc/{router}/task")).expect("it runs").count()
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    /// Options: settings.listen_threads
    #[test]
    fn threads_come_and_go_with_the_change() {
        let site = site().file("index.php", "<?php echo 'x';");
        let server = daemon().application(php_app(&site)).start();
        set_threads(&server, 1);
        let one = n_threads(settled(&server));
        for n in [3, 2, 5, 1] {
            set_threads(&server, n);
            assert_eq!(n_threads(settled(&server)), one + n - 1);
            for _ in 0..20 {
                server.get("/").expect(200).expect_text("x");
            }
            server.expect_processes("\"php\" prototype", 1);
        }
    }

    #[test]
    fn no_request_is_lost_when_the_number_of_threads_changes() {
        let site = site().file("index.php", "<?php echo 'x';").file("a.txt", "x");
        let fallback = json!({ "pass": "applications/php" });
        let server = daemon()
        .config(json!({
            "routes": [{ "action": { "share": format!("{}$uri", site.root()), "index": "", "fallback": fallback } }],
            "applications": { "php": { "type": "php", "root": site.root(), "processes": 2 } },
        }))
        .start();
        let address = server.address().socket();
        let loads = [Load::start(address, "/", 12), Load::start(address, "/a.txt", 12)];
        for n in [2, 4, 1, 3, 1, 2] {
            set_threads(&server, n);
            loads.iter().for_each(|load| load.await_more(50));
            settled(&server);
        }
        for tally in loads.map(Load::stop) {
            assert!(tally.failures.is_empty(), "{} good, but {:?}", tally.n_good, tally.failures);
        }
    }

    #[test]
    fn what_was_begun_is_finished_and_idle_connections_may_ask_once_more() {
        let site = site().file("index.php", "<?php echo 'x';").file("slow.php", SLOW);
        let server = daemon().application(php_app(&site)).start();
        set_threads(&server, 1);
        let old = settled(&server);
        let [mut idle, mut busy, mut silent] = [(); 3].map(|()| server.connect());
        idle.get("/").expect(200).expect_no_field("Connection");
        silent.get("/").expect(200);
        busy.write(Request::get("/slow.php").encode());
        let before = eventually("the slow request runs", || {
            let status = server.control().get("/status").json();
            (status["applications"]["php"]["requests"]["active"] == 1).then_some(status)
        });
        set_threads(&server, 2);
        assert!(server.named("router").contains(&old), "it has not finished");
        let while_finishing = server.control().get("/status").json();
        idle.get("/").expect(200).expect_text("x").expect_field("Connection", "close");
        assert!(idle.is_closed());
        busy.read_response().expect(200).expect_text("done").expect_field("Connection", "close");
        assert!(silent.is_closed(), "nobody waits for ever");
        settled(&server);
        server.get("/").expect(200);
        let after = server.control().get("/status").json();
        let total = |status: &Value| status["requests"]["total"].as_u64().expect("a number");
        assert!(total(&before) <= total(&while_finishing), "{before} {while_finishing}");
        assert_eq!(total(&after), total(&before) + 2, "{before} {after}");
        assert_eq!(after["connections"]["active"], 0);
    }

    #[test]
    fn a_change_that_fails_leaves_the_router_and_its_connections() {
        let site = site().file("index.php", "<?php echo 'x';");
        let server = daemon().application(php_app(&site)).start();
        let router = server.expect_processes("router", 1)[0];
        let mut client = server.connect();
        client.get("/").expect(200);
        let mut config = server.control().get("/config").json();
        config["settings"] = json!({ "listen_threads": 7 });
        config["applications"]["broken"] = json!({ "type": "php", "root": "/", "user": "no-such-user" });
        server.control().put("/config", &config).expect_refused(500, "Failed to apply new configuration.");
        assert_eq!(settled(&server), router);
        client.get("/").expect(200).expect_no_field("Connection");
        server.expect_processes("\"php\" prototype", 1);
    }

    #[test]
    fn a_router_that_dies_is_restarted_with_the_threads_that_it_had() {
        let site = site().file("index.php", "<?php echo 'x';");
        let server = daemon().application(php_app(&site)).start();
        set_threads(&server, 3);
        let router = settled(&server);
        let n = n_threads(router);
        server.kill(router);
        eventually("another one serves", || {
            server.connect().try_send(&Request::get("/")).is_ok_and(|it| it.status == 200).then_some(())
        });
        assert_eq!(n_threads(settled(&server)), n);
    }
}
