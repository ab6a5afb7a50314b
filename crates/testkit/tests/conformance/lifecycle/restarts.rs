//! `restart` of an application, beyond Unit: how new processes take the place of old ones, and when without being
//! told; and what `/status` says of those that end otherwise.

use std::collections::HashSet;
use std::os::unix::fs::symlink;
use std::thread;
use std::time::{Duration, Instant};

use corral_testkit::{
    Client, Daemon, Load, PhpApp, Request, Response, Signal, Site, daemon, eventually, is_alive, php_app,
    signal, site,
};
use serde_json::{Value, json};

const WORKER: &str = "\"php\" worker";
const PROTOTYPE: &str = "\"php\" prototype";

/// A line at the beginning and one at the end of each request, with the prototype that its worker is of.
const DIARY: &str = "<?php
    $prototype = explode(' ', file_get_contents('/proc/self/stat'))[4];
    $write = fn($word) => file_put_contents(__DIR__ . '/out/diary', \"$word $prototype\\n\", FILE_APPEND | LOCK_EX);
    $write('begin'); usleep(20000); $write('end'); echo $prototype;";

const SLOW: &str = "<?php sleep($_GET['seconds']); echo 'done';";

fn start(app: PhpApp) -> Daemon {
    let server = daemon().application(app).start();
    server.get("/").expect(200);
    server
}

fn restart(server: &Daemon) {
    server.control().get("/control/applications/php/restart").0.expect(200);
}

/// Begins a request for `slow.php` and waits until a worker has it.
fn begin_slow(server: &Daemon, seconds: u32) -> Client {
    let mut client = server.connect();
    client.write(format!("GET /slow.php?seconds={seconds} HTTP/1.1\r\nHost: a\r\n\r\n"));
    eventually("the slow request has begun", || {
        (server.control().get("/status/applications/php/requests/active").json() == 1).then_some(())
    });
    client
}

fn slow_site() -> Site {
    site().file("index.php", "<?php echo 'x';").file("slow.php", SLOW)
}

/// Options: applications.{N}.restart, applications.{N}.restart.mode, applications.{N}.restart.drain_timeout,
/// applications.{N}.restart.watch
#[test]
fn the_options_are_checked() {
    let site = site().file("index.php", "x");
    let server = daemon().start_unconfigured();
    let put = |restart: Value| {
        let app =
            json!({ "type": "php", "root": site.root(), "processes": { "spare": 0 }, "restart": restart });
        server.control().put("/config", &json!({ "applications": { "php": app } }))
    };
    for right in [
        json!({}),
        json!({ "mode": "rolling", "drain_timeout": 0, "watch": [] }),
        json!({ "mode": "switch", "drain_timeout": 2_147_483, "watch": ["/no/such/file"] }),
    ] {
        put(right).expect_done();
    }
    let check = |wrong, detail: &str| {
        assert!(put(wrong).expect_refused(400, "Invalid configuration.").starts_with(detail));
    };
    check(json!({ "mode": "swich" }), "The \"mode\" of a restart must be \"rolling\" or \"switch\".");
    check(json!({ "drain_timeout": -1 }), "The \"drain_timeout\" number must not be negative.");
    check(json!({ "watch": ["index.php"] }), "The \"watch\" array must contain only absolute paths.");
    check(json!({ "when": 1 }), "Unknown parameter \"when\".");
}

#[test]
fn old_processes_finish_while_new_ones_serve() {
    let site = slow_site();
    let server = start(php_app(&site));
    let mut slow = begin_slow(&server, 2);
    restart(&server);
    server.get("/").expect(200);
    assert_eq!(server.named(PROTOTYPE).len(), 2, "the old one is still at it");
    slow.read_response().expect(200).expect_text("done");
    server.expect_processes(PROTOTYPE, 1);
}

/// The order of the lines is that of what happened: they are appended one at a time.
#[test]
fn after_a_switch_no_request_runs_beside_one_of_the_processes_before() {
    let site = site().file("index.php", DIARY).writable_folder("out");
    let server = start(php_app(&site).processes(3).with("restart", json!({ "mode": "switch" })));
    let load = Load::start(server.address().socket(), "/", 6);
    for _ in 0..4 {
        load.await_more(20);
        restart(&server);
        assert_eq!(server.named(PROTOTYPE).len(), 1, "the answer comes when the old ones have ended");
    }
    load.await_more(20);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{} good, but {:?}", tally.n_good, tally.failures);
    let diary = site.read("out/diary");
    let mut running: Vec<&str> = Vec::new();
    let mut prototypes = HashSet::new();
    for line in diary.lines() {
        let (word, prototype) = line.split_once(' ').expect("two words");
        match word {
            "begin" => running.push(prototype),
            _ => drop(running.remove(running.iter().position(|it| *it == prototype).expect("it began"))),
        }
        assert!(running.windows(2).all(|pair| pair[0] == pair[1]), "{running:?}");
        prototypes.insert(prototype);
    }
    assert_eq!(prototypes.len(), 5);
}

/// Requests that a switch keeps waiting are as many as ever: a client that leaves is forgotten.
#[test]
fn a_switch_waits_for_a_slow_request_no_longer_than_the_drain_timeout() {
    let site = slow_site();
    let restart_options = json!({ "mode": "switch", "drain_timeout": 1 });
    let server = start(php_app(&site).processes(2).with("restart", restart_options));
    let mut slow = begin_slow(&server, 60);
    let begun = Instant::now();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| server.get("/"));
        restart(&server);
        waiting.join().expect("no panic").expect(200);
    });
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    slow.read_response().expect(503);
    server.expect_log("requests of the processes before have not ended in time");
    server.expect_processes(PROTOTYPE, 1);
    server.get("/").expect(200);
}

