//! Isolation of applications: users, namespaces, roots, control groups, and the limits of their reach.

mod beyond;
mod control_groups;
mod namespaces;
mod rootfs;
mod users;

use std::path::Path;

use corral_testkit::{Builder, Daemon, PhpApp, Site, daemon, php_app, site};
use serde_json::{Value, json};

/// A page that evaluates what it is asked, to JSON. `c()` declares functions of the C library.
const EVAL: &str = r#"<?php
function c(string $declarations) { return FFI::cdef("int *__errno_location(void); " . $declarations); }
function errno_of(callable $call, $c) { return $call($c) === -1 ? $c->__errno_location()[0] : 0; }
echo json_encode(eval('return ' . $_GET['q'] . ';'));
"#;

/// A site with that page alone.
fn eval() -> Site {
    site().file("www/index.php", EVAL)
}

/// The application of such a site.
fn app_of(site: &Site, isolation: Value) -> PhpApp {
    app_in(&site.path("www"), isolation)
}

/// The same with its pages in this folder.
fn app_in(root: &Path, isolation: Value) -> PhpApp {
    let app = php_app(&site()).with("root", json!(root)).with("isolation", isolation);
    app.with("index", json!("index.php")).admin("ffi.enable", "1")
}

/// The value of an expression in the application.
#[track_caller]
fn ask(server: &Daemon, expression: &str) -> Value {
    let query: String = expression.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let reply = server.get(&format!("/?q={query}")).expect(200);
    serde_json::from_str(&reply.text()).unwrap_or_else(|_| panic!("{expression}: {reply}"))
}

/// Whether this test may change users; says so when not.
fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("skipped: only root can start applications as other users");
    }
    is_root
}

const EPERM: i32 = 1;

/// Runs a check with a daemon of root and with one that has no privileges.
fn with_and_without_privileges(check: impl Fn(fn() -> Builder)) {
    if is_root() {
        check(daemon);
    }
    check(|| daemon().unprivileged());
}
