//! Which action a request gets, and what actions that answer at once do.

mod actions;
mod choice;
mod client_values;
mod patterns;
mod routes;
mod targets;
mod templates;

mod steps;
