//! Servers that are spoken to over HTTP/2. A connection to one is a [`Trunk`](trunk::Trunk), which several requests share: each
//! of them has a [`Place`] on it, and a [`Stream`] once it is sent.

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
