//! Surroundings of a script: superglobals, settings, the process that it runs in.

use corral_testkit::{Daemon, Request, Site, daemon, php_app, site};
use serde_json::{Value, json};

/// A site whose only page is a PHP expression as JSON.
fn dump_of(expression: &str) -> (Site, Daemon) {
    let site = site().file("index.php", format!("<?php echo json_encode({expression});"));
    let server = daemon().application(php_app(&site)).start();
    (site, server)
}

fn server_of(request: &Request) -> Value {
    let (_site, server) = dump_of("$_SERVER");
    server.send(request).expect(200).json()
}

#[test]
fn server_variables() {
    let request = Request::get("/?a=b")
        .field("Host", "Example.COM:8080")
        .field("X-Custom-Field", "value")
        .field("Accept", "a")
        .field("Accept", "b")
        .field("Cookie", "x=1")
        .field("Cookie", "y=2");
    let found = server_of(&request);
    for (key, value) in [
        ("REQUEST_METHOD", "GET"),
        ("REQUEST_URI", "/?a=b"),
        ("QUERY_STRING", "a=b"),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("SERVER_NAME", "example.com"),
        ("SCRIPT_NAME", "/index.php"),
        ("HTTP_HOST", "Example.COM:8080"),
        ("HTTP_X_CUSTOM_FIELD", "value"),
        ("HTTP_ACCEPT", "a, b"),
        ("HTTP_COOKIE", "x=1; y=2"),
    ] {
        assert_eq!(found[key], value, "{key} in {found:#}");
    }
    let software = found["SERVER_SOFTWARE"].as_str().expect("text");
    assert!(software.starts_with("Corral/"), "{software}");
    assert!(found["REMOTE_ADDR"].as_str().is_some_and(|address| address.starts_with("127.")), "{found:#}");
    assert!(found["DOCUMENT_ROOT"].is_string() && found["SCRIPT_FILENAME"].is_string(), "{found:#}");
    assert!(found["REQUEST_TIME_FLOAT"].is_number(), "{found:#}");
    for absent in ["HTTPS", "PATH_INFO", "CONTENT_LENGTH", "HTTP_CONTENT_LENGTH", "HTTP_PROXY"] {
        assert!(found.get(absent).is_none(), "{absent} in {found:#}");
    }
}

#[test]
fn the_proxy_field_is_no_variable() {
    // A library that reads HTTP_PROXY as configuration would send its requests where a visitor says.
    let found = server_of(&Request::get("/").field("Proxy", "http://evil/"));
    assert!(found.get("HTTP_PROXY").is_none(), "{found:#}");
}

#[test]
fn fields_with_underscores_do_not_pass_for_others() {
    let found = server_of(&Request::get("/").field("X-Real", "good").field("X_Real", "bad"));
    assert_eq!(found["HTTP_X_REAL"], "good");
}

#[test]
fn get_post_and_cookie_are_decoded() {
    let (_site, server) = dump_of("[$_GET, $_POST, $_COOKIE, $_REQUEST]");
    let request = Request::post("/?a[]=1&a[]=2&b=%C3%BC+x")
        .field("Content-Type", "application/x-www-form-urlencoded")
        .field("Cookie", "session=abc%20d; other=1")
        .body("name=v%26w&list[k]=x");
    let found = server.send(&request).expect(200).json();
    assert_eq!(found[0], json!({ "a": ["1", "2"], "b": "ü x" }));
    assert_eq!(found[1], json!({ "name": "v&w", "list": { "k": "x" } }));
    assert_eq!(found[2], json!({ "session": "abc d", "other": "1" }));
    // Nothing of one visitor is left for the next.
    let found = server.get("/").expect(200).json();
    assert_eq!(found, json!([[], [], [], []]));
}

#[test]
fn credentials_are_decoded() {
    let (_site, server) = dump_of(
        "[$_SERVER['PHP_AUTH_USER'] ?? null, $_SERVER['PHP_AUTH_PW'] ?? null, $_SERVER['PHP_AUTH_DIGEST'] ?? null]",
    );
    let with = |value: &str| server.send(&Request::get("/").field("Authorization", value)).expect(200).json();
    assert_eq!(with("Basic dXNlcjpwYTpzcw=="), json!(["user", "pa:ss", null]));
    assert_eq!(
        with("Digest username=\"u\", realm=\"r\""),
        json!([null, null, "username=\"u\", realm=\"r\""])
    );
    assert_eq!(with("Bearer x"), json!([null, null, null]));
    assert_eq!(server.get("/").json(), json!([null, null, null]));
}

#[test]
fn request_headers_can_be_asked_for() {
    for function in ["getallheaders()", "apache_request_headers()"] {
        let (_site, server) = dump_of(function);
        let found = server.send(&Request::get("/").field("X-Mixed-Case", "v")).expect(200).json();
        assert_eq!(found["X-Mixed-Case"], "v", "{function}");
        assert_eq!(found["Host"], "localhost", "{function}");
    }
}

