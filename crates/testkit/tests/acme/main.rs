//! Certificates that the daemon orders by itself, from pebble.

mod dns;
mod failures;
mod interrupted;
mod issuing;
mod limits;
mod many;
mod on_demand;
mod ordering;
mod pebble;
mod renewal;
mod router;
