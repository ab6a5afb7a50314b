//! The executable: daemon and command-line tool.

fn main() {}
