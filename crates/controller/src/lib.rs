//! The control API: validates a configuration, hands it out, answers status.
