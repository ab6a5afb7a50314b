//! The way of a script's output.

use corral_channel::{Flags, FrameKind};

use crate::host::{Host, Worker, app};
use crate::messages::{Response, get, post};

const CREDIT: usize = corral_channel::INITIAL_CREDIT as usize;

fn start(files: &[(&str, &str)]) -> (Host, Worker) {
    let mut host = app(files).start();
    let worker = host.worker();
    (host, worker)
}

#[track_caller]
fn ask(script: &str) -> Response {
    let (host, mut worker) = start(&[("index.php", script)]);
    worker.ask(&host, &get("/"))
}

/// Checks status and body.
#[track_caller]
fn check(script: &str, status: u16, body: &str) {
    let response = ask(script);
    assert_eq!((response.status, response.text()), (status, body), "{script}");
}

const DONE: (FrameKind, Flags) = (FrameKind::Response, Flags::NONE);

fn all_in_one(response: &Response) -> bool {
    let [(kind, flags)] = response.frames[..] else { return false };
    kind == DONE.0 && flags == Flags::END | Flags::DONE
}

#[test]
fn a_small_response_is_one_frame() {
    let response = ask("<?php echo 'hello'; header('X-A: 1');");
    assert_eq!((response.status, response.text()), (200, "hello"));
    assert!(all_in_one(&response), "{:?}", response.frames);
    assert_eq!(response.field("X-A"), Some("1"));
    assert_eq!(response.field("Content-Type"), Some("text/html; charset=UTF-8"));
    assert!(all_in_one(&ask("")));
}

#[test]
fn statuses() {
    check("<?php http_response_code(418); echo 'tea';", 418, "tea");
    check("<?php header('HTTP/1.1 404 Not Found'); echo 'none';", 404, "none");
    check("<?php header('Status: 410 Gone'); echo 'gone';", 410, "gone");
    check("<?php http_response_code(500); header('Status: 200 OK');", 500, "");
    check("<?php header('Location: /x');", 302, "");
    check("<?php header('Location: /x', true, 307);", 307, "");
    check("<?php http_response_code(204); echo 'dropped';", 204, "");
    check("<?php http_response_code(304); echo 'dropped';", 304, "");
    assert_eq!(ask("<?php header('Status: 410');").field("Status"), None);
}

