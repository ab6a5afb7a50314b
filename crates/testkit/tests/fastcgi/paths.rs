//! Which script a path leads to: what is asked for in bad faith gets the application `php`'s own answer, or a refusal.

use std::os::unix::fs::PermissionsExt;

use corral_testkit::{Client, Daemon, PhpFpm, Response, Site, daemon, php_app, site};
use serde_json::json;

use crate::{STATIC, serve};

/// Says what runs, and with what.
const WHICH: &str = "<?php echo json_encode([basename(__FILE__), $_SERVER['SCRIPT_NAME'], $_SERVER['PATH_INFO'] ?? \
    null, $_SERVER['PHP_SELF'], basename($_SERVER['SCRIPT_FILENAME'])], JSON_PARTIAL_OUTPUT_ON_ERROR);";

/// Names of scripts, of what is none, and of what some servers have taken for one.
const NAMES: &[&str] = &[
    "/",
    "/a.php",
    "/index.php",
    "/sub/",
    "/sub",
    "/sub/b.php",
    "/A.PHP",
    "/a.Php",
    "/a.php7",
    "/a.phtml",
    "/a%2ephp",
    "/a.ph%70",
    "/%61.php",
    "/a.php%00",
    "/a.php%00.txt",
    "/a.php%0a",
    "/a.php%0d%0a",
    "/a.php%20",
    "/a.php.",
    "/a.php::$DATA",
    "/x.txt",
    "/none.php",
    "/.php",
    "/sub/../a.php",
    "/sub/..%2fa.php",
    "/./a.php",
    "//a.php",
    "/sub//b.php",
    "/a.%E1%B5%96hp",
    "/a.p%C4%A7p",
    "/%C8%BA%C8%BA%C8%BA.php",
    "/%E2%84%AA.php",
    "/a.php%C5%BF",
    "/%ff%fe.php",
    "/dir.php",
    "/dir.php/c.php",
    "/secret.txt.php",
    "/link.php",
];

/// Endings of paths.
const TAILS: &[&str] = &[
    "",
    "/",
    "/x",
    "/x.php",
    "/x/y.php/z",
    "/..",
    "/../",
    "/../x.txt",
    "/%2e%2e/x.txt",
    "/%0a",
    "/x%0ay",
    "/%0d%0aX: y",
    "/%00",
    "/%00.php",
    "/.php",
    "/%c0%ae%c0%ae/x",
    "/%E2%84%AA",
    "/%C8%BA.php",
    "?x=/a.php",
    "?/../x",
    "%3f.php",
    "%23.php",
    ";x=.php",
    "/a%2fb",
    "/%5c..%5cx.txt",
    "%",
    "%zz",
    "/x%",
    "//",
    "//x//y",
    "/./x",
    "/%2f%2f",
    "/ ",
    "/\u{e9}",
];

fn ask(client: &mut Option<Client>, address: std::net::SocketAddr, target: &str) -> Response {
    let mut connection = client.take().unwrap_or_else(|| Client::connect(address));
    connection.write(format!("GET {target} HTTP/1.1\r\nHost: example.com\r\n\r\n"));
    let reply = connection.read_response();
    if reply.field("Connection") != Some("close") {
        *client = Some(connection);
    }
    reply
}

/// The part of a reply that matters: of a redirection where it leads to, of a page what it says.
fn essence(reply: &Response) -> String {
    match reply.status {
        200 => reply.text(),
        301 => {
            reply.field("Location").unwrap_or_default().trim_start_matches("http://example.com").to_owned()
        }
        _ => String::new(),
    }
}

/// A site with scripts and other files; scripts begin with this line, too.
fn hostile_site(first_line: &str) -> Site {
    let which = &format!("{first_line}{WHICH}");
    let site = site()
        .file("a.php", which)
        .file("index.php", which)
        .file("sub/index.php", which)
        .file("sub/b.php", which)
        .file("dir.php/c.php", which)
        .file("x.txt", format!("{first_line}<?php echo 'never';"))
        .file("a.php7", "<?php echo 'never';")
        .file("a.phtml", "<?php echo 'never';")
        .file("secret.txt.php", which);
    std::os::unix::fs::symlink("x.txt", site.path("link.php")).expect("make a link");
    site
}

/// Asks for all paths, and compares with the application of PHP.
#[track_caller]
fn check(server: &Daemon) {
    let site = hostile_site("");
    let reference = daemon().application(php_app(&site).processes(1)).start();
    let (mut theirs, mut ours) = (None, None);
    let (mut n_asked, mut n_answered) = (0, 0);
    for name in NAMES {
        for tail in TAILS {
            let target = format!("{name}{tail}");
            let expected = ask(&mut theirs, reference.address().socket(), &target);
            let found = ask(&mut ours, server.address().socket(), &target);
            n_asked += 1;
            n_answered += usize::from(found.status == 200);
            if matches!(found.status, 400 | 403 | 404) {
                // Nothing is refused that PHP answers, but what could be taken for the end of a line or a string.
                let may_refuse = ["%0a", "%0d", "%00"].iter().any(|end| target.contains(end));
                assert!(expected.status != 200 || may_refuse, "{target:?} is refused: {expected}");
                continue;
            }
            assert_eq!(
                (found.status, essence(&found)),
                (expected.status, essence(&expected)),
                "{target:?}: {found}\nand of PHP: {expected}"
            );
        }
    }
    assert!(n_asked >= 500 && n_answered >= 100, "{n_answered} of {n_asked} are answered");
    assert!(!server.log().contains("never"));
}

#[test]
fn paths_in_bad_faith_get_the_answer_of_php_or_none() {
    let site = hostile_site("");
    let fpm = PhpFpm::at_socket(STATIC);
    check(&serve(&fpm, &site, json!({})));
}

/// The same, of an application.
#[test]
fn paths_in_bad_faith_harm_no_application_of_fastcgi() {
    let site = hostile_site("");
    let app = json!({ "type": "fastcgi", "executable": "php-cgi", "root": site.root() });
    check(&daemon().config(json!({ "applications": { "app": app } })).start());
}

/// Each script is run by php-cgi, for which it is one of CGI.
#[test]
fn paths_in_bad_faith_harm_no_scripts_of_cgi() {
    let site = hostile_site("#!/usr/bin/php-cgi\n");
    for script in
        ["a.php", "index.php", "sub/index.php", "sub/b.php", "dir.php/c.php", "secret.txt.php", "link.php"]
    {
        std::fs::set_permissions(site.path(script), PermissionsExt::from_mode(0o755)).expect("it is ours");
    }
    let app = json!({ "type": "cgi", "root": site.root(), "index": "index.php", "split_path": [".php"] });
    check(&daemon().config(json!({ "applications": { "app": app } })).start());
}

/// PHP's own answer is given only to what is there.
#[test]
fn a_script_that_is_not_there_is_never_asked_for() {
    let site = site().file("a.php", WHICH).file("upload.jpg", "<?php echo 'never';");
    let fpm = PhpFpm::at_socket(STATIC);
    let server = serve(&fpm, &site, json!({}));
    for target in ["/upload.jpg/x.php", "/none.php", "/none.php/a.php", "/upload.jpg"] {
        server.get(target).expect(404).expect_text("Error 404");
    }
    assert!(!server.log().contains("Primary script unknown"), "{}", server.log());
}
