//! The life of a worker's script: its start, its failures, its end, and what becomes of requests meanwhile.

use std::collections::BTreeSet;

use corral_testkit::{Daemon, Load, PhpApp, Request, Site, daemon, eventually, php_app, site};
use serde_json::{Value, json};

/// Counts the requests of its process, and does what the query says.
const LOOP: &str = r"<?php
$n = 0;
$handler = function () use (&$n) {
    $n++;
    if (isset($_GET['exit'])) { exit('left'); }
    if (isset($_GET['throw'])) { throw new Exception('thrown'); }
    if (isset($_GET['fatal'])) { ini_set('memory_limit', '16M'); str_repeat('x', 64 << 20); }
    if (isset($_GET['die'])) { posix_kill(getmypid(), SIGKILL); }
    if (isset($_GET['sleep'])) { usleep(1000 * $_GET['sleep']); }
    echo getmypid(), ' ', $n;
};
while (corral_handle_request($handler)) {}
";

fn site_of(script: &str) -> Site {
    site().file("worker.php", script).writable_folder("out")
}

fn app(site: &Site) -> PhpApp {
    with_worker(site, json!({ "script": "worker.php" }))
}

fn with_worker(site: &Site, worker: Value) -> PhpApp {
    php_app(site).admin("opcache.file_update_protection", "0").with("worker", worker)
}

fn start(script: &str) -> (Site, Daemon) {
    let site = site_of(script);
    let server = daemon().application(app(&site)).start();
    (site, server)
}

/// The process that answered, and how many requests it has had.
#[track_caller]
fn ask(server: &Daemon) -> (u32, u32) {
    let text = server.get("/").expect(200).text();
    let numbers = text.split_once(' ').and_then(|(pid, n)| Some((pid.parse().ok()?, n.parse().ok()?)));
    numbers.unwrap_or_else(|| panic!("{text:?}"))
}

/// Options: applications.{N}.worker, applications.{N}.worker.script, applications.{N}.worker.guard
#[test]
fn a_script_answers_many_requests() {
    let (_site, server) = start(LOOP);
    let (pid, first) = ask(&server);
    assert_eq!((first, ask(&server)), (1, (pid, 2)));
    assert_eq!(ask(&server), (pid, 3));
}

#[test]
fn an_exception_ends_a_request_and_not_the_script() {
    let (_site, server) = start(LOOP);
    let (pid, _) = ask(&server);
    server.get("/?throw").expect(500);
    server.expect_log("Uncaught Exception: thrown");
    assert_eq!(ask(&server), (pid, 3));
}

/// The next request finds another process, which has loaded the application anew.
#[test]
fn exits_and_fatal_errors_end_the_script_and_it_is_started_anew() {
    let (_site, server) = start(LOOP);
    for (query, status, body) in [("?exit", 200, "left"), ("?fatal", 500, "")] {
        let (pid, _) = ask(&server);
        server.get(&format!("/{query}")).expect(status).expect_body(body);
        let (other, n) = ask(&server);
        assert_ne!(other, pid, "{query}");
        assert_eq!(n, 1);
    }
    server.expect_processes("\"php\" worker", 1);
}

#[test]
fn no_request_is_lost_when_scripts_end() {
    let site = site_of(LOOP);
    let server = daemon().application(app(&site).processes(3)).start();
    let load = Load::start(server.address().socket(), "/?sleep=1", 6);
    for query in ["?exit", "?throw", "?fatal"].iter().cycle().take(60) {
        let _ = server.get(&format!("/{query}"));
    }
    load.await_more(20);
    let tally = load.stop();
    assert_eq!(tally.failures, Vec::<String>::new());
}

#[test]
fn a_killed_worker_takes_its_own_request_along() {
    let site = site_of(LOOP);
    let server = daemon().application(app(&site).processes(2)).start();
    for _ in 0..5 {
        server.get("/?die").expect(503);
    }
    eventually("all goes on", || (server.get("/").status == 200).then_some(()));
}

