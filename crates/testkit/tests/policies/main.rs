//! The policies of actions: the sites that may read replies, the clients that get in while the site is closed, and the
//! servers that get a copy of a request.

#![allow(clippy::needless_pass_by_value, reason = "tables of cases hand over what `json!` has just made")]

mod browser;
mod cors;
mod maintenance;
mod mirror;

use corral_testkit::Daemon;
use serde_json::{Value, json};

/// Makes this the only action.
#[track_caller]
fn put_action(server: &Daemon, action: Value) {
    server.control().put("/config/routes", &json!([{ "action": action }])).expect_done();
}

/// Fails unless this action is refused in words that hold `detail`.
#[track_caller]
fn refuse_action(server: &Daemon, action: Value, detail: &str) {
    let reply = server.control().put("/config/routes", &json!([{ "action": action }]));
    let found = reply.expect_refused(400, "Invalid configuration.");
    assert!(found.contains(detail), "{action}: {found}");
}
