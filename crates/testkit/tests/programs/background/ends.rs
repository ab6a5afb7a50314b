//! Commands at the end of the daemon, of a configuration and of a main process, and many of them at once.

use std::fs::{self, File};
use std::process::Command;
use std::thread;
use std::time::Duration;

use corral_testkit::{Daemon, Request, Run, Signal, Site, daemon, eventually, is_alive, signal, within};
use serde_json::{Value, json};

use super::{assert_one_at_a_time, begun, journal, script, scripts, server, status};

/// A command that runs until a test opens a pipe, and costs nothing before.
fn pipe(site: &Site) {
    let made = Command::new("mkfifo").args(["-m", "666"]).arg(site.path("out/go")).status();
    assert!(made.expect("mkfifo runs").success());
}

/// Lets all of them end that read the pipe by now.
fn open_pipe(site: &Site) {
    File::options().read(true).write(true).open(site.path("out/go")).expect("open the pipe");
}

fn waiting(site: &Site, members: Value) -> Value {
    let script = format!(
        "echo begin $$ >> {0}; cat {1}; echo end $$ >> {0}",
        site.path("out/journal").display(),
        site.path("out/go").display()
    );
    let mut app = json!({ "type": "process", "command": ["sh", "-c", script] });
    crate::merge(&mut app, members);
    app
}

fn run(server: &Daemon, name: &str) -> u16 {
    let path = format!("/control/applications/{name}/run");
    server.control().send(&Request::new("POST", &path)).0.status
}

/// The daemon has more patience than for anything else.
#[test]
fn the_end_of_the_daemon_waits_for_a_command_that_has_a_job() {
    let site = scripts().file(
        "slow",
        "trap 'sleep 7; echo \"end $$\" >> \"$JOURNAL\"; exit 0' TERM; echo \"begin $$\" >> \"$JOURNAL\"; \
         while :; do sleep 0.05; done",
    );
    let mut server = server(&script(&site, "slow", json!({ "restart": { "drain_timeout": 20 } })));
    begun(&site, 1);
    server.stop();
    assert_eq!(journal(&site).len(), 2, "it has finished its job\n{}", server.log());
}

/// Celery, Horizon and others have processes of their own, which finish their jobs only if the worker alone tells
/// them to end.
#[test]
fn only_the_command_itself_is_told_to_end() {
    let worker = "sh -c 'trap \"exit 1\" TERM; while [ ! -e \"$JOURNAL-done\" ]; do sleep 0.05; done; echo end job >> \"$JOURNAL\"' &
        job=$!
        trap 'touch \"$JOURNAL-done\"; wait $job; echo \"end $$\" >> \"$JOURNAL\"; exit 0' TERM
        echo \"begin $$\" >> \"$JOURNAL\"
        sleep 1000 & while :; do sleep 0.05; done";
    let site = scripts().file("manager", worker);
    let mut server = server(&script(&site, "manager", json!({})));
    let pid = begun(&site, 1)[0];
    server.stop();
    assert_eq!(journal(&site), [format!("begin {pid}"), "end job".to_owned(), format!("end {pid}")]);
}

/// In a namespace of processes, numbers are others than main's.
#[test]
fn a_command_in_a_namespace_of_processes_is_kept_running() {
    let site = scripts();
    let isolation = json!({ "namespaces": { "pid": true } });
    let mut server = server(&script(&site, "worker", json!({ "isolation": isolation, "processes": 2 })));
    begun(&site, 2);
    let workers = || {
        let shells = server.processes().into_iter().filter(|process| process.name == "sh");
        shells.map(|process| process.pid).collect::<Vec<_>>()
    };
    let first = eventually("both run", || (workers().len() == 2).then(workers));
    signal(first[0], Signal::KILL);
    begun(&site, 3);
    eventually("it is counted", || (status(&server)["crashes"]["total"] == 1).then_some(()));
    let last = status(&server)["crashes"]["last"].as_str().expect("there was one").to_owned();
    assert_eq!(last, format!("process {} exited on signal 9", first[0]));
    server.stop();
    assert_eq!(journal(&site).iter().filter(|line| line.starts_with("end ")).count(), 2, "both were told");
}

/// A process that has ended before main could look at it has a number all the same.
#[test]
fn a_process_that_ends_at_once_has_its_number() {
    let app = json!({
        "type": "process", "command": "false", "schedule": { "cron": "0 0 1 1 *", "overlap": "allow" },
    });
    let server = server(&app);
    for n in 1..=20 {
        eventually("it runs", || (run(&server, "app") == 200).then_some(()));
        eventually("it has run", || (status(&server)["schedule"]["runs"]["total"] == n).then_some(()));
    }
    assert_eq!(status(&server)["schedule"]["runs"], json!({ "total": 20, "failed": 20 }));
    assert_eq!(status(&server)["crashes"], Value::Null, "a run that fails is no crash");
    let shown = Run::to_end(&["status", "--control", &server.control_address()]).expect_success().stdout;
    assert!(shown.contains("; 20 of 20 runs have failed"), "{shown}");
    assert!(!server.log().contains("process 0"), "{}", server.log());
}

