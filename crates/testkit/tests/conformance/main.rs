//! The contract with NGINX Unit and what Corral adds to it, a folder for each subject. Every test asks a real daemon over
//! real sockets.
//!
//! The documentation of a test that proves options names them on a line `Options: a.b, c.d`.

#![allow(clippy::needless_pass_by_value, reason = "tables of cases hand over what `json!` has just made")]

mod applications {
    mod against_reference;
    mod options;
}
mod command_line {
    mod commands;
    mod packaging;
}
mod configuration {
    mod files;
    mod root;
    mod secrets;
    mod settings;
}
mod control {
    mod api;
    mod browsers;
    mod values;
}
mod files {
    mod beyond;
    mod confined;
    mod fresh;
    mod share;
}
mod http {
    mod compression;
    mod connections;
    mod errors;
    mod replies;
    mod requests;
    mod smuggling;
}
mod isolation {
    mod beyond;
    mod namespaces;
    mod rootfs;
    mod users;
}
mod lifecycle;
mod limits {
    mod clients;
    mod descriptors;
    mod idle;
    mod linear;
}
mod listeners {
    mod addresses;
    mod forwarded;
    mod given_sockets;
    mod tls;
}
mod manual;
mod observe {
    mod access_log;
    mod status;
    mod telemetry;
}
mod proxy {
    mod beyond;
    mod in_step;
    mod requests;
    mod upstreams;
}
mod routing {
    mod actions;
    mod choice;
    mod client_values;
    mod patterns;
    mod routes;
    mod steps;
    mod templates;
}

mod tool;
