//! Responses: headers, cookies, statuses, flushing, finishing early, leaving.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use corral_testkit::{Daemon, PATIENCE, Request, Site, daemon, php_app, resident_memory, site};
use serde_json::json;

fn script(code: &str) -> (Site, Daemon) {
    let site = site().file("index.php", format!("<?php {code}"));
    let server = daemon().application(php_app(&site)).start();
    (site, server)
}

#[test]
fn a_short_response_has_a_length() {
    let (_site, server) = script("echo 'hello';");
    let response = server.get("/").expect(200).expect_body("hello").expect_no_field("Transfer-Encoding");
    response.expect_field("Content-Length", "5").expect_field("Content-Type", "text/html; charset=UTF-8");
}

#[test]
fn statuses_fields_and_cookies() {
    let (_site, server) = script(
        "http_response_code(418); header('X-A: 1'); header('X-B: 1'); header('X-B: 2', false);
setcookie('a', '1'); setcookie('b', '2', ['httponly' => true]); header('Content-Type: text/plain;charset=x');
header_remove('X-A');",
    );
    let response = server.get("/").expect(418).expect_body("").expect_no_field("X-A");
    assert_eq!(response.all("X-B").collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(response.all("Set-Cookie").collect::<Vec<_>>(), ["a=1", "b=2; HttpOnly"]);
    response.expect_field("Content-Type", "text/plain;charset=x");
}

#[test]
fn a_location_makes_a_redirection_and_a_status_line_is_understood() {
    let (_site, server) = script("header('Location: /x');");
    server.get("/").expect(302).expect_field("Location", "/x");
    let (_site, server) = script("header('HTTP/1.1 404 Not Found');");
    server.get("/").expect(404);
    let (_site, server) = script("header('Status: 403 Forbidden');");
    server.get("/").expect(403).expect_no_field("Status");
}

#[test]
fn fields_of_the_server_are_not_the_scripts() {
    let (_site, server) = script(
        "header('Server: evil'); header('Connection: close'); header('Date: Thu, 01 Jan 1970 00:00:00 GMT'); echo 'x';",
    );
    let mut client = server.connect();
    let response = client.get("/").expect(200).expect_no_field("Connection");
    assert_eq!(response.all("Server").count(), 1);
    assert!(response.field("Server").is_some_and(|value| value.starts_with("Corral")), "{response}");
    response.expect_field("Date", "Thu, 01 Jan 1970 00:00:00 GMT");
    client.get("/").expect(200);
}

#[test]
fn head_runs_the_script_and_sends_no_body() {
    let (_site, server) = script("header('X-Method: ' . $_SERVER['REQUEST_METHOD']); echo 'hello';");
    let mut client = server.connect();
    client.send(&Request::new("HEAD", "/")).expect(200).expect_field("X-Method", "HEAD").expect_body("");
    client.get("/").expect(200).expect_body("hello");
}

#[test]
fn a_length_of_the_scripts_own_is_kept() {
    let (_site, server) = script("header('Content-Length: 5'); echo 'hello';");
    let mut client = server.connect();
    client.get("/").expect(200).expect_body("hello").expect_no_field("Transfer-Encoding");
    client.get("/").expect(200);
}

/// A script that says 2 and writes more would otherwise write the next response of the connection, and
/// one that says 50 would eat it.
#[test]
fn a_wrong_length_does_not_confuse_the_next_response() {
    for length in [2, 50] {
        let (_site, server) = script(&format!("header('Content-Length: {length}'); echo 'hello';"));
        let mut client = server.connect();
        client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3));
        client.finish_writing();
        // Each response is whole or cut, the last one by the end of the connection.
        while let Ok(response) = client.try_read_response_to("GET") {
            assert!(matches!(response.text().as_str(), "hello" | "he"), "{length}\n{response}");
        }
    }
}