/// Options: applications.{N}.worker.max_requests
#[test]
fn a_script_is_told_to_end_after_its_requests() {
    let code = LOOP.to_owned() + "file_put_contents(__DIR__ . '/out/ended', $n);";
    let site = site_of(&code);
    let worker = json!({ "script": "worker.php", "max_requests": 3 });
    let server = daemon().application(with_worker(&site, worker)).start();
    let pids: Vec<_> = (0..6).map(|_| ask(&server)).collect();
    assert_eq!(pids.iter().map(|(_, n)| *n).collect::<Vec<_>>(), [1, 2, 3, 1, 2, 3]);
    assert_eq!(pids.iter().map(|(pid, _)| *pid).collect::<BTreeSet<_>>().len(), 2);
    eventually("it has cleaned up", || (read(&site, "out/ended") == "3").then_some(()));
}

fn read(site: &Site, name: &str) -> String {
    std::fs::read_to_string(site.path(name)).unwrap_or_default()
}

#[test]
fn a_script_may_end_by_itself() {
    let code = LOOP.replace("while (corral", "while ($n < 2 && corral");
    let site = site_of(&code);
    let server = daemon().application(app(&site).processes(2)).start();
    let load = Load::start(server.address().socket(), "/", 4);
    load.await_more(200);
    assert_eq!(load.stop().failures, Vec::<String>::new());
    assert!(ask(&server).1 <= 2);
}

#[test]
fn a_restart_lets_the_script_clean_up() {
    let code = LOOP.to_owned() + "file_put_contents(__DIR__ . '/out/ended', 'by itself');";
    let (site, server) = start(&code);
    let (pid, _) = ask(&server);
    server.control().get("/control/applications/php/restart").0.expect(200);
    assert_ne!(ask(&server).0, pid);
    eventually("it has cleaned up", || (read(&site, "out/ended") == "by itself").then_some(()));
}

#[test]
fn restarts_lose_nothing() {
    let site = site_of(LOOP);
    let server = daemon().application(app(&site).processes(2)).start();
    let load = Load::start(server.address().socket(), "/?sleep=1", 4);
    for _ in 0..5 {
        load.await_more(20);
        server.control().get("/control/applications/php/restart").0.expect(200);
    }
    assert_eq!(load.stop().failures, Vec::<String>::new());
}

/// The end of the daemon is one of a script, too.
#[test]
fn the_end_of_the_daemon_lets_the_script_clean_up() {
    let code = LOOP.to_owned() + "file_put_contents(__DIR__ . '/out/ended', 'in order');";
    let (site, mut server) = start(&code);
    ask(&server);
    assert!(server.stop().success());
    assert_eq!(read(&site, "out/ended"), "in order");
}

#[test]
fn a_script_that_does_not_listen_is_ended() {
    let (_site, server) =
        start("<?php while (true) { corral_handle_request(function () { echo getmypid(); }); }");
    let pid = server.get("/").expect(200).text();
    server.control().get("/control/applications/php/restart").0.expect(200);
    assert_ne!(server.get("/").expect(200).text(), pid);
    server.expect_processes("\"php\" worker", 1);
}

/// Options: applications.{N}.worker.watch
#[test]
fn a_change_of_what_is_watched_starts_the_script_anew() {
    let site = site_of("<?php require 'answer.php'; while (corral_handle_request('answer')) {}")
        .file("answer.php", "<?php function answer() { echo 'one'; }");
    let worker = json!({ "script": "worker.php", "watch": [site.path("answer.php")] });
    let server =
        daemon().application(with_worker(&site, worker).admin("opcache.revalidate_freq", "0")).start();
    server.get("/").expect(200).expect_body("one");
    site.write("answer.php", "<?php function answer() { echo 'two'; }");
    eventually("the change is served", || (server.get("/").expect(200).text() == "two").then_some(()));
}

/// Options: applications.{N}.worker.watch
#[test]
fn a_change_of_code_in_a_watched_folder_starts_the_script_anew() {
    let site = site_of("<?php require 'app/src/answer.php'; while (corral_handle_request('answer')) {}")
        .file("app/src/answer.php", "<?php function answer() { echo 'one'; }");
    let worker = json!({ "script": "worker.php", "watch": [site.path("app")] });
    let server =
        daemon().application(with_worker(&site, worker).admin("opcache.revalidate_freq", "0")).start();
    server.get("/").expect(200).expect_body("one");
    site.write("app/src/answer.php", "<?php function answer() { echo 'two'; }");
    eventually("the change is served", || (server.get("/").expect(200).text() == "two").then_some(()));
}

