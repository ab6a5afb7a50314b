//! Certificates that the daemon orders by itself, from pebble.

mod pebble;
