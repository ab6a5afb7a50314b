//! HTTP/1 over sockets: requests, replies, and the connections that carry them.

mod compression;
mod connections;
mod empty_errors;
mod errors;
mod hosts;
mod replies;
mod requests;
mod smuggling;
