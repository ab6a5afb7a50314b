//! Messages about programs of FastCGI that cannot be started.

use corral_testkit::{daemon, site};
use serde_json::{Value, json};

use crate::{executable, merge};

/// Puts an application in force in vain, and checks what is said.
#[track_caller]
fn check(members: Value, expected: &[&str]) {
    let mut app = json!({ "type": "fastcgi" });
    merge(&mut app, members);
    let server = daemon().start_unconfigured();
    let reply = server.control().put("/config", &json!({ "applications": { "app": app } }));
    let detail = reply.expect_refused(500, "Failed to apply new configuration.");
    for expected in expected {
        assert!(detail.contains(expected), "{expected:?} is not in {detail:?}");
    }
}

#[test]
fn a_program_that_cannot_be_run_is_named() {
    check(json!({ "executable": "/no/php-cgi" }), &["the executable \"/no/php-cgi\"", "No such file"]);
    check(json!({ "executable": "/etc/passwd" }), &["the executable \"/etc/passwd\"", "Permission denied"]);
    check(json!({ "executable": "no-such-cgi" }), &["\"no-such-cgi\" is in none of the folders of PATH"]);
}

#[test]
fn a_program_that_is_none_of_fastcgi_is_told_so() {
    check(
        json!({ "executable": "/bin/true" }),
        &["exited with code 0 before it was ready", "accepts connections on descriptor 0", "php-cgi"],
    );
    let sleeps = site().file("sleeps", "#!/bin/sh\necho words\nsleep 100\n");
    executable(&sleeps, "sleeps");
    check(
        json!({ "executable": sleeps.path("sleeps"), "ready": { "timeout": 1 } }),
        &["was not ready within 1 s", "it accepts nothing on descriptor 0", "words"],
    );
    let http = site().file(
        "http",
        "#!/usr/bin/perl\nuse Socket; open(S, '+<&=0'); while (accept(C, S)) { sysread(C, \
        my $b, 8192) or next; print C \"HTTP/1.1 200 OK\\r\\n\\r\\n\"; close C }\n",
    );
    executable(&http, "http");
    let app = json!({ "type": "fastcgi", "executable": http.path("http") });
    let server = crate::with_app(&app).start();
    server.get("/").expect(502);
    server.expect_log("it does not speak FastCGI");
}
