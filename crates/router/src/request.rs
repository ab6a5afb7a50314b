//! Requests: their clients, what of them the configuration asks for, and their bodies.

pub(crate) mod body;
pub(crate) mod client;
pub(crate) mod forwarded;
pub(crate) mod head;
pub(crate) mod identity;
pub(crate) mod ip_text;
pub(crate) mod method;
pub(crate) mod path_pattern;
pub(crate) mod routing;
