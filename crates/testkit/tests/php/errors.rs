//! Scripts that fail: what the visitor sees, what the log says, and that the next request is fine.

use corral_testkit::{Daemon, Site, daemon, eventually, php_app, site};
use serde_json::json;

fn scripts(files: &[(&str, &str)]) -> (Site, Daemon) {
    let site =
        files.iter().fold(site().file("ok.php", "<?php echo 'ok ', getmypid();"), |site, (name, code)| {
            site.file(name, format!("<?php {code}"))
        });
    let app =
        php_app(&site).admin("display_errors", "0").admin("log_errors", "1").admin("memory_limit", "32M");
    let server = daemon().application(app).start();
    (site, server)
}

/// The script fails with `status`, the log holds `logged`, and the same worker serves the next request.
#[track_caller]
fn check(code: &str, status: u16, logged: &str) {
    let (_site, server) = scripts(&[("bad.php", code)]);
    let before = server.get("/ok.php").expect(200).text();
    server.get("/bad.php").expect(status);
    server.get("/ok.php").expect(200).expect_body(&before);
    if !logged.is_empty() {
        server.expect_log(logged);
    }
    if status == 500 {
        server.expect_log("bad.php");
    }
}

#[test]
fn an_uncaught_exception() {
    check("throw new RuntimeException('went wrong');", 500, "went wrong");
}

#[test]
fn a_fatal_error() {
    check("undefined_function();", 500, "undefined_function");
}

#[test]
fn a_parse_error() {
    check("this is not php", 500, "syntax error");
}

#[test]
fn out_of_memory() {
    check("$a = str_repeat('x', 1 << 30);", 500, "Allowed memory size");
    check("$a = []; while (true) { $a[] = str_repeat('x', 10000); }", 500, "Allowed memory size");
}

#[test]
fn a_required_file_that_is_missing() {
    check("require 'missing.inc';", 500, "missing.inc");
}

#[test]
fn exit_anywhere_is_an_end_and_no_error() {
    check("http_response_code(202); exit;", 202, "");
    check("http_response_code(202); register_shutdown_function(function () { exit(3); });", 202, "");
    check(
        "http_response_code(202); ob_start(function ($text) { return $text; }); echo 'x'; exit(1);",
        202,
        "",
    );
    check(
        "set_exception_handler(function () { http_response_code(202); exit; }); throw new Exception;",
        202,
        "",
    );
    check("class A { function __destruct() { exit; } } $a = new A; http_response_code(202);", 202, "");
    check("set_error_handler(function () { http_response_code(202); exit; }); echo $undefined;", 202, "");
}

#[test]
fn errors_in_handlers() {
    check(
        "register_shutdown_function(function () { throw new Exception('late'); }); http_response_code(500);",
        500,
        "late",
    );
    check(
        "set_exception_handler(function () { throw new Exception('twice'); }); throw new Exception('once');",
        500,
        "twice",
    );
    check(
        "session_set_save_handler(new class extends SessionHandler { function write($a, $b): bool { exit; } }, \
        false); http_response_code(202);",
        202,
        "",
    );
}

#[test]
fn a_warning_is_logged_and_no_failure() {
    check("trigger_error('careful', E_USER_WARNING);", 200, "careful");
    check("error_log('said by hand');", 200, "said by hand");
}

#[test]
fn time_limits_of_php() {
    let (_site, server) = scripts(&[("slow.php", "set_time_limit(1); while (true) { $x = sqrt(5); }")]);
    server.get("/slow.php").expect(500);
    server.expect_log("Maximum execution time");
    server.expect_log("slow.php");
    server.get("/ok.php").expect(200);
}

#[test]
fn deep_recursion_costs_one_request() {
    let (_site, server) =
        scripts(&[("deep.php", "function f($n) { return array_map('f', [$n + 1]); } f(0);")]);
    let response = server.get("/deep.php");
    assert!(matches!(response.status, 500 | 503), "{response}");
    server.expect_log("deep.php");
    eventually("another worker serves", || (server.get("/ok.php").status == 200).then_some(()));
}

/// A fault in C: the worker is gone, one visitor sees 503, the log names the script. The signal is
/// sent again and again, as the kernel does: a handler that only looks for stack overflows returns once.
#[test]
fn a_crash_costs_one_request() {
    let (_site, server) = scripts(&[("crash.php", "while (true) { posix_kill(getmypid(), SIGSEGV); }")]);
    server.get("/ok.php").expect(200);
    server.get("/crash.php").expect(503);
    server.expect_log("signal 11");
    server.expect_log("crash.php");
    eventually("another worker serves", || (server.get("/ok.php").status == 200).then_some(()));
    server.expect_processes("\"php\" worker", 1);
}

