//! Certificates from authorities that speak ACME (RFC 8555).

#![forbid(unsafe_code)]

pub mod dns;