#[test]
fn a_drain_timeout_ends_old_processes_of_changed_and_removed_applications() {
    let site = slow_site();
    let server = start(php_app(&site).with("restart", json!({ "drain_timeout": 1 })));
    let mut slow = begin_slow(&server, 60);
    server.control().put("/config/applications/php/processes", &json!(2)).expect_done();
    server.get("/").expect(200);
    slow.read_response().expect(503);
    server.expect_processes(PROTOTYPE, 1);

    let mut slow = begin_slow(&server, 60);
    let nothing =
        json!({ "listeners": { server.address().to_string(): { "pass": "routes" } }, "routes": [] });
    server.control().put("/config", &nothing).expect_done();
    slow.read_response().expect(503);
    server.expect_processes(PROTOTYPE, 0);
}

/// No worker is left to say that the old processes have finished, if their last request dies with its worker.
#[test]
fn old_processes_end_when_their_last_worker_is_killed() {
    let site = slow_site();
    let server = start(php_app(&site));
    let worker = server.expect_processes(WORKER, 1)[0];
    let mut slow = begin_slow(&server, 60);
    restart(&server);
    server.kill(worker);
    slow.read_response().expect(503);
    server.expect_processes(PROTOTYPE, 1);
}

#[test]
fn a_changed_file_or_link_restarts_the_application() {
    let site = site().file("1/index.php", "<?php echo 'one';").file("2/index.php", "<?php echo 'two';");
    let link = site.path("current");
    symlink("1", &link).expect("a link");
    let touched = site.path("restart.txt");
    let app = php_app(&site).with("root", json!(link)).with("restart", json!({ "watch": [link, touched] }));
    let server = start(app);
    let mut last = server.expect_processes(PROTOTYPE, 1);
    let mut expect_restart = |text: &str| {
        last = eventually("the application is restarted", || {
            Some(server.named(PROTOTYPE)).filter(|now| now.len() == 1 && *now != last)
        });
        server.get("/").expect(200).expect_text(text);
    };
    site.write("restart.txt", "");
    expect_restart("one");
    symlink("2", site.path("next")).expect("a link");
    std::fs::rename(site.path("next"), &link).expect("it is replaced");
    expect_restart("two");
    server.expect_log(&format!("\"{}\" has changed: restarting application \"php\"", link.display()));
}

#[test]
fn what_cannot_start_does_not_replace_what_runs() {
    let site = site().file("index.php", "<?php echo 'x';").file("preload.php", "<?php");
    let app = php_app(&site)
        .admin("opcache.preload", site.path("preload.php").to_str().expect("UTF-8"))
        .admin("opcache.preload_user", "root")
        .with("restart", json!({ "watch": [site.path("preload.php")] }));
    let server = start(app);
    let before = server.expect_processes(PROTOTYPE, 1);
    site.write("preload.php", "<?php this is not PHP");
    server.expect_log("application \"php\" could not be restarted and goes on as it was");
    let told = server.control().get("/status/applications/php").json()["last_error"].clone();
    assert!(told.as_str().is_some_and(|told| told.contains("could not be restarted")), "{told}");
    server.get("/").expect(200);
    assert_eq!(server.expect_processes(PROTOTYPE, 1), before);
    site.write("preload.php", "<?php // right again");
    eventually("it is restarted", || (server.named(PROTOTYPE) != before).then_some(()));
    server.get("/").expect(200);
    eventually("the reason is forgotten", || {
        server.control().get("/status/applications/php").json().get("last_error").is_none().then_some(())
    });
}

