//! Counters over an upgrade: they go on in the new main process, and what the old one finishes counts as well.

use std::collections::HashMap;
use std::path::Path;

use corral_testkit::{
    Beside, Client, Daemon, Load, Request, Signal, daemon, eventually, is_alive, meanwhile, php_app, signal,
    site,
};
use serde_json::json;

use super::{expect_sample, parse, samples};

fn is_counter(name: &str) -> bool {
    let family = name.split('{').next().unwrap_or_default();
    ["_total", "_count", "_bucket", "_sum"].iter().any(|end| family.ends_with(end))
}

/// The highest values that a collector has seen so far.
#[derive(Default)]
struct Seen {
    highest: HashMap<String, f64>,
    n_scrapes: usize,
    falls: Vec<String>,
}

impl Seen {
    fn note(&mut self, samples: HashMap<String, f64>) {
        self.n_scrapes += 1;
        for (name, before) in &self.highest {
            // A router that has no configuration yet tells of no listener.
            if let Some(now) = samples.get(name).filter(|now| *now < before) {
                self.falls.push(format!("{name} was {before}, is {now}"));
            }
        }
        self.highest.extend(samples.into_iter().filter(|(name, _)| is_counter(name)));
    }
}

/// Scrapes once, if the control API answers at the moment.
fn scrape(control: &Path) -> Option<HashMap<String, f64>> {
    let mut client = Client::try_connect_unix(control).ok()?;
    let request = Request::get("/metrics").field("Accept", "application/openmetrics-text");
    let reply = client.try_send(&request).ok().filter(|reply| reply.status == 200)?;
    Some(parse(&reply.text()))
}

fn wait_for_end(old: u32) {
    eventually("the old process ends", || (!is_alive(old)).then_some(()));
}

/// Requests are the same number for clients and collectors, whichever process has served them.
#[test]
fn every_request_counts_once() {
    let site = site().file("index.php", "<?php echo 1;").file("slow.php", "<?php usleep(1500000); echo 2;");
    let mut server = daemon().application(php_app(&site)).start();
    for _ in 0..5 {
        server.get("/").expect(200);
    }
    let listener = server.address().to_string();
    expect_sample(&server, "corral_requests_total", 5.0);
    let generation = samples(&server)["corral_config_generation"];
    let mut busy = server.begin(&Request::get("/slow.php"));
    expect_sample(&server, "corral_requests_total", 6.0);
    let old = server.upgrade();
    let sent = format!("corral_http_response_body_bytes_total{{listener=\"{listener}\"}}");
    let during = eventually("the new process answers", || scrape(&server.control_socket()));
    assert!(during["corral_requests_total"] >= 6.0, "{during:?}");
    assert!(during["corral_config_generation"] > generation, "{during:?}");
    server.get("/").expect(200);
    assert_eq!(busy.read_response().expect(200).text(), "2");
    // The old router has seen the slow request's end, and the new one has had one request.
    expect_sample(&server, "corral_requests_total", 7.0);
    expect_sample(&server, &sent, 7.0);
    wait_for_end(old);
    for _ in 0..3 {
        assert_eq!(samples(&server)["corral_requests_total"], 7.0);
    }
    let old = server.upgrade();
    wait_for_end(old);
    server.get("/").expect(200);
    expect_sample(&server, "corral_requests_total", 8.0);
    expect_sample(&server, &sent, 8.0);
}

/// Figures of main go on as well.
#[test]
fn crashes_restarts_and_changes_are_remembered() {
    let site =
        site().file("index.php", "<?php if (isset($_GET['die'])) { posix_kill(getmypid(), 9); } echo 1;");
    let mut server = daemon().application(php_app(&site).processes(1)).start();
    server.get("/?die=1").expect(503);
    server.kill(server.expect_processes("router", 1)[0]);
    let crashes = "corral_application_crashes_total{application=\"php\"}";
    let restarts = "corral_process_restarts_total{process=\"router\"}";
    expect_sample(&server, restarts, 1.0);
    // The instance that crashed leaves; the application does not.
    server.control().get("/control/applications/php/restart").0.expect(200);
    server.get("/").expect(200);
    server.control().put("/config/settings", &json!({})).expect_done();
    let before = samples(&server);
    assert!(before[crashes] >= 1.0, "{before:?}");
    for _ in 0..2 {
        let old = server.upgrade();
        wait_for_end(old);
        let after = samples(&server);
        assert!(after[crashes] >= before[crashes] && after[restarts] == 1.0, "{after:?}");
        let told = server.control().get("/status/applications/php/crashes").json();
        assert_eq!(told["total"].as_f64(), Some(after[crashes]), "{told}");
        for name in ["corral_config_file_changes_total", "corral_config_generation"] {
            assert!(after[name] > before[name], "{name}: {} {}", before[name], after[name]);
        }
    }
}

