//! Shared-memory rings between the router and its workers: wake-ups, messages, take-back.
