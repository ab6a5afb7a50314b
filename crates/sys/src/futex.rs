//! Sleeping on a word of shared memory.
