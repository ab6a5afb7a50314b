//! Debian's php-cgi as an application.

use std::collections::BTreeMap;

use corral_testkit::{Daemon, Request, Site, daemon, eventually, php_app, site};
use serde_json::{Value, json};

use crate::{merge, php_cgi, with_app};

/// Prints its variables.
const VARIABLES: &str = "<?php header('Content-Type: application/json'); ksort($_SERVER);\
    echo json_encode($_SERVER, JSON_PARTIAL_OUTPUT_ON_ERROR);";

type Variables = BTreeMap<String, Value>;

fn variables(server: &Daemon, request: &Request) -> Variables {
    serde_json::from_slice(&server.send(request).expect(200).body).expect("an object")
}

/// The same scripts as an application of PHP and as one of php-cgi.
fn both(site: &Site) -> Daemon {
    let php = php_app(site).processes(1).value();
    let app = php_cgi(site, json!({ "inherit_environment": false }));
    let routes = json!([
        { "match": { "headers": { "X-By": "cgi" } }, "action": { "pass": "applications/app" } },
        { "action": { "pass": "applications/php" } },
    ]);
    daemon().config(json!({ "applications": { "php": php, "app": app }, "routes": routes })).start()
}

/// Options: applications.{N}.root, applications.{N}.index
#[test]
fn scripts_answer() {
    let site = site()
        .file("index.php", "<?php echo 'hello ', $_GET['name'] ?? '';")
        .file("home.php", "<?php echo 'home';")
        .file("sub/index.php", "<?php echo getcwd(), ' ', PHP_SAPI;");
    let server = with_app(&php_cgi(&site, json!({}))).start();
    let reply = server.get("/?name=you").expect(200).expect_body("hello you");
    reply.expect_field("Content-Length", "9").expect_field("Content-Type", "text/html; charset=UTF-8");
    server.get("/index.php").expect(200).expect_body("hello ");
    server.get("/sub/").expect(200).expect_body(format!("{}/sub cgi-fcgi", site.root()));
    server.get("/sub").expect(301).expect_field("Location", "/sub/");
    server.get("/none.php").expect(404);
    server.send(&Request::new("HEAD", "/")).expect(200).expect_body("");
    let server = with_app(&php_cgi(&site, json!({ "index": "home.php" }))).start();
    server.get("/").expect(200).expect_body("home");
}

/// Options: applications.{N}.script
#[test]
fn one_script_may_answer_everything() {
    let site =
        site().file("web/front.php", "<?php echo $_SERVER['REQUEST_URI'], ' ', $_SERVER['SCRIPT_NAME'];");
    let app = php_cgi(&site, json!({ "root": site.path("web"), "script": "front.php" }));
    let server = with_app(&app).start();
    server.get("/any/thing.php?x").expect(200).expect_body("/any/thing.php?x /front.php");
}

/// Options: applications.{N}.split_path
#[test]
fn names_of_scripts_may_end_in_other_ways() {
    let site = site().file("a.phtml", "<?php echo $_SERVER['PATH_INFO'] ?? '-';").file("b.php", "b");
    let app = php_cgi(&site, json!({ "split_path": [".phtml"] }));
    let server = with_app(&app).start();
    server.get("/a.phtml/x").expect(200).expect_body("/x");
    server.get("/b.php").expect(404);
}

/// Options: applications.{N}.targets, applications.{N}.targets.{N}.split_path, applications.{N}.targets.{N}.params,
/// applications.{N}.targets.{N}.params.{name}
#[test]
fn targets_share_the_processes() {
    let site = site()
        .file("a/index.php", "<?php echo 'a ', getmypid(), ' ', $_SERVER['OWN'] ?? '';")
        .file("a/x.phtml", "<?php echo 'phtml';")
        .file("b/main.php", "<?php echo 'b ', getmypid(), ' ', $_SERVER['OWN'] ?? '';");
    let mut app = json!({ "type": "fastcgi", "executable": "php-cgi" });
    merge(
        &mut app,
        json!({ "targets": {
            "a": { "root": site.path("a"), "split_path": [".php", ".phtml"] },
            "b": { "root": site.path("b"), "script": "main.php", "params": { "OWN": "$method" } },
        }}),
    );
    let routes = json!([
        { "match": { "uri": "/b/*" }, "action": { "pass": "applications/app/b" } },
        { "action": { "pass": "applications/app/a" } },
    ]);
    let server = daemon().config(json!({ "applications": { "app": app }, "routes": routes })).start();
    let (a, b) = (server.get("/").expect(200).text(), server.get("/b/x").expect(200).text());
    server.get("/x.phtml").expect(200).expect_body("phtml");
    let pid = a.trim_start_matches("a ").trim();
    assert_eq!((a.as_str(), b), (&*format!("a {pid} "), format!("b {pid} GET")));
}