#[test]
fn crashes_are_counted_with_the_last_reason() {
    let site = site().file("index.php", "<?php echo 'x';");
    let server = start(php_app(&site));
    let crashes = || server.control().get("/status/applications/php").json()["crashes"].clone();
    assert_eq!(crashes(), Value::Null);
    let worker = server.expect_processes(WORKER, 1)[0];
    server.kill(worker);
    let expected = json!({ "total": 1, "last": format!("process {worker} exited on signal 9") });
    eventually("it is counted", || (crashes() == expected).then_some(()));
    let prototype = server.expect_processes(PROTOTYPE, 1)[0];
    server.kill(prototype);
    let expected = json!({ "total": 2, "last": format!("prototype {prototype}: exited on signal 9") });
    eventually("it is counted", || (crashes() == expected).then_some(()));
    server.get("/").expect(200);
}

/// Nine kills in a row would take a tenth of the time if each were replaced at once.
#[test]
fn workers_that_end_at_once_are_replaced_ever_later() {
    let site = site().file("index.php", "<?php echo 'x';");
    let server = start(php_app(&site));
    let begun = Instant::now();
    for _ in 0..9 {
        let worker = server.expect_processes(WORKER, 1)[0];
        server.kill(worker);
    }
    assert!(begun.elapsed() > Duration::from_secs(2), "{:?}", begun.elapsed());
    server.get("/").expect(200);
    let worker = server.expect_processes(WORKER, 1)[0];
    server.kill(worker);
    let begun = Instant::now();
    server.get("/").expect(200);
    assert!(begun.elapsed() < Duration::from_secs(1), "one that has served is replaced at once");
}

#[test]
fn stopped_processes_are_replaced() {
    let site = slow_site();
    let server = start(php_app(&site));
    for name in [WORKER, PROTOTYPE, "router", "controller"] {
        let stopped = server.expect_processes(name, 1)[0];
        signal(stopped, Signal::STOP);
        eventually("the stopped process is ended", || (!is_alive(stopped)).then_some(()));
        server.expect_log(&format!("process {stopped} "));
        let answer = eventually("there is an answer again", || {
            let mut client = Client::try_connect(server.address().socket()).ok()?;
            client.try_send(&Request::get("/")).ok().filter(|response: &Response| response.status == 200)
        });
        answer.expect(200);
    }
    let said = "was stopped by a signal and does not go on: killing it";
    server.expect_log(said);
    assert!(server.log().matches(said).count() <= 4, "once for each\n{}", server.log());
}

#[test]
fn a_process_that_goes_on_after_a_stop_is_left_alone() {
    let site = site().file("index.php", "<?php echo 'x';");
    let server = start(php_app(&site));
    let pids = [WORKER, PROTOTYPE, "router"].map(|name| server.expect_processes(name, 1)[0]);
    pids.iter().for_each(|pid| signal(*pid, Signal::STOP));
    thread::sleep(Duration::from_millis(500)); // shorter than any stop that is taken for a mistake
    pids.iter().for_each(|pid| signal(*pid, Signal::CONT));
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(3) {
        server.get("/").expect(200);
        assert!(pids.iter().all(|pid| is_alive(*pid)), "{}", server.log());
    }
}

#[test]
fn an_application_is_restarted_on_request() {
    let site = site().file("index.php", "<?php echo getmypid();");
    let server = daemon().application(php_app(&site)).start();
    let before = server.get("/").text();
    let reply = server.control().get("/control/applications/php/restart");
    assert_eq!(reply.0.expect(200).json(), json!({ "success": "Ok" }));
    eventually("another process answers", || (server.get("/").expect(200).text() != before).then_some(()));
    server.control().get("/control/applications/none/restart").expect_refused(404, "Value doesn't exist.");
}