#[test]
fn the_sapi_is_one_that_opcache_knows() {
    let (_site, server) = dump_of("[php_sapi_name(), opcache_get_status(false)['opcache_enabled']]");
    assert_eq!(server.get("/").json(), json!(["cli-server", true]));
}

/// Options: applications.{N}.options.sapi_name
#[test]
fn the_sapi_can_have_another_name() {
    let site = site().file("index.php", "<?php echo php_sapi_name();");
    let app = php_app(&site).with("options", json!({ "sapi_name": "corral" }));
    daemon().application(app).start().get("/").expect(200).expect_body("corral");
}

/// Options: applications.{N}.environment.{VAR}, applications.{N}.working_directory
#[test]
fn environment_and_working_directory_of_the_application() {
    let site = site().file("index.php", "<?php echo json_encode([getenv('COLOUR'), getenv('HOME')]);");
    let app = php_app(&site)
        .with("environment", json!({ "COLOUR": "blue", "HOME": "/nowhere" }))
        .with("working_directory", json!(site.root()));
    let found = daemon().environment("COLOUR", "red").application(app).start().get("/").expect(200).json();
    assert_eq!(found, json!(["blue", "/nowhere"]));
}

/// Options: applications.{N}.options.admin.{k}, applications.{N}.options.user.{k}
#[test]
fn admin_and_user_settings() {
    let site = site().file(
        "index.php",
        "<?php
ini_set('memory_limit', '1G'); ini_set('precision', '3');
echo json_encode([ini_get('memory_limit'), ini_get('precision'), ini_get('user_agent')]);",
    );
    let app = php_app(&site).with(
        "options",
        json!({ "admin": { "memory_limit": "77M" }, "user": { "precision": "5", "user_agent": "corral" } }),
    );
    let server = daemon().application(app).start();
    for _ in 0..2 {
        // Not changed by a script for the next one either.
        assert_eq!(server.get("/").expect(200).json(), json!(["77M", "3", "corral"]));
    }
}

/// Options: applications.{N}.options.file
#[test]
fn a_php_ini_can_be_named() {
    let site = site()
        .file("index.php", "<?php echo ini_get('user_agent');")
        .file("conf/my.ini", "user_agent = from-file\n");
    let app = php_app(&site)
        .with("working_directory", json!(site.root()))
        .with("options", json!({ "file": "conf/my.ini" }));
    daemon().application(app).start().get("/").expect(200).expect_body("from-file");
}

#[test]
fn functions_can_be_disabled_and_paths_restricted() {
    let site = site().file(
        "index.php",
        "<?php
echo json_encode([function_exists('system'), @file_get_contents('/etc/hostname'), is_readable(__FILE__)]);",
    );
    let app = php_app(&site).admin("disable_functions", "system,exec").admin("open_basedir", &site.root());
    let found = daemon().application(app).start().get("/").expect(200).json();
    assert_eq!(found, json!([false, false, true]));
}

#[test]
fn sessions_are_kept_between_workers() {
    let site = site()
        .file("index.php", "<?php session_start(); echo $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;")
        .writable_folder("sessions");
    let app =
        php_app(&site).processes(3).admin("session.save_path", site.path("sessions").to_str().expect("text"));
    let server = daemon().application(app).start();
    let mut visitor = corral_testkit::Browser::new(server.address().socket());
    for n in 1..=10 {
        visitor.open("/").expect(200).expect_body(n.to_string());
    }
    corral_testkit::Browser::new(server.address().socket()).open("/").expect_body("1");
}

/// Options: applications.{N}.user
#[test]
fn workers_do_not_run_as_root() {
    let site = site()
        .file("index.php", "<?php echo json_encode([posix_geteuid(), posix_getuid(), posix_getgroups()]);");
    let server = daemon().application(php_app(&site)).start();
    let found = server.get("/").expect(200).json();
    if server.processes().iter().any(|process| process.uid == 0) {
        panic!("{:?}", server.processes());
    }
    assert_ne!(found[0], 0, "{found}");
    assert_ne!(found[1], 0, "{found}");
    let groups = found[2].as_array().expect("a list");
    assert!(!groups.contains(&json!(0)), "{found}");
}

#[test]
fn a_worker_holds_no_descriptor_of_others() {
    let site = site().file(
        "index.php",
        "<?php
$links = array_map(fn($fd) => @readlink(\"/proc/self/fd/$fd\"), array_diff(scandir('/proc/self/fd'), ['.', '..']));
echo json_encode(array_values($links));",
    );
    let server = daemon().application(php_app(&site)).start();
    let found = server.get("/").expect(200).json();
    let listening: Vec<_> = found
        .as_array()
        .expect("a list")
        .iter()
        .filter(|link| link.as_str().is_some_and(|l| l.contains("control.sock")))
        .collect();
    assert!(listening.is_empty(), "{found}");
    let n_sockets = found
        .as_array()
        .expect("a list")
        .iter()
        .filter(|link| link.as_str().is_some_and(|l| l.starts_with("socket:")))
        .count();
    assert!(n_sockets <= 1, "a worker needs its channel only: {found}");
}