/// A hundred commands at midnight are as much as a machine is asked for.
#[test]
fn runs_beyond_a_bound_wait_and_are_not_lost() {
    let site = scripts();
    pipe(&site);
    let allow = json!({ "cron": "0 0 1 1 *", "overlap": "allow" });
    let apps: serde_json::Map<_, _> =
        (0..4).map(|n| (format!("a{n}"), waiting(&site, json!({ "schedule": allow })))).collect();
    let server = daemon().config(json!({ "listeners": {}, "applications": apps })).start();
    let n_runs =
        (0..4).flat_map(|n| (0..32).map(move |_| n)).filter(|n| run(&server, &format!("a{n}")) == 200);
    assert_eq!(n_runs.count(), 100);
    begun(&site, 100);
    let late = json!({ "type": "process", "command": "true", "schedule": "@every 1s" });
    server.control().put("/config/applications/late", &late).expect_done();
    server.expect_log(
        "\"late\" application: its time has come, and 100 commands run: it waits for one of them",
    );
    let schedule = || server.control().get("/status/applications/late/schedule").json();
    assert_eq!((&schedule()["runs"]["total"], &schedule()["skipped"]), (&json!(0), &json!(0)));
    eventually("it has run at last", || {
        open_pipe(&site);
        (schedule()["runs"]["total"].as_u64() > Some(0)).then_some(())
    });
    let n_lines = server.log().matches("commands run: it waits").count();
    assert_eq!(n_lines, 1, "it is said once");
}

/// Lets the run of a main process end, and that process with it: the next run begins then, and not before.
fn expect_next_run_after(old: u32, server: &Daemon, site: &Site) {
    eventually("the main process with the run has ended", || {
        open_pipe(site);
        (!is_alive(old)).then_some(())
    });
    eventually("the next one runs", || (run(server, "app") == 200).then_some(()));
    begun(site, 2);
    eventually("it has ended", || {
        open_pipe(site);
        (journal(site).len() == 4).then_some(())
    });
    assert_one_at_a_time(&journal(site));
}

#[test]
fn a_run_goes_on_through_an_upgrade_and_holds_up_the_next_one() {
    let site = scripts();
    pipe(&site);
    let mut server = server(&waiting(&site, json!({ "schedule": "0 0 1 1 *" })));
    assert_eq!(run(&server, "app"), 200);
    let pid = begun(&site, 1)[0];
    let old = server.upgrade();
    assert!(is_alive(pid) && is_alive(old), "it goes on with the process that has started it");
    assert_eq!(run(&server, "app"), 409);
    expect_next_run_after(old, &server, &site);
}

/// The process in between has nothing to wait for, and ends.
#[test]
fn a_run_holds_up_the_next_one_over_two_upgrades() {
    let site = scripts();
    pipe(&site);
    let mut server = server(&waiting(&site, json!({ "schedule": "0 0 1 1 *" })));
    assert_eq!(run(&server, "app"), 200);
    begun(&site, 1);
    let first = server.upgrade();
    let second = server.upgrade();
    eventually("the process in between has ended", || (!is_alive(second)).then_some(()));
    assert_eq!(run(&server, "app"), 409);
    assert!(is_alive(first));
    expect_next_run_after(first, &server, &site);
}

#[test]
fn changes_and_runs_at_the_same_time_never_make_two_of_them() {
    let site = scripts();
    let command =
        format!("echo begin $$ >> {0}; sleep 0.02; echo end $$ >> {0}", site.path("out/journal").display());
    let app = |n: u32| {
        json!({
            "type": "process", "command": ["sh", "-c", command], "schedule": "0 0 1 1 *",
            "environment": { "N": n.to_string() },
        })
    };
    let server = server(&app(0));
    thread::scope(|scope| {
        let changing = scope.spawn(|| {
            for n in 1..=12 {
                server.control().put("/config/applications/app", &app(n)).expect_done();
            }
        });
        let restarting = scope.spawn(|| {
            let restart = Request::new("POST", "/control/applications/app/restart");
            (0..6).for_each(|_| drop(server.control().send(&restart)));
        });
        while !changing.is_finished() || !restarting.is_finished() {
            assert!([200, 409].contains(&run(&server, "app")), "{}", server.log());
        }
    });
    eventually("it runs after all that", || (run(&server, "app") == 200).then_some(()));
    eventually("it has ended", || {
        let lines = journal(&site);
        (lines.len().is_multiple_of(2) && status(&server)["schedule"]["runs"]["total"] != 0).then_some(())
    });
    assert_one_at_a_time(&journal(&site));
}

/// A command that a stored document has wrong, as another version has written it, costs nothing else.
#[test]
fn a_wrong_command_in_a_stored_document_costs_no_other() {
    let site = scripts();
    let mut server = server(&script(&site, "worker", json!({})));
    begun(&site, 1);
    server.stop();
    let good = script(&site, "worker", json!({}));
    let wrong = script(&site, "worker", json!({ "schedule": "at noon" }));
    let site_of_itself =
        json!({ "type": "external", "executable": "/bin/true", "processes": { "spare": 0 } });
    let config = server.with_listener(json!({
        "applications": { "app": good, "wrong": wrong, "site": site_of_itself },
        "routes": [{ "action": { "return": 204 } }],
    }));
    fs::write(server.path("state/conf.json"), config.to_string()).expect("write the document");
    server.restart();
    server.get("/").expect(204);
    begun(&site, 2);
    let reason = server.control().get("/status/applications/wrong/last_error").json();
    assert!(reason.as_str().is_some_and(|reason| reason.contains("is not a schedule")), "{reason}");
    assert_eq!(run(&server, "wrong"), 409);
    server.control().put("/config/applications/wrong/schedule", &json!("@yearly")).expect_done();
    assert_eq!(run(&server, "wrong"), 200);
    begun(&site, 3);
    let ended = within(Duration::from_secs(1), || {
        journal(&site).iter().any(|line| line.starts_with("end")).then_some(())
    });
    assert!(ended.is_some(), "the first daemon's has ended, and no other");
}
