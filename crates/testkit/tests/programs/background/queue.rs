//! Commands that have as many processes as the length of a queue asks for.

use std::fs;
use std::time::Duration;

use corral_testkit::{Daemon, Run, Signal, Site, daemon, eventually, is_alive, signal, site, within};
use serde_json::{Value, json};

use super::{begun, journal, script, scripts, server, status};
use crate::merge;

/// One process for ten jobs, three at most, asked for every second. The length is in a file.
fn by_queue(site: &Site, members: Value) -> Value {
    let mut processes = json!({
        "max": 3, "idle_timeout": 1,
        "queue": { "command": ["cat", site.path("out/length")], "interval": 1 },
    });
    merge(&mut processes, members);
    script(site, "worker", json!({ "processes": processes }))
}

fn length(site: &Site, length: u32) {
    // An empty file is never seen.
    site.write("out/new", length.to_string());
    fs::rename(site.path("out/new"), site.path("out/length")).expect("rename a file");
}

fn n_ended(site: &Site) -> usize {
    journal(site).iter().filter(|line| line.starts_with("end ")).count()
}

#[track_caller]
fn wait_for_queue(server: &Daemon, expected: &Value) {
    let all = |status: &Value| {
        expected.as_object().is_some_and(|members| members.iter().all(|(name, value)| status[name] == *value))
    };
    let found = within(Duration::from_secs(20), || all(&status(server)["queue"]).then_some(()));
    assert!(found.is_some(), "{}\n{}", status(server), server.log());
}

/// Options: applications.{N}.processes.queue, applications.{N}.processes.queue.command,
/// applications.{N}.processes.queue.per_process, applications.{N}.processes.queue.interval
#[test]
fn a_longer_queue_has_more_processes_and_a_shorter_one_fewer() {
    let site = scripts();
    length(&site, 0);
    let mut server = server(&by_queue(&site, json!({})));
    wait_for_queue(&server, &json!({ "length": 0, "wanted": 0 }));
    assert_eq!(status(&server)["processes"]["running"], 0);
    length(&site, 11);
    begun(&site, 2);
    wait_for_queue(&server, &json!({ "length": 11, "wanted": 2 }));
    length(&site, 1000);
    begun(&site, 3);
    wait_for_queue(&server, &json!({ "length": 1000, "wanted": 3 }));
    let shown = Run::to_end(&["status", "--control", &server.control_address()]).expect_success().stdout;
    assert!(shown.contains("queue length 1000, 3 processes wanted\n"), "{shown}");
    assert_eq!(status(&server)["processes"]["running"], 3);
    length(&site, 0);
    eventually("all have ended", || (n_ended(&site) == 3).then_some(()));
    wait_for_queue(&server, &json!({ "length": 0, "wanted": 0 }));
    assert_eq!(status(&server)["crashes"], Value::Null, "they were told to end");
    length(&site, 1);
    begun(&site, 4);
    server.expect_log("\"app\" application: 1000 jobs, 3 processes instead of 2");
    server.stop();
    assert_eq!((journal(&site).len(), n_ended(&site)), (8, 4));
}

#[test]
fn a_killed_process_is_replaced_and_spare_ones_need_no_queue() {
    let site = scripts();
    length(&site, 0);
    let server = server(&by_queue(&site, json!({ "spare": 1 })));
    let pid = begun(&site, 1)[0];
    wait_for_queue(&server, &json!({ "length": 0, "wanted": 1 }));
    signal(pid, Signal::KILL);
    begun(&site, 2);
    eventually("it is counted", || (status(&server)["crashes"]["total"] == 1).then_some(()));
}

/// The command is the application's, as everything that it runs.
#[test]
fn the_length_is_asked_for_as_the_applications_user() {
    let site = scripts().file("as", "id -u > $0-user; pwd >> $0-user; echo $COLOUR >> $0-user; echo 0");
    site.write("out/as", site.read("as"));
    let app = json!({
        "type": "process", "command": "sleep 1000", "user": "games", "working_directory": "/usr",
        "environment": { "COLOUR": "red" },
        "processes": { "max": 2, "queue": ["sh", site.path("out/as")] },
    });
    let server = server(&app);
    wait_for_queue(&server, &json!({ "length": 0 }));
    assert_eq!(site.read("out/as-user"), "5\n/usr\nred\n");
}

