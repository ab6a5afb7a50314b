//! Lines for the log: main reads standard error and knows whose it is.

use std::fmt::Display;
use std::io::{self, Write};

/// Writes one line in one system call. Without a reader (main is gone) nothing happens; `eprintln!`
/// would end the process then, and a prototype has workers to end first.
pub fn complain(line: impl Display) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}
