//! Processes of php-cgi: how many, how they end, and what that means for requests.

use std::collections::HashSet;

use corral_testkit::{Client, Daemon, Load, Request, Signal, Site, eventually, is_alive, signal, site};
use serde_json::{Value, json};

use crate::{php_cgi, who, with_app};

fn scripts() -> Site {
    site()
        .file("who.php", "<?php echo getmypid();")
        .file("slow.php", "<?php usleep(1000 * ($_GET['ms'] ?? 3)); echo getmypid();")
        .file(
            "crash.php",
            "<?php file_put_contents(__DIR__ . '/w/crashes', 'x', FILE_APPEND); \
            posix_kill(getmypid(), 9);",
        )
        .file(
            "half.php",
            "<?php while (ob_get_level()) ob_end_clean(); echo 'half'; flush(); usleep(50000); \
            posix_kill(getmypid(), 9);",
        )
        .file(
            "wait.php",
            "<?php file_put_contents(__DIR__ . '/w/began', getmypid()); while (!file_exists(__DIR__ . \
            '/w/go')) { usleep(2000); clearstatcache(); } echo 'done';",
        )
        .writable_folder("w")
}

fn start(site: &Site, members: Value) -> Daemon {
    with_app(&php_cgi(site, members)).start()
}

fn n_crashes(server: &Daemon) -> u64 {
    server.control().get("/status/applications/app").json()["crashes"]["total"].as_u64().unwrap_or(0)
}

/// One connection that stays open: so the process sees one client.
#[test]
fn one_process_answers_one_request_after_the_other_on_one_connection() {
    let site = scripts();
    let server = start(&site, json!({}));
    let pid = who(&server);
    for _ in 0..50 {
        assert_eq!(who(&server), pid);
    }
    for client in &mut server.begin_all("/who.php", 20) {
        client.read_response().expect(200).expect_body(pid.to_string());
    }
    // Of its standard streams, the first one listens and the others are the log.
    let n_connections = || {
        let fds = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("it runs").flatten();
        let fds = fds.filter(|fd| !matches!(&*fd.file_name().to_string_lossy(), "0" | "1" | "2"));
        fds.filter(|fd| {
            std::fs::read_link(fd.path()).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))
        })
        .count()
    };
    eventually("there is one connection", || (n_connections() == 1).then_some(()));
}

/// Options: applications.{N}.concurrency
#[test]
fn a_process_with_children_takes_as_many_requests_at_once() {
    let site = scripts();
    let members = json!({ "environment": { "PHP_FCGI_CHILDREN": "3" }, "concurrency": 3 });
    let server = start(&site, members);
    for _ in 0..3 {
        let mut clients = server.begin_all("/slow.php?ms=300", 3);
        let pids: HashSet<_> =
            clients.iter_mut().map(|client| client.read_response().expect(200).text()).collect();
        assert_eq!(pids.len(), 3, "{pids:?}");
    }
}

#[test]
fn a_process_that_dies_in_a_request_fails_it_and_is_replaced() {
    let site = scripts();
    let server = start(&site, json!({ "processes": 3 }));
    let post = Request::post("/crash.php").body("x");
    server.send(&post).expect(503);
    assert_eq!(site.read("w/crashes"), "x", "what may be done once was done once");
    // Nothing was sent back, so it is tried on one other process, and not on a third.
    server.get("/crash.php").expect(503);
    assert_eq!(site.read("w/crashes"), "xxx");
    server.expect_processes("php-cgi", 3);
    server.get("/who.php").expect(200);
    let mut client = server.begin(&Request::get("/half.php"));
    client.read_until_text("half");
    assert!(!client.read_to_end().ends_with(b"0\r\n\r\n"), "the response is cut off");
    server.expect_processes("php-cgi", 3);
    eventually("all of them are counted", || (n_crashes(&server) == 4).then_some(()));
    server.expect_log("request \"/crash.php\"");
}

#[test]
fn a_request_whose_process_was_killed_before_it_answered_is_answered_by_another() {
    let site = scripts();
    let server = start(&site, json!({ "processes": 2 }));
    let mut client = server.begin(&Request::get("/wait.php"));
    eventually("the script runs", || site.path("w/began").exists().then_some(()));
    let busy = eventually("it says who runs it", || site.read("w/began").parse().ok());
    signal(busy, Signal::KILL);
    site.write("w/go", "");
    client.read_response().expect(200).expect_body("done");
}

