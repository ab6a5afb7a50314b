//! Programs of FastCGI as other users, in namespaces and in another root.

use corral_testkit::site;
use serde_json::json;

use crate::{is_root, php_cgi, with_app};

const USER: &str =
    "<?php echo posix_getuid(), ' ', posix_getgid(), ' ', gethostname() === php_uname('n') ? 'same' : '';";

#[test]
fn they_run_as_their_user_in_namespaces() {
    if !is_root() {
        return;
    }
    let site = site().file("index.php", USER);
    let all = json!({ "pid": true, "mount": true, "network": true, "uname": true });
    let members = json!({ "user": "daemon", "group": "bin", "isolation": { "namespaces": all } });
    let server = with_app(&php_cgi(&site, members)).start();
    server.get("/").expect(200).expect_body("1 2 same");
}

#[test]
fn they_run_in_a_user_namespace() {
    let site = site().file("index.php", "<?php echo posix_getuid();");
    let maps = json!({ "namespaces": { "credential": true } });
    let server = with_app(&php_cgi(&site, json!({ "isolation": maps }))).start();
    server.get("/").expect(200);
}

#[test]
fn a_daemon_without_privileges_runs_them_as_itself() {
    let site = site().file("index.php", "<?php echo 'hello';");
    let server = with_app(&php_cgi(&site, json!({}))).unprivileged().start();
    server.get("/").expect(200).expect_body("hello");
}
