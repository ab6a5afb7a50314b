//! `limits` beyond Unit: how long requests run and wait, how many there are, and how long workers live.

use corral_testkit::{Client, Daemon, Load, Request, Site, daemon, eventually, php_app, site};
use serde_json::{Value, json};

/// Runs until the test says that it may end.
const HELD: &str =
    "while (!file_exists(__DIR__ . '/release')) { usleep(1000); clearstatcache(); } echo 'held';";

fn with_limits(n_workers: u32, limits: Value, files: &[(&str, &str)]) -> (Site, Daemon) {
    let first = site().file("ok.php", "<?php echo getmypid();");
    let site = files.iter().fold(first, |site, (name, code)| site.file(name, format!("<?php {code}")));
    let app = php_app(&site).processes(n_workers).with("limits", limits);
    let server = daemon().application(app).start();
    (site, server)
}

fn ask(server: &Daemon, target: &str) -> Client {
    let mut client = server.connect();
    client.write(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
    client
}

/// Waits until as many requests run or wait.
fn expect_active(server: &Daemon, n: u64) {
    eventually("the requests have arrived", || {
        let figures = server.control().get("/status/applications/php").json();
        (figures["requests"]["active"] == n).then_some(())
    });
}

/// Options: applications.{N}.limits.kill_after
#[test]
fn a_worker_that_runs_a_request_for_too_long_is_killed() {
    let (_site, server) = with_limits(1, json!({ "kill_after": 1 }), &[("stuck.php", "sleep(60);")]);
    let before = server.get("/ok.php").expect(200).text();
    let mut stuck = ask(&server, "/stuck.php?a=b");
    expect_active(&server, 1);
    let mut behind = ask(&server, "/ok.php");
    stuck.read_response().expect(504);
    let after = behind.read_response().expect(200).text();
    assert_ne!(before, after, "another worker serves what waited");
    server.expect_log(&format!("process {before} has run GET \"/stuck.php?a=b\" for 1."));
    server.expect_log("stuck.php (limits.kill_after)");
    let left = server.expect_processes("\"php\" worker", 1);
    assert_eq!(left, [after.parse::<u32>().expect("a number")]);
}

/// Options: applications.{N}.limits.kill_after
#[test]
fn a_response_that_was_begun_is_cut_when_its_worker_is_killed() {
    let (_site, server) = with_limits(
        1,
        json!({ "kill_after": 1 }),
        &[("stuck.php", "echo 'x'; ob_flush(); flush(); sleep(60);")],
    );
    let result = server.connect().try_send(&Request::get("/stuck.php"));
    assert!(
        result.is_err(),
        "an incomplete response must not look complete: {}",
        result.expect("a response")
    );
    eventually("another worker serves", || (server.get("/ok.php").status == 200).then_some(()));
}

/// The client has what it wanted long ago; the worker is missed nevertheless.
#[test]
fn a_worker_is_killed_although_nobody_waits_for_its_answer() {
    let code = "echo getmypid(); fastcgi_finish_request(); sleep(60);";
    let (_site, server) = with_limits(1, json!({ "kill_after": 1 }), &[("later.php", code)]);
    let pid = server.get("/later.php").expect(200).text();
    assert_ne!(server.get("/ok.php").expect(200).text(), pid);
    server.expect_log("later.php (limits.kill_after)");
}

/// `timeout` alone lets the script go on.
#[test]
fn the_client_may_be_answered_before_the_worker_is_killed() {
    let limits = json!({ "timeout": 1, "kill_after": 2 });
    let (_site, server) = with_limits(1, limits, &[("stuck.php", "sleep(60);")]);
    server.get("/stuck.php").expect(503);
    server.get("/ok.php").expect(200);
    server.expect_log("stuck.php (limits.kill_after)");
}

#[test]
fn each_request_has_its_own_time() {
    let (_site, server) = with_limits(1, json!({ "kill_after": 1 }), &[("part.php", "usleep(400000);")]);
    let before = server.get("/ok.php").expect(200).text();
    for _ in 0..4 {
        server.get("/part.php").expect(200);
    }
    server.get("/ok.php").expect(200).expect_body(&before);
}

/// Options: applications.{N}.limits.slow
#[test]
fn a_slow_request_is_logged_once() {
    let (_site, server) = with_limits(1, json!({ "slow": 1 }), &[("slow.php", "usleep(1600000); echo 'x';")]);
    server.get("/ok.php").expect(200);
    server.get("/slow.php?a=b").expect(200).expect_body("x");
    server.expect_log("GET \"/slow.php?a=b\" for 1.");
    server.get("/ok.php").expect(200);
    let log = server.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("(limits.slow)")).collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let says_all =
        lines[0].contains("\"php\": slow: process ") && lines[0].contains("slow.php (limits.slow)");
    assert!(says_all, "{lines:?}");
}

