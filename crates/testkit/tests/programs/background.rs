//! Commands that no listener reaches: kept running, run at times, and replaced without two of them at a time.

mod ends;
mod queue;

use std::fs;
use std::time::Duration;

use corral_testkit::{
    Daemon, Request, Signal, Site, daemon, eventually, is_alive, php_app, signal, site, within,
};
use serde_json::{Value, json};

use crate::merge;

/// Says when it begins and ends, in lines of a file, and ends when it is told.
const WORKER: &str = r#"#!/bin/sh
trap 'echo "end $$" >> "$JOURNAL"; exit 0' TERM
echo "begin $$" >> "$JOURNAL"
echo "worker $$ works"
while :; do sleep 0.05; done
"#;

/// Ignores what it is told.
const DEAF: &str = r#"#!/bin/sh
trap '' TERM
echo "begin $$" >> "$JOURNAL"
while :; do sleep 0.05; done
"#;

fn scripts() -> Site {
    site().file("worker", WORKER).file("deaf", DEAF).writable_folder("out")
}

/// An application that runs one of the scripts, with further members.
fn script(site: &Site, name: &str, members: Value) -> Value {
    let mut app = json!({
        "type": "process", "command": ["/bin/sh", site.path(name)],
        "environment": { "JOURNAL": site.path("out/journal") },
    });
    merge(&mut app, members);
    app
}

fn server(app: &Value) -> Daemon {
    daemon().config(json!({ "listeners": {}, "applications": { "app": app } })).start()
}

