//! Certificates that the daemon orders by itself.

mod failures;
mod front;
mod interrupted;
mod issuing;
mod many;
mod on_demand;
mod ordering;
mod pebble;
mod renewal;
