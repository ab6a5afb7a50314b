//! Rules end a run before its time.

use std::process::Command;

use crate::server::{Reply, Server, answer, closed_port};
use crate::tank::tank;

/// A run that is ended in its first seconds by a rule.
#[track_caller]
fn check(rule: &str, url: &str) {
    let run = tank(&["-s", "const(20,1m)", "--stop", rule, url]);
    assert_eq!((run.code, run.json["stopped_by"].as_str()), (Some(1), Some(rule)), "{:#}", run.json);
    assert!(run.number("/planned") < 600, "{:#}", run.json);
    let ended = run.number("/answered") + run.number("/failed") - answered_wrongly(&run.json);
    assert_eq!(ended + run.number("/abandoned"), run.number("/sent"), "{:#}", run.json);
}

/// Answers that are failures as well.
fn answered_wrongly(json: &serde_json::Value) -> u64 {
    ["status", "body", "body_size"].iter().filter_map(|kind| json["failures"][kind].as_u64()).sum()
}

#[test]
fn by_statuses() {
    let server = Server::start(|_, _| Reply::Raw(answer(503, "")));
    check("http(5xx,50%,1s)", &server.url());
    check("http(503,10,2s)", &server.url());
}

#[test]
fn by_errors_of_the_network() {
    check("net(111,1,1s)", &closed_port());
    check("net(xx,100%,1s)", &closed_port());
}

#[test]
fn by_time() {
    let server = Server::start(|_, _| Reply::Good("hello"));
    check("limit(1s)", &server.url());
    check("time(1ms,1s)", &slow().url());
    check("quantile(50,1ms,1s)", &slow().url());
}

fn slow() -> Server {
    let late = || Box::new(Reply::Good("hello"));
    Server::start(move |_, _| Reply::After(std::time::Duration::from_millis(20), late()))
}

#[test]
fn by_requests_that_are_open() {
    check("instances(10,1s)", &Server::start(|_, _| Reply::Silence).url());
}

#[test]
fn a_rule_that_does_not_hold_changes_nothing() {
    let server = Server::start(|_, _| Reply::Good("hello"));
    let rules = "http(5xx,1,1s) net(xx,1,1s) time(5s,1s)";
    tank(&["-s", "const(20,2s)", "--stop", rules, &server.url()]).is_good(40);
}

#[test]
fn an_interrupt_ends_with_a_summary() {
    let server = Server::start(|_, _| Reply::Good("hello"));
    let (url, seen) = (server.url(), &server);
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(move || tank(&["-s", "const(50,1m)", &url]));
        // The first requests show that it has begun.
        while seen.requests().len() < 5 {
            std::thread::yield_now();
        }
        interrupt(&seen.url());
        run.join().expect("the run ends")
    });
    assert_eq!((run.code, run.json["stopped_by"].as_str()), (Some(0), Some("interrupt")), "{:#}", run.json);
}

/// Interrupts the process that has this URL among its arguments.
fn interrupt(url: &str) {
    let processes = std::fs::read_dir("/proc").expect("there is /proc").filter_map(Result::ok);
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has_url = |pid: &u32| {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.contains("corral-tank") && line.contains(url)
    };
    let pid = pids.into_iter().find(has_url).expect("it runs");
    Command::new("kill").args(["-INT", &pid.to_string()]).status().expect("it can be interrupted");
}
