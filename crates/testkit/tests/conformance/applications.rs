//! Applications of all languages: their options, and what is accepted of them.

mod against_reference;
mod options;
