//! Rules of this repository that no compiler checks.

mod dependencies;
mod tidy;
mod walker;

mod sources;
