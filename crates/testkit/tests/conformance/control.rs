//! The control API: what it answers, what it refuses, and whom.

mod api;
mod browsers;
mod values;
