//! A worker's loop over its channel, the prototype that forks it, and the Runtime trait.
//!
//! A language's host executable is [`host_main`] with a [`Language`], which can load the interpreter. The
//! prototype loads once, then forks at main's word; each child answers requests from its own
//! channel, one at a time or in several threads, until it is told to leave. Nothing here knows a language.
//!
//! Hosts whose workers are programs of their own have a prototype around the same [`Keeper`].

#![forbid(unsafe_code)]

mod application;
mod async_channel;
mod body;
mod call;
mod children;
mod client_gone;
mod confine;
mod dependencies;
mod exchange;
mod file;
mod fork_guard;
mod host;
mod image;
mod inbox;
mod keeper;
mod language;
mod lifespan;
mod log;
mod prototype;
mod quiet_client;
mod reach;
mod request_state;
mod runtime;
mod script_requests;
mod serving;
mod setup;
mod starting;
mod threads;
mod warn_once;
mod worker;
mod worker_channel;
mod yielding;

pub use application::redirect_output;
pub use async_channel::{AsyncChannel, ChannelEvent, MOST_HELD_BACK, Message, RequestKey};
pub use body::Body;
pub use call::Call;
pub use children::{Children, Scope, Termination};
pub use client_gone::ClientGone;
pub use confine::confine;
pub use corral_cgi::variables as cgi;
pub use corral_sys::forked::is_stranger;
pub use corral_sys::signal::Pid;
pub use corral_sys::spawn::Fork;
pub use dependencies::of_program;
pub use file::FileRest;
pub use host::host_main;
pub use keeper::Keeper;
pub use language::{Language, LoadApplication, LoadImage};
pub use log::complain;
pub use request_state::ResponsePhase;
pub use runtime::{
    EventLoop, Exchange, Image, RequestEnd, Requests, Runtime, Serve, Server, ThreadLoop, WorkerScript,
    WorkerThreads,
};
pub use threads::Threads;
pub use warn_once::warn_once;
