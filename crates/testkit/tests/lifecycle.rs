//! Starting, stopping, crashing, changing: nobody loses more than a request that was being run.

use corral_testkit::{Daemon, Load, Site, daemon, eventually, is_alive, php_app, site, within};
use serde_json::json;

const WORKER: &str = "\"php\" worker";
const PROTOTYPE: &str = "\"php\" prototype";

fn php_site() -> Site {
    site().file("index.php", "<?php echo getmypid();")
}

fn php(site: &Site, n_workers: u32) -> Daemon {
    let server = daemon().application(php_app(site).processes(n_workers)).start();
    server.get("/").expect(200);
    server
}

#[test]
fn the_processes_are_the_ones_of_the_design() {
    let site = php_site();
    let server = php(&site, 2);
    let workers = server.expect_processes(WORKER, 2);
    let prototype = server.expect_processes(PROTOTYPE, 1)[0];
    server.expect_processes("router", 1);
    server.expect_processes("controller", 1);
    let all = server.processes();
    assert_eq!(all.len(), 5, "{all:?}");
    for process in &all {
        let parent = if workers.contains(&process.pid) { prototype } else { server.pid() };
        assert_eq!(process.parent, parent, "{process:?}");
    }
    if rustix::process::geteuid().is_root() {
        assert!(all.iter().all(|process| process.uid != 0), "only main keeps its privileges: {all:?}");
    }
}

#[test]
fn stopping_leaves_nothing_behind() {
    let site = php_site();
    let mut server = php(&site, 2);
    let (control, pid_file) = (server.control_socket(), server.path("run/pid"));
    assert_eq!(std::fs::read_to_string(&pid_file).expect("a pid file").trim(), server.pid().to_string());
    assert!(server.stop().success());
    assert!(!control.exists(), "the control socket is removed");
    assert!(!pid_file.exists(), "the pid file is removed");
    let left: Vec<_> = std::fs::read_dir(server.path("tmp")).expect("the folder is there").collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(corral_testkit::Client::try_connect(server.address().socket()).is_err());
}

#[test]
fn stopping_with_requests_in_progress_ends_in_time() {
    let site = site().file("index.php", "<?php sleep(60);").file("ok.php", "<?php echo 'ok';");
    let mut server = daemon().application(php_app(&site).processes(2)).start();
    server.get("/ok.php").expect(200);
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("the request is being run", || {
        (server.control().get("/status/applications/php/requests/active").json() == 1).then_some(())
    });
    server.stop();
}

#[test]
fn the_configuration_survives_a_restart() {
    let site = php_site();
    let mut server = php(&site, 1);
    let before = server.control().get("/config").json();
    server.stop();
    server.restart();
    assert_eq!(server.control().get("/config").json(), before);
    server.get("/").expect(200);
}

#[test]
fn an_unusable_state_is_reported_and_does_not_stop_the_daemon() {
    let mut server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    server.stop();
    std::fs::write(server.path("state/conf.json"), "{ not json").expect("damage the state");
    server.restart();
    server.expect_log("failed to restore previous configuration");
    assert_eq!(server.control().get("/config/listeners").json(), json!({}));
}

// --- crashes ------------------------------------------------------------------------------------------

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

/// Of processes that were killed, or of others that have their numbers by now.
#[test]
fn files_that_a_killed_main_process_leaves_are_in_nobody_s_way() {
    let site = php_site();
    let mut server = php(&site, 1);
    for pid in [None, Some(std::process::id()), Some(1)] {
        let (main, others) = (server.pid(), server.processes());
        corral_testkit::signal(main, corral_testkit::Signal::KILL);
        server.wait_for_end();
        eventually("the others follow", || others.iter().all(|process| !is_alive(process.pid)).then_some(()));
        assert_eq!(server.pid_in_file(), Some(main));
        assert!(server.control_socket().exists());
        if let Some(pid) = pid {
            std::fs::write(server.path("run/pid"), format!("{pid}\n")).expect("write the pid file");
        }
        server.restart();
        assert_eq!(server.pid_in_file(), Some(server.pid()));
        server.get("/").expect(200);
    }
    server.upgrade();
    server.get("/").expect(200);
}

