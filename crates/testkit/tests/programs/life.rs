//! Processes of a program: how many, how they end, and what that means for requests.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use corral_testkit::{Client, Daemon, Load, Request, Signal, daemon, eventually, is_alive, signal, stop};
use serde_json::{Value, json};

use crate::{node, number_after, pid_of, program, with_app};

fn active(server: &Daemon) -> Value {
    server.control().get("/status/applications/app/requests/active").json()
}

/// Begins a request and waits until `n` are active.
fn begin(server: &Daemon, target: &str, n: u32) -> Client {
    let mut client = server.connect();
    client.write(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
    eventually("the request is active", || (active(server) == n).then_some(()));
    client
}

/// The process that answers, as soon as one does.
fn await_pid(server: &Daemon) -> u32 {
    eventually("one serves", || {
        let response = server.get("/");
        (response.status == 200).then(|| number_after(&response.text(), "hello from "))
    })
}

#[test]
fn a_program_that_dies_costs_what_it_was_doing_and_is_replaced() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({}))).start();
    let before = pid_of(&server);
    server.get("/exit").expect(503);
    let after = await_pid(&server);
    assert_ne!(before, after);
    server.expect_log(&format!("app process {before} exited with code 9"));
    let mut client = server.connect();
    client.write("GET /half HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_until_text("half");
    assert!(client.is_closed(), "the response is cut off");
    assert_ne!(await_pid(&server), after);
    let crashes = server.control().get("/status/applications/app/crashes").json();
    assert_eq!(crashes["total"], 2);
    assert!(crashes["last"].as_str().expect("there was one").ends_with(" exited on signal 9"), "{crashes}");
}

/// Also on a connection that was used before, on which others are repeated.
#[test]
fn what_a_program_dies_of_is_not_tried_on_another_one() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({ "processes": 3 }))).start();
    for _ in 0..10 {
        server.get("/").expect(200);
    }
    server.get("/exit").expect(503);
    server.expect_processes("node", 3);
    assert_eq!(server.control().get("/status/applications/app/crashes").json()["total"], 1);
}

/// Requests that are on their way may fail; nothing else does, and nothing hangs.
#[test]
fn killed_under_load_it_is_back_at_once() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({ "processes": 2 }))).start();
    let load = Load::start(server.address().socket(), "/", 8);
    for _ in 0..3 {
        load.await_more(50);
        server.kill(await_pid(&server));
        load.await_more(50);
    }
    server.expect_processes("node", 2);
    let tally = load.stop();
    assert!(tally.failures.len() <= 3 * 8, "{:?}", tally.failures);
    assert!(tally.failures.iter().all(|failure| failure.contains("503")), "{:?}", tally.failures);
}

#[test]
fn what_a_program_has_started_ends_with_it() {
    let site = program("server.js");
    let mut server = with_app(&node(&site, json!({}))).start();
    let child: u32 = server.get("/fork").expect(200).text().parse().unwrap();
    assert!(is_alive(child));
    server.kill(pid_of(&server));
    eventually("its child is gone, too", || (!is_alive(child)).then_some(()));
    let child: u32 = eventually("another one serves", || server.get("/fork").text().parse().ok());
    let prototype = server.named("\"app\" prototype")[0];
    server.kill(prototype);
    eventually("its child goes with the prototype", || (!is_alive(child)).then_some(()));
    let child: u32 = eventually("another one serves", || server.get("/fork").text().parse().ok());
    server.stop();
    eventually("and with the daemon", || (!is_alive(child)).then_some(()));
}

#[test]
fn a_restart_under_load_fails_no_request() {
    let site = program("server.js");
    for socket in ["inherited", "port"] {
        let server = with_app(&node(&site, json!({ "processes": 2, "socket": socket }))).start();
        let load = Load::start(server.address().socket(), "/slow?ms=3", 8);
        for _ in 0..3 {
            load.await_more(50);
            let before = server.named("node");
            server.control().get("/control/applications/app/restart").0.expect(200);
            eventually("the old ones have ended", || before.iter().all(|pid| !is_alive(*pid)).then_some(()));
        }
        load.await_more(50);
        let tally = load.stop();
        assert!(tally.failures.is_empty(), "{socket}: {} good, but {:?}", tally.n_good, tally.failures);
        assert!(!server.log().contains("[alert]"), "{}", server.log());
    }
}