/// The signal that asks the script to end ends its waits, too: it must not go on.
///
/// Options: applications.{N}.limits.kill_after
#[test]
fn a_script_that_is_killed_does_not_go_on() {
    let code = "<?php $run = function () { if (isset($_GET['sleep'])) { sleep(30); } echo getmypid(); };
        while (corral_handle_request($run)) {}";
    let site = site_of(code);
    let server = daemon().application(app(&site).with("limits", json!({ "kill_after": 1 }))).start();
    let pid = server.get("/").expect(200).text();
    server.get("/?sleep").expect(504);
    assert_ne!(server.get("/").expect(200).text(), pid);
    server.expect_log("(limits.kill_after)");
}

#[track_caller]
fn expect_refused(script: &str, reason: &str) {
    let site = site_of(script);
    let detail = daemon().start_unconfigured().expect_refused(&app(&site).value());
    assert!(detail.contains(reason), "{detail:?} does not say {reason:?}");
}

#[test]
fn a_script_that_fails_at_the_start_is_the_configurations_error() {
    expect_refused("<?php throw new Exception('no database');", "Uncaught Exception: no database in");
    expect_refused("<?php this is no php", "syntax error");
    expect_refused("<?php no_such_function();", "undefined function no_such_function()");
    expect_refused("<?php ini_set('memory_limit', '16M'); str_repeat('x', 64 << 20);", "Allowed memory size");
    let never = "before it called corral_handle_request()";
    expect_refused("<?php echo 'no loop';", never);
    expect_refused("<?php exit(7);", "ended with status 7 before it called");
}

#[test]
fn a_script_that_is_not_there_is_the_configurations_error() {
    let site = site_of(LOOP);
    let worker = json!({ "script": "none.php" });
    let detail = daemon().start_unconfigured().expect_refused(&with_worker(&site, worker).value());
    assert!(detail.contains("find the worker's script \"none.php\""), "{detail}");
}

/// A configuration that runs stays, and new processes are tried.
#[test]
fn a_script_that_fails_later_is_tried_again() {
    let code = "<?php if (file_exists(__DIR__ . '/out/broken')) { throw new Exception('broken'); }"
        .to_owned()
        + LOOP.trim_start_matches("<?php");
    let (site, server) = start(&code);
    ask(&server);
    site.write("out/broken", "");
    server.get("/?exit").expect(200);
    server.expect_log("Uncaught Exception: broken");
    std::fs::remove_file(site.path("out/broken")).expect("the file is there");
    eventually("it is started again", || (server.get("/").status == 200).then_some(()));
}

#[test]
fn what_is_printed_outside_of_requests_is_for_the_log() {
    let (_site, server) = start(
        "<?php echo \"before\\n\"; while (corral_handle_request(function () { echo 'answer'; })) { echo \
        \"between\\n\"; }",
    );
    for _ in 0..3 {
        server.get("/").expect(200).expect_body("answer");
    }
    server.expect_log("before");
    server.expect_log("between");
}

#[test]
fn the_script_has_variables_of_its_own_before_its_first_request() {
    let site = site_of(
        "<?php $own = [$_SERVER['FRANKENPHP_WORKER'], basename($_SERVER['SCRIPT_FILENAME']), \
        isset($_SERVER['PATH']), $_SERVER['SHOP'], getenv('SHOP'), isset($_SERVER['REQUEST_URI']), $_GET, \
        $_SERVER['argv'] ?? null, php_sapi_name()]; while (corral_handle_request(function () use ($own) { echo \
        json_encode([$own, $_SERVER['SHOP']]); })) {}",
    );
    let worker = json!({ "script": "worker.php", "env": { "SHOP": "7" } });
    let server = daemon().application(with_worker(&site, worker)).start();
    let own = json!(["1", "worker.php", true, "7", "7", false, [], null, "cli-server"]);
    assert_eq!(server.get("/?a=1").expect(200).json(), json!([own, "7"]));
}

/// Options: applications.{N}.worker.env
#[test]
fn variables_of_the_worker_do_not_take_the_place_of_a_requests() {
    let site = site_of(
        "<?php while (corral_handle_request(function () { echo $_SERVER['A'], $_SERVER['HTTP_X']; })) {}",
    );
    let worker = json!({ "script": "worker.php", "env": { "A": "a" } });
    let server = daemon().application(with_worker(&site, worker)).start();
    server.send(&Request::get("/").field("X", "x").field("A", "b")).expect(200).expect_body("ax");
}

