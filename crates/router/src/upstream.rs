//! Servers that requests are proxied to: their addresses, connections, health, and the choice among them. Nothing here
//! knows what a request of a client is.
//!
//! `server` is what all event loops share of a server, `group` what one loop has of it.

mod balance;
mod checks;
mod connect;
mod failure;
pub(crate) mod gateway;
mod group;
mod health;
pub(crate) mod http2;
mod idle;
mod line;
mod resolve;
mod seats;
mod server;
mod tls;

pub(crate) use self::checks::Checks;
pub(crate) use self::failure::{Retry, ServerFailure};
pub(crate) use self::group::{LoopGroup, LoopGroups, LoopServer, LoopServers, Tried};
pub(crate) use self::idle::Freshness;
pub(crate) use self::line::Line;
pub(crate) use self::resolve::Resolver;
pub(crate) use self::seats::{Kept, Presence, Seat, Waiting};
pub(crate) use self::server::{Group, Groups, Server, ServerError, Workshop};
pub(crate) use self::tls::{HTTP1, Trust};