#[test]
fn killed_under_load_they_are_back_at_once() {
    let site = scripts();
    // None ends by itself in between.
    let environment = json!({ "PHP_FCGI_MAX_REQUESTS": "0" });
    let server = start(&site, json!({ "processes": 2, "environment": environment }));
    let load = Load::start(server.address().socket(), "/who.php", 6);
    let figures = || server.control().get("/status/applications/app/processes").json();
    for _ in 0..5 {
        load.await_more(30);
        // What is killed before it is ready is another matter: requests that wait for it are told that it cannot start.
        eventually("both are ready", || {
            let figures = figures();
            (figures["running"] == 2 && figures["starting"] == 0).then_some(())
        });
        server.kill(server.named("php-cgi")[0]);
        load.await_more(30);
    }
    server.expect_processes("php-cgi", 2);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{:?}\n{}", tally.failures, server.log());
}

/// Clients that send requests which must not be repeated.
fn post_many(server: &Daemon, target: &str, n: usize) -> Vec<Client> {
    let mut clients: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for _ in 0..n {
        for client in &mut clients {
            client.write(Request::post(target).body("x").encode());
        }
        for client in &mut clients {
            client.read_response().expect(200);
        }
    }
    clients
}

/// php-cgi ends itself after so many requests.
#[test]
fn processes_that_end_between_requests_lose_none() {
    let site = scripts();
    for (requests, processes) in [("1", 1), ("3", 2), ("7", 3)] {
        let members = json!({ "environment": { "PHP_FCGI_MAX_REQUESTS": requests }, "processes": processes });
        let server = start(&site, members);
        let load = Load::start(server.address().socket(), "/who.php", 4);
        load.await_more(60);
        post_many(&server, "/who.php", 15);
        load.await_more(20);
        let tally = load.stop();
        assert!(tally.failures.is_empty(), "after {requests}: {:?}\n{}", tally.failures, server.log());
        assert_eq!(n_crashes(&server), 0, "{}", server.log());
    }
}

#[test]
fn a_process_is_replaced_after_as_many_requests_as_the_limit_says() {
    let site = scripts();
    let server = start(&site, json!({ "limits": { "requests": 5 } }));
    let load = Load::start(server.address().socket(), "/who.php", 3);
    load.await_more(40);
    post_many(&server, "/who.php", 5);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{:?}", tally.failures);
    assert!(!server.log().contains("[alert]"), "{}", server.log());
    eventually("those that were replaced have ended", || (server.named("php-cgi").len() == 1).then_some(()));
}

#[test]
fn a_restart_under_load_fails_no_request() {
    let site = scripts();
    for mode in ["rolling", "switch"] {
        let server = start(&site, json!({ "processes": 2, "restart": { "mode": mode } }));
        let load = Load::start(server.address().socket(), "/slow.php", 6);
        for _ in 0..3 {
            load.await_more(40);
            let before = server.named("php-cgi");
            server.control().get("/control/applications/app/restart").0.expect(200);
            eventually("the old ones have ended", || before.iter().all(|pid| !is_alive(*pid)).then_some(()));
        }
        load.await_more(40);
        let tally = load.stop();
        assert!(tally.failures.is_empty(), "{mode}: {} good, but {:?}", tally.n_good, tally.failures);
        assert!(!server.log().contains("[alert]"), "{}", server.log());
    }
}

#[test]
fn a_request_in_progress_outlives_a_restart() {
    let site = scripts();
    let server = start(&site, json!({}));
    let old = who(&server);
    let mut client = server.begin(&Request::get("/wait.php"));
    eventually("the script runs", || site.path("w/began").exists().then_some(()));
    server.control().get("/control/applications/app/restart").0.expect(200);
    eventually("a new one serves", || (who(&server) != old).then_some(()));
    site.write("w/go", "");
    client.read_response().expect(200).expect_body("done");
    eventually("the old one has ended", || (!is_alive(old)).then_some(()));
}

#[test]
fn processes_come_with_requests_and_go_without() {
    let site = scripts();
    let processes = json!({ "max": 3, "spare": 1, "idle_timeout": 1 });
    let server = start(&site, json!({ "processes": processes }));
    assert_eq!(server.named("php-cgi").len(), 1);
    let mut clients = server.begin_all("/slow.php?ms=800", 3);
    server.expect_processes("php-cgi", 3);
    clients.iter_mut().for_each(|client| drop(client.read_response().expect(200)));
    server.expect_processes("php-cgi", 1);
    assert!(!server.log().contains("[alert]"), "those were told to end:\n{}", server.log());
    who(&server);
}

