//! Certificates that the daemon orders by itself (ACME, RFC 8555): accounts, orders, renewals, and pauses after
//! failures.
//!
//! `schedule` decides what is next for each name; it is given the time and touches nothing. `engine` runs what was
//! decided, with instant-acme for the protocol. Everything that must outlive the process is written through `Host`
//! before the step that depends on it, so that a daemon that was killed goes on with the same order. Sockets and files
//! belong to others: routers answer the challenges, main stores the records.

#![forbid(unsafe_code)]

mod account;
mod answer;
mod certificate;
mod chance;
mod client;
pub mod dns;
mod engine;
mod failure;
mod gate;
mod host;
mod issue;
mod nonce;
mod order;
mod pause;
mod record;
#[cfg(test)]
mod sample;
mod schedule;
mod status;
mod time;

pub use self::engine::{Engine, Running};
pub use self::host::Host;
pub use self::issue::{Demand, Issue, Way};
pub use self::status::{NameStatus, State};