#[test]
fn a_pid_file_that_another_daemon_has_written_stays() {
    let mut server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let path = server.path("run/pid");
    let other = daemon().argument("--pid").argument(path.to_str().expect("text")).start_unconfigured();
    assert_eq!(server.pid_in_file(), Some(other.pid()), "the last one is right");
    server.stop();
    assert_eq!(server.pid_in_file(), Some(other.pid()));
}

#[test]
fn a_second_daemon_with_the_same_control_socket_does_not_start() {
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let socket = server.control_socket();
    let address = format!("unix:{}", socket.display());
    let folder = site().writable_folder("state").writable_folder("tmp");
    let path = |name: &str| folder.path(name).display().to_string();
    let (state, temp, pid) = (path("state"), path("tmp"), path("pid"));
    let arguments = ["--control", &address, "--statedir", &state, "--tmpdir", &temp, "--pid", &pid];
    let output = std::process::Command::new(&corral_testkit::executables().corral)
        .args(["daemon", "--no-daemon"])
        .args(arguments)
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("another daemon serves it"), "{text}");
    assert!(text.contains(socket.to_str().expect("text")), "{text}");
    assert!(!folder.path("pid").exists(), "nobody is misled");
    server.get("/").expect(200);
    assert_eq!(server.control().get("/config/routes/0/action/return").json(), 200);
}

#[test]
fn killing_main_takes_everything_down() {
    let site = php_site();
    let mut server = php(&site, 2);
    let processes = server.processes();
    corral_testkit::signal(server.pid(), corral_testkit::Signal::KILL);
    server.wait_for_end();
    eventually("no process is left", || processes.iter().all(|process| !is_alive(process.pid)).then_some(()));
}

/// A site beside an application that loads until there is a file `gate`, or fails if that says so.
fn loading_site() -> Site {
    let preload = "<?php for ($i = 0; $i < 3000 && !file_exists(__DIR__ . '/gate'); $i++) { usleep(10000); clearstatcache(); } \
                   if (file_get_contents(__DIR__ . '/gate') === 'fail') { throw new Exception('it does not load'); }";
    site()
        .file("index.php", "<?php echo 'x';")
        .file("a.txt", "x")
        .file("preload.php", preload)
        .file("gate", "")
}

/// Starts it when it loads at once.
fn loading(site: &Site, n_workers: u32) -> Daemon {
    let preload = site.path("preload.php");
    let app = php_app(site).admin("opcache.preload", preload.to_str().expect("UTF-8")).processes(n_workers);
    let routes = json!([
        { "match": { "uri": "*.txt" }, "action": { "share": format!("{}$uri", site.root()) } },
        { "action": { "pass": "applications/php" } }
    ]);
    let server = daemon().application(app).routes(routes).start();
    server.get("/").expect(200);
    server
}

#[test]
fn what_needs_no_application_is_served_while_one_loads_and_its_requests_wait() {
    let site = loading_site();
    let mut server = loading(&site, 2);
    server.stop();
    std::fs::remove_file(site.path("gate")).expect("it is there");
    server.restart();
    server.get("/a.txt").expect(200);
    let mut waiting = server.begin_all("/", 10);
    eventually("all of them wait", || {
        (server.control().get("/status/applications/php/requests/active").json() == 10).then_some(())
    });
    server.get("/a.txt").expect(200);
    server.expect_processes(WORKER, 0);
    site.write("gate", "");
    for client in &mut waiting {
        client.read_response().expect(200).expect_text("x");
    }
    server.expect_processes(WORKER, 2);
    assert_eq!(server.control().get("/status/applications/php/processes/starting").json(), 0);
}

