//! Starting processes.
