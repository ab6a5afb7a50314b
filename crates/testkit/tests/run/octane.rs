//! The executable under the name `frankenphp`: everything that Laravel Octane does with it, one call after the other,
//! for a project that has the shape of one with Octane.

mod calls;
mod files;
mod https;
mod lines;
mod project;
mod refusals;
mod terminal;