#[test]
fn requests_that_wait_for_an_application_that_fails_to_load_get_503() {
    let site = loading_site();
    let mut server = loading(&site, 2);
    server.stop();
    std::fs::remove_file(site.path("gate")).expect("it is there");
    server.restart();
    let mut waiting = server.begin_all("/", 5);
    eventually("all of them wait", || {
        (server.control().get("/status/applications/php/requests/active").json() == 5).then_some(())
    });
    site.write("gate", "fail");
    for client in &mut waiting {
        client.read_response().expect(503);
    }
    server.expect_log("it does not load");
    server.get("/").expect(503);
    server.get("/a.txt").expect(200);
    site.write("gate", "");
    eventually("it is tried again", || (server.get("/").status == 200).then_some(()));
    server.expect_processes(WORKER, 2);
}

#[test]
fn a_change_waits_for_its_application_and_fails_with_it() {
    let site = loading_site();
    let server = loading(&site, 1);
    site.write("gate", "fail");
    let app = server.control().get("/config/applications/php").json();
    let reply = server.control().put("/config/applications/other", &app);
    reply.expect_refused(500, "Failed to apply new configuration.");
    server.get("/").expect(200);
}

/// The router that comes next has everything but the application at once.
#[test]
fn a_router_is_replaced_while_an_application_does_not_load() {
    let site = loading_site();
    let server = loading(&site, 2);
    site.write("gate", "fail");
    server.kill(server.expect_processes(PROTOTYPE, 1)[0]);
    server.expect_log("it does not load");
    std::fs::remove_file(site.path("gate")).expect("it is there");
    server.kill(server.expect_processes("router", 1)[0]);
    server.get("/a.txt").expect(200);
    site.write("gate", "");
    eventually("the application is back", || (server.get("/").status == 200).then_some(()));
    server.expect_processes(WORKER, 2);
}

/// What is stored is not at fault for that.
#[test]
fn routers_that_die_at_the_start_cost_no_configuration() {
    let site = php_site();
    let mut server = php(&site, 2);
    let before = server.control().get("/config").json();
    server.stop();
    let killer = std::thread::spawn(|| {
        let mut killed = Vec::new();
        while killed.len() < 3 {
            let router = eventually("another router is started", || {
                let all = corral_testkit::descendants(std::process::id()).into_iter();
                all.filter(|process| process.name == "router")
                    .map(|router| router.pid)
                    .find(|pid| !killed.contains(pid))
            });
            corral_testkit::signal(router, corral_testkit::Signal::KILL);
            killed.push(router);
        }
    });
    server.restart();
    killer.join().expect("they were killed");
    assert_eq!(server.control().get("/config").json(), before);
    eventually("it serves", || {
        let mut client = server.connect();
        client.try_send(&corral_testkit::Request::get("/")).ok().filter(|response| response.status == 200)
    });
    assert!(!server.log().contains("failed to apply"), "{}", server.log());
    server.expect_processes(WORKER, 2);
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
        assert!(
            begun.elapsed() < std::time::Duration::from_secs(8),
            "a busy machine's start, and a second at most"
        );
    }
    let log = server.log();
    assert!(
        log.contains("exited on signal 9 (router), 5 times in a row; starting it again at once"),
        "{log}"
    );
    assert!(log.contains("exited on signal 9 (router), 6 times in a row; starting it again in "), "{log}");
    server.expect_processes(WORKER, 2);
}

// --- changes under load -------------------------------------------------------------------------------

#[test]
fn no_request_is_lost_while_the_configuration_changes() {
    let site = site().file("index.php", "<?php echo 'x';").file("a.txt", "x");
    let config = |n: u32| {
        json!({
            "routes": [
                { "match": { "uri": "*.txt" }, "action": { "share": format!("{}$uri", site.root()) } },
                { "action": { "pass": "applications/php" } }
            ],
            "applications": { "php": {
                "type": "php", "root": site.root(), "processes": 1 + n % 3, "environment": { "N": n.to_string() }
            } },
            "settings": { "http": { "idle_timeout": 100 + n } },
        })
    };
    let server = daemon().config(config(0)).start();
    let php = Load::start(server.address().socket(), "/", 4);
    let files = Load::start(server.address().socket(), "/a.txt", 2);
    for n in 1..15 {
        server.control().put("/config", &server.with_listener(config(n))).expect_done();
        php.await_more(20);
        files.await_more(20);
    }
    for tally in [php.stop(), files.stop()] {
        assert!(tally.failures.is_empty(), "{} good, but {:?}", tally.n_good, tally.failures);
    }
    // The old generations' processes go.
    server.expect_processes(WORKER, 3);
    server.expect_processes(PROTOTYPE, 1);
}