/// Options: applications.{N}.params, applications.{N}.params.{name}
#[test]
fn a_script_sees_what_the_application_php_shows_it() {
    let site = site().file("a/v.php", VARIABLES);
    let server = both(&site);
    let request = || {
        Request::post("/a/v.php/in/fo?x=1&y=%20")
            .field("Host", "Example.com:81")
            .field("Content-Type", "text/plain")
            .field("X-Some", "1")
            .field("Proxy", "http://evil")
            .field("Authorization", "Basic YTpi")
            .field("Cookie", "a=b")
            .body("body")
    };
    let ours = variables(&server, &request().field("X-By", "php"));
    let theirs = variables(&server, &request().field("X-By", "cgi"));
    for name in [
        "REQUEST_METHOD",
        "REQUEST_URI",
        "QUERY_STRING",
        "SCRIPT_NAME",
        "SCRIPT_FILENAME",
        "PATH_INFO",
        "PHP_SELF",
        "DOCUMENT_ROOT",
        "SERVER_NAME",
        "SERVER_PROTOCOL",
        "CONTENT_TYPE",
        "CONTENT_LENGTH",
        "HTTP_X_SOME",
        "HTTP_COOKIE",
        "HTTP_HOST",
        "REMOTE_ADDR",
        "SERVER_SOFTWARE",
        "PHP_AUTH_USER",
    ] {
        assert_eq!(ours.get(name), theirs.get(name), "{name}");
    }
    assert!(!theirs.contains_key("HTTP_PROXY"), "{theirs:?}");
    let app = php_cgi(&site, json!({ "params": { "OWN": "$method $uri", "QUERY_STRING": null } }));
    let seen = variables(&with_app(&app).start(), &Request::get("/a/v.php?x"));
    assert_eq!(seen["OWN"], "GET /a/v.php");
    assert!(!seen.contains_key("QUERY_STRING"), "{seen:?}");
}

#[test]
fn bodies_go_both_ways_whatever_their_size() {
    let echo = "<?php header('Content-Type: x/y'); echo file_get_contents('php://input');";
    let site = site().file("echo.php", echo);
    let server = with_app(&php_cgi(&site, json!({}))).start();
    let mut client = server.connect();
    for n in [0, 1, 8191, 65_535, 65_536, 1_000_000, 7_000_000] {
        let body: Vec<u8> = (0..n).map(|n: u32| (n % 251) as u8).collect();
        let reply = client.send(&Request::post("/echo.php").body(&body)).expect(200);
        assert!(reply.body == body, "{n} bytes came back as {}", reply.body.len());
    }
}

#[test]
fn output_is_passed_on_as_it_comes() {
    let script = "<?php while (ob_get_level()) ob_end_clean(); echo 'one'; flush();\
        while (!file_exists(__DIR__ . '/w/go')) { usleep(2000); clearstatcache(); } echo 'two';";
    let site = site().file("slow.php", script).writable_folder("w");
    let server = with_app(&php_cgi(&site, json!({}))).start();
    let mut client = server.begin(&Request::get("/slow.php"));
    client.read_until_text("one");
    site.write("w/go", "");
    client.read_until_text("two");
}

/// A response of 200 MB for a client that does not read holds no process.
#[test]
fn a_slow_client_holds_no_process() {
    let large = "<?php for ($n = 0; $n < 200; $n++) echo str_repeat('x', 1 << 20);";
    let site = site().file("large.php", large).file("index.php", "<?php echo 'hello';");
    let server = with_app(&php_cgi(&site, json!({}))).start();
    let mut slow = server.begin(&Request::get("/large.php").field("Connection", "close"));
    slow.read_until_text("xxxx");
    server.get("/").expect(200).expect_body("hello");
    let n = slow.read_to_end().len();
    assert!(n > 199 << 20, "{n} bytes");
}

#[test]
fn what_a_script_complains_of_is_logged_with_its_request() {
    let site =
        site().file("index.php", "<?php error_log('mind this'); trigger_error('and that'); echo 'ok';");
    let settings = ["-d", "log_errors=1", "-d", "error_log=", "-d", "display_errors=0"];
    let server = with_app(&php_cgi(&site, json!({ "arguments": settings }))).start();
    server.get("/?a=b").expect(200).expect_body("ok");
    server.expect_log("mind this, request \"/?a=b\"");
    server.expect_log("and that");
    assert!(server.log().contains("\"app\": process "), "{}", server.log());
}

#[test]
fn a_client_that_leaves_does_not_leave_its_request_to_the_next_one() {
    let script = "<?php touch(__DIR__ . '/w/began'); ignore_user_abort(true);\
        while (!file_exists(__DIR__ . '/w/go')) { usleep(2000); clearstatcache(); }";
    let site = site().file("slow.php", script).file("index.php", "<?php echo 'hello';").writable_folder("w");
    let server = with_app(&php_cgi(&site, json!({ "processes": 2 }))).start();
    let leaving = server.begin(&Request::get("/slow.php"));
    eventually("the script runs", || site.path("w/began").exists().then_some(()));
    drop(leaving);
    // The other process answers, although the first one has no client to answer.
    for _ in 0..10 {
        server.get("/").expect(200).expect_body("hello");
    }
    site.write("w/go", "");
    eventually("both are free", || {
        (server.control().get("/status/applications/app/requests/active").json() == 0).then_some(())
    });
}
