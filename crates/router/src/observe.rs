//! Requests as operators see them: access logs, traces, the console of `corral run`.

pub(crate) mod access_log;
pub(crate) mod console;
pub(crate) mod telemetry;
