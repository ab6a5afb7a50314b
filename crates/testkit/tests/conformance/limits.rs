//! Limits: what clients may take together, and what an idle server takes.

mod clients;
mod concurrency;
mod descriptors;
mod idle;
mod linear;
mod rates;

use corral_testkit::Daemon;
use serde_json::Value;

/// The figures in `/status` of the limit for clients at a place of the configuration.
#[track_caller]
fn status_of(server: &Daemon, place: &str) -> Value {
    server.control().get("/status/limits").json()[place].clone()
}