#[test]
fn a_request_in_progress_outlives_a_restart() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({}))).start();
    let old = pid_of(&server);
    let mut slow = begin(&server, "/slow?ms=1500", 1);
    server.control().get("/control/applications/app/restart").0.expect(200);
    assert_ne!(pid_of(&server), old);
    assert!(is_alive(old), "it finishes its request");
    slow.read_response().expect(200).expect_body(format!("done by {old}"));
    eventually("it has ended", || (!is_alive(old)).then_some(()));
    server.expect_log("ends after 2 requests");
}

/// One request at a time in each process: the third waits for one of two.
#[test]
fn concurrency_is_what_one_process_does_at_once() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({ "processes": 2, "concurrency": 1 }))).start();
    let start = Instant::now();
    let mut clients: Vec<_> = (1..=3).map(|n| begin(&server, "/slow?ms=700", n)).collect();
    let pids: Vec<_> = clients
        .iter_mut()
        .map(|client| number_after(&client.read_response().expect(200).text(), "done by "))
        .collect();
    assert!(start.elapsed() >= Duration::from_millis(1400), "{:?}", start.elapsed());
    assert_eq!(pids.iter().collect::<HashSet<_>>().len(), 2, "{pids:?}");
}

#[test]
fn processes_come_with_requests_and_go_without() {
    let site = program("server.js");
    let processes = json!({ "max": 3, "spare": 1, "idle_timeout": 1 });
    let server = with_app(&node(&site, json!({ "processes": processes, "concurrency": 1 }))).start();
    assert_eq!(server.named("node").len(), 1);
    let mut clients: Vec<_> = (1..=3).map(|n| begin(&server, "/slow?ms=800", n)).collect();
    server.expect_processes("node", 3);
    clients.iter_mut().for_each(|client| drop(client.read_response().expect(200)));
    server.expect_processes("node", 1);
    assert!(!server.log().contains("[alert]"), "those were told to end:\n{}", server.log());
    server.get("/").expect(200);
}

#[test]
fn a_process_is_replaced_after_so_many_requests() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({ "limits": { "requests": 5 } }))).start();
    let load = Load::start(server.address().socket(), "/", 3);
    load.await_more(40);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{:?}", tally.failures);
    let log = server.log();
    let n_each: Vec<_> =
        log.match_indices("ends after ").map(|(at, _)| number_after(&log[at..], "ends after ")).collect();
    // Those that were given together with the fifth run to their end.
    assert!(n_each.len() >= 5 && n_each.iter().all(|n| (5..=7).contains(n)), "{n_each:?}");
    assert!(!log.contains("[alert]"), "{log}");
}

#[test]
fn limits_hold_as_for_every_application() {
    let site = program("server.js");
    let limits = json!({ "timeout": 1, "queue": 1, "queue_timeout": 1 });
    let server = with_app(&node(&site, json!({ "concurrency": 1, "limits": limits }))).start();
    server.get("/never").expect(503);
    server.expect_log("the application was silent for 1 s (limits.timeout)");
    let slow = begin(&server, "/slow?ms=900", 1);
    let mut waits = begin(&server, "/", 2);
    server.get("/").expect(503).expect_field("Retry-After", "1");
    waits.read_response().expect(200);
    drop(slow);
    server.control().put("/config/applications/app/limits", &json!({ "queue_timeout": 1 })).expect_done();
    let _events = begin(&server, "/events", 1);
    server.get("/").expect(503);
    server.expect_log("found no worker in time");
}

#[test]
fn a_program_that_takes_too_long_or_too_much_is_killed() {
    let site = program("server.js");
    let limits = json!({ "kill_after": 1, "slow": 1, "memory": { "hard": 400 << 20 } });
    let server = with_app(&node(&site, json!({ "limits": limits }))).start();
    let before = pid_of(&server);
    server.get("/never").expect(504);
    server.expect_log("has run GET \"/never\" for ");
    eventually("another one serves", || (await_pid(&server) != before).then_some(()));
    let before = await_pid(&server);
    eventually("it is killed for its memory", || {
        let _ = server.get("/grow");
        server.log().contains("(limits.memory.hard)").then_some(())
    });
    eventually("another one serves", || (await_pid(&server) != before).then_some(()));
}