#[test]
fn fields() {
    let response =
        ask("<?php setcookie('a', '1'); setcookie('b', '2'); header('X-Gone: 1'); header('X-Stay:2');
        header_remove('X-Gone'); header('Content-Type: text/plain');
        echo json_encode(apache_response_headers());");
    let cookies: Vec<_> = response.fields.iter().filter(|(name, _)| name == "Set-Cookie").collect();
    assert_eq!(cookies.len(), 2);
    assert_eq!(response.field("X-Gone"), None);
    assert_eq!(response.field("X-Stay"), Some("2"));
    assert_eq!(response.field("Content-Type"), Some("text/plain;charset=UTF-8"));
    assert!(response.text().contains(r#""X-Stay":"2""#), "{}", response.text());

    let many = ask("<?php for ($i = 0; $i < 100; $i++) header(\"X-$i: $i\");");
    assert_eq!(many.field("X-99"), Some("99"));
}

#[test]
fn powered_by_is_a_setting() {
    for (value, expected) in [("On", true), ("Off", false)] {
        let mut host = app(&[("index.php", "")]).admin("expose_php", value).start();
        let response = host.worker().ask(&host, &get("/"));
        assert_eq!(response.field("X-Powered-By").is_some_and(|by| by.starts_with("PHP/8.")), expected);
    }
}

#[test]
fn a_head_that_is_too_long_is_an_error_with_a_reason() {
    let (host, mut worker) =
        start(&[("index.php", "<?php header('X-A: ' . str_repeat('x', 200000)); echo 'body';")]);
    assert_eq!(worker.ask(&host, &get("/")).status, 500);
    assert!(host.log().contains("which is too long"), "{}", host.log());
}

#[test]
fn head_requests_have_no_body() {
    let (host, mut worker) =
        start(&[("index.php", "<?php header('X-A: 1'); echo str_repeat('x', 100000); touch('done');")]);
    let response = worker.ask(&host, &get("/").method("HEAD"));
    assert_eq!((response.status, response.body.len(), response.field("X-A")), (200, 0, Some("1")));
}

#[test]
fn flush_sends_at_once() {
    let (host, mut worker) = start(&[(
        "index.php",
        "<?php ob_end_clean(); flush(); header('X-Late: 1'); http_response_code(202);
         echo 'one'; flush(); wait('1'); echo 'two'; flush(); wait('2'); flush(); echo 'three'; flush(); wait('3');
         function wait($f) { touch(\"at$f\"); while (!file_exists(\"go$f\")) { clearstatcache(); usleep(1000); } }",
    )]);
    let root = host.app().root();
    let sent = worker.submit(&get("/"));
    let mut response = Response::default();
    for (step, expected) in [("1", "one"), ("2", "onetwo"), ("3", "onetwothree")] {
        let (head, payload) = worker.frame(&host);
        assert!(!worker.take(&mut response, head, &payload));
        assert_eq!(response.text(), expected);
        std::fs::write(root.join(format!("go{step}")), "").unwrap();
    }
    let rest = worker.answer(&host, sent, &get("/"));
    assert_eq!((rest.text(), rest.frames[0]), ("", (FrameKind::End, Flags::END | Flags::DONE)));
    // Where nothing is there yet, there is nothing to send, and the head is the script's still.
    assert_eq!((response.status, response.field("X-Late")), (202, Some("1")));
}

#[test]
fn large_responses_keep_to_their_credit() {
    let (host, mut worker) = start(&[(
        "index.php",
        "<?php for ($i = 0; $i < 10240; $i++) echo str_repeat(chr(65 + $i % 26), 1024);",
    )]);
    let sent = worker.submit(&get("/"));
    let mut n_body = 0;
    let mut head_len = None;
    while !worker.is_silent(&host) {
        let (head, payload) = worker.frame(&host);
        let offset = if head.kind == FrameKind::Response {
            corral_channel::message::decode_response(&payload).unwrap().1
        } else {
            0
        };
        head_len.get_or_insert(offset);
        n_body += payload.len() - offset;
    }
    assert!(n_body <= CREDIT && n_body > CREDIT - 32 * 1024, "{n_body} of {CREDIT}");
    worker.credit(sent, CREDIT as u32);
    let rest = worker.answer(&host, sent, &get("/"));
    assert_eq!(rest.body.len() + n_body, 10 << 20);
    let expected = b'A' + ((10239) % 26) as u8;
    assert!(rest.body.ends_with(&[expected; 1024]));

    assert_eq!(worker.ask(&host, &get("/")).body.len(), 10 << 20);
}

#[test]
fn errors_are_500_with_a_line_in_the_log() {
    let (host, mut worker) = start(&[
        ("fatal.php", "<?php nothing();"),
        ("throw.php", "<?php throw new Exception('on purpose');"),
        ("syntax.php", "<?php ) ("),
        (
            "memory.php",
            "<?php ini_set('memory_limit', '8M'); $a = []; while (true) $a[] = str_repeat('x', 100000);",
        ),
        (
            "handler.php",
            "<?php register_shutdown_function(function () { exit(3); }); trigger_error('stop', E_USER_ERROR);",
        ),
        ("late.php", "<?php echo str_repeat('x', 5000); nothing();"),
        ("exit.php", "<?php echo 'ok'; exit(1);"),
        ("recursion.php", "<?php ini_set('memory_limit', '16M'); function f() { f(); } f();"),
        ("ok.php", "<?php echo 'ok';"),
    ]);
    let mut check = |path: &str, status: u16, line: &str| {
        let response = worker.ask(&host, &get(path));
        assert_eq!(response.status, status, "{path}");
        assert!(host.log().contains(line), "{path}: {}", host.log());
        assert_eq!(worker.ask(&host, &get("/ok.php")).text(), "ok");
    };
    check(
        "/fatal.php",
        500,
        "php message: PHP Fatal error:  Uncaught Error: Call to undefined function nothing()",
    );
    check("/throw.php", 500, "on purpose");
    check("/syntax.php", 500, "PHP Parse error");
    check("/memory.php", 500, "Allowed memory size of 8388608 bytes exhausted");
    check("/handler.php", 500, "stop");
    check("/late.php", 200, "Call to undefined function");
    check("/exit.php", 200, "");
    check("/recursion.php", 500, "Allowed memory size of 16777216");
}

#[test]
fn running_too_long_is_500_and_logged() {
    let mut host = app(&[
        ("index.php", "<?php while (true) ;"),
        ("limit.php", "<?php set_time_limit(1); while (true) ;"),
        ("ok.php", "<?php set_time_limit(7); echo ini_get('max_execution_time');"),
    ])
    .user("max_execution_time", "1")
    .start();
    let mut worker = host.worker();
    assert_eq!(worker.ask(&host, &get("/ok.php")).text(), "7");
    assert_eq!(worker.ask(&host, &get("/")).status, 500);
    assert!(host.log().contains("Maximum execution time of 1 second exceeded"), "{}", host.log());
    assert_eq!(worker.ask(&host, &get("/limit.php")).status, 500);
    assert_eq!(worker.ask(&host, &get("/ok.php")).text(), "7");
}

#[test]
fn finishing_early_frees_the_client_and_not_the_worker() {
    let (host, mut worker) = start(&[(
        "index.php",
        "<?php echo 'early'; header('X-A: 1'); $r = [fastcgi_finish_request(), fastcgi_finish_request()];
         echo 'late'; flush(); file_put_contents('late', json_encode([$r, connection_status()]));
         while (!file_exists('go')) { clearstatcache(); usleep(1000); }",
    )]);
    let sent = worker.submit(&get("/"));
    let mut response = Response::default();
    let (head, payload) = worker.frame(&host);
    assert!(!worker.take(&mut response, head, &payload), "the worker is busy");
    assert_eq!((response.text(), response.field("X-A")), ("early", Some("1")));
    assert_eq!(head.flags, Flags::END);
    let root = host.app().root();
    std::fs::write(root.join("go"), "").unwrap();
    let rest = worker.answer(&host, sent, &get("/"));
    assert_eq!(rest.frames, [(FrameKind::Finished, Flags::DONE)]);
    assert_eq!(std::fs::read_to_string(root.join("late")).unwrap(), "[[true,false],0]");
}

#[test]
fn a_client_that_goes_away_ends_the_script() {
    let (host, mut worker) = start(&[
        (
            "index.php",
            "<?php register_shutdown_function(function () { file_put_contents('status', connection_status()); });
             while (true) { echo str_repeat('x', 10000); }",
        ),
        (
            "ignore.php",
            "<?php ignore_user_abort(true); for ($i = 0; $i < 100; $i++) echo str_repeat('x', 10000);
             file_put_contents('ignored', connection_status());",
        ),
    ]);
    for (path, file) in [("/index.php", "status"), ("/ignore.php", "ignored")] {
        let sent = worker.submit(&get(path));
        let _ = worker.frame(&host);
        worker.cancel(sent);
        let rest = worker.answer(&host, sent, &get(path));
        assert!(rest.frames.last().unwrap().1.contains(Flags::END | Flags::DONE));
        let status = std::fs::read_to_string(host.app().root().join(file)).unwrap();
        assert_eq!(status, "1", "aborted");
    }
}

#[test]
fn output_buffers_do_what_they_do_elsewhere() {
    check("<?php ob_start(); echo 'a'; header('X: 1'); ob_end_flush(); echo 'b';", 200, "ab");
    check("<?php ob_start(fn($s) => strtoupper($s)); echo 'a';", 200, "A");
    check("<?php echo 'a'; ob_clean(); echo 'b';", 200, "b");
    check(
        "<?php echo headers_sent() ? 'sent' : 'not'; ob_flush(); echo headers_sent() ? 'sent' : 'not';",
        200,
        "notsent",
    );
    check("<?php register_shutdown_function(function () { echo 'end'; }); echo 'a'; exit;", 200, "aend");
}

#[test]
fn sessions() {
    let script = "<?php session_start(); $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1; echo $_SESSION['n'];";
    let (host, mut worker) = start(&[("index.php", script)]);
    let first = worker.ask(&host, &get("/"));
    assert_eq!(first.text(), "1");
    let cookie = first.field("Set-Cookie").unwrap().split(';').next().unwrap();
    assert_eq!(worker.ask(&host, &get("/").field("Cookie", cookie)).text(), "2");
    assert_eq!(worker.ask(&host, &get("/").field("Cookie", cookie)).text(), "3");
    assert_eq!(worker.ask(&host, &get("/")).text(), "1");
}

#[test]
fn databases() {
    check(
        "<?php $db = new PDO('sqlite::memory:'); $db->exec('create table t (a)');
         $db->prepare('insert into t values (?)')->execute([42]);
         echo $db->query('select a from t')->fetchColumn(), class_exists('mysqli') ? '+' : '-';",
        200,
        "42+",
    );
}

#[test]
fn startup_failures_do_not_hurt_the_worker() {
    let mut host = app(&[("index.php", "<?php echo 'ok', count($_POST);")])
        .admin("memory_limit", "4M")
        .admin("post_max_size", "64M")
        .start();
    let mut worker = host.worker();
    let body = format!("a={}", "x".repeat(6 << 20));
    let response = worker.ask(&host, &post("/", "application/x-www-form-urlencoded", body));
    assert_eq!(response.status, 500, "{}", response.text());
    assert!(host.log().contains("Allowed memory size"), "{}", host.log());
    assert_eq!(worker.ask(&host, &get("/")).text(), "ok0");
}
