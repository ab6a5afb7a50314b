//! All client traffic: listeners, connections, routing, static files, hand-over to applications.
//!
//! One thread obeys `main` (`control`); every other one is an event loop (`event_loop`) with its own
//! connections. They share application instances (`app`) and nothing else that is written to while a
//! request is answered.

#![forbid(unsafe_code)]

mod accept;
mod access_log;
mod admission;
mod app;
mod application;
mod authorities;
mod body;
mod buffered;
mod buffers;
mod clock;
mod complaints;
mod compression;
mod connection;
mod console;
mod control;
mod counters;
mod deadline;
mod desk;
mod event_loop;
mod files;
mod forwarded;
mod generation;
mod hijack;
mod html;
mod interim;
mod io;
mod ip_text;
mod main_link;
mod prelude;
mod program;
mod proxy;
mod reply;
mod routing;
mod rules;
mod script;
mod share;
mod spool;
mod telemetry;
mod temp;
mod tls;
mod trailers;
mod transaction;
mod upkeep;
mod variables;
mod websocket;
mod writer;

use corral_ipc::link::Link;

/// The router process: serves until `main` says that it is over, or is gone.
///
/// # Errors
///
/// When it cannot be started.
pub fn run(link: Link) -> anyhow::Result<()> {
    control::run(link)
}