/// Computes for as long as it is told.
const BUSY: &str = "function inner($end) { while (microtime(true) < $end) {} }
class A { static function outer($end) {
inner($end); } }
A::outer(microtime(true) + 1.6); echo 'x';";

/// Options: applications.{N}.limits.slow
/// Options: applications.{N}.limits.kill_after
#[test]
fn a_script_says_where_it_is_before_it_is_killed() {
    let code = "function inner() { while (true); }\ninner();";
    let (site, server) = with_limits(1, json!({ "kill_after": 1 }), &[("busy.php", code)]);
    server.get("/busy.php").expect(504);
    let file = site.path("busy.php").display().to_string();
    server.expect_log(&format!("s at inner() {file}:1 < {file}:2"));
    server.expect_log("busy.php (limits.kill_after)");
    server.get("/ok.php").expect(200);
}

#[test]
fn a_slow_script_says_where_it_is() {
    let (site, server) = with_limits(1, json!({ "slow": 1 }), &[("busy.php", BUSY)]);
    server.get("/busy.php").expect(200).expect_body("x");
    let pid = server.get("/ok.php").expect(200).text();
    let file = site.path("busy.php").display().to_string();
    server.expect_log(&format!("slow: process {pid} is after 1."));
    server.expect_log(&format!("inner() {file}:1 < A::outer() {file}:3 < {file}:4"));
    assert_eq!(server.log().matches("s at ").count(), 1, "once for a request");
    server.get("/busy.php").expect(200);
    eventually("the next one, too", || (server.log().matches("s at ").count() == 2).then_some(()));
}

/// The list of workers has the calls of the request that runs, and none of the one before.
///
/// Options: applications.{N}.limits.slow
#[test]
fn the_list_of_workers_says_where_a_slow_script_is() {
    let slow = "function inner() { while (!file_exists(__DIR__ . '/release')) { clearstatcache(); } }
inner(); echo 'x';";
    let next = "while (!file_exists(__DIR__ . '/go')) { usleep(1000); clearstatcache(); } echo 'y';";
    let files = [("slow.php", slow), ("next.php", next)];
    let (site, server) = with_limits(1, json!({ "slow": 1 }), &files);
    let running = |path: &str| {
        let workers = server.control().get("/control/applications/php/workers").json();
        let request = workers.as_object()?.values().find_map(|worker| worker.get("request"))?.clone();
        (request["path"] == path).then_some(request)
    };
    let mut first = ask(&server, "/slow.php");
    let request = eventually("it says where it is", || {
        running("/slow.php").filter(|request| request.get("backtrace").is_some())
    });
    let backtrace = &request["backtrace"];
    let calls = backtrace["calls"].as_array().expect("an array");
    let file = site.path("slow.php").display().to_string();
    // A function of PHP that has returned may still be the innermost.
    assert!(calls.ends_with(&[json!(format!("inner() {file}:1")), json!(format!("{file}:2"))]), "{request}");
    assert!(backtrace["seconds"].as_f64().is_some_and(|seconds| (0.9..60.0).contains(&seconds)), "{request}");
    site.write("release", "");
    first.read_response().expect(200).expect_body("x");
    let mut second = ask(&server, "/next.php");
    let request = eventually("the next one runs", || running("/next.php"));
    assert_eq!(request.get("backtrace"), None, "{request}");
    site.write("go", "");
    second.read_response().expect(200).expect_body("y");
}

