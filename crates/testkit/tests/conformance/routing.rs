//! Which action a request gets, and what actions that answer at once do.

mod actions;
mod choice;
mod client_values;
pub(crate) mod hostile_paths;
mod inheritance;
mod maps;
mod patterns;
mod routes;
mod targets;
mod templates;
mod variables;

mod steps;
