//! HTTP/1 over sockets: requests, replies, and the connections that carry them.

mod changed_bodies;
mod compression;
mod connections;
mod empty_errors;
mod errors;
mod hosts;
mod replies;
mod requests;
mod response_options;
mod smuggling;
