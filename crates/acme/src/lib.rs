//! Certificates that the daemon orders by itself (ACME, RFC 8555): accounts, orders, renewals, and pauses after
//! failures.
//!
//! `schedule` decides what is next for each name; it is given the time and touches nothing. `engine` runs what was
//! decided, with instant-acme for the protocol. Everything that must outlive the process goes through `EngineHost`
//! before the step that depends on it, so that a daemon that was killed goes on with the same order. Sockets and files
//! belong to others: routers answer the challenges, main stores the records.

#![forbid(unsafe_code)]

mod account;
mod challenge_response;
mod client;
pub mod dns;
mod engine;
mod failure;
mod host;
mod issued_certificate;
mod jitter;
mod nonce;
mod on_demand;
mod order;
mod order_policy;
mod pause;
mod record;
#[cfg(test)]
mod sample;
mod schedule;
mod status;
mod time;

pub use self::engine::{AcmeEngine, RunningEngine};
pub use self::host::EngineHost;
pub use self::order_policy::{ChallengeMethod, OrderPolicy, WantedCertificates};
pub use self::schedule::RenewError;
pub use self::status::{NameState, NameStatus};
