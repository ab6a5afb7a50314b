//! Rules of this repository that no compiler checks.

mod architecture;
mod book;
mod changelog;
mod comments;
mod dependencies;
mod names;
mod options;
mod structure;
mod tidy;
mod wording;

mod sources;
