//! The command line of `unitd`, and the commands that talk to a daemon.

mod commands;
mod packaging;
