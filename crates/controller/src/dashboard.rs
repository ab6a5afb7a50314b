//! The part of the control API that the dashboard needs besides what all clients use: its page, sessions of browsers,
//! and the stream of figures.

pub(crate) mod login;
pub(crate) mod page;
pub(crate) mod sessions;
