//! Requests and responses as CGI has them (RFC 3875), and the wires that carry them: FastCGI, SCGI, uwsgi. Pure: bytes
//! in, values out.
//!
//! Nothing here reads a socket or a file: the caller does, passes on what it has read, and sends what it is given.

#![forbid(unsafe_code)]

pub mod fastcgi;
pub mod fuzz;
pub mod response;
pub mod scgi;
pub mod script;
pub mod uwsgi;
pub mod variables;