#[test]
fn output_order_and_compression_of_php() {
    let (_site, server) =
        script("ob_start(fn($text) => strtoupper($text)); echo 'a'; header('X-Late: 1'); echo 'b';");
    server.get("/").expect(200).expect_body("AB").expect_field("X-Late", "1");
    let (_site, server) = script("ini_set('zlib.output_compression', '1'); echo str_repeat('x', 10000);");
    let response = server.send(&Request::get("/").field("Accept-Encoding", "gzip")).expect(200);
    response.expect_field("Content-Encoding", "gzip");
}

#[test]
fn server_sent_events_arrive_one_by_one() {
    let (_site, server) = script(
        "header('Content-Type: text/event-stream');
for ($i = 0; $i < 3; $i++) { echo \"data: $i\\n\\n\"; ob_get_level() && ob_flush(); flush(); usleep(300000); }",
    );
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let started = Instant::now();
    client.read_until_text("data: 0");
    assert!(started.elapsed() < Duration::from_millis(600), "the first event waited for the others");
    client.read_until_text("data: 2");
}

/// The worker is busy until the script has ended; the visitor is not.
#[test]
fn finishing_early_releases_the_visitor_and_keeps_the_worker() {
    let site = site()
        .writable_folder("out")
        .file(
            "index.php",
            "<?php
echo 'done'; fastcgi_finish_request(); echo 'never sent';
for ($i = 0; $i < 3000 && !file_exists(__DIR__ . '/gate'); $i++) { usleep(10000); clearstatcache(); }
file_put_contents(__DIR__ . '/out/after', 'yes');",
        )
        .file("other.php", "<?php echo getmypid();");
    let server = daemon().application(php_app(&site).processes(2)).start();
    let mut client = server.connect();
    client.get("/").expect(200).expect_body("done");
    // The other worker serves meanwhile, more requests than one could be queued behind the script.
    let pids: Vec<String> = (0..10).map(|_| client.get("/other.php").expect(200).text()).collect();
    assert!(pids.iter().all(|pid| *pid == pids[0]), "{pids:?}");
    site.write("gate", "");
    corral_testkit::eventually("the script goes on to its end", || {
        site.path("out/after").exists().then_some(())
    });
}

/// The router holds what a visitor has not read in a file up to a bound, and then the script back.
#[test]
fn endless_output_costs_neither_memory_nor_the_worker() {
    let is_long = std::env::var("CORRAL_CHAOS_CLIENTS").is_ok();
    let n_mib: usize = if is_long { 1024 } else { 64 };
    let (_site, server) = script(
        "if (!isset($_GET['n'])) exit('small');
$piece = str_repeat('x', 1 << 20); for ($i = 0; $i < $_GET['n']; $i++) echo $piece;",
    );
    server.get("/").expect(200);
    let router = server.expect_processes("router", 1)[0];
    let memory = || resident_memory(router).expect("it runs");
    let before = memory();
    let ask = || {
        let mut visitor = TcpStream::connect(server.address().socket()).expect("it listens");
        visitor.set_read_timeout(Some(PATIENCE)).expect("it is a socket");
        visitor.write_all(format!("GET /?n={n_mib} HTTP/1.0\r\n\r\n").as_bytes()).expect("it reads");
        visitor
    };
    let (mut visitor, mut n_read, mut peak) = (ask(), 0, before);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let n = visitor.read(&mut buffer).expect("it goes on");
        if n == 0 {
            break;
        }
        n_read += n;
        peak = peak.max(memory());
    }
    let body = n_read.checked_sub(n_mib << 20).expect("all of it came");
    assert!((1..1024).contains(&body), "{body} bytes are no head");
    assert!(peak < before + (32 << 20), "{before} bytes, then {peak}");
    let mut leaver = ask();
    leaver.read_exact(&mut buffer).expect("it begins");
    drop(leaver);
    server.get("/").expect(200).expect_body("small");
    assert!(memory() < before + (32 << 20), "{before} bytes, then {}", memory());
}

