//! The contract with NGINX Unit, one file for each of its sections, and what Corral adds to it. Everything goes
//! through the real daemon over real sockets.
//!
//! The documentation of a test that proves options names them on a line `Options: a.b, c.d`.

#![allow(clippy::needless_pass_by_value, reason = "tables of cases hand over what `json!` has just made")]

// Modules in the order of the contract's sections.
mod access_log;
mod actions;
mod applications;
mod client_values;
mod command_line;
mod compression;
mod control_api;
mod engine_replies;
mod engine_requests;
mod errors;
mod forwarded;
mod given_sockets;
mod isolation;
mod isolation_beyond;
mod isolation_rootfs;
mod listeners;
mod manual;
mod packaging;
mod patterns;
mod proxy;
mod proxy_beyond;
mod proxy_in_step;
mod reconfiguration;
mod root;
mod routes;
mod service_manager;
mod settings;
mod share;
mod share_beyond;
mod share_confined;
mod share_fresh;
mod state;
mod status;
mod takeover;
mod telemetry;
mod telemetry_grpc;
mod telemetry_tls;
mod templates;
mod tls;
mod upgrade;
mod upstreams;

// Beyond the contract.
mod against_reference;
mod config_files;
mod config_secrets;
mod control_browsers;
mod descriptors;
mod idle;
mod limits;
mod linear;
mod restarts;
mod users;

// What the tests share.
mod steps;
mod tool;
