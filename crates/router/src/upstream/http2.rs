//! Servers that are spoken to over HTTP/2. A connection to one is an [`H2Connection`](h2_connection::H2Connection),
//! which several requests share: each of them has a [`StreamPermit`] on it, and a [`H2Stream`] once it is sent.
//!
//! A connection is opened when the server's SETTINGS have come, so that its limit of streams and its support of RFC
//! 8441 are known; requests that arrive together wait for the same one. A connection's window is as large as those of
//! all its streams together: a slow client stops no other.

mod check;
mod h2_connection;
mod h2_connections;
mod message;
mod settings;
mod stream;

pub(super) use self::check::ask;
pub(crate) use self::h2_connection::StreamPermit;
pub(super) use self::h2_connections::H2Connections;
pub(crate) use self::message::{H2RequestHead, StreamUse};
pub(crate) use self::stream::{H2Stream, StreamInput};
