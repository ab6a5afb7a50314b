//! Complaints of PHP while it reads a request: a client decides about it, so no handler of the script hears it.

use corral_testkit::{Daemon, PhpApp, Request, Site, daemon, php_app, site};
use serde_json::{Value, json};

/// A handler of errors that throws, as those of Laravel and Symfony do, and one that ends the script.
const HANDLERS: [&str; 2] = [
    "set_error_handler(function ($n, $text) { throw new ErrorException(\"heard: $text\"); });",
    "set_error_handler(function ($n, $text) { exit(\"heard: $text\"); });",
];

/// Says what there is of the request, and whether the handler is in force again.
const SHOW: &str = r"
$show = function () {
    if (isset($_GET['warn'])) { echo $undefined; }
    echo json_encode([getmypid(), count($_GET), count($_POST), count($_FILES), session_status()]);
};";

fn app(site: &Site) -> PhpApp {
    [
        ("opcache.file_update_protection", "0"),
        ("display_errors", "0"),
        ("log_errors", "1"),
        ("max_input_vars", "5"),
        ("post_max_size", "2K"),
        ("max_file_uploads", "1"),
        ("max_multipart_body_parts", "4"),
        ("session.auto_start", "1"),
        ("session.save_path", "/tmp"),
        ("session.use_strict_mode", "0"),
    ]
    .into_iter()
    .fold(php_app(site), |app, (key, value)| app.admin(key, value))
}

/// Servers that run the same code: one for each request, and one in a worker for each of the handlers.
fn servers() -> Vec<(Site, Daemon)> {
    let classic = site().file("index.php", format!("<?php {SHOW} $show();"));
    let server = daemon().application(app(&classic).script("index.php")).start();
    let workers = HANDLERS.map(|handler| {
        let code = format!("<?php {handler} {SHOW} while (corral_handle_request($show)) {{}}");
        let site = site().file("worker.php", code);
        let server =
            daemon().application(app(&site).with("worker", json!({ "script": "worker.php" }))).start();
        (site, server)
    });
    [(classic, server)].into_iter().chain(workers).collect()
}

/// A part of a form with so many bytes in it.
fn part(disposition: &str, length: usize) -> String {
    format!("--b\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{}\r\n", "x".repeat(length))
}

fn form(body: &str) -> Request {
    Request::post("/").field("Content-Type", "multipart/form-data; boundary=b").body(body)
}

/// Requests of which PHP complains, and what it says.
fn complaints() -> Vec<(Request, &'static str)> {
    let urlencoded =
        |body: &str| Request::post("/").field("Content-Type", "application/x-www-form-urlencoded").body(body);
    let file = |name: &str| part(&format!("name=\"{name}\"; filename=\"{name}\""), 1);
    vec![
        (Request::get("/?a=1&b=2&c=3&d=4&e=5&f=6"), "Input variables exceeded 5"),
        (Request::get("/").field("Cookie", "a=1; b=2; c=3; d=4; e=5; f=6"), "Input variables exceeded 5"),
        (urlencoded("a=1&b=2&c=3&d=4&e=5&f=6"), "Input variables exceeded 5"),
        (urlencoded(&format!("a={}", "x".repeat(4096))), "exceeds the limit of 2048 bytes"),
        (form(&part("name=\"a\"", 4096)), "exceeds the limit of 2048 bytes"),
        (
            Request::post("/").field("Content-Type", "text/plain").body("x".repeat(4096)),
            "exceeds the limit of 2048 bytes",
        ),
        (
            form(&[file("f"), file("g"), "--b--\r\n".into()].concat()),
            "Maximum number of allowable file uploads",
        ),
        (
            form(&[part("name=\"a\"", 1).repeat(6), "--b--\r\n".into()].concat()),
            "Multipart body parts limit exceeded",
        ),
        (Request::post("/").field("Content-Type", "multipart/form-data").body("x"), "Missing boundary"),
        (
            Request::post("/").field("Content-Type", "multipart/form-data; boundary=\"b").body("x"),
            "Invalid boundary",
        ),
        (
            form("--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--\r\n"),
            "File Upload Mime headers garbled",
        ),
        (
            form(&format!(
                "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n{}",
                "x".repeat(9)
            )),
            "",
        ),
        (Request::get(&format!("/?a{}=1", "[a]".repeat(300))), ""),
        (Request::get("/").field("Cookie", "PHPSESSID=../../x"), "illegal characters"),
    ]
}

#[test]
fn complaints_about_a_request_are_logged_and_the_script_goes_on() {
    let servers = servers();
    let (reference, workers) = servers.split_first().expect("three");
    for (request, complaint) in complaints() {
        let expected = answer(&reference.1, &request);
        for (_, server) in workers {
            let before = server.log().len();
            assert_eq!(answer(server, &request), expected, "{complaint}");
            server.expect_log(complaint);
            let log = server.log()[before..].to_owned();
            assert!(!log.contains("heard"), "{complaint}: {log}");
        }
    }
    for (_, server) in workers {
        let pids = server.expect_processes("\"php\" worker", 1);
        assert_eq!(pid(server), json!(pids[0]));
        assert!(!server.log().contains("has ended"), "{}", server.log());
    }
}

/// Status and all that the script said but the number of its process.
fn answer(server: &Daemon, request: &Request) -> (u16, Value) {
    let response = server.send(request);
    let mut found: Value = if response.status == 200 { response.json() } else { json!([0, response.text()]) };
    found[0] = json!("pid");
    (response.status, found)
}

fn pid(server: &Daemon) -> Value {
    server.get("/").expect(200).json()[0].clone()
}

#[test]
fn the_handler_hears_again_what_the_script_does() {
    for (_site, server) in servers().split_off(1) {
        let first = pid(&server);
        server.get("/?a=1&b=2&c=3&d=4&e=5&f=6").expect(200);
        assert_eq!(pid(&server), first);
        let heard = server.get("/?warn");
        let complaint = "heard: Undefined variable $undefined";
        if !heard.text().contains(complaint) {
            server.expect_log(complaint);
        }
    }
}

/// A complaint that is displayed is the beginning of the response; there is no other one about fields that came too
/// late.
#[test]
fn a_complaint_that_is_displayed_is_the_only_one() {
    let code = format!("<?php {SHOW} while (corral_handle_request($show)) {{}}");
    let site = site().file("worker.php", code);
    for startup in ["0", "1"] {
        let app = app(&site)
            .admin("display_errors", "1")
            .admin("display_startup_errors", startup)
            .admin("session.auto_start", "0")
            .admin("html_errors", "0");
        let server = daemon().application(app.with("worker", json!({ "script": "worker.php" }))).start();
        let large = Request::post("/").field("Content-Type", "text/plain").body("x".repeat(4096));
        let text = server.send(&large).expect(200).text();
        assert_eq!(text.contains("exceeds the limit of 2048 bytes"), startup == "1", "{text}");
        assert!(!text.contains("headers already sent"), "{text}");
        server.expect_log("exceeds the limit of 2048 bytes");
        assert!(!server.log().contains("headers already sent"), "{}", server.log());
    }
}