/// Whatever becomes of the instance that has run: it leaves with a restart, and when another process takes over.
#[test]
fn runs_of_a_schedule_are_remembered() {
    let app = json!({ "type": "process", "command": "true", "schedule": "0 0 1 1 *" });
    let config = json!({ "listeners": {}, "applications": { "job": app } });
    let mut server = daemon().config(config).start();
    let runs = "corral_schedule_runs_total{application=\"job\",result=\"succeeded\"}";
    let run = |server: &Daemon, n: f64| {
        let ask = Request::post("/control/applications/job/run");
        // The processes before may not have ended.
        eventually("it runs", || (server.control().send(&ask).0.status == 200).then_some(()));
        expect_sample(server, runs, n);
    };
    run(&server, 1.0);
    server.control().get("/control/applications/job/restart").0.expect(200);
    assert_eq!(samples(&server)[runs], 1.0);
    run(&server, 2.0);
    for counted in [2.0, 3.0] {
        let old = server.upgrade();
        eventually("the old process ends", || {
            assert_eq!(samples(&server)[runs], counted);
            (!is_alive(old)).then_some(())
        });
        assert_eq!(samples(&server)[runs], counted);
        run(&server, counted + 1.0);
    }
    let told = server.control().get("/status/applications/job/schedule/runs").json();
    assert_eq!(told["total"], 4, "{told}");
}

/// A successor that fails changes nothing.
#[test]
fn an_upgrade_that_fails_begins_nothing_anew() {
    let (good, gone) = (site().file("index.php", "<?php echo 1;"), site().file("index.php", "x"));
    let server = daemon().application(php_app(&good)).start();
    let lost = json!({ "type": "php", "root": gone.root() });
    server.control().put("/config/applications/lost", &lost).expect_done();
    server.get("/").expect(200);
    expect_sample(&server, "corral_requests_total", 1.0);
    drop(gone);
    signal(server.pid(), Signal::USR2);
    server.expect_log("could not take over");
    let known = eventually("the control API answers again", || scrape(&server.control_socket()));
    assert_eq!(known["corral_requests_total"], 1.0);
    server.get("/").expect(200);
    expect_sample(&server, "corral_requests_total", 2.0);
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    /// A collector that never stops looks on, while clients never stop asking, over upgrades and a killed router.
    #[test]
    fn no_counter_goes_backwards_under_load() {
        let site = site().file("index.php", "<?php echo 1;").file("a.txt", "x");
        let share = json!({ "share": format!("{}$uri", site.root()), "types": ["text/*"],
            "fallback": { "pass": "applications/php" } });
        let app = json!({ "type": "php", "root": site.root(), "processes": 2 });
        let config = json!({ "routes": [{ "action": share }], "applications": { "php": app } });
        let mut server = daemon().config(config).start();
        let (address, control) = (server.address().socket(), server.control_socket());
        let loads = [Load::start(address, "/", 4), Load::start(address, "/a.txt", 4)];
        let mut seen = Seen::default();
        let note = || {
            scrape(&control).into_iter().for_each(|samples| seen.note(samples));
            Beside::Again
        };
        meanwhile(note, || {
            loads.iter().for_each(|load| load.await_more(200));
            for _ in 0..3 {
                let old = server.upgrade();
                loads.iter().for_each(|load| load.await_more(200));
                wait_for_end(old);
            }
            kill_router(&server);
            loads.iter().for_each(|load| load.await_more(200));
        });
        assert!(seen.falls.is_empty(), "{}", seen.falls.join("\n"));
        assert!(seen.n_scrapes > 10, "{} scrapes", seen.n_scrapes);
        let last = samples(&server);
        let lost: Vec<_> = seen.highest.keys().filter(|name| !last.contains_key(*name)).collect();
        assert!(lost.is_empty(), "{lost:?}");
        let n_good: u64 = loads.map(Load::stop).iter().map(|tally| tally.n_good).sum();
        let counted = last["corral_requests_total"];
        // What the killed router had counted since the last scrape is lost.
        assert!(counted > n_good as f64 / 2.0, "{counted} of {n_good}");
    }

    fn kill_router(server: &Daemon) {
        let router = server.expect_processes("router", 1)[0];
        server.kill(router);
    }

    /// The first process outlives the second, and has told nothing of its request until then.
    #[test]
    fn the_newest_process_hears_what_the_first_one_finishes() {
        let gate = "<?php for ($i = 0; $i < 3000 && !file_exists(__DIR__ . '/gate'); $i++) { usleep(10000); \
        clearstatcache(); } echo 'open';";
        let site = site().file("index.php", "<?php echo 1;").file("held.php", gate);
        // A connection may come to a process that is just handing over: another worker is free there.
        let mut server = daemon().application(php_app(&site).processes(2)).start();
        let mut held = server.begin(&Request::get("/held.php"));
        expect_sample(&server, "corral_requests_total", 1.0);
        let first = server.upgrade();
        for _ in 0..2 {
            server.get("/").expect(200);
            let between = server.upgrade();
            wait_for_end(between);
        }
        expect_sample(&server, "corral_requests_total", 3.0);
        assert!(is_alive(first));
        site.write("gate", "");
        assert_eq!(held.read_response().expect(200).text(), "open");
        wait_for_end(first);
        let listener = server.address();
        let over = format!(
            "corral_http_requests_total{{listener=\"{listener}\",protocol=\"HTTP/1.1\",status=\"2xx\"}}"
        );
        let sent = format!("corral_http_response_body_bytes_total{{listener=\"{listener}\"}}");
        expect_sample(&server, &over, 3.0);
        expect_sample(&server, &sent, 6.0);
        assert_eq!(samples(&server)["corral_requests_total"], 3.0);
    }
}
