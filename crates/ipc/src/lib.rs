//! Messages between main, controller, router and prototypes, and the socket that carries them.
//!
//! Every pair of processes that talk share one `SOCK_SEQPACKET` socket pair; one datagram is one
//! message in postcard form, with the descriptors that its documentation names. Large payloads
//! travel in a sealed memfd. `main` is at one end of every pair.

#![forbid(unsafe_code)]

pub mod bounded;
pub mod fuzz;
pub mod history;
pub mod lines;
pub mod link;
pub mod log;
pub mod message;
pub mod reason;
pub mod sums;