/// Options: applications.{N}.limits.slow
#[test]
fn a_script_that_waits_is_not_woken_to_say_where_it_is() {
    let code =
        "$begun = microtime(true); $left = sleep(2); echo $left, ' ', round(microtime(true) - $begun);";
    let (_site, server) = with_limits(1, json!({ "slow": 1 }), &[("wait.php", code)]);
    server.get("/wait.php").expect(200).expect_body("0 2");
    server.expect_log("is after 2.");
    server.expect_log("wait.php:1");
}

/// Compiled code looks for interruptions by itself.
///
/// Options: applications.{N}.limits.slow
#[test]
fn a_script_that_was_compiled_to_machine_code_says_where_it_is() {
    for jit in ["function", "tracing"] {
        let site = site().file("busy.php", format!("<?php {BUSY}"));
        let app = php_app(&site)
            .admin("opcache.jit", jit)
            .admin("opcache.jit_buffer_size", "32M")
            .with("limits", json!({ "slow": 1 }));
        let server = daemon().application(app).start();
        server.get("/busy.php").expect(200).expect_body("x");
        // From PHP 8.4 on, the function of PHP that has returned is still the innermost.
        server.expect_log("inner() ");
        server.expect_log("busy.php:1 < A::outer() ");
    }
}

/// Options: applications.{N}.limits.slow
#[test]
fn endless_recursion_has_a_short_backtrace() {
    let code =
        "function f($n, $end) { if ($n > 0) { f($n - 1, $end); } else { while (microtime(true) < $end) {} } }
f(10000, microtime(true) + 1.6); echo 'x';";
    let (_site, server) = with_limits(1, json!({ "slow": 1 }), &[("deep.php", code)]);
    server.get("/deep.php").expect(200).expect_body("x");
    server.expect_log(" < ...");
    let log = server.log();
    let line =
        log.lines().find(|line| line.contains("s at ") && line.contains("f() ")).expect("it was logged");
    assert!(line.len() < 4096, "{}", line.len());
}

/// Options: applications.{N}.limits.slow
#[test]
fn scripts_say_where_they_are_although_system_calls_are_bounded() {
    let site =
        site().file("index.php", "<?php $end = microtime(true) + 1.6; while (microtime(true) < $end) {}");
    let app = php_app(&site)
        .with("isolation", json!({ "seccomp": "default" }))
        .with("limits", json!({ "slow": 1 }));
    let server = daemon().application(app).start();
    server.get("/").expect(200);
    server.expect_log("index.php:1");
}

/// Options: applications.{N}.limits.slow
#[test]
fn only_workers_with_the_limit_have_a_thread_for_it() {
    for (limits, expect) in [(json!({}), "1"), (json!({ "slow": 1 }), "2")] {
        let count = "echo count(glob('/proc/self/task/*'));";
        let (_site, server) = with_limits(1, limits, &[("threads.php", count)]);
        server.get("/threads.php").expect(200).expect_body(expect);
    }
}

/// Options: applications.{N}.limits.queue
#[test]
fn more_than_may_wait_are_refused_at_once() {
    let (site, server) = with_limits(1, json!({ "queue": 1 }), &[("held.php", HELD)]);
    let mut first = ask(&server, "/held.php");
    expect_active(&server, 1);
    let mut second = ask(&server, "/held.php");
    expect_active(&server, 2);
    server.get("/ok.php").expect(503).expect_field("Retry-After", "1");
    server.expect_log("1 requests found no worker in time");
    site.write("release", "");
    first.read_response().expect(200).expect_body("held");
    second.read_response().expect(200).expect_body("held");
    server.get("/ok.php").expect(200);
}

