//! The command line of `unitd`, and the commands that talk to a daemon.

mod commands;
mod packaging;
mod running;
mod unitd;

use corral_testkit::{Daemon, daemon};
use serde_json::json;

use crate::tool::Tool;

/// A command that asks `server`.
fn corral(server: &Daemon, arguments: &[&str]) -> Tool {
    Tool::new(arguments).environment("CORRAL_CONTROL", &control(server))
}

/// Where `server` is asked.
fn control(server: &Daemon) -> String {
    format!("unix:{}", server.control_socket().display())
}

/// A daemon that answers `/a` and nothing else.
fn two_answers() -> Daemon {
    daemon()
        .routes(json!([{ "match": { "uri": "/a" }, "action": { "return": 201 } },
        { "action": { "return": 404 } }]))
        .start()
}
