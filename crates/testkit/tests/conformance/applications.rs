//! What applications of all languages have in common: their options, and what is accepted of them.

mod against_reference;
mod options;
