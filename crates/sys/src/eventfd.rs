//! Counters that wake an event loop.
