//! Document in, validated configuration or errors out. Pure: no files, no sockets.

pub mod address;
pub mod plan;
