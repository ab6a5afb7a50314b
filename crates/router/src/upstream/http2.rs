//! Servers that are spoken to over HTTP/2. A connection to one is a [`Trunk`](trunk::Trunk), which several requests share: each
//! of them has a [`Place`] on it, and a [`Stream`] once it is sent.
//!
//! A connection is opened when the server's SETTINGS have come, so that its limit of streams and its support of RFC
//! 8441 are known; requests that arrive together wait for the same one. A connection's window is as large as those of
//! all its streams together: a slow client stops no other.

mod check;
mod message;
mod settings;
mod stream;
mod trunk;
mod trunks;

pub(super) use self::check::ask;
pub(crate) use self::message::{Kind, Outgoing};
pub(crate) use self::stream::{Received, Stream};
pub(crate) use self::trunk::Place;
pub(super) use self::trunks::Trunks;
