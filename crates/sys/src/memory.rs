//! Memory shared between processes.
