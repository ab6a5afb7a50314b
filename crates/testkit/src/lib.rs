//! Test support: starts real daemons and real servers, speaks raw HTTP, waits with deadlines.
//!
//! A test reads like a sentence:
//!
//! ```no_run
//! use corral_testkit::{daemon, php_app, site};
//!
//! let site = site().file("index.php", "<?php echo 'hello';");
//! let server = daemon().application(php_app(&site).processes(2)).start();
//! server.get("/").expect(200).expect_body("hello");
//! ```
//!
//! Everything panics where a test would fail, with the reply or the daemon's log in the message. What was started is
//! ended when its value is dropped, by process id.

#![forbid(unsafe_code)]

mod address;
mod app;
mod asking;
pub mod attacker;
mod browser;
mod carrier;
mod client;
mod components;
mod control;
mod daemon;
mod dial;
mod executables;
mod fake_clock;
mod fpm;
mod go;
mod hosts;
mod http2;
mod load;
mod logged;
mod mariadb;
mod memory_file;
mod named;
pub mod options;
mod origin;
pub mod pebble;
mod processes;
mod recipe;
mod redis;
mod reference;
mod request;
mod response;
mod run;
mod site;
mod small_disk;
mod tls;
mod wait;
mod watchdog;
pub mod websocket;

pub use address::{Address, port_of_all_addresses};
pub use app::{PhpApp, PythonApp, php_app, python_app};
pub use attacker::Attacker;
pub use browser::{Browser, Part};
pub use carrier::Carrier;
pub use client::Client;
pub use components::component;
pub use control::{ControlClient, ControlReply, assert_says, says};
pub use daemon::{Builder, Daemon, daemon};
pub use dial::{Width, dial};
pub use executables::{Executables, executables, version_of};
pub use fake_clock::FakeClock;
pub use fpm::PhpFpm;
pub use go::build_go;
pub use hosts::BAD_HOSTS;
pub use http2::{
    Asked, Frame, Http2, Http2Origin, Http2Stream, RawHttp2, flag, http2_fields, kind, remembered,
};
pub use load::{Load, Tally};
pub use mariadb::MariaDb;
pub use memory_file::MemoryFile;
pub use named::{Named, texts_at};
pub use origin::{Origin, OriginPeer};
pub use processes::{
    Process, Resource, Signal, Thread, descendants, end_stranger, is_alive, limit, open_descriptors,
    private_memory, processor_time, proportional_memory, raise_descriptor_limit, resident_memory, signal,
    stop,
};
pub use recipe::{examples, recipe, serve_recipe, serve_recipe_with};
pub use redis::Redis;
pub use reference::Reference;
pub use request::Request;
pub use response::Response;
pub use run::{Run, RunOutcome};
pub use site::{Site, site};
pub use small_disk::SmallDisk;
pub use tls::{Authority, Bundle, TlsClient};
pub use wait::{Beside, OnEnd, PATIENCE, eventually, meanwhile, within};
pub use watchdog::Watchdog;
pub use websocket::WebSocket;
