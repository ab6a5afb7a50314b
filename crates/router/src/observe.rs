//! Requests as operators see them: access logs, counts, traces, the console of `corral run`.

pub(crate) mod access_log;
pub(crate) mod console;
pub(crate) mod request_counts;
pub(crate) mod slow_request;
pub(crate) mod telemetry;
