//! Which action a request gets, and what actions that answer at once do.

mod actions;
mod bounds;
mod captures;
mod choice;
mod client_values;
mod defaults;
mod empty_values;
mod file_conditions;
pub(crate) mod hostile_paths;
mod inheritance;
mod maps;
mod no_reply;
mod patterns;
mod prefixes;
mod routes;
mod targets;
mod templates;
mod try_files;
mod variables;

mod steps;