#[test]
fn a_script_learns_that_its_visitor_has_left() {
    let site = site().writable_folder("out").file(
        "index.php",
        "<?php
register_shutdown_function(fn() => file_put_contents(__DIR__ . '/out/status', connection_status()));
if (isset($_GET['ignore'])) { ignore_user_abort(true); }
for ($i = 0; $i < 3000; $i++) { echo str_repeat('x', 1000); flush(); usleep(1000); if (isset($_GET['ignore']) && connection_aborted()) { file_put_contents(__DIR__ . '/out/ignored', '1'); exit; } }",
    );
    let server = daemon().application(php_app(&site)).start();
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_until_text("xxx");
    drop(client);
    corral_testkit::eventually("the script is told", || {
        (std::fs::read_to_string(site.path("out/status")).ok()? == "1").then_some(())
    });
    let mut client = server.connect();
    client.write("GET /?ignore HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_until_text("xxx");
    drop(client);
    corral_testkit::eventually("it goes on and can ask", || site.path("out/ignored").exists().then_some(()));
    server.get("/?ignore").status.to_string();
}

#[test]
fn response_headers_can_be_asked_for() {
    let (_site, server) = script(
        "header('X-A: 1'); echo json_encode([apache_response_headers()['X-A'] ?? null, headers_list()]);",
    );
    let found = server.get("/").expect(200).json();
    assert_eq!(found[0], "1");
    assert!(found[1].as_array().expect("a list").contains(&json!("X-A: 1")));
}

#[test]
fn header_injection_is_refused_by_php_and_by_us() {
    let (_site, server) = script("@header(\"X-A: 1\\r\\nX-B: 2\"); echo 'x';");
    server.get("/").expect(200).expect_no_field("X-B");
}

/// As in php-fpm: without output there is no head yet.
#[test]
fn a_flush_without_output_leaves_the_head_to_the_script() {
    let code = "flush(); header('X-Late: 1'); http_response_code(201); flush(); ob_start(); echo 'text'; flush(); \
        header('X-Later: 1');";
    let loop_of = format!("<?php $run = function () {{ {code} }}; while (corral_handle_request($run)) {{}}");
    let site = site().file("index.php", format!("<?php {code}")).file("worker.php", loop_of);
    for app in [php_app(&site), php_app(&site).with("worker", json!({ "script": "worker.php" }))] {
        let server = daemon().application(app.admin("output_buffering", "0")).start();
        let reply = server.get("/").expect(201).expect_body("text");
        reply.expect_field("X-Late", "1").expect_field("X-Later", "1");
    }
}

/// A client must see that there is something missing: the length is never corrected.
#[test]
fn a_response_that_is_shorter_than_it_says_is_cut_and_logged() {
    let code = "header('Content-Length: 100'); echo str_repeat('x', 10);";
    let loop_of = format!("<?php $run = function () {{ {code} }}; while (corral_handle_request($run)) {{}}");
    let site = site().file("index.php", format!("<?php {code}")).file("worker.php", loop_of);
    for app in [php_app(&site), php_app(&site).with("worker", json!({ "script": "worker.php" }))] {
        let server = daemon().application(app).start();
        let result = server.connect().try_send(&Request::get("/"));
        assert!(
            result.is_err(),
            "an incomplete response must not look complete: {}",
            result.expect("a response")
        );
        server.expect_log("the response's body has another length than it says");
    }
}

/// As php-fpm sends it: the client has the content, and its type.
#[test]
fn what_was_not_modified_has_no_type() {
    let site = site()
        .file("same.php", "<?php http_response_code(304); header('ETag: \"a\"');")
        .file("typed.php", "<?php header('Content-Type: image/png'); header('HTTP/1.1 304 Not Modified');")
        .file("status.php", "<?php header('Status: 304'); header('Content-Type: image/png');")
        .file("new.php", "<?php header('Content-Type: image/png');");
    let server = daemon().application(php_app(&site)).start();
    for path in ["/same.php", "/typed.php", "/status.php"] {
        assert_eq!(server.get(path).expect(304).field("Content-Type"), None, "{path}");
    }
    server.get("/new.php").expect(200).expect_field("Content-Type", "image/png");
}
