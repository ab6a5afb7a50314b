//! The identity of clients: credentials of requests, files of passwords, tokens with the keys that they are verified
//! by, and signed links.
//!
//! Nothing here knows a connection. Hashing a password takes tens of milliseconds on purpose, so the caller decides in
//! which thread that happens.

#![forbid(unsafe_code)]

pub mod claims;
pub mod credentials;
pub mod files;
pub mod fuzz;
mod hash;
pub mod jwt;
pub mod links;
pub mod passwords;
