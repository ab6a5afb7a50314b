//! The control API: its answers, its refusals, and the clients that may use it.

mod api;
mod browsers;
mod dashboard;
mod events;
mod history;
mod listener;
mod sessions;
mod tokens;
mod values;
mod workers;
