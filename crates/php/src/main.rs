//! Runs PHP applications: a SAPI of our own in shim/, one request at a time, opcache shared by all workers.

fn main() {}
