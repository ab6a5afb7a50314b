//! Requests as scripts of php-fpm see them, and the way of their answers.

use std::collections::BTreeMap;

use corral_testkit::{Daemon, PhpFpm, Request, Site, daemon, php_app, site};
use serde_json::{Value, json};

use crate::{STATIC, serve};

/// Prints its variables.
const VARIABLES: &str = "<?php header('Content-Type: application/json'); ksort($_SERVER);\
    echo json_encode($_SERVER, JSON_PARTIAL_OUTPUT_ON_ERROR);";

type Variables = BTreeMap<String, Value>;

fn variables(server: &Daemon, request: &Request) -> Variables {
    serde_json::from_slice(&server.send(request).expect(200).body).expect("an object")
}

/// Scripts, as php-fpm and as the application `php` run them.
fn both(site: &Site, fpm: &PhpFpm) -> Daemon {
    let fastcgi = json!({ "fastcgi": fpm.address(), "root": site.root() });
    let routes = json!([
        { "match": { "headers": { "X-By": "fpm" } }, "action": fastcgi },
        { "action": { "pass": "applications/php" } },
    ]);
    daemon().application(php_app(site).processes(1)).routes(routes).start()
}

/// Options: …action.fastcgi, …action.root
#[test]
fn php_fpm_answers_at_a_socket_and_at_a_port() {
    let site = site().file("index.php", "<?php echo 'hello ', $_GET['name'] ?? '';");
    for fpm in [PhpFpm::at_socket(STATIC), PhpFpm::at_port(STATIC)] {
        let server = serve(&fpm, &site, json!({}));
        let reply = server.get("/?name=you").expect(200).expect_body("hello you");
        reply.expect_field("Content-Length", "9").expect_field("Content-Type", "text/html; charset=UTF-8");
        server.get("/index.php").expect(200).expect_body("hello ");
        server.send(&Request::new("HEAD", "/")).expect(200).expect_body("");
    }
}

/// As nginx does where its buffers do not hold them.
#[test]
fn more_parameters_than_a_server_takes_are_refused() {
    let site = site().file("index.php", "<?php echo strlen($_SERVER['A']);");
    let fpm = PhpFpm::at_socket(STATIC);
    let server = serve(&fpm, &site, json!({ "script": "index.php", "params": { "A": "$uri".repeat(16) } }));
    let mut client = server.connect();
    client.get("/1234567").expect(200).expect_body("128");
    client.get(&format!("/{}", "x".repeat(6000))).expect(431);
    server.connect().get("/1234567").expect(200).expect_body("128");
}

#[test]
fn a_script_sees_what_the_application_php_shows_it() {
    let site = site().file("a/v.php", VARIABLES);
    let fpm = PhpFpm::at_socket(STATIC);
    let server = both(&site, &fpm);
    let request = || {
        Request::post("/a/v.php/in/fo?x=1&y=%20")
            .field("Host", "Example.com:81")
            .field("Content-Type", "text/plain")
            .field("X-Some", "1")
            .field("Authorization", "Basic YTpi")
            .field("Cookie", "a=b")
            .body("body")
    };
    let ours = variables(&server, &request().field("X-By", "php"));
    let theirs = variables(&server, &request().field("X-By", "fpm"));
    // Two are said without `HTTP_`, as CGI has it. The environment is another one.
    let expected_to_differ = [
        "REQUEST_TIME",
        "REQUEST_TIME_FLOAT",
        "HTTP_X_BY",
        "HTTP_CONTENT_LENGTH",
        "HTTP_CONTENT_TYPE",
        "REMOTE_PORT",
    ];
    let is_environment =
        |name: &str| std::env::var_os(name).is_some() || ["USER", "HOME", "LOGNAME", "SHELL"].contains(&name);
    let ours = ours.iter().filter(|(name, _)| !is_environment(name));
    let differs = ours.filter(|(name, _)| !expected_to_differ.contains(&name.as_str()));
    let differs: Vec<_> = differs.filter(|(name, value)| theirs.get(*name) != Some(value)).collect();
    assert!(differs.is_empty(), "{differs:#?}\nof php-fpm: {theirs:#?}");
    for (name, value) in [
        ("PATH_INFO", "/in/fo"),
        ("SCRIPT_NAME", "/a/v.php"),
        ("DOCUMENT_URI", "/a/v.php/in/fo"),
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("REQUEST_SCHEME", "http"),
        ("REDIRECT_STATUS", "200"),
    ] {
        assert_eq!(theirs.get(name), Some(&json!(value)), "{name}");
    }
}

