//! HTTP/2 itself: streams, frames that no good client sends, floods, and the clients that people have. What HTTP means
//! is asked by the other tests, over HTTP/2 as well (`cargo nextest run --profile http2`).

mod browser;
mod clients;
mod floods;
mod frames;
mod hosts;
mod idle;
mod specification;
mod streams;
mod tls;
mod upgrades;
mod websockets;

use corral_testkit::{Daemon, daemon};
use serde_json::{Map, Value, json};

/// A daemon whose listener knows HTTP/2 without TLS.
#[track_caller]
fn serve(config: Value) -> Daemon {
    let server = daemon().start_unconfigured();
    put(&server, config);
    server
}

#[track_caller]
fn put(server: &Daemon, config: Value) {
    let mut config = server.with_listener(config);
    config["listeners"][server.address().to_string()]["http2"] = json!("prior_knowledge");
    server.control().put("/config", &config).expect_done();
}

/// Routes to one action.
fn action(action: Value) -> Value {
    let step: Map<String, Value> = [("action".to_owned(), action)].into_iter().collect();
    json!({ "routes": [step] })
}
