//! Servers that requests are proxied to: their addresses, connections, health, and the choice among them. Nothing here
//! knows what a request of a client is.
//!
//! `server` is what all event loops share of a server, `group` what one loop has of it, `groups` has all of a
//! configuration.
//!
//! Health and the addresses of names are atomics and a watched value that the control thread writes. A server that a
//! new configuration leaves as it was keeps its connections, health and figures.
//!
//! Where the number of a server's processes is known, that many connections exist, for all event loops together. A
//! connection stays with its loop; a loop that has waited for longer gets the process by a new connection. A process
//! may end its request early (`fastcgi_finish_request`): it is back when it has read all that was sent, as the kernel
//! tells of Unix sockets.

mod balance;
mod connect;
mod durations;
mod dynamic;
mod failure;
pub(crate) mod gateway;
mod group;
mod groups;
mod health;
mod health_checks;
pub(crate) mod http2;
mod idle;
mod kept;
mod places;
mod process_slots;
mod resolve;
mod response_times;
mod server;
mod server_connection;
mod sticky;
mod tls;

pub(crate) use self::dynamic::{LoopDynamic, NotReachable};
pub(crate) use self::failure::{Retry, ServerFailure};
pub(crate) use self::group::{LoopGroup, LoopServer, LoopServers, ServerAdmission, ServerWish};
pub(crate) use self::groups::{LoopGroups, ServerBuilder, ServerError, ServerGroups};
pub(crate) use self::health_checks::HealthChecks;
pub(crate) use self::idle::Freshness;
pub(crate) use self::places::{Place, PlaceFuture, TriedServers};
pub(crate) use self::process_slots::{KeptConnection, ProcessPresence, ProcessSlot, SlotFuture};
pub(crate) use self::resolve::NameResolver;
pub(crate) use self::server::{ServerGroup, UpstreamServer};
pub(crate) use self::server_connection::ServerConnection;
pub(crate) use self::tls::{HTTP1, TlsTrust};