/// As an operator sends it, once.
#[test]
fn a_crash_that_is_sent_is_one() {
    for signal in ["SIGSEGV", "SIGBUS"] {
        let code = format!("posix_kill(getmypid(), {signal}); echo 'swallowed';");
        let (_site, server) = scripts(&[("crash.php", &code)]);
        server.get("/crash.php").expect(503);
        eventually("another worker serves", || (server.get("/ok.php").status == 200).then_some(()));
    }
}

/// Output of a script whose visitor has left goes nowhere, and the worker serves the next one.
#[test]
fn output_after_the_visitor_has_left_harms_nobody() {
    let code = "ignore_user_abort(true); echo 'begun'; ob_flush(); flush(); usleep(300000);
for ($i = 0; $i < 1000; $i++) { echo str_repeat('x', 10000); flush(); } error_log('wrote all');";
    let (_site, server) = scripts(&[("late.php", code)]);
    let before = server.get("/ok.php").expect(200).text();
    let mut visitor = server.connect();
    visitor.write("GET /late.php HTTP/1.1\r\nHost: a\r\n\r\n");
    visitor.read_until_text("begun");
    drop(visitor);
    server.expect_log("wrote all");
    server.get("/ok.php").expect(200).expect_body(&before);
}

#[test]
fn a_crash_in_the_middle_of_a_response_cuts_it() {
    let (_site, server) = scripts(&[(
        "crash.php",
        "echo str_repeat('x', 100000); flush(); usleep(100000); posix_kill(getmypid(), SIGKILL); sleep(10);",
    )]);
    let mut client = server.connect();
    let result = client.try_send(&corral_testkit::Request::get("/crash.php"));
    assert!(
        result.is_err(),
        "an incomplete response must not look complete: {}",
        result.expect("a response")
    );
    eventually("another worker serves", || (server.get("/ok.php").status == 200).then_some(()));
}

#[test]
fn a_request_that_was_queued_behind_a_crash_is_served_by_another() {
    let (_site, server) =
        scripts(&[("crash.php", "usleep(300000); posix_kill(getmypid(), SIGKILL); sleep(10);")]);
    server.get("/ok.php").expect(200);
    let mut first = server.connect();
    first.write("GET /crash.php HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut others: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for client in &mut others {
        client.write("GET /ok.php HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    first.read_response().expect(503);
    for client in &mut others {
        client.read_response().expect(200).expect_text("ok ");
    }
}

/// Options: applications.{N}.limits.timeout
#[test]
fn a_time_limit_of_the_application_is_answered_for_the_script() {
    let site = site().file("slow.php", "<?php sleep(30);").file("ok.php", "<?php echo 'ok';");
    let app = php_app(&site).processes(2).with("limits", json!({ "timeout": 1 }));
    let server = daemon().application(app).start();
    server.get("/slow.php").expect(503);
    server.get("/ok.php").expect(200);
}

/// Options: applications.{N}.limits.requests
#[test]
fn a_worker_is_replaced_after_its_number_of_requests() {
    let site = site().file("index.php", "<?php echo getmypid();");
    let app = php_app(&site).with("limits", json!({ "requests": 3 }));
    let server = daemon().application(app).start();
    let mut client = server.connect();
    let pids: Vec<String> = (0..9).map(|_| client.get("/").expect(200).text()).collect();
    let mut different = pids.clone();
    different.dedup();
    assert_eq!(different.len(), 3, "{pids:?}");
}

/// Options: applications.{N}.stdout, applications.{N}.stderr
#[test]
fn standard_output_and_error_go_where_they_are_sent() {
    let site = site().writable_folder("logs").file(
        "index.php",
        "<?php fwrite(fopen('php://stderr', 'w'), \"to stderr\\n\"); fwrite(fopen('php://stdout', 'w'), \"to \
        stdout\\n\"); error_log('to the log'); echo 'ok';",
    );
    let app = php_app(&site)
        .with("stderr", json!(site.path("logs/err")))
        .with("stdout", json!(site.path("logs/out")))
        .admin("log_errors", "1");
    let server = daemon().application(app).start();
    server.get("/").expect(200).expect_body("ok");
    let holds = |name: &str, text: &str| {
        std::fs::read_to_string(site.path(name)).is_ok_and(|found| found.contains(text))
    };
    eventually("both files are written", || {
        (holds("logs/err", "to stderr") && holds("logs/out", "to stdout")).then_some(())
    });
}