#[test]
fn a_field_of_the_client_is_no_setting_of_the_program() {
    let site = site().file("index.php", VARIABLES);
    let fpm = PhpFpm::at_socket(STATIC);
    let server = serve(&fpm, &site, json!({}));
    let request = Request::get("/").field("Proxy", "evil").field("PHP_VALUE", "memory_limit=1");
    let seen = variables(&server, &request);
    assert_eq!(seen.get("HTTP_PROXY"), None);
    assert_eq!(seen.get("PHP_VALUE"), None);
    assert_eq!(seen.get("PATH_INFO"), None, "without a tail");
}

#[test]
fn status_and_fields_are_passed_on() {
    let site = site().file(
        "index.php",
        "<?php http_response_code(418); header('X-A: 1'); header('X-A: 2', false); \
         setcookie('c', 'v'); header('Connection: close'); header('Server: mine'); echo 'tea';",
    );
    let fpm = PhpFpm::at_socket(STATIC);
    let server = serve(&fpm, &site, json!({}));
    let reply = server.get("/").expect(418).expect_body("tea");
    assert_eq!(reply.all("X-A").collect::<Vec<_>>(), ["1", "2"]);
    assert!(reply.field("Set-Cookie").is_some_and(|cookie| cookie.starts_with("c=v")));
    assert_ne!(reply.field("Server"), Some("mine"));
    reply.expect_no_field("Status");
}

#[test]
fn replies_without_a_body_have_none() {
    let site = site()
        .file("204.php", "<?php http_response_code(204); echo 'x';")
        .file("304.php", "<?php http_response_code(304); header('ETag: \"x\"');")
        .file("302.php", "<?php header('Location: /there');");
    let fpm = PhpFpm::at_socket(STATIC);
    let server = serve(&fpm, &site, json!({}));
    let mut client = server.connect();
    client.get("/204.php").expect(204).expect_body("");
    client.get("/304.php").expect(304).expect_body("").expect_field("ETag", "\"x\"");
    client.get("/302.php").expect(302).expect_field("Location", "/there");
}

#[test]
fn what_a_script_complains_of_is_logged_with_its_request() {
    let site = site().file("index.php", "<?php error_log(\"oh\\x1b no\\nsecond\"); echo 'done';");
    let fpm = PhpFpm::at_socket(STATIC);
    let server = serve(&fpm, &site, json!({}));
    server.get("/?a").expect(200).expect_body("done");
    server.expect_log("oh");
    let log = server.log();
    assert!(log.contains("request \"/?a\"") && log.contains("second") && !log.contains('\u{1b}'), "{log}");
}

#[test]
fn a_script_that_fails_is_an_error_of_its_own() {
    let site = site().file("index.php", "<?php ini_set('display_errors', 0); nothing();");
    let fpm = PhpFpm::at_socket(STATIC);
    let server = serve(&fpm, &site, json!({}));
    server.get("/").expect(500);
    server.expect_log("Call to undefined function nothing()");
}

#[test]
fn errors_of_a_script_can_be_answered_otherwise() {
    let site = site().file("index.php", "<?php http_response_code(404); echo 'own';");
    let fpm = PhpFpm::at_socket(STATIC);
    let errors = json!({ "intercept": true, "404": { "return": 410 } });
    let server = serve(&fpm, &site, json!({ "errors": errors }));
    assert_ne!(server.get("/").text(), "own");
}

#[test]
fn output_is_passed_on_as_it_comes() {
    let site = site().file(
        "index.php",
        "<?php echo 'first'; ob_flush(); flush(); while (!file_exists(__DIR__ . '/w/go')) usleep(2000); echo 'second';",
    );
    let site = site.writable_folder("w");
    let fpm = PhpFpm::at_socket(STATIC);
    let server = serve(&fpm, &site, json!({}));
    let mut client = server.begin(&Request::get("/"));
    client.read_until_text("first");
    site.write("w/go", "");
    client.read_until_text("second");
}