/// Options: applications.{N}.processes.queue.timeout
#[test]
fn an_unknown_length_changes_nothing_and_is_said() {
    let failures = [
        ("code", "echo 30; exit 3", "its command exited with code 3"),
        ("signal", "kill -9 $$", "its command exited on signal 9"),
        ("word", "echo many", "its command has printed \"many\", and not a number"),
        ("nothing", "true", "its command has printed nothing"),
        ("flood", "exec yes", "its command has printed more than 4096 bytes"),
        ("late", "trap '' TERM; sleep 100", "its command has taken more than 1 s (queue.timeout)"),
        ("fork", "sleep 1000 & echo 1; exit 4", "its command exited with code 4"),
    ];
    let site = failures.iter().fold(site(), |site, (name, ..)| site.file(name, "echo 1"));
    let app = |name: &str| {
        let queue =
            json!({ "command": ["sh", site.path(name)], "interval": 1, "timeout": 1, "per_process": 1 });
        json!({ "type": "process", "command": "sleep 1000", "processes": { "max": 2, "queue": queue } })
    };
    let apps: serde_json::Map<_, _> =
        failures.iter().map(|(name, ..)| ((*name).to_owned(), app(name))).collect();
    let server = daemon().config(json!({ "listeners": {}, "applications": apps })).start();
    let all = |what: &str, is_it: &dyn Fn(&Value, &str) -> bool| {
        let found = within(Duration::from_secs(30), || {
            let apps = server.control().get("/status/applications").json();
            failures.iter().all(|(name, _, error)| is_it(&apps[name], error)).then_some(())
        });
        assert!(found.is_some(), "{what}: {}", server.control().get("/status/applications").json());
    };
    let runs =
        |app: &Value, wanted: u32| app["queue"]["wanted"] == wanted && app["processes"]["running"] == wanted;
    all("one runs", &|app, _| runs(app, 1));
    failures.iter().for_each(|(name, script, _)| site.write(name, script));
    all("the reason is told", &|app, error| app["queue"]["last_error"] == error && runs(app, 1));
    server.expect_log("\"word\" application: the length of its queue is unknown: its command has printed");
    failures.iter().for_each(|(name, ..)| site.write(name, "echo 2"));
    all("two run", &|app, _| app["queue"].get("last_error").is_none() && runs(app, 2));
    assert!(server.processes().iter().all(|process| process.name != "yes"), "what has failed was ended");
}

#[test]
fn one_look_at_the_queue_ends_before_the_next_one() {
    let site = scripts();
    let script = "mkdir lock || touch overlap; sleep 1.3; rmdir lock; echo 0; echo x >> looks";
    let app = json!({
        "type": "process", "command": "sleep 1000", "working_directory": site.path("out"),
        "processes": { "max": 2, "queue": { "command": ["sh", "-c", script], "interval": 1 } },
    });
    let server = server(&app);
    eventually("it was looked at", || {
        (site.path("out/looks").metadata().is_ok_and(|looks| looks.len() >= 6)).then_some(())
    });
    assert!(!site.path("out/overlap").exists());
    drop(server);
}

#[test]
fn a_look_that_hangs_ends_with_the_daemon() {
    let site = scripts();
    let script = "trap '' TERM; echo $$ > pid; sleep 1000";
    let app = json!({
        "type": "process", "command": "sleep 1000", "working_directory": site.path("out"),
        "restart": { "drain_timeout": 600 },
        "processes": { "max": 2, "queue": { "command": ["sh", "-c", script], "timeout": 3600 } },
    });
    let mut server = server(&app);
    let pid = eventually("it hangs", || fs::read_to_string(site.path("out/pid")).ok()?.trim().parse().ok());
    server.stop();
    assert!(!is_alive(pid));
}

/// The processes before have ended when those of a change, or of another main process, begin: never are there more than
/// there may be.
#[test]
fn changes_and_upgrades_have_the_processes_before_end_first() {
    let site = scripts();
    length(&site, 1000);
    let mut server = server(&by_queue(&site, json!({})));
    let pids = begun(&site, 3);
    let router = server.expect_processes("router", 1)[0];
    signal(router, Signal::KILL);
    eventually("another router runs", || {
        let routers = server.named("router");
        (routers.len() == 1 && routers[0] != router).then_some(())
    });
    assert!(pids.iter().all(|pid| is_alive(*pid)), "a router's death is no affair of theirs");
    let changed = by_queue(&site, json!({ "spare": 1 }));
    server.control().put("/config/applications/app", &changed).expect_done();
    begun(&site, 6);
    server.upgrade();
    begun(&site, 9);
    let words: Vec<_> =
        journal(&site).iter().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect();
    assert_eq!(words.concat(), "beginbeginbeginendendend".repeat(2) + "beginbeginbegin");
}

#[test]
fn a_queue_without_its_program_refuses_the_change() {
    let server = daemon().config(json!({ "listeners": {} })).start();
    let processes = json!({ "max": 2, "queue": "no-such-program llen" });
    let app = json!({ "applications": { "app": { "type": "process", "command": "true", "processes": processes } } });
    let detail =
        server.control().put("/config", &app).expect_refused(500, "Failed to apply new configuration.");
    assert!(detail.contains("the command of the queue") && detail.contains("no-such-program"), "{detail}");
}
