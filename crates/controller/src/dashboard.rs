//! The part of the control API that the dashboard needs besides what all clients use: its page, sessions of browsers,
//! and the stream of figures.

mod attention;
mod figures;
pub(crate) mod hub;
mod log_lines;
mod log_rank;
mod log_tail;
pub(crate) mod login;
mod merge_patch;
pub(crate) mod page;
mod past;
pub(crate) mod session_cookie;
pub(crate) mod sessions;
mod snapshot;
pub(crate) mod stream;
mod usage;
pub(crate) mod viewers;
mod workers;
