//! The main process: binds, starts, reaps, restarts, stores; never parses what comes from outside.
