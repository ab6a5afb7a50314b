//! Responses and bodies that come in pieces, clients that leave, and limits, in a worker as in any script.

use std::time::Duration;

use corral_testkit::{Daemon, Request, Site, daemon, eventually, php_app, site};
use serde_json::{Value, json};

fn start(code: &str, limits: Value) -> (Site, Daemon) {
    let script =
        format!("<?php $n = 0; while (corral_handle_request(function () use (&$n) {{ $n++; {code} }})) {{}}");
    let site = site().file("worker.php", script).writable_folder("out");
    let app = php_app(&site).with("worker", json!({ "script": "worker.php" })).with("limits", limits);
    let server = daemon().application(app).start();
    (site, server)
}

fn ask(server: &Daemon, target: &str) -> corral_testkit::Client {
    let mut client = server.connect();
    client.write(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
    client
}

const WAIT: &str = "while (!file_exists(__DIR__ . '/out/go')) { usleep(1000); clearstatcache(); }";

#[test]
fn what_is_flushed_arrives_at_once() {
    let code = format!(
        "header('Content-Type: text/event-stream'); ob_end_clean(); echo \"data: 1\\n\\n\"; flush(); {WAIT} echo 'end';"
    );
    let (site, server) = start(&code, json!({}));
    let mut client = ask(&server, "/");
    client.read_until_text("data: 1");
    site.write("out/go", "");
    client.read_until_text("end");
}

#[test]
fn early_hints_come_before_the_response() {
    let code = "header('Link: </a.css>; rel=preload'); headers_send(103); header_remove('Link'); \
        http_response_code(201); echo 'done';";
    let (_site, server) = start(code, json!({}));
    for _ in 0..2 {
        let mut client = ask(&server, "/");
        let head = client.read_until_text("\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 103 ") && head.contains("</a.css>"), "{head}");
        let response = client.read_response().expect(201).expect_body("done");
        assert_eq!(response.field("Link"), None);
    }
}

#[test]
fn large_bodies_come_and_go() {
    let code = "echo strlen(file_get_contents('php://input')), ' ', md5(file_get_contents('php://input')), ' ', \
        memory_get_usage() < 40 << 20 ? 'small' : 'large';";
    let (_site, server) = start(code, json!({}));
    let body: Vec<u8> = (0..7_000_000_u32).map(|n| (n * 7 % 251) as u8).collect();
    for _ in 0..5 {
        let text = server.send(&Request::new("PUT", "/").body(&body)).expect(200).text();
        assert!(text.starts_with("7000000 ") && text.ends_with(" small"), "{text}");
    }
}

#[test]
fn a_loop_that_writes_goes_on_when_its_client_has_left() {
    let code = format!(
        "ob_end_clean(); echo 'begun'; flush(); {WAIT} for ($i = 0; $i < 100; $i++) {{ echo 'x'; flush(); }} \
        file_put_contents(__DIR__ . '/out/end', connection_aborted());"
    );
    let (site, server) = start(&code, json!({}));
    let mut client = ask(&server, "/");
    client.read_until_text("begun");
    drop(client);
    // The client's end is seen before the script goes on, most likely; and if not, the script goes on all the same.
    std::thread::sleep(Duration::from_millis(50));
    site.write("out/go", "");
    eventually("the handler has come to its end", || site.path("out/end").exists().then_some(()));
    server.expect_processes("\"php\" worker", 1);
}

#[test]
fn a_request_that_was_finished_early_keeps_its_worker() {
    let code = format!("echo $n; fastcgi_finish_request(); echo 'for nobody'; {WAIT}");
    let (site, server) = start(&code, json!({}));
    server.get("/").expect(200).expect_body("1");
    let mut second = ask(&server, "/");
    site.write("out/go", "");
    second.read_response().expect(200).expect_body("2");
}

/// Options: applications.{N}.limits.kill_after, applications.{N}.limits.slow
#[test]
fn a_handler_that_takes_too_long_says_where_it_is_and_is_killed() {
    let (_site, server) = start("if ($_GET) { while (true); } echo $n;", json!({ "kill_after": 1 }));
    server.get("/").expect(200).expect_body("1");
    server.get("/?a").expect(504);
    server.expect_log("worker.php (limits.kill_after)");
    server.expect_log("s at {closure");
    eventually("another one serves", || (server.get("/").status == 200).then_some(()));
}

/// Options: applications.{N}.limits.slow
#[test]
fn time_between_requests_is_not_a_requests_time() {
    let (_site, server) = start("echo $n;", json!({ "slow": 1, "kill_after": 2 }));
    server.get("/").expect(200).expect_body("1");
    std::thread::sleep(Duration::from_millis(2500));
    server.get("/").expect(200).expect_body("2");
    assert!(!server.log().contains("(limits."), "{}", server.log());
}

/// PHP's own limit is about each request.
#[test]
fn each_request_has_the_time_limit_anew() {
    let code = "set_time_limit(1); $end = microtime(true) + 0.4; while (microtime(true) < $end); echo $n;";
    let (_site, server) = start(code, json!({}));
    for n in 1..=5 {
        server.get("/").expect(200).expect_body(n.to_string());
    }
}

/// Options: applications.{N}.limits.memory.soft
#[test]
fn a_script_that_grows_is_told_to_end() {
    let code = "$GLOBALS['kept'][] = str_repeat('x', 32 << 20); usleep(400000); echo getmypid();";
    let (_site, server) = start(code, json!({ "memory": { "soft": 96 << 20 } }));
    let first = server.get("/").expect(200).text();
    eventually("the worker was replaced", || (server.get("/").expect(200).text() != first).then_some(()));
    server.expect_log("(limits.memory.soft)");
}

#[test]
fn messages_have_levels() {
    let code = "frankenphp_log('plain'); frankenphp_log('bad', FRANKENPHP_LOG_LEVEL_ERROR, ['id' => 7, 'name' => \
        'x']); echo 'x';";
    let (_site, server) = start(code, json!({}));
    server.get("/").expect(200);
    server.expect_log("info: plain");
    server.expect_log("error: bad {\"id\":7,\"name\":\"x\"}");
    let log = server.log();
    let is_error = |text: &str| log.lines().any(|line| line.contains("[error]") && line.contains(text));
    assert!(is_error("error: bad") && !is_error("info: plain"), "{log}");
}
