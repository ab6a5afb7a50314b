//! Programs of FastCGI as other users, in namespaces and in another root.

use corral_testkit::site;
use serde_json::json;

use crate::{executable, is_root, php_cgi, with_app};

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

/// Nothing of the daemon's is open but its standard streams: the first is the socket that it serves at.
#[test]
fn nothing_of_the_daemon_reaches_them() {
    let site = site().file("index.php", "<?php echo getmypid();");
    let server = with_app(&php_cgi(&site, json!({ "processes": 1 }))).start();
    let pid = server.get("/").expect(200).text().trim().parse().expect("a number");
    assert_eq!(server.shared_with(pid, 3), Vec::<String>::new());
}

#[test]
fn nothing_of_the_daemon_reaches_a_script() {
    let list = r#"for fd in /proc/$$/fd/*; do case ${fd##*/} in [012]) ;; *) readlink "$fd";; esac; done"#;
    let text = format!("#!/bin/sh\necho 'Content-Type: text/plain'; echo; {list}; echo .");
    let site = site().file("a", text);
    executable(&site, "a");
    let server = with_app(&json!({ "type": "cgi", "root": site.root() })).start();
    let text = server.get("/a").expect(200).text();
    assert!(text.ends_with(".\n") && !text.contains(":[") && !text.contains("memfd"), "{text}");
}
