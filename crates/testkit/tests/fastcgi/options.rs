//! The options of the action, one after the other.

use corral_testkit::{PhpFpm, Request, daemon, site};
use serde_json::json;

use crate::{STATIC, serve, serve_at};

/// Says which script runs, and what of the path is left.
const WHICH: &str = "<?php echo basename($_SERVER['SCRIPT_NAME']), '|', $_SERVER['PATH_INFO'] ?? '-';";

/// Options: …action.script
#[test]
fn one_script_answers_everything() {
    let site = site().file("front.php", WHICH).file("other.php", WHICH);
    let fpm = PhpFpm::at_socket(STATIC);
    let server = serve(&fpm, &site, json!({ "script": "front.php" }));
    for target in ["/", "/other.php", "/a/b/c", "/other.php/x"] {
        server.get(target).expect(200).expect_body("front.php|-");
    }
}

/// Options: …action.index
#[test]
fn a_folder_has_an_index() {
    let site = site().file("main.php", WHICH).file("sub/main.php", WHICH).file("empty/x.php", WHICH);
    let fpm = PhpFpm::at_socket(STATIC);
    let server = serve(&fpm, &site, json!({ "index": "main.php" }));
    server.get("/").expect(200).expect_body("main.php|-");
    server.get("/sub/").expect(200).expect_body("main.php|-");
    server.get("/sub?x=1").expect(301).expect_field("Location", "/sub/?x=1");
    server.get("/empty/").expect(404);
}

/// Options: …action.split_path
#[test]
fn a_path_is_split_behind_what_is_named() {
    let site = site().file("a.phtml", WHICH).file("b.php", WHICH);
    let fpm = PhpFpm::at_socket(&format!("{STATIC}\nsecurity.limit_extensions = .php .phtml"));
    let server = serve(&fpm, &site, json!({ "split_path": [".phtml"] }));
    server.get("/a.phtml/x").expect(200).expect_body("a.phtml|/x");
    server.get("/b.php").expect(404);
    server.get("/b.php/x").expect(404);
}

/// Options: …action.params, …action.params.{name}
#[test]
fn variables_can_be_added_replaced_and_taken_away() {
    let site = site().file(
        "index.php",
        "<?php foreach (['APP', 'SERVER_SOFTWARE', 'HTTP_HOST', 'QUERY_STRING'] as $n) \
         echo $n, '=', $_SERVER[$n] ?? 'none', ' '; echo ini_get('memory_limit');",
    );
    let fpm = PhpFpm::at_socket(STATIC);
    let params = json!({
        "APP": "for $host$uri", "SERVER_SOFTWARE": "", "HTTP_HOST": null, "PHP_VALUE": "memory_limit=77M",
    });
    let server = serve(&fpm, &site, json!({ "params": params }));
    let request = Request::get("/?a=b").field("Host", "example.com");
    let expected = "APP=for example.com/ SERVER_SOFTWARE= HTTP_HOST=none QUERY_STRING=a=b 77M";
    server.send(&request).expect(200).expect_body(expected);
}

/// Options: …action.timeout
#[test]
fn a_server_that_says_nothing_is_given_up() {
    let site = site().file("index.php", "<?php sleep(60);");
    let fpm = PhpFpm::at_socket(STATIC);
    let server = serve(&fpm, &site, json!({ "timeout": 1 }));
    server.get("/").expect(504);
    server.expect_log("no response within 1s, request \"/\"");
}

/// Options: upstreams.{N}.protocol
#[test]
fn an_upstream_has_servers_of_fastcgi() {
    let site = site().file("index.php", "<?php echo 'pool ', getenv('POOL');");
    let pools = ["one", "two"].map(|name| PhpFpm::at_socket(&format!("{STATIC}\nenv[POOL] = {name}")));
    let servers = json!({ pools[0].address(): {}, pools[1].address(): {}, "unix:/nowhere/fpm.sock": {} });
    let upstreams = json!({ "php": { "servers": servers, "protocol": "fastcgi" } });
    let action = json!({ "fastcgi": "upstreams/php", "root": site.root() });
    let server = daemon().config(json!({ "upstreams": upstreams, "routes": [{ "action": action }] })).start();
    let mut seen: Vec<_> = (0..8).map(|_| server.get("/").expect(200).text()).collect();
    seen.sort();
    seen.dedup();
    assert_eq!(seen, ["pool one", "pool two"], "the third one is asked in vain, and passed over");
}

#[test]
fn a_socket_that_is_missing_may_come_later() {
    let site = site().file("index.php", "<?php echo 'there';");
    let fpm = PhpFpm::at_socket(STATIC);
    let link = site.path("later.sock");
    let server = serve_at(&format!("unix:{}", link.display()), &site, json!({}));
    server.get("/").expect(502);
    server.expect_log("connect: No such file or directory");
    let socket = fpm.address().strip_prefix("unix:").expect("a socket");
    std::os::unix::fs::symlink(socket, &link).expect("make a link");
    server.get("/").expect(200).expect_body("there");
}

/// Checks are made in what the servers speak.
#[test]
fn servers_of_an_upstream_are_checked() {
    let site = site().file("index.php", "<?php echo 'well';");
    let fpm = PhpFpm::at_socket(&format!("{STATIC}\nping.path = /ping"));
    let servers = json!({ fpm.address(): {}, "unix:/nowhere/fpm.sock": {} });
    let health = |path: &str| json!({ "path": path, "interval": 1, "falls": 1 });
    let upstream =
        |path: &str| json!({ "servers": servers.clone(), "protocol": "fastcgi", "health": health(path) });
    let upstreams = json!({ "well": upstream("/ping"), "ill": upstream("/none.php") });
    let action = json!({ "fastcgi": "upstreams/well", "root": site.root() });
    let server = daemon().config(json!({ "upstreams": upstreams, "routes": [{ "action": action }] })).start();
    server.expect_log("upstream \"well\", server \"fastcgi://unix:/nowhere/fpm.sock\": down: connect: ");
    let title = |name: &str| format!("upstream \"{name}\", server \"fastcgi://{}\": down", fpm.address());
    server.expect_log(&format!("{}: it answers with status 404", title("ill")));
    for _ in 0..6 {
        server.get("/").expect(200).expect_body("well");
    }
    assert!(!server.log().contains(&title("well")), "{}", server.log());
}

/// Options: …action.root
#[test]
fn a_root_may_be_another_one_for_each_request() {
    let site =
        site().file("hosts/a/index.php", WHICH).file("hosts/b/b.php", WHICH).file("hosts/index.php", WHICH);
    let fpm = PhpFpm::at_socket(STATIC);
    let root = format!("{}/hosts/$arg_h", site.root());
    let action = json!({ "fastcgi": fpm.address(), "root": root });
    let server = daemon().routes(json!([{ "action": action }])).start();
    server.get("/?h=a").expect(200).expect_body("index.php|-");
    server.get("/b.php/x?h=b").expect(200).expect_body("b.php|/x");
    for target in [
        "/",
        "/?h=",
        "/?h=.",
        "/?h=..",
        "/?h=b",
        "/?h=c",
        "/?h=a%2F",
        "/?h=..%2Fhosts%2Fa",
        "/?h=%00",
        "/?h=a%00",
    ] {
        server.get(target).expect(404);
    }
}