/// The first worker is started for the request that may not wait.
///
/// Options: applications.{N}.limits.queue
#[test]
fn without_a_queue_an_application_still_starts() {
    let site = site().file("index.php", "<?php echo 'x';");
    let app = php_app(&site)
        .with("processes", json!({ "max": 2, "spare": 0 }))
        .with("limits", json!({ "queue": 0 }));
    daemon().application(app).start().get("/").expect(200).expect_body("x");
}

/// Options: applications.{N}.limits.queue_timeout
#[test]
fn a_request_waits_for_a_worker_only_so_long() {
    let (site, server) = with_limits(1, json!({ "queue_timeout": 1 }), &[("held.php", HELD)]);
    let mut first = ask(&server, "/held.php");
    expect_active(&server, 1);
    server.get("/ok.php").expect(503).expect_field("Retry-After", "1");
    expect_active(&server, 1);
    site.write("release", "");
    first.read_response().expect(200).expect_body("held");
    server.get("/ok.php").expect(200);
}

/// A script that runs is not told, and its client may still read; requests that wait behind it are not run without a
/// client.
#[test]
fn clients_that_send_nothing_more_are_answered_if_their_request_runs() {
    let ran = "error_log('it has run');";
    let (site, server) = with_limits(1, json!({}), &[("held.php", HELD), ("ran.php", ran)]);
    let mut first = ask(&server, "/held.php");
    expect_active(&server, 1);
    first.finish_writing();
    let mut behind: Vec<Client> = (0..5).map(|_| ask(&server, "/ran.php")).collect();
    expect_active(&server, 6);
    behind.iter_mut().for_each(Client::finish_writing);
    expect_active(&server, 1);
    // One that has sent another request has left as well.
    let mut eager = ask(&server, "/ran.php");
    eager.write("GET /ran.php HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_active(&server, 2);
    drop(eager);
    expect_active(&server, 1);
    site.write("release", "");
    first.read_response().expect(200).expect_body("held");
    server.get("/ok.php").expect(200);
    assert!(!server.log().contains("it has run"));
    server.get("/ran.php").expect(200);
    server.expect_log("it has run");
}

/// Options: applications.{N}.limits.concurrency
#[test]
fn no_more_requests_are_in_progress_than_is_said() {
    let (site, server) = with_limits(2, json!({ "concurrency": 1 }), &[("held.php", HELD)]);
    server.expect_processes("\"php\" worker", 2);
    let mut first = ask(&server, "/held.php");
    expect_active(&server, 1);
    let mut second = ask(&server, "/ok.php");
    expect_active(&server, 2);
    let figures = server.control().get("/status/applications/php").json();
    assert_eq!(figures["processes"]["idle"], 1, "{figures}");
    site.write("release", "");
    first.read_response().expect(200).expect_body("held");
    second.read_response().expect(200);
}

/// Options: applications.{N}.limits.concurrency
#[test]
fn the_queue_begins_where_concurrency_ends() {
    let limits = json!({ "concurrency": 1, "queue": 0 });
    let (site, server) = with_limits(2, limits, &[("held.php", HELD)]);
    let mut first = ask(&server, "/held.php");
    expect_active(&server, 1);
    server.get("/ok.php").expect(503).expect_field("Retry-After", "1");
    site.write("release", "");
    first.read_response().expect(200);
    server.get("/ok.php").expect(200);
}

/// Options: applications.{N}.limits.requests_jitter
#[test]
fn workers_are_replaced_after_numbers_that_differ() {
    let (_site, server) = with_limits(1, json!({ "requests": 20, "requests_jitter": 0.5 }), &[]);
    let mut client = server.connect();
    let pids: Vec<String> = (0..200).map(|_| client.get("/ok.php").expect(200).text()).collect();
    let lives: Vec<usize> = pids.chunk_by(|one, next| one == next).map(<[String]>::len).collect();
    // The last one is still alive.
    let ended = &lives[..lives.len() - 1];
    assert!(ended.iter().all(|life| (10..=20).contains(life)), "{lives:?}");
    assert!(ended.iter().any(|life| *life != ended[0]), "{lives:?}");
}

/// Keeps what it is told to in the process, where the end of a request does not free it.
const HOARDER: &str = "$n = (int) $_GET['mib'];
$hoard = str_repeat('x', $n << 20);
if (isset($_GET['release'])) { while (!file_exists(__DIR__ . '/release')) { usleep(1000); clearstatcache(); } }
echo getmypid(), ' ', strlen($hoard);";

fn hoarder(n_workers: u32, memory: &Value) -> (Site, Daemon) {
    let first = site().file("ok.php", "<?php echo getmypid();");
    let site = first.file("hoard.php", format!("<?php {HOARDER}"));
    let app = php_app(&site)
        .processes(n_workers)
        .admin("memory_limit", "-1")
        .with("limits", json!({ "memory": memory }));
    let server = daemon().application(app).start();
    (site, server)
}

/// Options: applications.{N}.limits.memory, applications.{N}.limits.memory.soft
#[test]
fn a_worker_above_the_soft_bound_is_replaced_after_its_request() {
    let (site, server) = hoarder(1, &json!(96 << 20));
    let before = server.get("/ok.php").expect(200).text();
    let mut large = ask(&server, "/hoard.php?mib=128&release");
    server.expect_log("\"php\": replacing a worker: process ");
    server.expect_log("running GET \"/hoard.php?mib=128&release\", script ");
    server.expect_log("hoard.php (limits.memory.soft)");
    let after = server.get("/ok.php").expect(200).text();
    assert_ne!(before, after, "another worker is there before the first has ended its request");
    site.write("release", "");
    large.read_response().expect(200).expect_body(format!("{before} {}", 128 << 20));
    server.expect_processes("\"php\" worker", 1);
    server.get("/hoard.php?mib=32").expect(200).expect_body(format!("{after} {}", 32 << 20));
    assert_eq!(server.log().matches("limits.memory.soft").count(), 1);
}

/// The numbers of its workers inside are others than those by which the daemon looks at them.
///
/// Options: applications.{N}.limits.memory.soft
#[test]
fn memory_is_bounded_in_a_namespace_of_processes() {
    let site =
        site().file("www/index.php", "<?php $x = str_repeat('x', $_GET['mib'] << 20); echo getmypid();");
    let app = php_app(&site)
        .with("root", json!(site.path("www")))
        .admin("memory_limit", "-1")
        .with("isolation", json!({ "namespaces": { "credential": true, "pid": true } }))
        .with("limits", json!({ "memory": 96 << 20 }));
    let server = daemon().application(app).start();
    let before = server.get("/?mib=1").expect(200).text();
    assert!(before.parse::<u32>().is_ok_and(|pid| pid < 10), "{before}");
    eventually("the worker is replaced", || {
        let pid = server.get("/?mib=128").text();
        (pid != before).then_some(())
    });
    server.expect_log("php\": replacing a worker: process ");
}

/// Options: applications.{N}.limits.memory.hard
#[test]
fn a_worker_above_the_hard_bound_is_killed() {
    let (_site, server) = hoarder(2, &json!({ "hard": 96 << 20 }));
    let others = Load::start(server.address().socket(), "/ok.php", 1);
    others.await_more(1);
    ask(&server, "/hoard.php?mib=128&release").read_response().expect(503);
    others.await_more(1);
    assert_eq!(others.stop().failures, Vec::<String>::new(), "requests of other workers are not affected");
    server.expect_log("\"php\" application: killing a worker: process ");
    server.expect_log("hoard.php (limits.memory.hard)");
    server.expect_processes("\"php\" worker", 2);
    server.get("/hoard.php?mib=32").expect(200);
}