#[test]
fn the_script_may_lie_outside_of_the_root() {
    let site = site().file("app/worker.php", LOOP).file("app/public/x.txt", "x");
    let app = |script: String| {
        php_app(&site)
            .with("root", json!(site.path("app/public")))
            .with("worker", json!({ "script": script }))
    };
    let absolute = site.path("app/worker.php").display().to_string();
    let server = daemon().application(app(absolute)).start();
    ask(&server);
    let relative = app("worker.php".into()).with("working_directory", json!(site.path("app")));
    let server = daemon().application(relative).start();
    ask(&server);
}

#[test]
fn requests_can_be_asked_for_in_a_worker_only() {
    let code = "<?php try { corral_handle_request(fn() => 1); } catch (RuntimeException $e) { echo $e->getMessage(); }";
    let site = site().file("index.php", code).file("old.php", code.replace("corral_", "frankenphp_"));
    let server = daemon().application(php_app(&site)).start();
    let text = server.get("/").expect(200).text();
    assert!(text.starts_with("corral_handle_request(): ") && text.contains("\"worker\""), "{text}");
    let text = server.get("/old.php").expect(200).text();
    assert!(text.starts_with("frankenphp_handle_request(): "), "{text}");
}

#[test]
fn a_handler_cannot_ask_for_another_request() {
    let (_site, server) = start(
        "<?php function f() { try { corral_handle_request('f'); } catch (RuntimeException $e) { echo \
        $e->getMessage(); } } $fiber = new Fiber(fn() => corral_handle_request('f')); try { $fiber->start(); } catch \
        (RuntimeException $e) { error_log('fiber: ' . $e->getMessage()); } while (frankenphp_handle_request('f')) {}",
    );
    assert!(server.get("/").expect(200).text().contains("the request before has not ended"));
    server.expect_log("fiber: corral_handle_request(): requests cannot be asked for inside of a fiber");
}

/// Options: applications.{N}.worker.compatibility
#[test]
fn there_need_not_be_foreign_names() {
    let site = site_of(
        "<?php while (corral_handle_request(function () { echo \
        json_encode([function_exists('frankenphp_handle_request'), defined('FRANKENPHP_LOG_LEVEL_INFO'), \
        function_exists('fastcgi_finish_request'), isset($_SERVER['FRANKENPHP_WORKER']), \
        isset($_SERVER['CORRAL_WORKER'])]); })) {}",
    );
    let answer = |compatibility: bool| {
        let worker = json!({ "script": "worker.php", "compatibility": compatibility });
        daemon().application(with_worker(&site, worker)).start().get("/").expect(200).json()
    };
    assert_eq!(answer(true), json!([true, true, true, true, true]));
    assert_eq!(answer(false), json!([false, false, true, false, true]));
}

#[test]
fn handlers_of_the_script_are_those_of_all_requests() {
    let (_site, server) = start(
        r"<?php
class Memory implements SessionHandlerInterface {
    private $data = [];
    function open($path, $name): bool { return true; }
    function close(): bool { return true; }
    function read($id): string|false { return $this->data[$id] ?? ''; }
    function write($id, $data): bool { $this->data[$id] = $data; return true; }
    function destroy($id): bool { unset($this->data[$id]); return true; }
    function gc($max): int|false { return 0; }
}
session_set_save_handler(new Memory, false);
set_error_handler(function ($no, $text) { echo '<', $text, '>'; });
set_exception_handler(function ($e) { http_response_code(418); echo 'handled ', $e->getMessage(); });
$n = 0;
register_shutdown_function(function () use (&$n) { error_log('shutdown of the script after ' . $n); });
while (corral_handle_request(function () use (&$n) {
    $n++;
    session_id('one'); session_start();
    $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
    trigger_error('noted');
    if (isset($_GET['throw'])) { throw new Exception('this'); }
    echo $_SESSION['n'];
})) {}
",
    );
    server.get("/").expect(200).expect_body("<noted>1");
    server.get("/?throw").expect(418).expect_body("<noted>handled this");
    server.get("/").expect(200).expect_body("<noted>3");
    assert!(!server.log().contains("shutdown of the script"));
    server.control().get("/control/applications/php/restart").0.expect(200);
    server.expect_log("shutdown of the script after 3");
}

