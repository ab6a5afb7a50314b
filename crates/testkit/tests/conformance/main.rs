//! The contract with NGINX Unit and what Corral adds to it, a folder for each subject. Every test asks a real daemon
//! over real sockets.
//!
//! The documentation of a test that proves options names them on a line `Options: a.b, c.d`.

#![allow(clippy::needless_pass_by_value, reason = "tables of cases hand over what `json!` has just made")]

mod applications;
mod command_line;
mod configuration;
mod control;
mod files;
mod http;
mod isolation;
mod layer4;
mod lifecycle;
mod limits;
mod listeners;
mod manual;
mod observe;
mod proxy;
mod recipes;
mod routing;

mod tool;