fn journal(site: &Site) -> Vec<String> {
    fs::read_to_string(site.path("out/journal")).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// The processes that have begun, once there are so many.
fn begun(site: &Site, n: usize) -> Vec<u32> {
    eventually("processes have begun", || {
        let lines = journal(site);
        let pids: Vec<_> =
            lines.iter().filter_map(|line| line.strip_prefix("begin ")?.parse().ok()).collect();
        (pids.len() >= n).then_some(pids)
    })
}

fn status(server: &Daemon) -> Value {
    server.control().get("/status/applications/app").json()
}

/// No line says that a process has begun before the one before it had ended.
fn assert_one_at_a_time(lines: &[String]) {
    for pair in lines.chunks(2) {
        let [begin, rest @ ..] = pair else { continue };
        assert!(begin.starts_with("begin "), "{lines:?}");
        assert!(rest.iter().all(|end| end.starts_with("end ")), "{lines:?}");
    }
}

/// Options: applications.{N}.command
#[test]
fn a_command_is_kept_running() {
    let site = scripts();
    let mut server = server(&script(&site, "worker", json!({ "processes": 2 })));
    let pids = begun(&site, 2);
    assert_eq!(status(&server)["processes"]["running"], 2);
    server.expect_log(&format!("\"app\": worker {} works", pids[0]));
    signal(pids[0], Signal::KILL);
    begun(&site, 3);
    eventually("the status says so", || (status(&server)["processes"]["running"] == 2).then_some(()));
    assert_eq!(status(&server)["crashes"]["total"], 1);
    assert!(is_alive(pids[1]), "the other one goes on");
    server.stop();
    assert_eq!(journal(&site).iter().filter(|line| line.starts_with("end ")).count(), 2, "both were told");
}

/// Options: applications.{N}.stop_signal
#[test]
fn what_does_not_obey_is_killed_and_what_wants_another_signal_gets_it() {
    let site = scripts();
    let deaf = script(&site, "deaf", json!({ "restart": { "drain_timeout": 1 } }));
    let server = server(&deaf);
    let pid = begun(&site, 1)[0];
    server.control().put("/config", &json!({})).expect_done();
    eventually("it is killed", || (!is_alive(pid)).then_some(()));
    let quit = script(&site, "deaf", json!({ "stop_signal": "QUIT" }));
    server.control().put("/config", &json!({ "applications": { "app": quit } })).expect_done();
    let pid = begun(&site, 2)[1];
    server.control().put("/config", &json!({})).expect_done();
    let ended = within(Duration::from_secs(8), || (!is_alive(pid)).then_some(()));
    assert!(ended.is_some(), "by the signal, long before it would be killed");
}

#[test]
fn a_command_that_ends_at_once_is_started_ever_later() {
    let site = scripts();
    let app = json!({ "type": "process", "command": ["/bin/sh", "-c", format!("echo begin $$ >> {}",
        site.path("out/journal").display())] });
    let server = server(&app);
    begun(&site, 4);
    let before = begun(&site, 1).len();
    let more = within(Duration::from_secs(1), || (begun(&site, 1).len() > before + 10).then_some(()));
    assert!(more.is_none(), "it is started again and again");
    server.control().get("/status").0.expect(200);
}

/// One that goes to the background has another one started in its place, and must not live beside that.
#[test]
fn what_a_command_leaves_behind_is_ended() {
    let site = scripts();
    let script = format!("setsid sh {} & sleep 0.2", site.path("deaf").display());
    let app = json!({
        "type": "process", "command": ["/bin/sh", "-c", script],
        "environment": { "JOURNAL": site.path("out/journal") },
    });
    let server = server(&app);
    let pids = begun(&site, 3);
    eventually("what was left behind has ended", || (!is_alive(pids[0])).then_some(()));
    drop(server);
}

#[test]
fn an_unchanged_command_runs_on_and_a_changed_one_ends_before_it_begins() {
    let site = scripts();
    let app = script(&site, "worker", json!({}));
    let server = server(&app);
    let pid = begun(&site, 1)[0];
    let other = json!({ "type": "process", "command": "sleep 1000" });
    server.control().put("/config/applications/other", &other).expect_done();
    server.control().put("/config/settings", &json!({ "listen_threads": 2 })).expect_done();
    assert!(is_alive(pid));
    for n in 2..4 {
        let n: usize = n;
        let changed = script(
            &site,
            "worker",
            json!({ "environment": { "JOURNAL": site.path("out/journal"), "N": n.to_string() } }),
        );
        server.control().put("/config/applications/app", &changed).expect_done();
        begun(&site, n);
    }
    let post = Request::new("POST", "/control/applications/app/restart");
    server.control().send(&post).0.expect(200);
    begun(&site, 4);
    assert_one_at_a_time(&journal(&site));
}

#[test]
fn a_router_that_dies_takes_no_command_along() {
    let site = scripts();
    let server = server(&script(&site, "worker", json!({})));
    let pid = begun(&site, 1)[0];
    let router = server.expect_processes("router", 1)[0];
    signal(router, Signal::KILL);
    eventually("another router runs", || {
        let routers = server.named("router");
        (routers.len() == 1 && routers[0] != router).then_some(())
    });
    assert!(is_alive(pid));
    assert_eq!(journal(&site).len(), 1);
}

#[test]
fn an_upgrade_starts_a_command_once_when_the_one_before_has_ended() {
    let site = scripts();
    let mut server = server(&script(&site, "worker", json!({})));
    begun(&site, 1);
    server.upgrade();
    begun(&site, 2);
    assert_one_at_a_time(&journal(&site));
    assert_eq!(journal(&site).len(), 3);
}

/// Options: applications.{N}.with
#[test]
fn a_command_is_restarted_with_its_site() {
    let site = scripts().file("www/index.php", "<?php echo 'x';");
    let php = json!({ "type": "php", "root": site.path("www") });
    let app = script(&site, "worker", json!({ "with": "shop" }));
    let server = daemon().config(json!({ "applications": { "shop": php, "app": app } })).start();
    begun(&site, 1);
    server.control().send(&Request::new("POST", "/control/applications/shop/restart")).0.expect(200);
    begun(&site, 2);
    let changed = json!({ "type": "php", "root": site.path("www"), "environment": { "RELEASE": "2" } });
    server.control().put("/config/applications/shop", &changed).expect_done();
    begun(&site, 3);
    assert_one_at_a_time(&journal(&site));
}

/// Options: applications.{N}.restart.watch
#[test]
fn a_watched_file_restarts_a_command() {
    let site = scripts().file("release", "1");
    let server = server(&script(&site, "worker", json!({ "restart": { "watch": [site.path("release")] } })));
    begun(&site, 1);
    site.write("release", "the second");
    begun(&site, 2);
    assert_one_at_a_time(&journal(&site));
    drop(server);
}

#[test]
fn what_cannot_run_refuses_the_change() {
    let server = daemon().config(json!({ "listeners": {} })).start();
    let app = json!({ "applications": { "app": { "type": "process", "command": "no-such-program x" } } });
    let reply = server.control().put("/config", &app);
    let detail = reply.expect_refused(500, "Failed to apply new configuration.");
    assert!(detail.contains("no-such-program"), "{detail}");
}

/// Options: applications.{N}.schedule
#[test]
fn a_schedule_runs_a_command_again_and_again() {
    let command = ["/bin/sh", "-c", "printf 'one\\ntwo \\033[31m'; exit 3"];
    let app = json!({ "type": "process", "command": command, "schedule": "@every 1s" });
    let server = server(&app);
    let last = eventually("it has run", || {
        let schedule = status(&server)["schedule"].clone();
        (!schedule["last"].is_null()).then_some(schedule)
    });
    assert_eq!((&last["last"]["exit_code"], &last["skipped"]), (&json!(3), &json!(0)));
    assert_eq!((&last["runs"]["total"], &last["runs"]["failed"]), (&json!(1), &json!(1)));
    assert_eq!(status(&server)["crashes"], Value::Null, "a run that fails is no crash");
    assert_eq!(last["last"]["output"], json!(["one", "two \\u{1b}[31m"]));
    assert!(last["next"].is_string() && last["last"]["began"].is_string(), "{last}");
    server.expect_log("\"app\" has failed after");
    let first = last["last"]["began"].clone();
    eventually("it runs again", || (status(&server)["schedule"]["last"]["began"] != first).then_some(()));
}

/// Options: applications.{N}.schedule.cron, applications.{N}.schedule.timeout
#[test]
fn a_run_is_asked_for() {
    let site = scripts();
    let app = script(&site, "worker", json!({ "schedule": { "cron": "0 0 1 1 *", "timeout": 1 } }));
    let server = server(&app);
    let run = || server.control().send(&Request::new("POST", "/control/applications/app/run"));
    run().0.expect(200);
    begun(&site, 1);
    let detail = run().expect_refused(409, "Failed to run app.");
    assert!(detail.contains("it runs"), "{detail}");
    let last = eventually("it took too long", || {
        let last = status(&server)["schedule"]["last"].clone();
        (!last.is_null()).then_some(last)
    });
    assert_eq!((&last["timed_out"], &last["exit_code"]), (&json!(true), &json!(0)));
    let missing = server.control().send(&Request::new("POST", "/control/applications/none/run"));
    assert_eq!(missing.0.status, 404);
}

/// Options: applications.{N}.schedule.overlap
#[test]
fn a_run_that_is_asked_for_while_another_one_goes_on_waits_or_runs_beside() {
    for (overlap, n_at_once) in [("queue", 1), ("allow", 2)] {
        let site = scripts();
        let app = script(&site, "worker", json!({ "schedule": { "cron": "0 0 1 1 *", "overlap": overlap } }));
        let server = server(&app);
        let run = || server.control().send(&Request::new("POST", "/control/applications/app/run")).0.status;
        assert_eq!(run(), 200);
        let first = begun(&site, 1)[0];
        let status_of_second = run();
        assert_eq!(status_of_second, if overlap == "queue" { 409 } else { 200 });
        begun(&site, n_at_once);
        assert_eq!(status(&server)["processes"]["running"], n_at_once);
        signal(first, Signal::TERM);
        begun(&site, 2);
    }
}

/// Options: applications.{N}.schedule.time_zone, applications.{N}.schedule.jitter
#[test]
fn the_next_run_is_told_in_its_zone() {
    let next = |schedule: Value| {
        let server = server(&json!({ "type": "process", "command": "true", "schedule": schedule }));
        status(&server)["schedule"]["next"].as_str().expect("there is a next one").to_owned()
    };
    let tokyo = next(json!({ "cron": "30 2 * * *", "time_zone": "Asia/Tokyo" }));
    assert!(tokyo.ends_with("T02:30:00+09:00"), "{tokyo}");
    let later = next(json!({ "cron": "30 2 * * *", "time_zone": "UTC", "jitter": 59 }));
    assert!(later.contains("T02:30:") && later.ends_with("+00:00"), "{later}");
}

/// A deployment waits for a run, and does not end it.
#[test]
fn a_run_outlives_a_change_and_holds_up_the_next_one() {
    let site = scripts();
    let command = format!(
        "echo begin $$ >> {0}; while [ ! -e {1} ]; do sleep 0.05; done; echo end $$ >> {0}",
        site.path("out/journal").display(),
        site.path("out/go").display()
    );
    let app = |n: u32| {
        json!({
            "type": "process", "command": ["/bin/sh", "-c", command], "environment": { "N": n.to_string() },
            "schedule": "0 0 1 1 *",
        })
    };
    let server = server(&app(1));
    let run = || server.control().send(&Request::new("POST", "/control/applications/app/run"));
    run().0.expect(200);
    let pid = begun(&site, 1)[0];
    server.control().put("/config/applications/app", &app(2)).expect_done();
    assert!(is_alive(pid), "it goes on");
    let detail = run().expect_refused(409, "Failed to run app.");
    assert!(detail.contains("the processes before have not ended"), "{detail}");
    site.write("out/go", "");
    eventually("the next one may run", || (run().0.status == 200).then_some(()));
    begun(&site, 2);
    eventually("both have ended", || (journal(&site).len() == 4).then_some(()));
    assert_one_at_a_time(&journal(&site));
}

#[test]
fn a_thousand_schedules_cost_no_process_before_they_run() {
    let apps: serde_json::Map<_, _> = (0..1000)
        .map(|n| (format!("a{n}"), json!({ "type": "process", "command": "true", "schedule": "0 0 1 1 *" })))
        .collect();
    let server = daemon().config(json!({ "listeners": {}, "applications": apps })).start();
    assert!(server.processes().iter().all(|process| !process.name.contains("\"a")));
    server.control().get("/status").0.expect(200);
}

#[test]
fn a_site_beside_a_command_serves() {
    let site = site().file("index.php", "<?php echo 'x';");
    let server = daemon().application(php_app(&site)).start();
    let app = json!({ "type": "process", "command": ["/bin/sh", "-c", "yes | tr -d '\\n'"] });
    server.control().put("/config/applications/noise", &app).expect_done();
    for _ in 0..20 {
        server.get("/").expect(200);
    }
    let refused =
        server.control().put("/config/routes", &json!([{ "action": { "pass": "applications/noise" } }]));
    let detail = refused.expect_refused(400, "Invalid configuration.");
    assert!(detail.contains("which no listener reaches"), "{detail}");
}