/// The probe's and those of the event loops, unless the program has room for one alone.
#[test]
fn connections_to_a_program_are_used_again() {
    let site = program("server.js");
    let count = |members: Value| -> u32 {
        let app = node(&site, members);
        let threads = json!({ "listen_threads": 2 });
        let server = daemon().config(json!({ "applications": { "app": app }, "settings": threads })).start();
        let mut client = server.connect();
        for _ in 0..20 {
            client.get("/").expect(200);
        }
        client.get("/connections").expect(200).text().parse().expect("a number")
    };
    assert_eq!(count(json!({})), 2);
    assert_eq!(count(json!({ "concurrency": 1 })), 22);
}

/// A kept connection that the program has closed is not a failure.
#[test]
fn connections_that_the_program_has_closed_are_replaced() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({}))).start();
    let pid = pid_of(&server);
    let mut client = server.connect();
    for _ in 0..20 {
        client.get("/").expect(200);
        client.send(&Request::post("/length").body("12345")).expect(200).expect_body("5");
    }
    stop(pid);
    signal(pid, Signal::CONT);
    client.get("/").expect(200);
    assert_eq!(pid_of(&server), pid, "a stop for a moment is forgiven");
}

#[test]
fn a_router_that_dies_gets_new_programs() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({}))).start();
    let before = pid_of(&server);
    server.kill(server.named("router")[0]);
    eventually("requests are served again", || {
        let response = server.connect().try_send(&Request::get("/")).ok()?;
        (response.status == 200).then_some(())
    });
    assert_ne!(pid_of(&server), before);
    server.expect_processes("node", 1);
}

/// No process is left that would take them, and none that would end them.
#[test]
fn programs_that_are_not_ready_go_with_their_prototype_and_with_all_that_they_have_started() {
    let app = json!({
        "type": "http",
        "executable": "/bin/sh",
        "arguments": ["-c", "sleep 599 & sleep 599; true"],
        "processes": { "max": 1, "spare": 0, "idle_timeout": 60 },
    });
    let server = with_app(&app).start();
    let mut waits = server.connect();
    waits.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let sleepers = server.expect_processes("sleep", 2);
    let shells = server.named("sh");
    server.kill(server.expect_processes("\"app\" prototype", 1)[0]);
    eventually("they are gone", || sleepers.iter().chain(&shells).all(|pid| !is_alive(*pid)).then_some(()));
}

/// Running processes are asleep, so further ones get something done.
#[test]
fn as_many_processes_as_requests_need() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({ "processes": "auto", "concurrency": 1 }))).start();
    let n_before = server.named("node").len();
    let mut clients: Vec<_> = (1..=6).map(|n| begin(&server, "/slow?ms=2000", n)).collect();
    eventually("there are more", || (server.named("node").len() > n_before + 1).then_some(()));
    clients.iter_mut().for_each(|client| drop(client.read_response().expect(200)));
}

#[test]
fn after_a_switch_only_new_processes_serve() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({ "processes": 2, "restart": { "mode": "switch" } }))).start();
    let load = Load::start(server.address().socket(), "/slow?ms=3", 6);
    for _ in 0..3 {
        load.await_more(30);
        let before = server.named("node");
        server.control().get("/control/applications/app/restart").0.expect(200);
        assert!(before.iter().all(|pid| !is_alive(*pid)), "the answer comes when the old ones have ended");
    }
    load.await_more(30);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{} good, but {:?}", tally.n_good, tally.failures);
}

#[test]
fn an_upgrade_of_the_daemon_fails_no_request() {
    let site = program("server.js");
    for socket in ["inherited", "port"] {
        let mut server = with_app(&node(&site, json!({ "processes": 2, "socket": socket }))).start();
        let load = Load::start(server.address().socket(), "/slow?ms=3", 6);
        load.await_more(30);
        let before = server.named("node");
        server.upgrade();
        eventually("the old ones have ended", || before.iter().all(|pid| !is_alive(*pid)).then_some(()));
        load.await_more(30);
        let tally = load.stop();
        assert!(tally.failures.is_empty(), "{socket}: {} good, but {:?}", tally.n_good, tally.failures);
    }
}

#[test]
fn nothing_outlives_a_main_process_that_is_killed() {
    let site = program("server.js");
    let server = with_app(&node(&site, json!({ "processes": 2 }))).start();
    let child: u32 = server.get("/fork").expect(200).text().parse().unwrap();
    let all = server.processes();
    assert!(all.iter().any(|process| process.pid == child), "{all:?}");
    signal(server.pid(), Signal::KILL);
    eventually("all are gone", || all.iter().all(|process| !is_alive(process.pid)).then_some(()));
}
