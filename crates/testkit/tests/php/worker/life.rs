//! The life of a worker's script: its start, its failures, its end.
