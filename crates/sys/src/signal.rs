//! Signals as a descriptor, and sending them.
