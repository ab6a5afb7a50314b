//! A configuration as a whole: its members, its settings, and the files that it may come from.

pub(crate) mod files;
mod options;
mod root;
mod schema;
mod secrets;
mod settings;
mod warnings;
