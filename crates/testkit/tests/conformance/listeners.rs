//! Listeners: addresses, sockets, TLS, and what trusted peers say about clients.

mod addresses;
mod forwarded;
mod given_sockets;
mod tls;
