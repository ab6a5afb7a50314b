//! Syntax that several crates read in the same way: host names, networks, tokens, escapes. Below all other crates.

#![forbid(unsafe_code)]

mod escape;
mod fnv;
mod host;
mod network;
mod public_suffix;
mod token;

pub use escape::{escaped_byte, hex_digit};
pub use fnv::fnv_1a;
pub use host::{is_host_name, is_ipv6_literal, is_public_name};
pub use network::client_network;
pub use public_suffix::{is_below_listed_suffix, registered_domain};
pub use token::is_token;