#[test]
fn as_many_processes_as_requests_need() {
    let site = scripts();
    let server = start(&site, json!({ "processes": "auto" }));
    let n_before = server.named("php-cgi").len();
    let mut clients = server.begin_all("/slow.php?ms=2000", 6);
    eventually("there are more", || (server.named("php-cgi").len() > n_before + 1).then_some(()));
    clients.iter_mut().for_each(|client| drop(client.read_response().expect(200)));
}

#[test]
fn limits_hold_as_for_every_application() {
    let site = scripts();
    let limits = json!({ "timeout": 1, "queue": 1, "queue_timeout": 2 });
    let server = start(&site, json!({ "limits": limits }));
    let mut silent = server.begin_running("/wait.php");
    let mut waits = server.begin(&Request::get("/who.php"));
    eventually("it waits", || {
        (server.control().get("/status/applications/app/requests/active").json() == 2).then_some(())
    });
    server.get("/who.php").expect(503).expect_field("Retry-After", "1");
    silent.read_response().expect(503);
    server.expect_log("the application was silent for 1 s (limits.timeout)");
    // The script has its process for as long as it runs.
    waits.read_response().expect(503);
    site.write("w/go", "");
    eventually("the process is back", || (server.get("/who.php").status == 200).then_some(()));
}

#[test]
fn a_process_that_takes_too_long_or_too_much_is_killed() {
    let site = scripts().file(
        "grow.php",
        "<?php ini_set('memory_limit', -1); $GLOBALS['x'] = str_repeat('x', 300 << 20); while (true) usleep(1000);",
    );
    let limits = json!({ "kill_after": 1, "memory": { "hard": 200 << 20 } });
    let server = start(&site, json!({ "limits": limits, "processes": 2 }));
    server.get("/wait.php").expect(504);
    server.expect_log("(limits.kill_after)");
    eventually("both serve again", || (server.named("php-cgi").len() == 2).then_some(()));
    let server = start(&site, json!({ "limits": { "memory": { "hard": 200 << 20 } } }));
    server.get("/grow.php").expect(503);
    server.expect_log("(limits.memory.hard)");
    eventually("another one serves", || (server.get("/who.php").status == 200).then_some(()));
}

#[test]
fn a_router_that_dies_gets_new_processes() {
    let site = scripts();
    let server = start(&site, json!({}));
    let before = who(&server);
    server.kill(server.named("router")[0]);
    eventually("requests are served again", || {
        let response = server.connect().try_send(&Request::get("/who.php")).ok()?;
        (response.status == 200).then_some(())
    });
    assert_ne!(who(&server), before);
    server.expect_processes("php-cgi", 1);
}

#[test]
fn they_end_with_the_daemon() {
    let site = scripts();
    let mut server = start(&site, json!({ "processes": 2 }));
    who(&server);
    let all = server.named("php-cgi");
    assert!(server.stop().success());
    assert!(all.iter().all(|pid| !is_alive(*pid)));
}

/// Options: applications.{N}.abandoned
#[test]
fn requests_whose_clients_left_while_they_waited_are_run_by_their_method() {
    let ran = "<?php touch(__DIR__ . '/w/' . $_SERVER['REQUEST_METHOD'] . file_get_contents('php://input'));";
    for (members, expected) in
        [(json!({}), ["POSTx"].as_slice()), (json!({ "abandoned": "run" }), &["GET", "POSTx"])]
    {
        let site = scripts().file("ran.php", ran);
        let server = start(&site, members);
        let mut first = server.begin_running("/wait.php");
        let clients = [Request::post("/ran.php").body("x"), Request::get("/ran.php")];
        let clients = clients.map(|request| server.begin(&request));
        let active = || server.control().get("/status/applications/app/requests/active").json();
        eventually("they wait", || (active() == 3).then_some(()));
        drop(clients);
        eventually("some have gone", || (active() == 1 + expected.len()).then_some(()));
        site.write("w/go", "");
        first.read_response().expect(200).expect_body("done");
        eventually("the others are over", || (active() == 0).then_some(()));
        let ran: Vec<_> =
            ["GET", "POSTx"].into_iter().filter(|name| site.path("w").join(name).exists()).collect();
        assert_eq!(ran, expected);
    }
}
