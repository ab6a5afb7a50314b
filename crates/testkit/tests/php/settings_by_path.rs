//! `options_by_path`: settings of PHP for the requests of some paths, and for these alone.

use corral_testkit::{Daemon, Site, daemon, php_app, site};
use serde_json::{Value, json};

const SHOW: &str = "<?php foreach (explode(',', $_GET['s']) as $name) { echo ini_get($name), '|'; }";

fn serve(by_path: Value, admin: &Value) -> (Daemon, Site) {
    let site =
        site().file("index.php", SHOW).file("set.php", "<?php var_dump(ini_set($_GET['n'], $_GET['v']));");
    let app = php_app(&site).with("options_by_path", by_path).with("options", json!({ "admin": admin }));
    (daemon().application(app).start(), site)
}

#[track_caller]
fn check(server: &Daemon, target: &str, expected: &str) {
    server.get(target).expect(200).expect_body(expected);
}

/// Options: applications.{N}.options_by_path, applications.{N}.options_by_path.{k}
/// Options: applications.{N}.options_by_path.{k}.admin, applications.{N}.options_by_path.{k}.user
#[test]
fn settings_are_those_of_the_path() {
    let by_path = json!({
        "/admin/*": { "user": { "memory_limit": "512M", "upload_max_filesize": "77M" } },
        "/admin/deep/*": { "admin": { "memory_limit": "64M" } },
        "~^/x\\d+/": { "user": { "user_agent": "it's \"x\"" } },
        "!/admin/*": { "user": { "default_charset": "latin1" } },
    });
    let (server, site) = serve(by_path, &json!({ "memory_limit": "100M" }));
    for folder in ["admin", "admin/deep", "x12", "y"] {
        site.write(&format!("{folder}/index.php"), SHOW);
    }
    let names = "?s=memory_limit,upload_max_filesize,user_agent,default_charset";
    for _ in 0..2 {
        check(&server, &format!("/index.php{names}"), "100M|2M||latin1|");
        check(&server, &format!("/admin/index.php{names}"), "512M|77M||UTF-8|");
        check(&server, &format!("/admin/deep/{names}"), "64M|77M||UTF-8|");
        check(&server, &format!("/x12/{names}"), "100M|2M|it's \"x\"|latin1|");
        check(&server, &format!("/y/..%2fadmin/index.php{names}"), "512M|77M||UTF-8|");
        check(&server, &format!("/y/{names}"), "100M|2M||latin1|");
    }
}

/// A script may change what `user` says, and not what `admin` says; nothing of either is there for the next request.
#[test]
fn scripts_change_what_is_theirs() {
    let by_path = json!({
        "/set.php": { "user": { "user_agent": "a", "memory_limit": "200M" }, "admin": { "precision": "5", "display_errors": "0" } },
    });
    let (server, _site) = serve(by_path, &json!({ "memory_limit": "100M" }));
    for _ in 0..2 {
        check(&server, "/set.php?n=user_agent&v=b", "string(1) \"a\"\n");
        check(&server, "/set.php?n=precision&v=9", "bool(false)\n");
        // Protected for all paths, whatever the value.
        check(&server, "/set.php?n=memory_limit&v=300M", "bool(false)\n");
        check(&server, "/index.php?s=user_agent,precision,memory_limit", "|14|100M|");
    }
}

/// A setting that cannot be is told when the application starts, and requests go on without it.
#[test]
fn settings_that_requests_cannot_have_are_told() {
    let by_path = json!({
        "/*": {
            "user": { "no.such_setting": "1", "upload_tmp_dir": "/tmp", "date.timezone": "Nowhere/At_all", "precision": "3" },
            "admin": { "upload_tmp_dir": "/tmp" },
        },
    });
    let (server, _site) = serve(by_path, &json!({}));
    check(&server, "/index.php?s=precision,upload_tmp_dir", "3|/tmp|");
    server.expect_log("setting \"no.such_setting: 1\" has no effect: there is no such setting");
    server.expect_log("setting \"upload_tmp_dir: /tmp\" has no effect: scripts cannot change it");
}

#[test]
fn settings_of_the_start_and_of_workers_are_refused() {
    let site = site().file("index.php", "").file("worker.php", "");
    let server = daemon().start_unconfigured();
    let refuse = |name: &str, value: Value, worker: bool, words: &str| {
        let mut app = php_app(&site).value();
        app["options_by_path"] = json!({ name: value });
        if worker {
            app["worker"] = json!({ "script": "worker.php" });
        }
        let config = server.with_listener(json!({ "applications": { "app": app } }));
        let detail = server.control().put("/config", &config).expect_refused(400, "Invalid configuration.");
        assert!(detail.contains(words), "{detail}");
    };
    let of_start = "takes the setting";
    refuse("/*", json!({ "admin": { "opcache.enable": "0" } }), false, of_start);
    refuse("/*", json!({ "user": { "disable_functions": "exec" } }), false, of_start);
    refuse("/*", json!({ "admin": { "memory_limit": 5 } }), false, "must be a string");
    refuse("~(", json!({}), false, "invalid");
    refuse("/*", json!([]), false, "must be");
    refuse("/*", json!({ "file": "/etc/php.ini" }), false, "Unknown parameter");
    refuse("/*", json!({ "admin": { "memory_limit": "1M" } }), true, "for scripts that run for each request");
}
