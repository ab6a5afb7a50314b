//! Clients and their connections: accepted, let in, and waited for.

pub(crate) mod accept;
pub(crate) mod admission;
pub(crate) mod connection;
pub(crate) mod prelude;
