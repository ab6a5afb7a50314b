//! Certificates that the daemon orders by itself.

mod dns;
mod pebble;
mod renewal;
