//! Listeners: addresses, sockets, TLS, and what trusted peers say about clients.

mod addresses;
mod forwarded;
mod given_sockets;
mod https_only;
mod removal;
mod tls;

use std::net::SocketAddr;

use corral_testkit::{Client, Daemon, daemon};
use serde_json::{Value, json};

/// A daemon whose route answers 200 everywhere, and listeners at these addresses.
#[track_caller]
fn start(listeners: &[&str]) -> Daemon {
    let daemon = daemon().start_unconfigured();
    daemon.control().put("/config", &config(listeners)).expect_done();
    daemon
}

fn config(listeners: &[&str]) -> Value {
    let listeners: serde_json::Map<_, _> =
        listeners.iter().map(|address| ((*address).to_owned(), json!({ "pass": "routes" }))).collect();
    json!({ "listeners": listeners, "routes": [{ "action": { "return": 200 } }] })
}

#[track_caller]
fn check_answers(address: SocketAddr) {
    Client::connect(address).get("/").expect(200);
}