#[test]
fn an_opcache_that_is_reset_is_reset_for_the_next_script() {
    let site = site_of(&LOOP.replace("$n++;", "$n++; if (isset($_GET['reset'])) { opcache_reset(); }"));
    let server = daemon().application(app(&site).processes(2)).start();
    for n in 0..20 {
        server.get(if n % 5 == 0 { "/?reset" } else { "/" }).expect(200);
    }
}

/// Both kinds of targets have their processes, and a restart is one of all.
///
/// Options: applications.{N}.worker
#[test]
fn a_target_may_have_a_worker_beside_others() {
    let site = site_of(LOOP).file("old.php", "<?php echo 'old ', getmypid();");
    let targets = json!({
        "old": { "root": site.root() },
        "new": { "root": site.root(), "worker": { "script": "worker.php" } },
    });
    let route = |uri: &str, target: &str| {
        json!({ "match": { "uri": uri },
        "action": { "pass": format!("applications/php/{target}") } })
    };
    let server = daemon().config(json!({
        "routes": [route("*.php", "old"), route("*", "new")],
        "applications": { "php": { "type": "php", "targets": targets } },
    }));
    let server = server.start();
    let (pid, n) = ask(&server);
    assert_eq!((n, ask(&server)), (1, (pid, 2)));
    let old = server.get("/old.php").expect(200).text();
    assert_eq!(server.get("/old.php").expect(200).text(), old);
    let status = server.control().get("/status/applications").json();
    let names: Vec<_> = status.as_object().expect("an object").keys().collect();
    assert_eq!(names, ["php", "php/new"]);
    server.control().get("/control/applications/php/restart").0.expect(200);
    assert_ne!(ask(&server).0, pid);
    assert_ne!(server.get("/old.php").expect(200).text(), old);
}

/// Options: applications.{N}.worker, applications.{N}.processes
#[test]
fn processes_grow_with_the_work() {
    let site = site_of(LOOP);
    let server = daemon().application(app(&site).with("processes", json!("auto"))).start();
    let n_workers = || server.named("\"php\" worker").len();
    let before = n_workers();
    let load = Load::start(server.address().socket(), "/?sleep=50", 8);
    eventually("there are more", || (n_workers() > before).then_some(()));
    load.await_more(20);
    assert_eq!(load.stop().failures, Vec::<String>::new());
}

/// An object that prints when the script ends: it was made before there was a request.
const LATE: &str = r"<?php
class Late { function __construct(public $name) {} function __destruct() { echo $this->name, ' '; } }
$global = new Late('global');
class Holder { static $held; }
Holder::$held = new Late('static');
register_shutdown_function(function () { echo 'shutdown '; });
$handler = function () {
    $local = new Late('local');
    register_shutdown_function(function () { echo 'own '; });
    if (isset($_GET['exit'])) { http_response_code(500); exit('exit '); }
    if (isset($_GET['fatal'])) { ini_set('memory_limit', '16M'); str_repeat('x', 64 << 20); }
    echo 'done ';
};
while (corral_handle_request($handler)) {}
";

/// The same in a script that is started for each request.
fn classic() -> String {
    LATE.replace("while (corral_handle_request($handler)) {}", "$handler();")
}

/// Symfony prints what `dd()` shows when an object of its container goes, and its page of a fatal error at the end of
/// the script.
#[test]
fn a_script_that_ends_with_a_request_prints_to_its_client() {
    let (_site, server) = start(LATE);
    let classic_site = site().file("index.php", classic());
    let classic = daemon().application(php_app(&classic_site)).start();
    for query in ["?exit", "?fatal"] {
        server.get("/").expect(200).expect_body("done local own ");
        let expected = classic.get(&format!("/{query}"));
        let found = server.get(&format!("/{query}")).expect(expected.status);
        let sorted = |text: &str| {
            let mut words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
            words.sort();
            words
        };
        assert_eq!(sorted(&found.text()), sorted(&expected.text()), "{query}");
        assert!(found.text().contains("shutdown own"), "{found}");
    }
}

/// An end without a request has no client to print to.
#[test]
fn a_destructor_that_fails_costs_one_request() {
    let code = LATE.replace(
        "echo $this->name, ' ';",
        "echo $this->name, ' '; if (isset($_GET['exit'])) { throw new Exception('late'); }",
    );
    let (_site, server) = start(&code);
    for _ in 0..3 {
        server.get("/?exit").expect(500);
        server.get("/").expect(200).expect_body("done local own ");
    }
    server.expect_log("late");
}