#[test]
fn no_request_is_lost_while_an_application_is_restarted() {
    let site = php_site();
    let server = php(&site, 2);
    let load = Load::start(server.address().socket(), "/", 4);
    for _ in 0..5 {
        server.control().get("/control/applications/php/restart").0.expect(200);
        load.await_more(50);
    }
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{} good, but {:?}", tally.n_good, tally.failures);
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

#[test]
fn a_request_in_progress_ends_with_the_configuration_it_began_with() {
    let site = site().file(
        "index.php",
        "<?php for ($i = 0; $i < 3000 && !file_exists(__DIR__ . '/gate'); $i++) { usleep(10000); clearstatcache(); } echo 'old';",
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

/// Options: applications.{N}.processes.{max,spare,idle_timeout}
#[test]
fn processes_grow_on_demand_and_shrink_when_idle() {
    let site = site().file("index.php", "<?php usleep(200000); echo getmypid();");
    let app = php_app(&site).with("processes", json!({ "max": 4, "spare": 1, "idle_timeout": 1 }));
    let server = daemon().application(app).start();
    server.expect_processes(WORKER, 1);
    let load = Load::start(server.address().socket(), "/", 4);
    server.expect_processes(WORKER, 4);
    assert!(load.stop().failures.is_empty());
    server.expect_processes(WORKER, 1);
}

#[test]
fn an_application_without_spare_processes_starts_with_its_first_request() {
    let site = php_site();
    let app = php_app(&site).with("processes", json!({ "max": 2, "spare": 0, "idle_timeout": 1 }));
    let server = daemon().application(app).start();
    assert_eq!(server.named(WORKER).len(), 0);
    server.get("/").expect(200);
    server.expect_processes(WORKER, 0);
    server.get("/").expect(200);
    server.expect_processes(WORKER, 0);
    server.expect_processes(PROTOTYPE, 0);
    server.get("/").expect(200);
    assert_eq!(server.control().get("/status/applications/php").json().get("crashes"), None);
}

#[test]
fn logs_are_reopened_for_rotation() {
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let (log, rotated) = (server.path("log"), server.path("log.1"));
    std::fs::rename(&log, &rotated).expect("rotate the log");
    corral_testkit::signal(server.pid(), corral_testkit::Signal::USR1);
    eventually("the log is opened again", || log.exists().then_some(()));
    server.get("/").expect(200);
}

#[test]
fn idle_connections_of_a_removed_listener_are_closed_and_others_stay() {
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let other = corral_testkit::Address::fresh();
    let pointer = format!("/config/listeners/{other}");
    server.control().put(&pointer, &json!({ "pass": "routes" })).expect_done();
    let mut leaving = corral_testkit::Client::connect(other.socket());
    leaving.get("/").expect(200);
    let mut staying = server.connect();
    staying.get("/").expect(200);
    server.control().delete(&pointer).expect_done();
    assert!(leaving.is_closed());
    staying.get("/").expect(200);
}

#[test]
fn an_address_that_was_removed_is_free_when_the_removal_is_answered() {
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let load = Load::start(server.address().socket(), "/", 8);
    let other = corral_testkit::Address::fresh();
    let pointer = format!("/config/listeners/{other}");
    for _ in 0..20 {
        server.control().put(&pointer, &json!({ "pass": "routes" })).expect_done();
        server.control().delete(&pointer).expect_done();
    }
    assert!(load.stop().failures.is_empty());
}
