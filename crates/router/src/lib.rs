//! All client traffic: listeners, connections, routing, static files, hand-over to applications.
//!
//! One thread obeys `main` (`control`); every other one is an event loop (`event_loop`) with its own
//! connections. They share application instances (`instance`) and nothing else that is written to while a
//! request is answered.

#![forbid(unsafe_code)]

mod answer;
mod authentication;
mod client;
mod clock;
mod control;
mod control_waker;
mod counters;
mod dev_reload;
mod dispatch;
mod error_chain;
mod event_loop;
mod exchange;
mod files;
pub mod fuzz;
mod generation;
mod instance;
mod io;
mod layer4;
mod limits;
mod log_throttle;
mod main_link;
mod mirrors;
mod observe;
mod reply;
mod request;
mod services;
mod storage;
mod tls;
mod upstream;
mod variables;

use corral_ipc::link::Link;
use corral_sys::process::refuse_huge_pages;

/// The router process: serves until `main` says that it is over, or is gone.
///
/// # Errors
///
/// When it cannot be started.
pub fn run(link: Link) -> anyhow::Result<()> {
    if let Err(error) = refuse_huge_pages() {
        tracing::info!("keep memory in small pages: {error}");
    }
    control::run(link)
}
